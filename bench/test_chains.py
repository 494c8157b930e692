"""A7, A8: the arithmetic roof, and what too few independent chains or too narrow vectors leave of it."""

import pytest

from roofline.claims import NotApplicable, Prediction, within
from roofline.kernels import chains, chains_cuda
from roofline.model import Device, Estimate, Expectation

pytestmark = pytest.mark.bench

# Latency of an FP32 FMA in cycles. CPUs: Zen 2 to 5, Skylake and later, Golden Cove, Neoverse N1 to V2 (uops.info; the
# software optimisation guides of Arm). GPUs: Volta and later (Jia et al., arXiv:1804.06826, and its successors).
FMA_CYCLES = {"znver2": 5, "znver3": 4, "znver4": 4, "znver5": 4, "skylake-avx512": 4, "cascadelake": 4}
FMA_CYCLES |= dict.fromkeys(("icelake-server", "sapphirerapids", "emeraldrapids", "graniterapids", "alderlake"), 4)
FMA_CYCLES |= dict.fromkeys(("neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2"), 4)
SOURCE = {"cpu": "uops.info", "cuda": "arXiv:1804.06826"}
# One chain, and nothing else that could hide its latency: on a GPU, one warp for each of the four schedulers of an SM.
ONE_CHAIN = {"cpu": "chains-01", "cuda": "chains-01-4-warps", "fake": "chains-01"}
LANES_OF_AN_SM = 4 * 32
ENOUGH_CHAINS = {"cpu": 8, "cuda": 4, "fake": 8}


@pytest.mark.parametrize(
    "kernel", [*chains.every_kernel(), *chains_cuda.every_kernel()], ids=lambda kernel: kernel.name
)
def test_chains(kernel, measure):
    """Independent chains of FMAs on values that stay in the first-level cache, or in registers."""
    measure(kernel)


def latency(device: Device):
    """Cycles that a published table gives an FMA on this architecture."""
    if device.kind == "fake":
        return NotApplicable("the fake device has no pipes")
    cycles = 4 if device.kind == "cuda" else FMA_CYCLES.get(device.architecture)
    if cycles is None:
        return None
    return Expectation(
        0.9 * cycles, 1.1 * cycles, f"family: {cycles} cycles on {device.architecture} ({SOURCE[device.kind]})"
    )


@pytest.mark.predicts(
    Prediction(
        "A8",
        "with one chain an FMA takes its whole latency: cycles",
        family=latency,
        formula=within(2, 9, "CPUs finish an FMA in 3 to 8 cycles"),
    )
)
def test_one_chain_shows_how_long_an_fma_takes(claim, rows, device):
    """A8: one chain finishes one FMA every `latency` cycles in each lane, so its rate tells the latency."""
    (one,) = rows("chains", ONE_CHAIN[device.device.kind])
    clock = one.samples.clock_hz
    if clock is None:
        claim(None, note="the clock of this device is unknown")
    lanes = LANES_OF_AN_SM if device.device.kind == "cuda" else device.target.lanes
    each = lanes * 2 * device.device.cores * clock.median
    claim(Estimate(each, each, each).over(one.flop_per_s), [one])


def enough_chains(device: Device):
    """A CPU's rows are a second apart, in which a neighbour on the other thread of a core may come or go."""
    least = {"cpu": 0.8, "fake": 0.9, "cuda": 0.9}[device.kind]
    return Expectation(least, float("inf"), "formula: chains ≥ latency × pipes keep every unit busy")


@pytest.mark.predicts(
    Prediction(
        "A7",
        "from enough chains on, each number reaches what the best does: least share",
        formula=enough_chains,
    )
)
def test_enough_chains_reach_the_peak(claim, rows, device):
    """A7: with enough chains the plateau measures the units and not the latency of one chain."""
    enough = ENOUGH_CHAINS[device.device.kind]
    family = [row for row in rows("chains") if {"fp32", "fp32_one_chain"} & set(row.measures)]
    best = max(family, key=lambda row: row.flop_per_s.value)
    least = min((row for row in family if chains_of(row) >= enough), key=lambda row: row.flop_per_s.value)
    note = f"{least.key.kernel} over {best.key.kernel}"
    claim(least.flop_per_s.over(best.flop_per_s.value), family, note)


def chains_of(row):
    """The number of chains in the name of a row's kernel."""
    return int(row.key.kernel.split("-")[1])
