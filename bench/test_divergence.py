"""R3: with only a part of the lanes active, the arithmetic roof falls to that part."""

import pytest

from roofline.claims import NotApplicable, Prediction
from roofline.devices.base import Launch
from roofline.kernels import divergence, divergence_cuda
from roofline.model import Device, Estimate, Expectation
from roofline.timing import beside

pytestmark = pytest.mark.bench

# The rows that every run measures: half of the lanes, and the fewest that each device can have.
CORE = {"lanes-16-of-32", "lanes-01-of-32", "lanes-1-in-02", "lanes-1-in-04"}
# Each kernel with the share of the lanes that is active in it.
SHARES = [
    *((divergence.kernel(one_in), 1 / one_in) for one_in in divergence.ONE_IN),
    *((divergence_cuda.kernel(split), split.active / divergence_cuda.WARP) for split in divergence_cuda.SPLITS),
]
CONTROL = divergence.kernel(1)


def marked(kernel, *marks):
    """The parameter of a kernel's test, which is long unless the kernel belongs to the core."""
    long = () if kernel.name in CORE else (pytest.mark.full,)
    return pytest.param(kernel, id=kernel.name, marks=(*marks, *long))


@pytest.mark.parametrize("kernel", [marked(kernel) for kernel, _ in SHARES])
def test_divergence(kernel, measure):
    """So many lanes of a vector or a warp at a time."""
    measure(kernel)


def share_of_the_roof(share: float):
    """The prediction that a kernel with that share of its lanes active reaches that share of the roof."""

    def formula(device: Device):
        if device.kind == "fake":
            return NotApplicable("the fake device has no lanes")
        slack = 0.03 if device.kind == "cuda" else 0.05
        return Expectation((1 - slack) * share, (1 + slack) * share, f"formula: f × roof ± {slack:.0%}")

    part = f"1/{round(1 / share)}"
    return Prediction("R3", f"f = {part} of the lanes active leave f × roof: share of it", formula=formula)


@pytest.mark.parametrize(
    "kernel", [marked(kernel, pytest.mark.predicts(share_of_the_roof(share))) for kernel, share in SHARES]
)
def test_the_roof_falls_to_the_active_lanes(kernel, claim, rows, roofline, roofline_session):
    """R3: an instruction takes its time whoever of the lanes takes part in it."""
    (row,) = rows("divergence", kernel.name)
    if "cuda" in kernel.sources:
        claim(row.flop_per_s.over(roofline.ceiling("fp32").estimate), [row])
    else:
        claim(in_turns(roofline_session, kernel, row), [row], note="in turns with all lanes active")


def in_turns(session, kernel, row):
    """A CPU kernel's share of what the same code does with every lane active, which a neighbour slows as much."""
    launch, control = (bound(session, each, row.variant) for each in (kernel, CONTROL))
    faster = beside(session.backend, launch, control, session.budget)
    flops = kernel.work(row.key.size).flops / CONTROL.work(row.key.size).flops
    return Estimate(flops * faster.value, flops * faster.low, flops * faster.high)


def bound(session, kernel, variant):
    """A kernel's launch in that variant, on the small arrays that both share."""
    (binary,) = (binary for binary in session.binaries(kernel) if binary.variant.name == variant)
    buffers = session.buffers(kernel)
    return Launch(binary, buffers, buffers.elements, repeats=kernel.repeats)
