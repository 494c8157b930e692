"""A: the intensity dial. F fused multiply-adds on every float that is loaded and stored, F = 1 … 2048.

Below the ridge time stands still while the arithmetic grows; past it time grows with the arithmetic. Each F is the best
of a searched family of variants, and each way to store is a dial of its own, judged by a slope of its own.
"""

from math import log

import pytest

from roofline.claims import NotApplicable, Prediction, within
from roofline.dials import bandwidth_spread, dials, furthest, knee, plateau
from roofline.kernels import dial
from roofline.model import Device, Expectation

pytestmark = pytest.mark.bench

# How far from flat a line may be and count as flat. On a CPU re-allocated arrays alone move DRAM figures this much;
# a GPU interleaves its memory finely.
FLAT = {"cpu": 1.25, "fake": 1.25, "cuda": 1.05}


@pytest.mark.parametrize("kernel", [*dial.at(dial.POINTS)], ids=lambda kernel: kernel.name)
def test_dial(kernel, measure):
    """One point of the dial; it is checked against its reference before it is timed (A9)."""
    measure(kernel)


@pytest.mark.full
@pytest.mark.parametrize("kernel", [*dial.at(dial.FINE_POINTS)], ids=lambda kernel: kernel.name)
def test_dial_finely(kernel, measure):
    """A point between the others, for the whole curve."""
    measure(kernel)


def flat(device: Device):
    """What counts as flat on this kind of device."""
    return Expectation(1.0, FLAT[device.kind], "formula: bytes over bandwidth, whatever the arithmetic")


@pytest.mark.predicts(Prediction("A2", "below half the ridge GB/s stays flat: greatest over least", formula=flat))
def test_bandwidth_is_flat_below_the_ridge(claim, rows, roofline):
    """A2: time stands still and GFLOP/s doubles with F as long as memory is what limits."""
    found = {
        slope: bandwidth_spread(points, roofline.ridge("fp32", slope).value)
        for slope, points in dials(rows("dial")).items()
    }
    spreads = {slope: spread for slope, spread in found.items() if spread}
    if not spreads:
        claim(None, note="fewer than two points lie below half the ridge")
    worst = max(spreads, key=lambda slope: spreads[slope].value)
    claim(spreads[worst], rows("dial"), note=f"worst: {worst}")


@pytest.mark.predicts(
    Prediction(
        "A3",
        "past twice the ridge FLOP/s is flat at the peak: least over peak",
        formula=within(0.9, 1.05, "min(P, I·β) = P"),
    )
)
def test_arithmetic_is_flat_past_the_ridge(claim, rows, roofline):
    """A3: past the ridge time doubles with F and GFLOP/s stays at the FP32 peak."""
    peak = roofline.ceiling("fp32").estimate
    found = {
        slope: plateau(points, roofline.ridge("fp32", slope).value, peak)
        for slope, points in dials(rows("dial")).items()
    }
    plateaus = {slope: share for slope, share in found.items() if share}
    if not plateaus:
        claim(None, note="no point lies past twice the ridge")
    worst = min(plateaus, key=lambda slope: plateaus[slope].value)
    claim(plateaus[worst], rows("dial"), note=f"worst: {worst}")


@pytest.mark.predicts(
    Prediction(
        "A4",
        "the dial turns where best FLOP/s over best B/s says: knee over ridge",
        formula=within(0.8, 1.2, "ridge = P / β; the knee is read off the times alone"),
    )
)
def test_the_dial_turns_at_the_measured_ridge(claim, rows, roofline):
    """A4: the intensity at which time begins to grow is the measured peak over the measured bandwidth."""
    peak = roofline.ceiling("fp32").rate
    found = {
        slope: (knee(points, roofline.ceiling(slope).rate, peak), roofline.ridge("fp32", slope))
        for slope, points in dials(rows("dial")).items()
    }
    ratios = {slope: turn.over(ridge) for slope, (turn, ridge) in found.items() if turn}
    if not ratios:
        claim(None, note="the time never doubles: the points selected do not reach past the ridge")
    worst = max(ratios, key=lambda slope: abs(ratios[slope].value - 1))
    claim(ratios[worst], rows("dial"), note=f"furthest: {worst}")


# On a CPU a copy with ordinary stores is no envelope: arithmetic between loads and stores spaces the stores out, and
# what they first read collides less with other reads. A dial gains up to a quarter by that (Zen 3).
NEAR = {"cpu": (0.9, 1.3), "fake": (0.9, 1.05), "cuda": (0.9, 1.05)}


def near(device: Device):
    """How near the roof a point must be on this kind of device."""
    return Expectation(*NEAR[device.kind], "formula: attainable = min(P, I·β)")


@pytest.mark.predicts(
    Prediction(
        "M2",
        "every point of the dial reaches min(P, I·β): furthest share",
        formula=near,
    )
)
def test_every_point_reaches_its_roof(claim, rows, roofline):
    """M2, M4: each point is judged by the roof above it, and none is far below."""
    found = [furthest(points, roofline) for points in dials(rows("dial")).values()]
    share, row = max(found, key=lambda pair: abs(log(pair[0].value)))
    claim(share, rows("dial"), note=f"furthest: {row.key.kernel}")


def clock_explains(device: Device):
    """Above the nominal rate only as far as the clock is above the rated one."""
    if "fp32" not in device.nominal or "clock" not in device.nominal:
        return NotApplicable("the nominal FP32 rate or the rated clock of this device is unknown")
    return Expectation(0.5, 1.02, "formula: nominal rate × measured clock ÷ rated clock")


@pytest.mark.predicts(Prediction("A5", "FP32 peak over the nominal peak at the clock it had", family=clock_explains))
def test_a_peak_above_nominal_is_explained_by_the_clock(claim, rows, roofline):
    """A5: more than 100 % of nominal is possible, since devices clock above their rating; then the clock shows it."""
    ceiling = roofline.ceiling("fp32")
    share = ceiling.of_nominal
    if share is None:
        claim(None, note="no clock was read during the peak")
    claim(share, rows("dial"), note=f"{ceiling.rate / ceiling.nominal.rate:.0%} of nominal")
