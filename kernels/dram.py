"""DRAM ceilings: read, write, copy, update in place, accumulate and triad, each by what it asks memory for.

Ordinary and non-temporal stores are kernels of their own, never one ceiling: an ordinary store first reads the line it
is about to write, so a copy moves 12 bytes where 8 are asked for and a triad 16 where 12 are. Counted is what is asked
for; `WRITE_ALLOCATE` is the factor to what moves. `dram`, the slope of the roofline, is the fastest kernel that reads
and writes as much as it counts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from roofline.kernel import Array, Kernel
from roofline.model import Traffic, Work

from . import dram_cpu

Reference = Callable[[Sequence[Array], tuple[float, float], int], Array]


@dataclass(frozen=True)
class Pattern:
    """Which arrays a kernel reads and writes, per element, and what comes out."""

    name: str
    stores: str
    measures: tuple[str, ...]
    arrays: int
    reads: int
    writes: int
    flops: int
    reference: Reference


def _copied(arrays: Sequence[Array], scalars: tuple[float, float], launches: int) -> Array:
    return arrays[0].astype(np.float64)


def _filled(arrays: Sequence[Array], scalars: tuple[float, float], launches: int) -> Array:
    return np.full(arrays[-1].shape, scalars[0])


def _updated(arrays: Sequence[Array], scalars: tuple[float, float], launches: int) -> Array:
    return arrays[0].astype(np.float64) + scalars[0] * launches


def _accumulated(arrays: Sequence[Array], scalars: tuple[float, float], launches: int) -> Array:
    return arrays[1].astype(np.float64) + launches * arrays[0].astype(np.float64)


def _triad(arrays: Sequence[Array], scalars: tuple[float, float], launches: int) -> Array:
    return arrays[0].astype(np.float64) + scalars[0] * arrays[1].astype(np.float64)


def _summed(arrays: Sequence[Array], scalars: tuple[float, float], launches: int) -> Array:
    return np.asarray(arrays[-1].sum(dtype=np.float64) + launches * arrays[0].sum(dtype=np.float64))


# array 0 (and 1) in, the last one out; a read adds the sum of each part to one element of the last array: so every
# launch shows, and what else is in that array does not matter
PATTERNS = (
    Pattern("read", "none", ("dram_read",), 2, 1, 0, 1, _summed),
    Pattern("write-nt", "nt", ("dram_write",), 1, 0, 1, 0, _filled),
    Pattern("write-ordinary", "ordinary", ("dram_write_ordinary",), 1, 0, 1, 0, _filled),
    Pattern("copy-nt", "nt", ("dram", "dram_copy_nt"), 2, 1, 1, 0, _copied),
    Pattern("copy-ordinary", "ordinary", ("dram_copy_ordinary",), 2, 1, 1, 0, _copied),
    Pattern("update-inplace", "inplace", ("dram", "dram_update"), 1, 1, 1, 1, _updated),
    Pattern("accumulate-inplace", "inplace", ("dram_accumulate",), 2, 2, 1, 1, _accumulated),
    Pattern("triad-nt", "nt", ("dram_triad_nt",), 3, 2, 1, 2, _triad),
    Pattern("triad-ordinary", "ordinary", ("dram_triad_ordinary",), 3, 2, 1, 2, _triad),
)

WRITE_ALLOCATE = {
    pattern.name: (pattern.reads + 2 * pattern.writes) / (pattern.reads + pattern.writes)
    for pattern in PATTERNS
    if pattern.stores == "ordinary"
}
SCALARS = (0.5, 0.5)


def kernel(pattern: Pattern) -> Kernel:
    """The kernel of one pattern."""

    def work(n: int) -> Work:
        return Work(
            flops=float(pattern.flops * n),
            unit="fp32",
            traffic={"dram": Traffic(read=4.0 * pattern.reads * n, written=4.0 * pattern.writes * n)},
            slopes={"dram": pattern.measures[-1]},
            convention="bytes asked for; write-allocate traffic not counted",
        )

    def observe(arrays: Sequence[Array]) -> Sequence[Array]:
        return [np.asarray(arrays[-1].sum(dtype=np.float64))] if pattern.name == "read" else arrays[-1:]

    return Kernel(
        experiment="dram",
        name=pattern.name,
        unit="fp32",
        level="dram",
        work=work,
        variants=lambda target: dram_cpu.variants(target, pattern.name),
        sources={"cpu": lambda target, variant: dram_cpu.source(target, variant, pattern.name, pattern.stores)},
        reference=lambda arrays, launches: [pattern.reference(arrays, SCALARS, launches)],
        observe=observe,
        measures=pattern.measures,
        arrays=pattern.arrays,
        scalars=SCALARS,
    )


def every_kernel() -> Iterator[Kernel]:
    """The kernel of every pattern."""
    return (kernel(pattern) for pattern in PATTERNS)
