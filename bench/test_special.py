"""R5, M9: the roofs of special functions, each counted as 1 FLOP: what a kernel full of them can reach."""

import pytest

from roofline.claims import NotApplicable, Prediction
from roofline.kernels import kernels_of
from roofline.model import Device, Expectation

pytestmark = pytest.mark.bench

# Results a clock an SM of special functions, over the FLOP a clock of FP32 FMAs. Source: CUDA C++ Programming Guide,
# "Arithmetic Instructions": 16 everywhere, beside 64 or 128 FP32 lanes.
SPECIAL_OVER_FP32 = dict.fromkeys(("sm_70", "sm_75", "sm_80"), 16 / (2 * 64))
SPECIAL_OVER_FP32 |= dict.fromkeys(("sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_120"), 16 / (2 * 128))
# The core measures exponentials; the others run on the same units and are for whoever wants to see that.
CORE = "exp2"
FUNCTIONS = ("exp2", "rsqrt", "sin")


def kernels():
    """Every function, those beyond the core marked as such."""
    for kernel in kernels_of("special"):
        marks = () if kernel.name.startswith(CORE) else (pytest.mark.full,)
        yield pytest.param(kernel, marks=marks, id=kernel.name)


@pytest.mark.parametrize("kernel", list(kernels()))
def test_special(kernel, measure):
    """One function by the unit that computes it, or by a polynomial where none does."""
    measure(kernel)


def at_its_clock(function):
    """The prediction that a function comes as fast as its lanes promise at the clock that the card really had."""

    def expected(device: Device):
        if f"sfu_{function}" not in device.nominal:
            return NotApplicable("how many special lanes an SM of this card has is not known from a source")
        return Expectation(0.95, 1.02, "formula: SMs × lanes × the clock measured meanwhile")

    return Prediction("R5", f"{function} over what the special units do at the clock they had", family=expected)


@pytest.mark.devices("cuda")
@pytest.mark.parametrize(
    "function",
    [
        pytest.param(
            function,
            marks=(pytest.mark.predicts(at_its_clock(function)), *((pytest.mark.full,) if function != CORE else ())),
        )
        for function in FUNCTIONS
    ],
)
def test_special_units_do_what_their_lanes_promise(claim, function, roofline, rows):
    """R5, M9: nothing else in the loop takes longer than the special units do."""
    resource = f"sfu_{function}"
    measured = [row for row in rows("special") if resource in row.measures]
    if not measured:
        claim(None, note=f"{function} was not measured in this run")
    share = roofline.ceiling(resource).of_nominal
    claim(share, measured, note="" if share else "no clock was read meanwhile")


def lanes(device: Device):
    """The ratio of the lanes in a published table, as far as it names this card."""
    ratio = SPECIAL_OVER_FP32.get(device.architecture)
    if ratio is None:
        return NotApplicable(f"the special units of {device.architecture} are not known from a source")
    return Expectation(
        0.95 * ratio, 1.05 * ratio, f"family: 1/{1 / ratio:g} on {device.architecture} (CUDA Programming Guide)"
    )


@pytest.mark.devices("cuda")
@pytest.mark.predicts(Prediction("R5", "exp2 a second over the FP32 peak in FLOP/s", family=lanes))
def test_exponentials_have_a_far_lower_roof(claim, roofline_session, rows):
    """R5: 16 lanes beside 128 that do two FLOPs each leave 1/16 to a kernel of nothing but exponentials."""
    measured = rows("special", "exp2-mufu")
    roofline_session.ensure(["fp32"])
    roofline = roofline_session.roofline()
    claim(roofline.ceiling("sfu_exp2").estimate.over(roofline.ceiling("fp32").estimate), measured)
