"""GELU after a product: what it is, how each way to do it is counted, and what must come out."""

from math import erf, sqrt

import numpy as np
import pytest

from roofline.checking import AWKWARD, example_inputs
from roofline.kernel import Target
from roofline.kernels import gelu, gelu_cuda, ladder

pytestmark = pytest.mark.correctness

N = 4096**2
HOPPER = Target("cuda", "sm_90a", registers=255)


def test_gelu_alone_has_intensity_two_and_a_half():
    """K8: 20 FLOPs for a float read and a float written."""
    assert gelu.alone(N).intensity() == 2.5


def test_fused_a_product_saves_128_mib():
    """K8: the 64 MiB of C are neither read again nor written again, at DRAM and at L2."""
    fused, apart = gelu_cuda.fused().work(N), gelu_cuda.followed().work(N)
    for level in ("dram", "l2"):
        assert apart.moved(level) - fused.moved(level) == gelu.saved_bytes(N) == 128 << 20
    assert apart.flops == fused.flops == 2 * 4096**3 + 20 * 4096**2


def test_an_epilogue_moves_what_the_bare_product_moves():
    """K8: not a byte more at any level."""
    assert gelu_cuda.fused().work(N).traffic == gelu_cuda.bare().work(N).traffic


def test_apart_takes_one_launch_more():
    """K8: the same product, and a function that follows each launch of it."""
    bare, apart = (source(make()) for make in (gelu_cuda.bare, gelu_cuda.followed))
    assert bare.entry == apart.entry
    assert bare.then is None
    assert apart.then is not None


def test_with_and_without_its_epilogue_the_product_is_the_same_code():
    """K8: only a scalar tells them apart, so that their difference is what GELU costs."""
    bare, fused = gelu_cuda.bare(), gelu_cuda.fused()
    assert source(bare) == source(fused)
    assert (bare.scalars, fused.scalars) == ((0.0, 0.0), (1.0, 0.0))


def source(kernel):
    """Its code for one card, in its first form."""
    return kernel.sources["cuda"](HOPPER, kernel.variants(HOPPER)[0])


@pytest.mark.parametrize("x", [-9.0, -3.0, -0.5, 0.0, 1e-3, 0.7, 2.0, 30.0])
def test_the_tanh_form_is_near_the_exact_one(x):
    """GELU is x times the normal distribution's share below x; the tanh form differs by less than 5e-4."""
    assert gelu.gelu(np.asarray(x)) == pytest.approx(x * (1 + erf(x / sqrt(2))) / 2, abs=5e-4)


@pytest.mark.parametrize("x", [-1e30, -1e4, 1e4, 1e30])
def test_gelu_of_extreme_values_is_finite(x):
    """Far below zero it is 0, far above it is x."""
    with np.errstate(over="ignore"):
        assert gelu.gelu(np.asarray(x)) == max(x, 0.0)


@pytest.mark.parametrize("n", AWKWARD)
def test_gelu_of_a_product_leaves_what_no_square_holds(n):
    """A9: elements beyond the largest square stay as they were."""
    arrays = example_inputs(gelu_cuda.fused(), n)
    result, rows = gelu.of_product(arrays), ladder.side(n)
    assert np.array_equal(result[: rows**2], gelu.gelu(ladder.product(arrays)[: rows**2]))
    assert np.array_equal(result[rows**2 :], arrays[2][rows**2 :])


@pytest.mark.parametrize("kernel", [*gelu_cuda.every_kernel()], ids=lambda kernel: kernel.name)
def test_a_cpu_has_none_of_it_for_a_reason(kernel):
    """Absent, with what there is to say about it."""
    assert kernel.unsupported["cpu"]
    assert kernel.variants(Target("cpu", "x86-64-v3")) == ()
