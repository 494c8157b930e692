"""W1, W2: grids of equal blocks, from half a wave to many, and what one block more than whole waves costs."""

import pytest

from roofline import waves
from roofline.claims import NotApplicable, Prediction
from roofline.kernels import kernels_of
from roofline.kernels.waves import CORE, EXPERIMENT, Grid, block_of, grid_of, places
from roofline.model import Device, Estimate, Expectation

pytestmark = pytest.mark.bench


def full_unless_core(kernels):
    """The kernels as parameters, those that only the long run measures marked so."""
    return [
        pytest.param(kernel, id=kernel.name, marks=[] if grid_of(kernel.name) in CORE else [pytest.mark.full])
        for kernel in kernels
    ]


@pytest.mark.parametrize("kernel", full_unless_core(kernels_of(EXPERIMENT)))
def test_waves(kernel, measure):
    """A grid of so many blocks, each of the same work."""
    measure(kernel)


def row_of(rows, grid: Grid):
    """The row of a grid."""
    found = [row for row in rows(EXPERIMENT) if grid_of(row.key.kernel) == grid]
    return found[0] if found else pytest.skip(f"{grid.name} was not measured in this session")


def in_waves(low: float, high: float, formula: str):
    """What every device with blocks and places for them does."""

    def known(device: Device):
        if device.kind == "fake":
            return NotApplicable("the fake device has no waves: its time is proportional to work")
        return Expectation(low, high, f"formula: {formula}")

    return known


@pytest.mark.predicts(
    Prediction("W1", "one block more than a wave, over the wave", family=in_waves(1.8, 2.2, "two waves instead of one"))
)
def test_one_block_more_than_a_wave_doubles_the_time(claim, rows):
    """W1: the last block finds no place, and everything waits for it."""
    one, more = row_of(rows, Grid(1)), row_of(rows, Grid(1, +1))
    claim(more.seconds.over(one.seconds), [one, more])


@pytest.mark.predicts(
    Prediction("W1", "half a wave over a whole one", family=in_waves(0.9, 1.1, "one wave, however full it is"))
)
def test_half_a_wave_takes_as_long_as_a_whole_one(claim, rows, device):
    """W1: places that stay empty save nothing."""
    if places(device.device) < 2:
        claim(None, note="one place: there is no half of a wave")
    half, one = row_of(rows, Grid(0.5)), row_of(rows, Grid(1))
    claim(half.seconds.over(one.seconds), [half, one])


def swept(rows, device):
    """Blocks and seconds of every grid that was measured."""
    block = block_of(device.device)
    return [waves.Timed(-(-row.key.size // block), row.seconds.value) for row in rows]


@pytest.mark.full
@pytest.mark.predicts(
    Prediction("W1", "blocks before the first step over cores × blocks on each", family=in_waves(1, 1, "a full wave"))
)
def test_the_first_step_sits_where_all_places_are_taken(claim, rows, device):
    """W1: found from times of one block more and less, not from the number of places."""
    measured = rows(EXPERIMENT)
    found = waves.first_step(swept(measured, device))
    before, after = found or (0, 0)
    note = f"the first step shows between {before} and {after} blocks"
    claim(before / places(device.device) if after - before == 1 else None, measured, note=note)


@pytest.mark.full
@pytest.mark.predicts(
    Prediction(
        "W2",
        "what one block more costs, times the waves before it",
        family=in_waves(0.7, 1.3, "a wave more: 1/w of the time at w waves"),
    )
)
def test_the_sawtooth_shrinks_as_waves_grow(claim, rows, device):
    """W2: a step is one wave high at any size, so of many waves it is a small part."""
    measured = rows(EXPERIMENT)
    teeth = waves.teeth(swept(measured, device), places(device.device))
    if len(teeth) < 2:
        claim(None, measured, note="fewer than two sizes of grid were measured")
    heights = sorted(cost * count for count, cost in teeth)
    note = ", ".join(f"{count}: {cost:.1%}" for count, cost in teeth)
    claim(Estimate(heights[len(heights) // 2], heights[0], heights[-1]), measured, note=note)
