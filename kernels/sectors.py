"""R6: one float of every few is asked for; memory moves whole sectors or lines, so only a share of it is useful.

A GPU moves sectors of 32 bytes: at a stride of 8 floats each holds one that is asked for, and 1/8 of the bandwidth is
left. A CPU moves lines of 64 bytes: there it is 1/16, at a stride of 16. Elements are asked for once, and nothing is
near them that anyone asks for later, so no cache can make good what memory wastes.

Counted is what is asked for, 4 bytes an element: its share of `dram_read` is the share that was useful. A write asks
for 4 bytes too; a memory that cannot write so few reads the others first.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from roofline.kernel import Array, Kernel, Source, Target
from roofline.model import Traffic, Variant, Work

from . import sectors_cpu, sectors_cuda

STRIDES = (1, 2, 4, 8, 16, 32)
WRITTEN = (8, 16)
# Elements between one that is asked for and the next, where each is alone in what memory moves: 32 and 64 bytes.
ALONE = {"cuda": 8, "cpu": 16, "fake": 16}
SCALARS = (0.5, 0.0)


def name(stride: int, writes: bool = False) -> str:
    """The kernel of a stride: "stride-08", "write-stride-08"."""
    return f"{'write-' if writes else ''}stride-{stride:02d}"


def stride_of(kernel: str) -> int:
    """The stride in the name of a kernel."""
    return int(kernel.rpartition("-")[2])


def asked_for(n: int, stride: int) -> int:
    """Elements of `n` that are asked for."""
    return -(-n // stride)


def kernel(stride: int, writes: bool = False) -> Kernel:
    """Every `stride`-th element read and added up, or written."""

    def work(n: int) -> Work:
        elements = asked_for(n, stride)
        moved = Traffic(0.0, 4.0 * elements) if writes else Traffic(4.0 * elements, 0.0)
        return Work(
            flops=0.0,
            unit="none",
            traffic={"dram": moved},
            slopes={"dram": "dram_write" if writes else "dram_read"},
            convention="bytes asked for, each once; not what moves with them, nor the sums that prove they arrived",
        )

    def variants(target: Target) -> Sequence[Variant]:
        return sectors_cuda.variants(writes) if target.kind == "cuda" else sectors_cpu.variants(writes)

    def on_cuda(target: Target, variant: Variant) -> Source:
        return sectors_cuda.source(variant, stride, "write" if writes else "read")

    def on_cpu(target: Target, variant: Variant) -> Source:
        return (sectors_cpu.write if writes else sectors_cpu.read)(target, variant, stride)

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [_written(arrays[-1], stride)] if writes else [_added_up(arrays, stride, launches)]

    return Kernel(
        experiment="sectors",
        name=name(stride, writes),
        unit="none",
        level="dram",
        work=work,
        variants=variants,
        sources={"cuda": on_cuda, "cpu": on_cpu},
        reference=reference,
        observe=_observe_writes if writes else _observe_sums,
        measures=() if writes else (f"dram_stride_{stride}",),
        scalars=SCALARS,
    )


def _added_up(arrays: Sequence[Array], stride: int, launches: int) -> Array:
    """The sum of the elements asked for is added to elements of the last array; how it is shared out is not said."""
    read = arrays[0][::stride].sum(dtype=np.float64)
    return np.asarray(arrays[-1].sum(dtype=np.float64) + launches * read)


def _written(array: Array, stride: int) -> Array:
    written = array.astype(np.float64)
    written[::stride] = SCALARS[0]
    return written


def _observe_sums(arrays: Sequence[Array]) -> Sequence[Array]:
    return [np.asarray(arrays[-1].sum(dtype=np.float64))]


def _observe_writes(arrays: Sequence[Array]) -> Sequence[Array]:
    return arrays[-1:]


def every_kernel() -> Iterator[Kernel]:
    """A read for every stride, and the writes that leave one element alone."""
    yield from (kernel(stride) for stride in STRIDES)
    yield from (kernel(stride, writes=True) for stride in WRITTEN)
