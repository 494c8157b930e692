"""K1 to K4, T7, T8: the rungs, of `ladder.cu`, `ladder_tiles.cu`, `ladder_registers.cu`, `ladder_cpu` and a library."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.kernel import Kernel, Source, Target
from roofline.library_source import Arithmetic, product
from roofline.model import Variant, Work

from . import ladder, ladder_cpu

NO_TILES = "its levels are those of a GPU: a CPU's caches decide themselves what they keep, so nothing asks for tiles"
NO_BLOCKS = "it is the upper rung of a CPU; a GPU has tiles in shared memory and in registers"
NO_LIBRARY = (
    "a library of a CPU pins and counts threads of its own, beside those of this suite: whose time it was could not be "
    "told"
)
THREADS = 256
# Loads of A and of B that a thread of the lowest rung has in flight.
IN_FLIGHT = (4, 8, 16)
# Columns of A and rows of B that a block brings in together.
DEPTHS = (8, 16)
# What the library computes with, the unit that does it, and the type of the arrays.
LIBRARY: dict[Arithmetic, tuple[str, str]] = {
    "fp32": ("fp32", "float32"),
    "fp16": ("tensor_fp16_fp32acc", "float16"),
}
# FP16 has 11 bits of mantissa: a sum is right to half a unit of its last place.
ROUNDED_TO_FP16 = 2.0**-11
SIZES = {"float32": 4, "float16": 2}


@cache
def text(*names: str) -> str:
    """The sources of these names, one after the other."""
    return "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)


def naive_source(target: Target, variant: Variant) -> CudaSource:
    """One thread an element, so many steps in the body of its loop, and one in that of what is left."""
    steps = variant.integer("steps")
    return CudaSource(
        text=text("ladder.cu"),
        entry=f"ladder::naive<{steps}, {THREADS}>",
        block=THREADS,
        expects={"fma": steps + 1, "mul": 0, "add": 0, "load_shared": 0, "store": 1, "spill": 0},
        threads=THREADS,
    )


def tile_source(target: Target, variant: Variant, tile: int) -> CudaSource:
    """Tiles of that side, a block of threads each."""
    return CudaSource(
        text=text("ladder.cu", "ladder_tiles.cu"),
        entry=f"ladder::tile<{tile}>",
        block=tile * tile,
        # two words of shared memory for each multiply-add: were they read as vectors, the count would be wrong
        expects={"fma": tile, "load_shared": 2 * tile, "mul": 0, "add": 0, "store": 1, "spill": 0},
        threads=tile * tile,
    )


def register_source(target: Target, variant: Variant) -> CudaSource:
    """Tiles in registers, by the depth of a step; and one multiply-add for matrices that cannot be read in fours.

    Each thread has half the registers that it could have, so that two blocks fit an SM, and a compiler puts aside what
    is only needed between two tiles; a test sees that it is no more than that.
    """
    depth = variant.integer("depth")
    words = 2 * ladder.EACH // 4
    return CudaSource(
        text=text("ladder.cu", "ladder_registers.cu"),
        entry=f"ladder::registers<{depth}, ladder::Nothing>",
        block=ladder.REGISTER_TILE**2,
        expects={"fma": depth * ladder.EACH**2 + 1, "load_shared": depth * words, "mul": 0, "add": 0},
        threads=THREADS,
    )


def depths(target: Target) -> Sequence[Variant]:
    """The depths worth trying."""
    return _on_cuda(target, [Variant(f"128x128x{depth}", {"depth": depth}) for depth in DEPTHS])


def _on_cuda(target: Target, variants: Sequence[Variant]) -> Sequence[Variant]:
    return tuple(variants) if target.kind == "cuda" else ()


def _rung(
    name: str,
    level: str,
    work: Callable[[int], Work],
    variants: Sequence[Variant],
    source: Callable[[Target, Variant], Source],
) -> Kernel:
    return Kernel(
        experiment=ladder.EXPERIMENT,
        name=name,
        unit="fp32",
        level=level,
        work=work,
        variants=lambda target: _on_cuda(target, variants),
        sources={"cuda": source},
        reference=lambda arrays, launches: [ladder.product(arrays)],
        arrays=3,
        memory="own",
        size=lambda elements: ladder.SIDE**2,
        unsupported={"cpu": NO_TILES},
    )


def naive() -> Kernel:
    """K1: the lowest rung, on a CPU too."""
    forms = [Variant(f"{steps}-in-flight", {"steps": steps}) for steps in IN_FLIGHT]
    scalars = (Variant("scalar"),)
    large = replace(
        _rung("matmul-naive", "l1", ladder.naive, forms, naive_source),
        variants=lambda target: forms if target.kind == "cuda" else scalars,
        sources={"cuda": naive_source, "cpu": ladder_cpu.naive},
        unsupported={},
    )
    small = replace(large, size=lambda elements: ladder.CPU_SIDE**2)
    return replace(large, fitted=lambda device: large if device.kind == "cuda" else small)


def blocked() -> Kernel:
    """K3 on a CPU: the product in tiles that lie in registers."""
    return replace(
        _rung("matmul-blocked", "l1", ladder.blocked, (), register_source),
        variants=ladder_cpu.variants,
        sources={"cpu": ladder_cpu.blocked},
        size=lambda elements: ladder.CPU_SIDE**2,
        unsupported={"cuda": NO_BLOCKS},
    )


def tile(side: int) -> Kernel:
    """K2: the product in tiles of `side` × `side`."""
    return _rung(
        f"matmul-tile-{side}",
        "l2",
        lambda n: ladder.tiled(n, side),
        [Variant(f"{side}x{side}")],
        lambda target, variant: tile_source(target, variant, side),
    )


def registers() -> Kernel:
    """K3: the product in tiles that lie in registers."""
    variants = [Variant(f"128x128x{depth}", {"depth": depth}) for depth in DEPTHS]
    return _rung("matmul-registers", "l2", ladder.registers, variants, register_source)


def library(arithmetic: Arithmetic) -> Kernel:
    """T7, T8: the product as the vendor's library makes it."""
    unit, dtype = LIBRARY[arithmetic]
    return Kernel(
        experiment=ladder.EXPERIMENT,
        name=f"matmul-library-{arithmetic}",
        unit=unit,
        level="dram",
        work=lambda n: ladder.library(n, unit, SIZES[dtype]),
        variants=lambda target: _on_cuda(target, [Variant("library")]),
        sources={"cuda": lambda target, variant: product(arithmetic)},
        reference=lambda arrays, launches: [ladder.product(arrays)],
        arrays=3,
        dtype=dtype,
        memory="own",
        size=lambda elements: ladder.SIDE**2,
        tolerance=ROUNDED_TO_FP16 if dtype == "float16" else 0.0,
        tolerance_reason="sums of small integers are exact in FP32, and rounded once to the type of the array",
        unsupported={"cpu": NO_LIBRARY},
    )


def rungs() -> Iterator[Kernel]:
    """The ladder in FP32, from the lowest rung up."""
    yield naive()
    yield from (tile(side) for side in ladder.TILES)
    yield registers()
    yield library("fp32")


def every_kernel() -> Iterator[Kernel]:
    """Each rung, the library's product in FP16, and the upper rung of a CPU."""
    yield from rungs()
    yield library("fp16")
    yield blocked()
