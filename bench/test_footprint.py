"""H1: reads of growing sets find what each cache holds, and what sets pay that are larger than any of them."""

import pytest

from roofline.capacity import Reading, edges
from roofline.claims import NotApplicable, Prediction
from roofline.kernels import kernels_of
from roofline.kernels.footprint import in_reach, order_of, set_bytes
from roofline.model import Device, Estimate, Expectation
from roofline.units import percent, si

pytestmark = [pytest.mark.bench, pytest.mark.full]

CACHES_OF_A_CPU = 3
# Where reads fall to 0.9 of a cache's rate, found between two sets a quarter (CPU: half) of an octave apart. A cache
# that drops what is oldest is passed at once. One that keeps a part of a larger set serves that while memory serves the
# rest: a set of 1.4 times an L2 that is 2.2 times as fast as its memory may still lose no more than a tenth.
FOUND = {"cuda": (0.8, 1.6), "cpu": (0.6, 1.6)}


@pytest.mark.parametrize("kernel", kernels_of("footprint"), ids=lambda kernel: kernel.name)
def test_footprint(kernel, measure, device):
    """One set, read pass after pass by all cores together."""
    if not in_reach(kernel.name, device.device):
        pytest.skip("says nothing here: far below or beyond what the caches of this device may hold")
    measure(kernel)


def readings(rows, order: str) -> list[Reading]:
    """Bytes over seconds of each set that was read in that order."""
    found = [(set_bytes(row.key.kernel), row) for row in rows("footprint") if order_of(row.key.kernel) == order]
    return [Reading(size, row.bytes_per_s(row.key.level).value) for size, row in found if size]


def as_reported(device: Device):
    """The capacity by the rule of `roofline.capacity` over the one that is reported."""
    if device.kind == "fake":
        return NotApplicable("the fake device serves sets of any size at one rate")
    return Expectation(*FOUND[device.kind], "formula: 1 … 1.4 × the cache, between two sets of the sweep")


@pytest.mark.predicts(Prediction("H1", "last cache as found by reads over as reported", family=as_reported))
def test_the_sweep_finds_the_last_cache(claim, rows, device, roofline_session):
    """H1: where reads fall off is what the cache holds; nobody was asked."""
    measured, cache = rows("footprint"), device.device.cache_bytes
    cuda = device.device.kind == "cuda"
    found = edges(readings(rows, "plain" if cuda else ""))
    if not cache:
        claim(None, measured, note="this device does not say how large its last cache is")
    if len(found) < (1 if cuda else CACHES_OF_A_CPU):
        claim(None, measured, note=f"edges that show: {len(found)}; not every cache can be told from the next")
    last = found[-1].capacity.over(cache)
    if last.high < FOUND[device.device.kind][0] and roofline_session.environment.state.get("virtualised"):
        claim(None, measured, note=f"{last.value:.2f} of it shows: a guest shares its last cache with others")
    claim(last, measured)


def first_level(device: Device):
    """A core's own first-level cache."""
    if device.kind != "cpu":
        return NotApplicable("on a GPU every load of this sweep passes the first-level caches by")
    return Expectation(24 * 1024, 256 * 1024, "family: 32 to 128 KiB a core (makers' guides), and half an octave", "B")


@pytest.mark.predicts(Prediction("H1", "first edge, for each core", unit="B", family=first_level))
def test_the_sweep_finds_the_first_level_cache(claim, rows, device):
    """H1: the nearest edge is that of the cache nearest to the units."""
    measured = rows("footprint")
    found = edges(readings(rows, ""))
    claim(found[0].capacity.over(device.device.cores) if found else None, measured, note="" if found else "no edge")


def beyond_translation(device: Device):
    """What reads lose that follow one another too far apart for addresses to be at hand."""
    if device.kind != "cuda":
        return NotApplicable("only a GPU's sweep goes that far beyond its caches")
    return Expectation(0.0, 1.03, "formula: a page whose address is not at hand must be translated first")


@pytest.mark.predicts(
    Prediction("H1", "scattered reads of the largest set over those in order", family=beyond_translation)
)
def test_beyond_the_reach_of_translation_scattered_reads_are_no_faster(claim, rows):
    """H1: beyond what a card translates at once bandwidth may fall; the claim says by how much."""
    measured = rows("footprint")
    in_order, scattered = (
        {reading.set_bytes: reading.rate for reading in readings(rows, order)} for order in ("plain", "scattered")
    )
    far = [size for size in scattered if size in in_order]
    if not far:
        claim(None, measured, note="no set lies that far out")
    largest = max(far)
    ratio = scattered[largest] / in_order[largest]
    claim(Estimate(ratio, ratio, ratio), measured, note=f"at {si(largest, 'B')}: {percent(ratio)}")
