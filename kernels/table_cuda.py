"""The table on a GPU: the shapes of `table.cu`."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.kernel import Kernel, Target
from roofline.model import Variant

from . import table
from .table import COLUMNS, Computation, Form

# Vectors of 16 bytes a thread and threads a block, as the DRAM ceilings have them.
STREAMS = ((1, 256), (1, 128), (1, 1024), (2, 128), (4, 256))
# Threads that share a row: with more of them each holds less, and waits for more others.
ROWS = (256, 512, 128)
# Rows of the matrix a block, and threads.
PRODUCTS = ((4, 256), (8, 256), (2, 512), (4, 128), (2, 256))
SLOPES = {"read": "dram_read", "copy": "dram", "triad": "dram_triad"}
STREAMED = ("vecadd", "saxpy", "relu")


def text(*names: str) -> str:
    """Sources one after the other."""
    return "\n".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)


@cache
def table_text() -> str:
    """The source that every instance of the table is made from."""
    return text("table_rows.cu", "table.cu")


def stream_variants(target: Target) -> Sequence[Variant]:
    """Every shape of a stream."""
    return tuple(Variant(f"{v}x{threads}", {"vectors": v, "threads": threads}) for v, threads in STREAMS)


def row_variants(target: Target) -> Sequence[Variant]:
    """Every number of threads that can share a row."""
    return tuple(Variant(f"row-{threads}", {"threads": threads}) for threads in ROWS)


def product_variants(target: Target) -> Sequence[Variant]:
    """Every shape of the matrix times a vector."""
    return tuple(Variant(f"{rows}x{threads}", {"rows": rows, "threads": threads}) for rows, threads in PRODUCTS)


def _stream(target: Target, variant: Variant, computation: Computation) -> CudaSource:
    vectors, threads = variant.integer("vectors"), variant.integer("threads")
    elements = 8 if computation.dtype == "float16" else 4
    return CudaSource(
        text=table_text(),
        entry=f"table::{computation.name}<{vectors}, {threads}>",
        block=elements * vectors * threads,
        expects={"load": vectors * (2 if computation.mix == "triad" else 1), "store": vectors, "spill": 0, "call": 0},
        threads=threads,
        tail=f"table::{computation.name}_tail",
    )


def row_moves(threads: int, parameters: int = 0, writes: bool = True) -> dict[str, int]:
    """Loads and stores in the code of a thread: of its vectors of four, and of single elements where a row is short."""
    held = COLUMNS // threads
    return {"load": (held // 4 + held) * (1 + parameters), "store": held // 4 + held if writes else 1}


def _row(target: Target, variant: Variant, computation: Computation) -> CudaSource:
    threads = variant.integer("threads")
    held, name = COLUMNS // threads, computation.name.replace("-", "_")
    powers = {"special": held + 3} if computation is table.SOFTMAX else {}
    return CudaSource(
        text=table_text(),
        entry=f"table::{name}<{threads}>",
        block=COLUMNS,
        expects={**row_moves(threads, 2 * (computation.arrays == 3)), **powers, "spill": 0, "call": 0},
        threads=threads,
    )


def _product(target: Target, variant: Variant, computation: Computation) -> CudaSource:
    rows, threads = variant.integer("rows"), variant.integer("threads")
    vectors = COLUMNS // (8 * threads)
    return CudaSource(
        text=table_text(),
        entry=f"table::{computation.name}<{rows}, {threads}>",
        block=rows * COLUMNS,
        # beside the whole rows, the two loads of the loop over a row that is not whole, for each row
        expects={"load": vectors * (rows + 1) + 2 * rows, "store": 1, "spill": 0, "call": 0},
        threads=threads,
    )


def form(computation: Computation) -> Form:
    """How a computation runs on a GPU."""
    variants: Callable[[Target], Sequence[Variant]]
    if computation.name in STREAMED:
        variants, source = stream_variants, _stream
    elif computation.mix == "read":
        variants, source = product_variants, _product
    else:
        variants, source = row_variants, _row
    return Form("cuda", variants, partial(source, computation=computation), SLOPES[computation.mix])


def every_kernel() -> Iterator[Kernel]:
    """The kernel of every computation."""
    return (table.kernel(computation, form(computation)) for computation in table.COMPUTATIONS)
