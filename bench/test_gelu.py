"""K8: GELU after a product, as a kernel of its own and in the epilogue of the product.

As a kernel of its own it reads 64 MiB and writes them again, at an intensity of 2.5, and takes a launch; in the
epilogue the elements are still in registers. The product is our own, the same machine code with and without, so that
the difference is what fusing costs. The library's stands beside it and is claimed nothing of: its epilogue is not ours.
"""

import pytest

from roofline.claims import Prediction, within
from roofline.kernels import gelu, gelu_cuda, ladder
from roofline.model import Device, Estimate, Expectation

pytestmark = pytest.mark.bench

ALONE, BARE, FUSED, FOLLOWED = (
    make().name for make in (gelu_cuda.alone, gelu_cuda.bare, gelu_cuda.fused, gelu_cuda.followed)
)
SAVED = gelu.saved_bytes(ladder.SIDE**2)


@pytest.mark.parametrize("kernel", [*gelu_cuda.every_kernel()], ids=lambda kernel: kernel.name)
def test_gelu(kernel, measure):
    """GELU alone, our product bare, fused and followed by GELU, and the library's bare and fused."""
    measure(kernel)


@pytest.fixture
def row(rows):
    """`row(name)`: the row of a kernel of this experiment."""
    return lambda name: rows(gelu.EXPERIMENT, name)[0]


@pytest.mark.predicts(
    Prediction(
        "K8",
        "GELU alone is a pass over memory: share of its slope",
        formula=within(0.85, 1.05, "2.5 FLOP/B lies left of every ridge; 30 µs begin and end slower than they run"),
    )
)
def test_gelu_alone_is_bound_by_memory(claim, row, roofline):
    """K8: at an intensity of 2.5 the arithmetic of GELU takes no time of its own."""
    _, _, share = roofline.share(row(ALONE))
    claim(share, [row(ALONE)], note=f"intensity {row(ALONE).work.intensity():g}")


@pytest.mark.predicts(
    Prediction(
        "K8",
        "the product with GELU in its epilogue over that without: time",
        formula=within(0.97, 1.03, "20 FLOPs an element beside 8192, and not a byte more"),
    )
)
def test_an_epilogue_costs_next_to_nothing(claim, row):
    """K8: the same machine code takes as long with GELU in its epilogue as without."""
    claim(row(FUSED).seconds.over(row(BARE).seconds), [row(BARE), row(FUSED)])


def a_pass_and_a_launch(device: Device):
    """What a kernel of its own takes beyond the fused one, in passes of `SAVED` bytes over DRAM.

    A last cache holds a part of what the product has just written, so as much need not come from DRAM, nor go there.
    """
    kept = min(1.0, 2.0 * (device.cache_bytes or 0) / SAVED)
    source = "formula: 8 N² bytes over bandwidth and a launch, less what the last cache still holds of C"
    return Expectation(0.9 * (1 - kept), 2.0, source)


@pytest.mark.predicts(
    Prediction("K8", "time that the epilogue saves over that of a pass over C", formula=a_pass_and_a_launch)
)
def test_the_epilogue_saves_a_pass_over_memory_and_a_launch(claim, row, roofline):
    """K8: fused, the product is neither read again nor written again, and one launch is not made."""
    apart, fused = row(FOLLOWED), row(FUSED)
    a_pass = SAVED / roofline.ceiling("dram").rate
    claim(difference(apart.seconds, fused.seconds).over(a_pass), [apart, fused], note=f"a pass: {a_pass * 1e6:.1f} µs")


def difference(more: Estimate, less: Estimate) -> Estimate:
    """What one time is longer than another."""
    return Estimate(more.value - less.value, more.low - less.high, more.high - less.low)
