"""The LLVM IR of the steps of layer norm, and the fused kernel of the table at the same size.

A step that reduces rows adds up each of them and leaves a value; the others go over the array and store past the cache.
"""

from collections.abc import Iterator
from functools import partial

from roofline.kernel import Kernel, Source, Target
from roofline.llvm import Block, States, Vectors, entry_name, expected_stores
from roofline.model import Variant

from . import fusion, table, table_cpu
from .fusion import Step
from .table import COLUMNS, Form
from .table_cpu import additions_across, inverse_deviation, multiply_adds, sums, variants
from .table_rows_cpu import Row, rows_kernel

# Vectors a block, and nothing asked for ahead.
SUMS = ((4, 0), (2, 0))
STREAMS = ((2, 0), (4, 0), (1, 0))
OPERATIONS = {"subtract": "fsub", "multiply": "fmul", "add": "fadd"}


def _reduction(target: Target, variant: Variant, step: Step) -> Source:
    vectors = Vectors(target.lanes, variant.integer("vectors"))
    entry, squares = entry_name(f"fusion_{step.name}", f"{vectors}"), step.operation == "deviation"

    def row(row: Row) -> None:
        def add(block: Block, old: States) -> States:
            values = block.load("x")
            return (
                [block.fma(x, x, y) for x, y in zip(values, old, strict=True)] if squares else sums(block, values, old)
            )

        mean = row.mean_of(row.total(row.sweep(row.zeros(), add)))
        row.leave("y", inverse_deviation(row, mean) if squares else mean)

    across = additions_across(target, 1, vectors)
    added = across + (1 if squares else vectors.count)  # of squares, epsilon
    counted = multiply_adds(target, vectors.count if squares else 0, added, multiplied=1)
    expects = counted | {"store": 1, "store_nt": 0, "spill": 0, "call": 0}
    return Source(rows_kernel(entry, target, vectors, row), entry, COLUMNS, expects)


def _stream(target: Target, variant: Variant, step: Step) -> Source:
    vectors = Vectors(target.lanes, variant.integer("vectors"))
    entry, operation = entry_name(f"fusion_{step.name}", f"{vectors}"), OPERATIONS[step.operation]

    def row(row: Row) -> None:
        of_row = row.value("z") if step.values == "rows" else ""

        def combine(block: Block, _: States) -> States:
            values = [of_row] * block.vectors.count if of_row else row.of_columns(block, "z")
            pairs = zip(block.load("x"), values, strict=True)
            results = [block.function.value(f"{operation} {row.kind} {x}, {value}") for x, value in pairs]
            block.store("y", results, non_temporal=True)
            return []

        row.sweep([], combine)

    counted = {"fma": 0, "mul": 0, "add": 0} | {
        kind: vectors.count for kind in ("mul", "add") if operation == f"f{kind}"
    }
    expects = counted | expected_stores(vectors, non_temporal=True)
    return Source(rows_kernel(entry, target, vectors, row), entry, COLUMNS, expects)


def form(step: Step) -> Form:
    """How a step runs on a CPU."""
    if step.mix == "read":
        return Form("cpu", partial(variants, forms=SUMS), partial(_reduction, step=step), "dram_read")
    forms = partial(variants, forms=STREAMS, pairs=True)
    return Form("cpu", forms, partial(_stream, step=step), "dram_copy_nt", suffix="-nt")


def every_kernel() -> Iterator[Kernel]:
    """The six steps, then all of them in one."""
    for step in fusion.STEPS:
        yield table.kernel(step.computation, form(step), "fusion", fusion.size)
    yield table.kernel(table.LAYER_NORM, table_cpu.form(table.LAYER_NORM), "fusion", fusion.size)
