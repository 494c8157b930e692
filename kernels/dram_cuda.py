"""DRAM ceilings on a GPU: read, write, copy and triad, by the shapes of `dram.cu`.

One way to store: a GPU writes whole sectors without reading them first, so what is asked for is what moves.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from roofline.cuda_source import CudaSource
from roofline.kernel import Array, Kernel, Target
from roofline.model import Traffic, Variant, Work

SCALARS = (0.5, 0.5)
# A read leaves a partial sum at every element whose number this divides, so that each tile has at least one.
GRAIN = 4096
# Loads of 16 bytes a thread and threads a block: few and many bytes a block, which is best differs by card and pattern.
SHAPES = ((1, 256), (1, 128), (1, 1024), (2, 128), (4, 256))
# A read's tiles are whole grains. "spread": a thread's loads come from equal parts of the array, a grain of each a
# block; "looped": one wave of so many blocks an SM (the last number) that loop over the tiles.
READS = (("spread", 4, 1024), ("spread", 2, 1024), ("", 4, 512), ("", 8, 256), ("looped", 4, 512, 4))


@dataclass(frozen=True)
class Pattern:
    """Which arrays a kernel reads and writes, per element, and what comes out."""

    name: str
    measures: str
    reads: int
    writes: int
    flops: int
    reference: Callable[[Sequence[Array]], Array]

    @property
    def arrays(self) -> int:
        """Arrays in, then the one that is left. A write has one before it too: the first stays random for others."""
        return max(self.reads, 1) + 1


def _sum(arrays: Sequence[Array]) -> Array:
    return np.asarray(arrays[0].sum(dtype=np.float64))


def _triad(arrays: Sequence[Array]) -> Array:
    return arrays[0].astype(np.float64) + SCALARS[0] * arrays[1].astype(np.float64)


PATTERNS = (
    Pattern("read", "dram_read", 1, 0, 1, _sum),
    Pattern("write", "dram_write", 0, 1, 0, lambda arrays: np.full(arrays[-1].shape, SCALARS[0])),
    Pattern("copy", "dram", 1, 1, 0, lambda arrays: arrays[0].astype(np.float64)),
    Pattern("triad", "dram_triad", 2, 1, 2, _triad),
)


def variants(target: Target, pattern: Pattern) -> Sequence[Variant]:
    """Every shape of that pattern."""
    if target.kind != "cuda":
        return ()
    shapes = READS if pattern.name == "read" else tuple(("", *shape) for shape in SHAPES)
    return tuple(_variant(*shape) for shape in shapes)


def _variant(order: str, loads: int, threads: int, blocks: int = 0) -> Variant:
    name = f"{order or 'vectors'}-{loads}x{threads}" + (f"x{blocks}" if blocks else "")
    return Variant(name, {"order": order, "loads": loads, "threads": threads, "blocks": blocks})


@cache
def text() -> str:
    """The source that every instance is made from."""
    return Path(__file__).with_name("dram.cu").read_text(encoding="utf-8")


def source(target: Target, variant: Variant, pattern: Pattern) -> CudaSource:
    """One shape of one pattern."""
    loads, threads = variant.integer("loads"), variant.integer("threads")
    order = f"_{variant['order']}" if variant["order"] else ""
    moves = {"load": loads * pattern.reads, "store": loads * pattern.writes} if pattern.writes else {"load": loads}
    return CudaSource(
        text=text(),
        entry=f"dram::{pattern.name}{order}<{loads}, {threads}>",
        block=4 * loads * threads,
        expects={**moves, "spill": 0},
        threads=threads,
        tail=f"dram::{pattern.name}_tail",
        blocks_per_sm=variant.integer("blocks") or None,
    )


def kernel(pattern: Pattern) -> Kernel:
    """The kernel of one pattern."""

    def work(n: int) -> Work:
        return Work(
            flops=float(pattern.flops * n),
            unit="fp32",
            traffic={"dram": Traffic(read=4.0 * pattern.reads * n, written=4.0 * pattern.writes * n)},
            slopes={"dram": pattern.measures},
            convention="each element read or written once; a read's partial sums (one in 4096) are not counted",
        )

    def observe(arrays: Sequence[Array]) -> Sequence[Array]:
        last = arrays[-1]
        return [np.asarray(last[::GRAIN].sum(dtype=np.float64))] if pattern.name == "read" else [last]

    return Kernel(
        experiment="dram",
        name=f"{pattern.name}-plain",
        unit="fp32",
        level="dram",
        work=work,
        variants=lambda target: variants(target, pattern),
        sources={"cuda": lambda target, variant: source(target, variant, pattern)},
        reference=lambda arrays, launches: [pattern.reference(arrays)],
        observe=observe,
        measures=(pattern.measures,),
        arrays=pattern.arrays,
        scalars=SCALARS,
        tolerance=2.0**-20 if pattern.name == "read" else 0.0,
        tolerance_reason="FP32 partial sums of a tile, eight roundings deep"
        if pattern.name == "read"
        else "the result is exact in the type",
    )


def every_kernel() -> Iterator[Kernel]:
    """The kernel of every pattern."""
    return (kernel(pattern) for pattern in PATTERNS)
