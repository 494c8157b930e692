"""B: the tensor-core peak, FP16 operands with FP32 and FP16 accumulators, by each instruction the card has.

Operands stay in registers or, where the instruction wants them there, in shared memory: nothing comes from DRAM (B1).
Random data is the figure of record, held for a second; zeros beside it show what the card clocks to when fewer
transistors switch, and the bursts what it does before its power limit lowers the clock.
"""

import pytest

from roofline.checking import exact_share
from roofline.claims import NotApplicable, Prediction, within
from roofline.kernels import tensor
from roofline.model import Device, Estimate, Expectation

pytestmark = [pytest.mark.bench, pytest.mark.devices("cuda")]

# What counts as the same rate with either accumulator, and as twice it.
SAME, DOUBLE = (0.95, 1.12), (1.85, 2.1)
# The share of its roof that the portable, warp-level instruction reaches, by family.
PORTABLE = {"sm_90": (0.55, 0.85)}


def named(kernel):
    """A kernel by name, and by what its operands hold where that is not the rule."""
    return kernel.name if kernel.fill == "random" else f"{kernel.name}-{kernel.fill}"


@pytest.mark.parametrize("kernel", [*tensor.every_kernel()], ids=named)
def test_tensor(kernel, measure):
    """One instruction with one kind of accumulator."""
    measure(kernel)


def accumulators(device: Device):
    """GeForce cards run FP32 accumulators at half rate, others at full."""
    if "GeForce" in device.name:
        return Expectation(*DOUBLE, "family: GeForce halves FP32 accumulation (NVIDIA Ada and Blackwell white papers)")
    return Expectation(*SAME, "family: data-centre and workstation cards do not halve it (NVIDIA H100 white paper)")


@pytest.mark.predicts(
    Prediction("B2", "FP16 over FP32 accumulation, each by its best instruction", family=accumulators)
)
def test_accumulators_have_the_ratio_of_the_family(claim, roofline, rows):
    """B2: about 2 on GeForce, about 1 on data-centre parts."""
    measured = rows("tensor")
    half, full = roofline.ceiling("tensor_fp16_fp16acc"), roofline.ceiling("tensor_fp16_fp32acc")
    claim(half.estimate.over(full.estimate), measured, note=f"{half.kernel} over {full.kernel}")


def portable(device: Device):
    """WMMA reaches most of the roof on cards whose best instruction is that of a warp, less on Hopper."""
    if device.architecture in PORTABLE:
        return Expectation(*PORTABLE[device.architecture], "family: Hopper's roof needs warpgroup MMA")
    return Expectation(0.85, 1.0, "family: the instruction of a warp is the best there is")


@pytest.mark.predicts(Prediction("B3", "WMMA over the FP32-accumulate peak", family=portable))
def test_the_portable_instruction_reaches_its_share(claim, roofline, rows):
    """B3: 85 to 95 % of the peak where a warp's instruction is the best, clearly less where a warpgroup's is."""
    (wmma,) = rows("tensor", "wmma-fp32acc")
    claim(wmma.flop_per_s.over(roofline.ceiling("tensor_fp16_fp32acc").rate), [wmma])


def at_its_clock(device: Device):
    """The nominal rate at the clock that the card really had."""
    if "tensor_fp16_fp32acc" not in device.nominal:
        return NotApplicable("the FLOP a clock of this card's tensor cores is not known from a source")
    return Expectation(0.9, 1.02, "formula: SMs × FLOP a clock × the clock measured meanwhile")


@pytest.mark.predicts(Prediction("B1", "FP32-accumulate peak over the limit at its own clock", family=at_its_clock))
def test_the_peak_is_that_of_the_units(claim, roofline, rows, device):
    """B1: with nothing to wait for, the loop runs at what the units do each clock."""
    ceiling, measured = roofline.ceiling("tensor_fp16_fp32acc"), rows("tensor")
    nominal = device.device.nominal.get("tensor_fp16_fp32acc")
    if nominal is None or ceiling.at_rated_clock is None:
        claim(None, measured, note="no clock was read during the peak")
    scale = ceiling.at_rated_clock / ceiling.rate / nominal.rate
    claim(Estimate(*(scale * side for side in (ceiling.rate, ceiling.low, ceiling.high))), measured)


@pytest.mark.predicts(
    Prediction("B4", "accumulators that count their steps exactly", formula=within(1, 1, "2048 × 16 × 1/4 × 1/4"))
)
@pytest.mark.parametrize("accumulator", tensor.ACCUMULATORS)
def test_every_accumulator_counts_its_steps(claim, device, accumulator):
    """B4: with A = B = 1/4 each step adds 1, so 2048 steps make 2048, exact in FP16 too."""
    shares = [
        exact_share(device, tensor.kernel(path, accumulator, repeats=2048, period=2048), 2048.0)
        for path in tensor.PATHS
        if tensor.variants(device.target, path)
    ]
    claim(Estimate(min(shares), min(shares), min(shares)), note=f"{len(shares)} instructions")
