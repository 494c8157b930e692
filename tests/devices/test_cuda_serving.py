"""On a real card: attention whose softmax is no single key, and layers of their real size, over many blocks."""

from collections.abc import Iterator

import numpy as np
import pytest

from roofline.devices.base import Launch
from roofline.devices.cuda import open_cuda, why_no_cuda
from roofline.kernel import Kernel
from roofline.kernels import attention, attention_cuda, batch_cuda

pytestmark = [
    pytest.mark.correctness,
    pytest.mark.skipif(why_no_cuda() is not None, reason=f"no CUDA device: {why_no_cuda()}"),
]
LONG, GROUPED = attention.CORE_DECODING, attention.GROUPED
WIDTH = attention.WIDTH
# Values of [-1, 1): weights in FP16 err by 2^-11, scores below 2^3 by nothing beside that, results once more by 2^-11.
OF_ATTENTION = 2.0**-10
# Sums of up to 4096 products of [0, 0.05) in FP32, rounded once.
OF_LAYERS = 2.0**-10


@pytest.fixture(scope="module")
def card() -> Iterator:
    backend = open_cuda("0")
    yield backend
    backend.close()


def largest_error(card, kernel: Kernel, n: int, low: float, high: float, launches: int) -> float:
    """Over all variants, after so many launches on the same arrays; no result is NaN."""
    drawn = np.random.default_rng(7)
    host = [(low + (high - low) * drawn.random(n, np.float32)).astype(np.float16) for _ in range(kernel.arrays)]
    (want,) = kernel.reference(host, 1)
    errors = []
    for binary in card.build(kernel, kernel.variants(card.target)):
        buffers = card.bind(host)
        card.run(Launch(binary, buffers, n), launches)
        (have,) = kernel.observe(card.read_back(buffers))
        card.free(buffers)
        assert np.isfinite(have).all()
        errors.append((np.abs(have.astype(np.float64) - want) / np.maximum(1, np.abs(want))).max())
    return max(errors)


@pytest.mark.parametrize("of", [LONG, GROUPED], ids=lambda of: of.name)
def test_decoding_puts_together_what_its_blocks_weighed(card, of):
    """K6: two whole caches and a third that ends inside a block; later launches find counters as the first did."""
    n = (2 * of.context + 700) * WIDTH + 5
    assert largest_error(card, attention_cuda.decode(of), n, -1.0, 1.0, launches=3) < OF_ATTENTION


@pytest.mark.parametrize("name", attention_cuda.PREFILLS)
def test_prefill_agrees_where_many_keys_count(card, name):
    """K7: a prompt that ends inside a tile of queries and of keys, longer than one of either."""
    assert largest_error(card, attention_cuda.prefill(name), 1001 * WIDTH + 5, -1.0, 1.0, launches=1) < OF_ATTENTION


@pytest.mark.parametrize(("vectors", "library", "layers"), [(1, False, 2), (16, False, 1), (16, True, 2)])
def test_layers_of_their_real_size_agree(card, vectors, library, layers):
    """K5: layers of 4096 × 4096, each with vectors of its own."""
    n = layers * 4096**2 + 999
    assert largest_error(card, batch_cuda.kernel(vectors, library), n, 0.0, 0.05, launches=1) < OF_LAYERS
