"""R4, A8 on a GPU: chains of FMAs in each thread times warps on each SM, from one of each to enough of both.

The code is that of the experiment `chains`; each SM gets one block, so its warps are exactly those of the block. Full
SMs, and one chain alone on each scheduler, are rows of `chains`.
"""

from collections.abc import Iterator

from roofline.kernel import Kernel

from . import chains_cuda

CHAINS = chains_cuda.FULL
# Up to the largest block there is. An SM holds 32 to 64 warps, by architecture: "full" in `chains` is the next number.
WARPS = (1, 2, 4, 8, 16, 32)


def every_kernel() -> Iterator[Kernel]:
    """Every number of chains with every number of warps that `chains` does not measure already."""
    for chains in CHAINS:
        for warps in WARPS:
            if (chains, warps) != (1, chains_cuda.FOUR_WARPS):
                yield chains_cuda.kernel(chains, warps, experiment="independence")
