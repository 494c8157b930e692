"""B: the tensor-core peak of every type that the card multiplies, by its best instruction; the others with `full`.

Operands stay in registers or, where the instruction wants them there, in shared memory: nothing comes from DRAM (B1).
Random data is the figure of record, held for a second; zeros beside it show what the card clocks to when fewer
transistors switch, and the bursts what it does before its power limit lowers the clock.
"""

from dataclasses import replace

import pytest

from roofline.checking import exact_share
from roofline.claims import NotApplicable, Prediction
from roofline.kernel import Target
from roofline.kernels import tensor, tensor_paths, tensor_types
from roofline.model import Ceiling, Device, Estimate, Expectation

pytestmark = [pytest.mark.bench, pytest.mark.devices("cuda")]

# What counts as the same rate with either accumulator, and as twice it.
SAME, DOUBLE = (0.95, 1.12), (1.85, 2.1)
# The share of its roof that the portable, warp-level instruction reaches, by family.
PORTABLE = {"sm_90": (0.55, 0.85)}
# Both rates of a ratio are what the units do each clock, so what is left is how well two loops keep them busy.
AS_PROMISED = 0.04
FP16 = tensor_types.BY_NAME["fp16_fp32acc"]


def named(kernel):
    """A kernel by name, and by what its operands hold where that is not the rule."""
    return kernel.name if kernel.fill == "random" else f"{kernel.name}-{kernel.fill}"


def kind_of(kernel):
    """The type that a kernel multiplies."""
    return tensor_types.BY_NAME[kernel.unit.removeprefix("tensor_")]


def each_type(prediction, kinds=tensor_types.TYPES):
    """A parameter for each type, with the prediction that is made for it."""
    return [pytest.param(kind, marks=pytest.mark.predicts(prediction(kind)), id=kind.name) for kind in kinds]


@pytest.mark.parametrize(
    "kernel",
    [tensor.kernel(tensor_paths.paths_of(kind)[-1], kind) for kind in tensor_types.TYPES],
    ids=lambda k: k.unit,
)
def test_tensor(kernel, measure, device):
    """R8: the roof of one type by the best instruction of this card; absent where it has none."""
    measure(tensor.best(kind_of(kernel), device.target))


# What another instruction of the same card passes sets no roof, even where it is measured alone.
OTHER_WAYS = [replace(kernel, measures=()) for kernel in tensor.every_kernel()]


@pytest.mark.full
@pytest.mark.parametrize("kernel", OTHER_WAYS, ids=named)
def test_other_ways(kernel, measure, device):
    """The instructions that this card has and another of its own passes, and operands of zeros."""
    if not kernel.variants(device.target):
        pytest.skip(kernel.unsupported["cuda"])
    if kernel.fill == "random" and kernel.name == tensor.best(kind_of(kernel), device.target).name:
        pytest.skip("its best instruction, measured as such")
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
    best = tensor_paths.best_path(Target("cuda", device.architecture), FP16)
    if best != "mma":
        return NotApplicable(
            f"the roof of this family needs {best}, and what a warp's instruction reaches is not known"
        )
    return Expectation(0.85, 1.02, "family: the instruction of a warp is the best there is")


@pytest.mark.full
@pytest.mark.predicts(Prediction("B3", "WMMA over the FP32-accumulate peak", family=portable))
def test_the_portable_instruction_reaches_its_share(claim, roofline, rows):
    """B3: 85 to 95 % of the peak where a warp's instruction is the best, clearly less where a warpgroup's is."""
    (wmma,) = rows("tensor", "wmma-fp32acc")
    claim(wmma.flop_per_s.over(roofline.ceiling("tensor_fp16_fp32acc").rate), [wmma])


def at_its_clock(kind):
    """The share of the nominal rate at the clock that the card really had."""

    def expected(device: Device):
        if kind.unit not in device.nominal:
            return NotApplicable(f"no source says what this card's tensor cores do each clock in {kind.spoken}")
        return Expectation(
            0.95, 1.02, "formula: SMs × operations a clock (white papers) × the clock measured meanwhile"
        )

    return Prediction("B1", f"{kind.spoken}: peak over the limit at its own clock", formula=expected)


def at_rated_clock(ceiling: Ceiling | None) -> Estimate | None:
    """A peak as it would be at the rated clock, None where it was not measured or no clock was read."""
    if ceiling is None or ceiling.at_rated_clock is None:
        return None
    scale = ceiling.at_rated_clock / ceiling.rate
    return Estimate(*(scale * side for side in (ceiling.rate, ceiling.low, ceiling.high)))


NO_PEAK = "no peak, or no clock during it"


@pytest.mark.parametrize("kind", each_type(at_its_clock))
def test_the_peak_is_that_of_the_units(claim, roofline, rows, device, kind):
    """B1: with nothing to wait for, the loop runs at what the units do each clock."""
    measured, nominal = rows("tensor"), device.device.nominal.get(kind.unit)
    peak = at_rated_clock(roofline.ceilings.get(kind.unit))
    claim(peak.over(nominal.rate) if peak and nominal else None, measured, note="" if peak else NO_PEAK)


def beside_fp16(kind):
    """The ratio of two types in what one family does each clock."""

    def expected(device: Device):
        rated, base = device.nominal.get(kind.unit), device.nominal.get(FP16.unit)
        if rated is None or base is None:
            return NotApplicable(f"no source says what this card's tensor cores do each clock in {kind.spoken}")
        ratio = rated.rate / base.rate
        source = f"family: {ratio:g} (NVIDIA's architecture white papers)"
        return Expectation((1 - AS_PROMISED) * ratio, (1 + AS_PROMISED) * ratio, source)

    return Prediction("R8", f"{kind.spoken} over {FP16.spoken}, both at the rated clock", family=expected)


OTHERS = tuple(kind for kind in tensor_types.TYPES if not kind.name.startswith("fp16"))


@pytest.mark.parametrize("kind", each_type(beside_fp16, OTHERS))
def test_each_type_has_a_roof_of_its_own(claim, roofline, rows, kind):
    """R8: BF16 as FP16, TF32 half of it, FP8 and INT8 twice, FP64 a sixteenth on data-centre Hopper."""
    measured = rows("tensor")
    peak, base = (at_rated_clock(roofline.ceilings.get(unit)) for unit in (kind.unit, FP16.unit))
    claim(peak.over(base) if peak and base else None, measured, note="" if peak and base else NO_PEAK)


def exactly(kind):
    """Each step adds the same whole number of the smallest product, so the accumulators count steps."""

    def expected(device: Device):
        target = Target("cuda", device.architecture)
        path = tensor_paths.best_path(target, kind)
        if not tensor_paths.variants(target, path, kind):
            return NotApplicable(tensor_paths.missing(path, kind))
        return Expectation(1, 1, f"formula: {kind.counts_to} steps × {kind.terms} terms = {kind.counted:g}")

    return Prediction("B4", f"{kind.spoken}: accumulators that count their steps exactly", formula=expected)


@pytest.mark.parametrize("kind", each_type(exactly))
def test_every_accumulator_counts_its_steps(claim, device, kind):
    """B4: on ones every step adds as much; FP16 counts to 2048, FP8 on Hopper to 2^14 times one product."""
    path = tensor_paths.best_path(device.target, kind)
    counting = tensor.kernel(path, kind, repeats=kind.counts_to, period=kind.counts_to)
    if not counting.variants(device.target):
        claim(None)
    claim(exact_share(device, counting, kind.counted), note=path)
