"""C5, C6: the floor under small launches. Time per launch of vecadd from less than 1 KB on: flat, then proportional."""

import pytest

from roofline import floor as line
from roofline.claims import NotApplicable, Prediction, within
from roofline.kernels import floor
from roofline.kernels.floor import CORE, EXPERIMENT, SIZES, WAYS
from roofline.model import Device, Estimate, Expectation
from roofline.stats import estimate, growth
from roofline.timing import sample_launches
from roofline.units import si

pytestmark = pytest.mark.bench

# Two sizes each whose rows are in the short run, far below and far beyond where any GPU known turns.
FLAT, PROPORTIONAL = (1 << 10, 1 << 14), (1 << 24, 1 << 27)


def full_unless_core(sizes):
    """The kernels as parameters, those that only the long run measures marked so."""
    kernels = [floor.kernel(size) for size in sizes]
    return [
        pytest.param(kernel, id=kernel.name, marks=[] if size in CORE else [pytest.mark.full])
        for size, kernel in zip(sizes, kernels, strict=True)
    ]


@pytest.mark.parametrize("kernel", full_unless_core(SIZES))
def test_floor(kernel, measure, device):
    """One size, launched again and again on lines that are cold."""
    if not floor.in_reach(kernel.size(0), device.device):
        pytest.skip("far beyond where bytes decide on this device: it would only take long")
    measure(kernel)


def swept(rows):
    """Bytes and seconds of every size that was measured."""
    return [line.Timed(row.work.moved("dram"), row.seconds.value) for row in rows]


@pytest.mark.predicts(
    Prediction("C5", "fitted t0 over what an empty launch costs", formula=within(0.7, 1.3, "t0 is the launch"))
)
def test_the_fitted_overhead_is_that_of_an_empty_launch(claim, rows, device, roofline_session):
    """C5: T = t0 + bytes/β, and t0 is what launching nothing costs.

    A host's speed changes within a minute by as much as the claim allows, so empty launches are timed once more; the
    interval covers both.
    """
    mode = WAYS[device.device.kind].mode
    measured, (empty,) = rows(EXPERIMENT), rows("launch", mode)
    again = estimate(sample_launches(device, mode, roofline_session.budget))
    both = Estimate(
        value=(empty.seconds.value + again.value) / 2,
        low=min(empty.seconds.value, again.value),
        high=max(empty.seconds.value, again.value),
    )
    fitted = line.fit(swept(measured))
    note = f"t0 {si(fitted.overhead_s.value, 's')}, crossing {si(fitted.crossing_bytes.value, 'B')}"
    claim(fitted.overhead_s.over(both), [*measured, empty], note=note)


OVERLAP = within(0.4, 1.75, "0.5 where launching and moving add up, 1.5 where they overlap, and the steps of the sweep")


@pytest.mark.full
@pytest.mark.predicts(Prediction("C5", "bytes at 1.5 t0, over t0·β of the fit", formula=OVERLAP))
def test_time_leaves_the_flat_part_where_bytes_take_as_long_as_the_launch(claim, rows):
    """C5: flat up to the size where bytes/β equals the overhead, then proportional."""
    measured = rows(EXPERIMENT)
    fitted = line.fit(swept(measured))
    share = line.share_at_the_end_of_flat(swept(measured), fitted)
    crossing = f"crossing {si(fitted.crossing_bytes.value, 'B')}"
    claim(share, measured, note=crossing if share else "no size of the sweep lies beyond the flat part")


def power(rows, sizes):
    """The power of bytes with which time grows between two sizes, with what the noise of both leaves open."""
    (one,), (two,) = (rows(EXPERIMENT, floor.name_of(size)) for size in sizes)
    work = [row.work.moved("dram") for row in (one, two)]
    ends = [
        [one.seconds.value, two.seconds.value],
        [one.seconds.high, two.seconds.low],
        [one.seconds.low, two.seconds.high],
    ]
    return Estimate(*(growth(work, seconds) for seconds in ends)), [one, two]


def below(device: Device):
    """Where every size is far below the crossing."""
    if device.kind != "cuda":
        return NotApplicable("launching costs a CPU so little that few bytes take as long")
    return Expectation(-0.1, 0.1, "formula: time does not depend on size where overhead is all of it")


@pytest.mark.predicts(Prediction("C6", "below the crossing time grows with bytes to the power of", family=below))
def test_below_the_crossing_halving_the_work_does_not_halve_the_time(claim, rows):
    """C6: the symptom of the regime, from two sizes."""
    claim(*power(rows, FLAT))


def beyond(device: Device):
    """Where every size is far beyond the crossing."""
    if device.kind != "cuda":
        return NotApplicable("the short run has one size there on a CPU")
    return Expectation(0.9, 1.1, "formula: time is bytes/β where overhead is next to nothing")


@pytest.mark.predicts(Prediction("C6", "beyond the crossing time grows with bytes to the power of", family=beyond))
def test_beyond_the_crossing_half_the_work_takes_half_the_time(claim, rows):
    """C6: the same two sizes tell the other regime."""
    claim(*power(rows, PROPORTIONAL))
