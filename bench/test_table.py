"""T1 to T6: six kernels that everyone has, each near the roof above its point."""

import pytest

from roofline.claims import Prediction, within
from roofline.kernels import kernels_of, table
from roofline.model import Device, Expectation

pytestmark = pytest.mark.bench

IDS = {
    "T1": table.VECADD,
    "T2": table.SAXPY,
    "T3": table.RELU,
    "T4": table.SOFTMAX,
    "T5": table.LAYER_NORM,
    "T6": table.GEMV,
}
# The least share of its slope. A GPU has other rows to move while it works on one. A CPU's core has not: what it does
# to a row between reading and writing it is time in which its memory may idle.
LEAST = {"cuda": dict.fromkeys(IDS, 0.9), "cpu": dict.fromkeys(IDS, 0.75) | {"T4": 0.4, "T5": 0.4}}
MOST = 1.15


@pytest.mark.parametrize("kernel", kernels_of("table"), ids=lambda kernel: kernel.name)
def test_table(kernel, measure):
    """One kernel of the table."""
    measure(kernel)


def near(id_: str) -> Prediction:
    """The prediction that a kernel takes as long as a bare stream of its bytes."""
    mix = {"read": "a read", "copy": "a copy", "triad": "two reads and a write"}[IDS[id_].mix]

    def share(device: Device) -> Expectation:
        least = LEAST["cuda" if device.kind == "cuda" else "cpu"][id_]
        return Expectation(least, MOST, f"formula: memory-bound, as {mix} of the same bytes")

    return Prediction(id_, f"{IDS[id_].name} over the bandwidth of its mix", formula=share)


def measured(rows, computation: table.Computation):
    """The row of a computation, however its kernel is called on this device."""
    found = [row for row in rows("table") if row.key.kernel.startswith(computation.name)]
    if not found:
        pytest.skip(f"{computation.name} was not measured in this session")
    return found[0]


@pytest.mark.parametrize("name", [pytest.param(id_, marks=pytest.mark.predicts(near(id_))) for id_ in IDS])
def test_each_is_bound_by_the_memory_and_near_its_slope(claim, name, rows, roofline):
    """T1, T2, T3, T4, T5, T6: intensities of 1/12 to 1 lie far left of every ridge, so bytes are all that counts."""
    row = measured(rows, IDS[name])
    slope = roofline.ceiling(row.work.slope("dram")).estimate
    claim(row.beside or row.bytes_per_s().over(slope), [row])


LEFT_OF_THE_RIDGE = within(0.0, 0.5, "5 FLOP for 8 bytes, left of the ridge")


@pytest.mark.predicts(Prediction("T4", "softmax's intensity over its ridge", formula=LEFT_OF_THE_RIDGE))
def test_softmax_lies_left_of_the_ridge(claim, rows, roofline_session):
    """T4, M9: counted 5 FLOP for 8 bytes, its exponential as one, softmax is far from computing too much."""
    row = measured(rows, table.SOFTMAX)
    roofline_session.ensure([row.work.unit])
    ridge = roofline_session.roofline().ridge(row.work.unit, row.work.slope("dram"))
    claim(ridge.inverse(row.work.intensity()), [row])
