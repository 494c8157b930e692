"""A7, A8: the arithmetic roof, and what too few independent chains or too narrow vectors leave of it."""

import pytest
from roofline.kernels import chains

from roofline.claims import NotApplicable, Prediction, within
from roofline.model import Device, Estimate, Expectation

pytestmark = pytest.mark.bench

# Latency of an FP32 FMA in cycles. Zen 2 to 5, Skylake and later, Golden Cove, Neoverse N1 to V2: 4 (uops.info; the
# software optimisation guides of Arm). The search for chains does not use it.
FMA_CYCLES = {"znver2": 5, "znver3": 4, "znver4": 4, "znver5": 4, "skylake-avx512": 4, "cascadelake": 4}
FMA_CYCLES |= dict.fromkeys(("icelake-server", "sapphirerapids", "emeraldrapids", "graniterapids", "alderlake"), 4)
FMA_CYCLES |= dict.fromkeys(("neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2"), 4)


@pytest.mark.parametrize("kernel", [*chains.every_kernel()], ids=lambda kernel: kernel.name)
def test_chains(kernel, measure):
    """Independent chains of FMAs on values that stay in the first-level cache."""
    measure(kernel)


def latency(device: Device):
    """Cycles that a published table gives an FMA on this architecture."""
    if device.kind == "fake":
        return NotApplicable("the fake device has no pipes")
    cycles = FMA_CYCLES.get(device.architecture)
    if cycles is None:
        return None
    return Expectation(0.9 * cycles, 1.1 * cycles, f"family: {cycles} cycles on {device.architecture} (uops.info)")


@pytest.mark.predicts(
    Prediction(
        "A8",
        "with one chain an FMA takes its whole latency: cycles",
        family=latency,
        formula=within(2, 9, "CPUs finish an FMA in 3 to 8 cycles"),
    )
)
def test_one_chain_shows_how_long_an_fma_takes(claim, rows, device):
    """A8: vectors of one chain finish one FMA every `latency` cycles, so its rate tells the latency."""
    (one,) = rows("chains", "chains-01")
    clock = one.samples.clock_hz
    if clock is None:
        claim(None, note="the clock of this device is unknown")
    each = device.target.lanes * 2 * device.device.cores * clock.median
    cycles = Estimate(each, each, each).over(one.flop_per_s)
    claim(cycles, [one])


@pytest.mark.predicts(
    Prediction(
        "A7",
        "eight chains or more reach the FP32 peak: share",
        formula=within(0.9, float("inf"), "chains ≥ latency × pipes keep every unit busy"),
    )
)
def test_many_chains_reach_the_peak(claim, rows, roofline):
    """A7: with enough chains the plateau measures the units and not the latency of one chain."""
    family = [row for row in rows("chains") if row.key.kernel.count("-") == 1]
    many = max((row for row in family if row.key.kernel >= "chains-08"), key=lambda row: row.flop_per_s.value)
    peak = roofline.ceiling("fp32")
    claim(many.flop_per_s.over(peak.rate), family, note=f"the peak is that of {peak.kernel}")
