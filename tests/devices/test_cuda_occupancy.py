"""On a real card: a grid of so many blocks for each SM puts exactly so many on each."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from roofline.cuda_source import CudaSource
from roofline.devices.base import Launch
from roofline.devices.cuda import open_cuda, why_no_cuda
from roofline.kernels import chains_cuda
from roofline.model import Variant

pytestmark = [
    pytest.mark.correctness,
    pytest.mark.skipif(why_no_cuda() is not None, reason=f"no CUDA device: {why_no_cuda()}"),
]

# Each block notes the SM that it runs on, and stays long enough for all to be there at once.
WHERE = """
extern "C" __global__ void where(float* y, unsigned long long n, unsigned repeats, float a, float b) {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const long long began = clock64();
    while (clock64() - began < 200000) {
    }
    if (threadIdx.x == 0 && blockIdx.x < n) y[blockIdx.x] = float(sm);
}
"""


@pytest.fixture(scope="module")
def card():
    backend = open_cuda("0")
    yield backend
    backend.close()


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16, 32])
def test_one_block_an_sm_is_on_each_of_them(card, warps):
    """R4: so the warps of an SM are those of the block, and none is on an SM that another block has."""
    source = CudaSource(text=WHERE, entry="where", threads=32 * warps, blocks_per_sm=1)
    kernel = replace(chains_cuda.kernel(1, warps), arrays=1, sources={"cuda": lambda target, variant: source})
    (binary,) = card.build(kernel, [Variant("where")])
    buffers = card.bind([np.full(2 * card.device.cores, -1, np.float32)])
    card.run(Launch(binary, buffers, 2 * card.device.cores), 1)
    (sms,) = card.read_back(buffers)
    card.free(buffers)
    assert Counter(Counter(sms[sms >= 0]).values()) == {1: card.device.cores}
