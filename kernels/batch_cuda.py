"""K5 on a GPU: the layers by `batch.cu` for few vectors, by the vendor's library for many, by both in between."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.kernel import Kernel, Target
from roofline.library_source import LibrarySource, layers
from roofline.model import Variant

from . import batch
from .dial_cuda import compute_capability

NO_CPU = "it asks when tensor cores have enough to do, and a CPU has none"
NO_INSTRUCTION = "its matrix instruction, 16 × 8 × 16 in FP16, is that of sm_80 and later"
# Stripes of 16 rows, warps of a block, columns that a warp reads at a time, and whether there are only as many blocks
# as fit the card, which then load their next rows before they put these together; best guess first.
FORMS = ((2, 4, 64, False), (1, 4, 128, True), (1, 8, 128, True), (2, 4, 64, True))
DEPTH, GROUP = 16, 8  # columns and vectors of an instruction
FP16_ROUNDING = 2.0**-11


@cache
def text() -> str:
    """The source that every instance is made from."""
    return Path(__file__).with_name("batch.cu").read_text(encoding="utf-8")


def variants(target: Target) -> tuple[Variant, ...]:
    """The forms, where there is the instruction."""
    if target.kind != "cuda" or compute_capability(target.architecture) < 80:
        return ()
    return tuple(
        Variant(
            f"{16 * s}x{c}-{w}-warps{'-resident' if resident else ''}",
            {"stripes": s, "warps": w, "columns": c, "resident": resident},
        )
        for s, w, c, resident in FORMS
    )


def own_source(target: Target, variant: Variant, vectors: int) -> CudaSource:
    """One form for so many vectors: a block for so many rows of a layer."""
    stripes, warps, columns = (variant.integer(name) for name in ("stripes", "warps", "columns"))
    return CudaSource(
        text=text(),
        entry=f"batch::layers<{vectors}, {stripes}, {warps}, {columns}>",
        block=16 * stripes * batch.SIDE,
        expects={"mma": columns // DEPTH * stripes * -(-vectors // GROUP), "spill": 0},
        threads=32 * warps,
        blocks_per_sm="full" if variant["resident"] else None,
    )


def library_source(target: Target, variant: Variant, vectors: int) -> LibrarySource:
    """One call for all layers."""
    return layers(lambda n: batch.shape(n, vectors))


def library_variants(target: Target) -> tuple[Variant, ...]:
    """The library chooses its own."""
    return (Variant("library"),) if target.kind == "cuda" else ()


def kernel(vectors: int, library: bool) -> Kernel:
    """The layers for so many vectors, by the library or by our own kernel."""
    write = library_source if library else own_source
    return Kernel(
        experiment=batch.EXPERIMENT,
        name=batch.name(vectors, library),
        unit=batch.UNIT,
        level="dram",
        work=lambda n: batch.work(n, vectors),
        variants=library_variants if library else variants,
        sources={"cuda": lambda target, variant: write(target, variant, vectors)},
        reference=lambda arrays, launches: [batch.product(arrays, vectors)],
        arrays=3,
        dtype="float16",
        memory="own",
        size=lambda elements: batch.LAYERS * batch.SIDE**2,
        tolerance=FP16_ROUNDING,
        tolerance_reason="sums of small integers are exact in FP32 and rounded once, to FP16",
        unsupported={"cpu": NO_CPU, "cuda": NO_INSTRUCTION},
    )


def every_kernel() -> Iterator[Kernel]:
    """Each batch by our own kernel where that can keep up, and by the library where that can."""
    yield from (kernel(vectors, library=False) for vectors in batch.BATCHES if vectors <= batch.LARGEST_OWN)
    yield from (kernel(vectors, library=True) for vectors in batch.BATCHES if vectors >= batch.LEAST_OF_LIBRARY)
