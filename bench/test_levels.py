"""H1: one slope for each memory level: shared memory and caches, near the units and far from them."""

from itertools import pairwise

import pytest

from roofline.claims import NotApplicable, Prediction, within
from roofline.kernels import kernels_of
from roofline.model import Device, Expectation

pytestmark = pytest.mark.bench

# The levels of each kind of device from the units outwards; shared memory and a GPU's first-level cache are one memory.
OUTWARDS = {
    "cuda": ("shared", "l2", "dram_read"),
    "cpu": ("l1", "l2", "l3", "dram_read"),
    "fake": ("l1", "l2", "dram_read"),
}


@pytest.mark.parametrize("kernel", kernels_of("levels"), ids=lambda kernel: kernel.name)
def test_levels(kernel, measure):
    """Reads that one level serves, pass after pass over a set that suits the device."""
    measure(kernel)


@pytest.mark.predicts(
    Prediction(
        "H1",
        "each level is faster than the next one outwards: least ratio of neighbours",
        formula=within(1.0, float("inf"), "a level further out is larger, shared by more, and slower"),
    )
)
def test_slopes_fall_from_the_units_outwards(claim, roofline_session, rows, device):
    """H1: the slopes of shared memory or L1, L2, L3 and DRAM lie below one another in that order."""
    measured = rows("levels")
    levels = OUTWARDS[device.device.kind]
    roofline_session.ensure(levels)
    known = roofline_session.ceilings()
    missing = [level for level in levels if level not in known]
    if missing:
        claim(None, measured, note=f"not measured: {', '.join(missing)}")
    ratios = {f"{near} over {far}": known[near].estimate.over(known[far].estimate) for near, far in pairwise(levels)}
    least = min(ratios, key=lambda pair: ratios[pair].value)
    claim(ratios[least], measured, note=least)


def all_banks(device: Device):
    """Each of the 32 banks hands out 4 bytes a clock."""
    if "shared" not in device.nominal:
        return NotApplicable("no shared memory with banks of a known width, or no rated clock")
    return Expectation(0.96, 1.01, "formula: 32 banks × 4 B × SMs × the clock measured meanwhile")


@pytest.mark.predicts(Prediction("H1", "shared memory over all its banks at its own clock", family=all_banks))
def test_shared_memory_is_as_fast_as_its_banks(claim, roofline, rows, device):
    """H1: 32 banks of 4 bytes an SM and a clock, and nothing lost on conflicts."""
    measured = rows("levels")
    if "shared" not in device.device.nominal:
        claim(None, measured)
    share = roofline.ceiling("shared").of_nominal
    claim(share, measured, note="" if share else "no clock was read during the reads")
