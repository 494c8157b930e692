"""M11: bytes that hardware counters saw cross DRAM against those that were counted. Needs `--counters`."""

import pytest

from roofline.claims import Prediction, within
from roofline.counters import least_achieved, over_counted
from roofline.model import Estimate

pytestmark = [pytest.mark.bench, pytest.mark.devices("cuda"), pytest.mark.usefixtures("counters")]

# From here on what is still in the last cache at the end is a small part of a launch, and streams are nothing else.
STREAMED = 2e9


def extremes(shares: list[float]) -> Estimate:
    """All of them as one figure: the middle, the least and the greatest."""
    ordered = sorted(shares)
    return Estimate(ordered[len(ordered) // 2], ordered[0], ordered[-1])


def moved(session, experiments):
    """Rows of these experiments that count bytes of DRAM and have achieved ones."""
    rows = [row for key, row in session.measurements.items() if key.experiment in experiments]
    return [row for row in rows if row.work.moved("dram") and "dram" in row.achieved]


@pytest.mark.predicts(
    Prediction(
        "M11",
        "achieved bytes of DRAM over the algorithm's, less what can still sit in the last cache",
        formula=within(0.99, float("inf"), "each input must be read once, each output written once"),
    )
)
def test_no_kernel_moves_less_than_its_algorithm_needs(claim, roofline_session):
    """M11: achieved intensity is at most the algorithmic one, but for lines still in L2 at the end."""
    cache = roofline_session.device.cache_bytes
    large = [row for row in moved(roofline_session, ("dram", "dial", "floor")) if least_achieved(row, cache) > 0]
    if not large:
        claim(None, note="no row that counts bytes of DRAM was measured")
    shares = [row.achieved["dram"].total / least_achieved(row, cache) for row in large]
    claim(extremes(shares), large, note=f"{len(large)} rows")


@pytest.mark.predicts(
    Prediction(
        "M11",
        "achieved over counted bytes of streams of 2 GB and more",
        formula=within(0.96, 1.04, "nothing but the stream moves"),
    )
)
def test_a_stream_moves_what_is_counted(claim, roofline_session):
    """M11: what is counted is what crosses DRAM."""
    large = [row for row in moved(roofline_session, ("dram", "floor")) if row.work.moved("dram") >= STREAMED]
    shares = [share for row in large if (share := over_counted(row))]
    if not shares:
        claim(None, note="no stream of 2 GB or more was measured")
    claim(extremes(shares), large, note=f"{len(shares)} rows")
