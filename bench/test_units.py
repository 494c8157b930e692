"""R8, R2, M13: every arithmetic unit has a flat roof of its own, and a kernel is judged by that of its own unit."""

import pytest

from roofline.claims import NotApplicable, Prediction
from roofline.kernels import kernels_of
from roofline.model import Device, Expectation

pytestmark = pytest.mark.bench

UNITS = ("fp64", "fp16", "bf16", "int32", "int8_dot")
# FP16 over FP32 on plain units, by compute capability. Source: CUDA C++ Programming Guide, "Arithmetic Instructions",
# results a clock an SM of 16-bit (packed) over 32-bit floating-point multiply-add.
FP16_OVER_FP32 = {"sm_70": 2, "sm_75": 2, "sm_80": 4, "sm_86": 1, "sm_89": 1, "sm_90": 2, "sm_120": 1}


@pytest.mark.parametrize("kernel", kernels_of("units"), ids=lambda kernel: kernel.name)
def test_units(kernel, measure):
    """Chains of one operation of one unit, on values that stay in registers or in the nearest cache."""
    measure(kernel)


def at_its_clock(unit):
    """The prediction that a unit does what its lanes promise at the clock that the card really had."""

    def expected(device: Device):
        if unit not in device.nominal:
            return NotApplicable(f"how many lanes of {unit} an SM of this card has is not known from a source")
        return Expectation(0.95, 1.02, "formula: SMs × lanes × operations of one × the clock measured meanwhile")

    return Prediction("R8", f"{unit} over what its lanes do at the clock it had", family=expected)


@pytest.mark.devices("cuda")
@pytest.mark.parametrize("unit", [pytest.param(u, marks=pytest.mark.predicts(at_its_clock(u)), id=u) for u in UNITS])
def test_a_unit_does_what_its_lanes_promise(claim, unit, roofline, rows):
    """R8, M13: nothing but the unit itself limits its loop, so its rate is lanes × clock."""
    measured = [row for row in rows("units") if unit in row.measures]
    if not measured:
        claim(None, note="this card lacks the unit")
    share = roofline.ceiling(unit).of_nominal
    claim(share, measured, note="" if share else "no clock was read meanwhile")


def plain_half(device: Device):
    """The ratio of the two rates in a published table, as far as it names this card."""
    ratio = FP16_OVER_FP32.get(device.architecture)
    if ratio is None:
        return NotApplicable(f"the rate of plain FP16 arithmetic on {device.architecture} is not known from a source")
    return Expectation(0.93 * ratio, 1.05 * ratio, f"family: {ratio} on {device.architecture} (CUDA Programming Guide)")


@pytest.mark.devices("cuda")
@pytest.mark.predicts(Prediction("R2", "FP16 without tensor cores over FP32", family=plain_half))
def test_fp16_without_tensor_cores_has_its_own_roof(claim, roofline_session, rows):
    """R2: plain FP16 arithmetic is as fast as FP32 on some cards, a multiple of it on others, and no tensor roof."""
    roofline_session.ensure(["fp32"])
    roofline, measured = roofline_session.roofline(), rows("units", "fp16-half2")
    claim(roofline.ceiling("fp16").estimate.over(roofline.ceiling("fp32").estimate), measured)


def half_the_lanes(device: Device):
    """A register holds half as many doubles; other threads and machines may take of either rate meanwhile."""
    if device.kind == "fake":
        return NotApplicable("the fake device has no lanes")
    return Expectation(0.42, 0.58, "formula: half the lanes, in as many registers")


@pytest.mark.devices("cpu", "fake")
@pytest.mark.predicts(Prediction("R8", "FP64 over FP32 on a CPU", family=half_the_lanes))
def test_fp64_has_half_the_roof_of_fp32(claim, roofline_session, rows):
    """R8: registers hold half as many doubles, and the same pipes take them."""
    roofline_session.ensure(["fp32"])
    roofline, measured = roofline_session.roofline(), rows("units", "fp64-vectors")
    claim(roofline.ceiling("fp64").estimate.over(roofline.ceiling("fp32").estimate), measured)
