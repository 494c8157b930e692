"""R1: what is left of the FP32 roof where nothing fuses multiplications and additions."""

import pytest

from roofline.claims import NotApplicable, Prediction, within
from roofline.kernels import kernels_of
from roofline.model import Device, Expectation

pytestmark = pytest.mark.bench

# CPUs by LLVM's names. AMD's Zen has two pipes for FMA and multiplication and two more for addition; Intel's cores up
# to Tiger Lake and Arm's Neoverse do all three in the same pipes; from Golden Cove on Intel adds in pipes of which
# one is not an FMA's, so the half is a lower bound. Sources: uops.info; Arm's software optimisation guides.
ZEN = "znver"
SHARED_PIPES = (
    *("haswell", "broadwell", "skylake", "skylake-avx512", "cascadelake", "cooperlake"),
    *("cannonlake", "icelake-client", "icelake-server", "tigerlake", "rocketlake"),
    *("neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2"),
)


@pytest.mark.parametrize("kernel", kernels_of("no_fma"), ids=lambda kernel: kernel.name)
def test_no_fma(kernel, measure):
    """Multiplications and additions in equal numbers, none of them fused."""
    measure(kernel)


def half(device: Device):
    """A half where the same pipes do both, with what the neighbours of a CPU may take of either rate."""
    if device.kind == "cuda":
        return Expectation(0.48, 0.52, "family: the FMA pipes of every NVIDIA GPU also multiply and add")
    if device.kind == "fake":
        return NotApplicable("the fake device has no pipes")
    if device.architecture.startswith(ZEN):
        return NotApplicable("Zen adds in pipes of its own, so separate steps lose little or nothing (uops.info)")
    if device.architecture in SHARED_PIPES:
        return Expectation(0.42, 0.58, f"family: the pipes of {device.architecture} do all three (uops.info, Arm)")
    return None


@pytest.mark.predicts(
    Prediction(
        "R1",
        "separate multiplications and additions over the FMA peak",
        family=half,
        formula=within(0.42, 1.1, "half in shared pipes, up to all of it where additions have their own, or FMA none"),
    )
)
def test_without_fma_half_the_roof_is_left(claim, roofline_session, rows):
    """R1: an instruction that does one operation takes the slot of one that does two."""
    measured = rows("no_fma")
    roofline_session.ensure(["fp32"])
    roofline = roofline_session.roofline()
    claim(roofline.ceiling("fp32_no_fma").estimate.over(roofline.ceiling("fp32").estimate), measured)
