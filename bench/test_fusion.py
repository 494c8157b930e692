"""L1, L2: layer norm as six elementary kernels, each at its roof, and fused: the ratio that the bytes predict."""

import pytest

from roofline.claims import Prediction, within
from roofline.kernels import fusion, kernels_of
from roofline.model import Device, Estimate, Expectation

pytestmark = pytest.mark.bench

# What a launch of 268 MB loses at its start and end to the gigabyte by which the slopes are measured is within this.
LEAST, MOST = {"cuda": 0.9, "cpu": 0.75, "fake": 0.75}, 1.15
STEPS = [step.name for step in fusion.STEPS]


def here(kernel):
    """A kernel as a parameter: the steps are of the short run on a GPU alone, where each takes a third of a second."""
    elementary = not kernel.name.startswith(fusion.FUSED)
    marks = [pytest.mark.full] if elementary and "cuda" not in kernel.sources else []
    return pytest.param(kernel, id=kernel.name, marks=marks)


@pytest.mark.parametrize("kernel", [here(kernel) for kernel in kernels_of("fusion")])
def test_fusion(kernel, measure):
    """One elementary step, or all of them fused."""
    measure(kernel)


def kinds(*marks, steps: bool = False):
    """Parameters for a claim: a GPU, or a CPU, where one about the steps is of the long run."""
    long = [pytest.mark.full] if steps else []
    return [
        pytest.param("cuda", marks=[pytest.mark.devices("cuda"), *marks]),
        pytest.param("cpu", marks=[pytest.mark.devices("cpu", "fake"), *long, *marks]),
    ]


def measured(rows, name: str, kind: str):
    """The row of a step or of the fused kernel, whose name on a CPU also says how it stores."""
    (kernel,) = (each.name for each in kernels_of("fusion") if kind in each.sources and each.name.startswith(name))
    (row,) = rows("fusion", kernel)
    return row


def near(step: str) -> Prediction:
    """The prediction that a step takes as long as a bare stream of its passes."""

    def share(device: Device) -> Expectation:
        return Expectation(LEAST[device.kind], MOST, "formula: memory-bound, passes over bandwidth")

    return Prediction("L1", f"layer norm, elementary: {step} over the bandwidth of its mix", formula=share)


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        pytest.param(step, *parameter.values, marks=parameter.marks)
        for step in STEPS
        for parameter in kinds(pytest.mark.predicts(near(step)), steps=True)
    ],
)
def test_each_step_is_at_its_own_roof(claim, step, kind, rows, roofline):
    """L1: no step wastes anything: what wastes is that there are six."""
    row = measured(rows, step, kind)
    slope = roofline.ceiling(row.work.slope("dram")).estimate
    claim(row.beside or row.bytes_per_s().over(slope), [row])


TEN_PASSES = Prediction(
    "L1", "bytes of six kernels over those of the fused one", formula=within(5, 5, "10 passes over 2")
)


@pytest.mark.parametrize("kind", kinds(pytest.mark.predicts(TEN_PASSES), steps=True))
def test_ten_passes_against_two(claim, kind, rows):
    """L1, L2: two steps read and four read and write, ten passes in all; fused, one read and one write."""
    steps, fused = [measured(rows, step, kind) for step in STEPS], measured(rows, fusion.FUSED, kind)
    claim(sum(row.work.moved("dram") for row in steps) / fused.work.moved("dram"), [*steps, fused])


def as_the_bytes_say(device: Device) -> Expectation:
    """Five, less what a pass that only reads gains; a CPU's fused kernel computes where its memory may idle."""
    if device.kind == "cuda":
        return Expectation(4.5, 5.5, "formula: 10 passes over 2, a pass that only reads up to a quarter faster")
    return Expectation(2.0, 6.0, "formula: 10 passes over 2, and the fused kernel down to 2/5 of its slope")


FIVE_TIMES = Prediction("L2", "time of six kernels over that of the fused one", formula=as_the_bytes_say)


@pytest.mark.parametrize("kind", kinds(pytest.mark.predicts(FIVE_TIMES), steps=True))
def test_fused_is_as_much_faster_as_its_bytes_are_fewer(claim, kind, rows):
    """L2: five times faster, and memory-bound as before, at the algorithm's own intensity."""
    steps, fused = [measured(rows, step, kind) for step in STEPS], measured(rows, fusion.FUSED, kind)
    seconds = [row.seconds for row in steps]
    six = Estimate(*(sum(getattr(each, side) for each in seconds) for side in ("value", "low", "high")))
    claim(six.over(fused.seconds), [*steps, fused])


def slack(device: Device) -> Expectation:
    """Memory-bound: left of the ridge, by the slope of a copy."""
    least = {"cuda": 0.9, "cpu": 0.4, "fake": 0.4}[device.kind]
    return Expectation(least, MOST, "formula: one read and one write")


STILL_BOUND = Prediction("L2", "layer norm, fused, over the bandwidth of a copy", formula=slack)


@pytest.mark.parametrize("kind", kinds(pytest.mark.predicts(STILL_BOUND)))
def test_the_fused_kernel_is_still_bound_by_the_memory(claim, kind, rows, roofline):
    """L2: at 1 FLOP a byte it lies far left of the ridge, and is done when its bytes are."""
    row = measured(rows, fusion.FUSED, kind)
    claim(row.beside or row.bytes_per_s().over(roofline.ceiling(row.work.slope("dram")).estimate), [row])
