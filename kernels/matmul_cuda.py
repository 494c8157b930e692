"""K2 on a GPU: the product in shared-memory tiles of `matmul.cu`, the second rung of the ladder of reuse."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.kernel import Kernel, Target
from roofline.model import Variant

from . import matmul

NO_CPU = "its levels are those of a GPU: a CPU's caches decide themselves what they keep, so nothing asks for tiles"


@cache
def text() -> str:
    """The source that every instance is made from."""
    return Path(__file__).with_name("matmul.cu").read_text(encoding="utf-8")


def source(target: Target, variant: Variant, tile: int) -> CudaSource:
    """Tiles of that side, a block of threads each."""
    return CudaSource(
        text=text(),
        entry=f"matmul::tile<{tile}>",
        block=tile * tile,
        # two words of shared memory for each multiply-add: were they read as vectors, the count would be wrong
        expects={"fma": tile, "load_shared": 2 * tile, "mul": 0, "add": 0, "store": 1, "spill": 0},
        threads=tile * tile,
    )


def kernel(tile: int) -> Kernel:
    """The product in tiles of `tile` × `tile`."""
    return Kernel(
        experiment="matmul",
        name=f"matmul-tile-{tile}",
        unit="fp32",
        level="l2",
        work=lambda n: matmul.tiled(n, tile),
        variants=lambda target: (Variant(f"{tile}x{tile}"),) if target.kind == "cuda" else (),
        sources={"cuda": lambda target, variant: source(target, variant, tile)},
        reference=lambda arrays, launches: [matmul.product(arrays)],
        arrays=3,
        memory="own",
        size=lambda elements: matmul.SIDE**2,
        unsupported={"cpu": NO_CPU},
    )


def every_kernel() -> Iterator[Kernel]:
    """A kernel for each side of a tile."""
    return (kernel(tile) for tile in matmul.TILES)
