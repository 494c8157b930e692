"""The steps of layer norm on a GPU, the shapes of `fusion.cu`, and the table's fused kernel at the same size."""

from collections.abc import Iterator, Sequence
from functools import cache, partial

from roofline.cuda_source import CudaSource
from roofline.kernel import Kernel, Target
from roofline.model import Variant

from . import fusion, table, table_cuda
from .fusion import Step
from .table import COLUMNS, Form

# Vectors of 16 bytes a thread and threads a block; a tile lies in one row.
STREAMS = ((1, 256), (1, 128), (1, 1024), (2, 128), (2, 512))


@cache
def fusion_text() -> str:
    """The source that every instance of a step is made from."""
    return table_cuda.text("table_rows.cu", "fusion.cu")


def stream_variants(target: Target) -> Sequence[Variant]:
    """Every shape of a step over the whole array."""
    return tuple(Variant(f"{v}x{threads}", {"vectors": v, "threads": threads}) for v, threads in STREAMS)


def _stream(target: Target, variant: Variant, step: Step) -> CudaSource:
    vectors, threads = variant.integer("vectors"), variant.integer("threads")
    # beside the vectors, the loop over a tile that is not whole
    loads = 2 * vectors + 2 if step.values == "columns" else vectors + 2
    return CudaSource(
        text=fusion_text(),
        entry=f"fusion::by_{step.values[:-1]}<fusion::{step.operation.title()}, {vectors}, {threads}>",
        block=4 * vectors * threads,
        expects={"load": loads, "store": vectors + 1, "spill": 0, "call": 0},
        threads=threads,
    )


def _reduction(target: Target, variant: Variant, step: Step) -> CudaSource:
    threads = variant.integer("threads")
    return CudaSource(
        text=fusion_text(),
        entry=f"fusion::reduce<fusion::{step.operation.title()}, {threads}>",
        block=COLUMNS,
        expects={**table_cuda.row_moves(threads, writes=False), "spill": 0, "call": 0},
        threads=threads,
    )


def form(step: Step) -> Form:
    """How a step runs on a GPU."""
    slope = table_cuda.SLOPES[step.mix]
    if step.mix == "read":
        return Form("cuda", table_cuda.row_variants, partial(_reduction, step=step), slope)
    return Form("cuda", stream_variants, partial(_stream, step=step), slope)


def every_kernel() -> Iterator[Kernel]:
    """The six steps, then all of them in one."""
    for step in fusion.STEPS:
        yield table.kernel(step.computation, form(step), "fusion", fusion.size)
    yield table.kernel(table.LAYER_NORM, table_cuda.form(table.LAYER_NORM), "fusion", fusion.size)
