"""What the rows of a dial say together, on dials made from a known roofline."""

from dataclasses import replace

import pytest

from roofline.dials import bandwidth_spread, dials, furthest, knee, plateau
from roofline.kernels import dial
from roofline.model import Ceiling, Estimate, Measurement, RowKey, Samples, Timer, Traffic, Work
from roofline.rooflines import Roofline

pytestmark = pytest.mark.correctness

PEAK, BANDWIDTH, ELEMENTS = 240e9, 48e9, 1 << 20
RIDGE = PEAK / BANDWIDTH
ROOFLINE = Roofline(
    {
        "fp32": Ceiling("fp32", PEAK, PEAK, PEAK, "FLOP/s", "k", "v"),
        "dram": Ceiling("dram", BANDWIDTH, BANDWIDTH, BANDWIDTH, "B/s", "k", "v"),
    }
)


def row(steps, slow=1.0, slope="dram", drift=None):
    """The dial at F = `steps` on a perfect device, `slow` times slower.

    With `drift`, memory was that many times slower meanwhile, and the row was measured beside its slope.
    """
    work = Work(
        2.0 * steps * ELEMENTS, "fp32", {"dram": Traffic(4.0 * ELEMENTS, 4.0 * ELEMENTS)}, slopes={"dram": slope}
    )
    moving, computing = work.traffic["dram"].total / BANDWIDTH * (drift or 1.0), work.flops / PEAK
    seconds = slow * max(moving, computing)
    share = Estimate(moving / seconds, moving / seconds, moving / seconds) if drift else None
    return Measurement(
        RowKey("dial", f"dial-{steps:04d}", ELEMENTS, "fp32", "dram"),
        work,
        "v",
        Samples((seconds,), Timer("t", 1e-9)),
        Estimate(seconds, seconds, seconds),
        beside=share,
    )


def perfect():
    """Every point of the dial exactly on its roof."""
    return [row(steps) for steps in dial.POINTS]


def test_the_knee_of_a_perfect_dial_is_its_ridge():
    """A4: read off the times alone, the dial turns at P / β."""
    assert knee(perfect(), BANDWIDTH, PEAK).value == pytest.approx(RIDGE, rel=0.05)


def test_a_soft_knee_is_found_at_the_same_place():
    """Points around the ridge that lose a fifth do not move the knee, since far points decide it."""
    rows = [row(steps, slow=1.2 if 0.5 < steps / 4 / RIDGE < 1.5 else 1.0) for steps in dial.POINTS]
    assert knee(rows, BANDWIDTH, PEAK).value == pytest.approx(RIDGE, rel=0.05)


def test_a_dial_that_never_turns_has_no_knee():
    assert knee([row(steps) for steps in (1, 2, 4)], BANDWIDTH, PEAK) is None


def test_bandwidth_of_a_perfect_dial_is_flat_below_half_the_ridge():
    """A2: greatest over least is one."""
    spread = bandwidth_spread(perfect(), RIDGE)
    assert (spread.value, spread.low, spread.high) == (1.0, 1.0, 1.0)


def test_one_slow_point_shows_in_the_spread():
    rows = [row(steps, slow=1.5 if steps == 4 else 1.0) for steps in dial.POINTS]
    assert bandwidth_spread(rows, RIDGE).value == pytest.approx(1.5)


def test_a_single_point_has_no_spread():
    assert bandwidth_spread([row(1)], RIDGE) is None


def test_the_plateau_is_the_least_of_what_lies_past_the_ridge():
    """A3: the worst point past twice the ridge tells whether the plateau is flat."""
    rows = [row(steps, slow=1.25 if steps == 512 else 1.0) for steps in dial.POINTS]
    assert plateau(rows, RIDGE, ROOFLINE.ceiling("fp32").estimate).value == pytest.approx(0.8)
    assert plateau([row(1)], RIDGE, ROOFLINE.ceiling("fp32").estimate) is None


def test_the_worst_point_is_found_and_named():
    """M2: the share of min(P, I·β) that the furthest point reaches."""
    rows = [row(steps, slow=2.0 if steps == 24 else 1.0) for steps in dial.POINTS]
    share, worst = furthest(rows, ROOFLINE)
    assert (share.value, worst.key.kernel) == (pytest.approx(0.5), "dial-0024")


def drifting():
    """A dial whose memory is between once and twice as slow while it turns, each point on the roof of its moment."""
    return [row(steps, drift=1.0 + (number % 3) / 2) for number, steps in enumerate(dial.POINTS)]


def test_memory_that_drifts_does_not_make_the_dial_uneven():
    """A2: shares of the slope beside which each point was measured are flat, though its GB/s are not."""
    assert bandwidth_spread(drifting(), RIDGE / 2).value == pytest.approx(1.0)
    uneven = [row(steps, slow=1.0 + (number % 3) / 2) for number, steps in enumerate(dial.POINTS)]
    assert bandwidth_spread(uneven, RIDGE / 2).value == pytest.approx(2.0)


def test_memory_that_drifts_moves_no_point_off_its_roof():
    """M2: a point is judged by the slope of its own moment."""
    share, _ = furthest(drifting(), ROOFLINE)
    assert share.value == pytest.approx(1.0)


def test_a_point_above_its_roof_is_the_furthest_too():
    """M5: a point far above its roof must not pass because others are near theirs."""
    rows = [row(steps, slow=0.3 if steps == 24 else 0.97) for steps in dial.POINTS]
    share, worst = furthest(rows, ROOFLINE)
    assert (share.value, worst.key.kernel) == (pytest.approx(1 / 0.3), "dial-0024")


def test_the_knee_is_as_uncertain_as_the_rows_it_was_read_off():
    rows = [replace(each, seconds=Estimate(s := each.seconds.value, 0.9 * s, 1.3 * s)) for each in perfect()]
    found = knee(rows, BANDWIDTH, PEAK)
    assert found.high / found.value == pytest.approx(1.2)


def test_each_way_to_store_is_a_dial_of_its_own():
    found = dials([row(2), row(1, slope="dram_copy_nt"), row(1)])
    assert {slope: [r.work.intensity() for r in rows] for slope, rows in found.items()} == {
        "dram": [0.25, 0.5],
        "dram_copy_nt": [0.25],
    }
