"""The LLVM IR of the table: streams, a block of vectors at a time, and rows that a core's cache keeps between passes.

Vector addition, ReLU and layer norm store past the cache; SAXPY writes in place; softmax stores each row twice, the
second time where the cache still has it. Halves are 16-bit integers to a ReLU, since what is below 0 as the one is so
as the other; to the product they are floats, converted by the instruction set, and where it cannot it is absent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2

from roofline.kernel import Kernel, Source, Target
from roofline.llvm import (
    NON_TEMPORAL,
    Block,
    States,
    Vectors,
    block_variant,
    entry_name,
    expected_prefetches,
    expected_stores,
    streaming_kernel,
)
from roofline.model import Variant

from . import special_cpu, table
from .special_cpu import splat
from .table import COLUMNS, FLOAT_BYTES, Computation, Form
from .table_rows_cpu import Row, larger, rows_kernel

STREAMS = ((2, 0), (4, 0), (1, 0), (8, 2048))  # vectors a block, bytes asked for ahead
PRODUCTS = ((4, 2048), (4, 0), (8, 2048), (2, 0))
# While a core works on a row that it has, memory would idle: so it asks for the next one meanwhile.
NEXT_ROW = FLOAT_BYTES * COLUMNS
# Vectors a block by the number of vector registers: more would spill what a row needs throughout.
POWERS = {16: ((1, NEXT_ROW), (1, 0)), 32: ((2, NEXT_ROW), (4, NEXT_ROW), (2, 0))}
MOMENTS = {16: ((2, NEXT_ROW), (2, 0)), 32: ((4, NEXT_ROW), (2, NEXT_ROW), (4, 0))}
FACTOR_OF_POWERS = 1.44269504  # log2(e): powers of e by powers of 2
LEAST_POWER = -126.0  # what is farther below the greatest counts as 2^-126 of it, which no sum of floats shows
MINUS_INFINITY = "0xFFF0000000000000"  # as IR writes a float
NO_HALVES = "converting FP16 takes F16C, which this instruction set lacks: x86-64-v3 and AArch64 have such instructions"
SECOND_INPUT = {3: "z", 2: "y"}


def variants(target: Target, forms: Sequence[tuple[int, int]], pairs: bool = False) -> Sequence[Variant]:
    """The blocks worth trying; AArch64 stores past the cache in pairs of vectors, so there no block of one does."""
    odd = pairs and target.architecture == "aarch64"
    return [block_variant(target, vectors, ahead) for vectors, ahead in forms if not (odd and vectors % 2)]


def _sizes(target: Target, variant: Variant) -> tuple[Vectors, int]:
    return Vectors(target.lanes, variant.integer("vectors")), variant.integer("ahead")


def _stream(target: Target, variant: Variant, computation: Computation) -> Source:
    """Vector addition or SAXPY."""
    vectors, ahead = _sizes(target, variant)
    entry = entry_name(f"table_{computation.name}", f"{vectors}_{ahead}")
    second, streamed = SECOND_INPUT[computation.arrays], computation is table.VECADD

    def combined(block: Block, x: str, y: str) -> str:
        if streamed:
            return block.function.value(f"fadd {block.vectors.type} {x}, {y}")
        return block.fma(x, block.a, y)

    def body(block: Block) -> None:
        for array in ("x", second):
            block.prefetch(array, ahead)
        pairs = zip(block.load("x"), block.load(second), strict=True)
        block.store("y", [combined(block, x, y) for x, y in pairs], non_temporal=streamed)

    fused = {} if streamed else multiply_adds(target, vectors.count)
    expects = {"fma": 0, "mul": 0, "add": vectors.count} | fused | expected_stores(vectors, non_temporal=streamed)
    expects["prefetch"] = 2 * expected_prefetches(vectors, ahead)["prefetch"]
    return Source(streaming_kernel(entry, target, vectors, body), entry, vectors.block, expects)


def multiply_adds(target: Target, count: int, added: int = 0, multiplied: int = 0) -> dict[str, int]:
    """So many multiply-adds, fused or not, beside additions and multiplications."""
    if target.has_fma:
        return {"fma": count, "mul": multiplied, "add": added}
    return {"fma": 0, "mul": count + multiplied, "add": count + added}


def additions_across(target: Target, sums: int, vectors: Vectors) -> int:
    """Counted additions that make one number of each of some sums: of vectors, then of halves of a vector.

    AArch64 adds halves by instructions of their own, which are not among those that are counted.
    """
    lanes = 0 if target.architecture == "aarch64" else int(log2(vectors.lanes))
    return sums * (vectors.count - 1 + lanes)


def _relu(target: Target, variant: Variant, computation: Computation) -> Source:
    """The larger of each half and 0, as integers of 16 bits."""
    wide = 2 if target.architecture == "aarch64" else 1  # two registers, which AArch64 stores past the cache together
    count = variant.integer("vectors")
    halves = Vectors(2 * wide * target.lanes, count)
    entry = entry_name("table_relu", f"{halves}")

    def body(block: Block) -> None:
        function, lanes = block.function, block.vectors.lanes
        kind = "i16" if lanes == 1 else f"<{lanes} x i16>"
        suffix = "i16" if lanes == 1 else f"v{lanes}i16"
        hint = NON_TEMPORAL if lanes > 1 else ""
        values = [
            function.call(kind, f"llvm.smax.{suffix}", (kind, value), (kind, "0" if lanes == 1 else "zeroinitializer"))
            for value in load_halves(block, "x", kind)
        ]
        for value, at in zip(values, halves_at(block, "y"), strict=True):
            function.emit(f"store {kind} {value}, ptr {at}, align {2 * lanes}{hint}")

    expects = {"fma": 0, "mul": 0, "add": 0, "store": 0, "store_nt": wide * count, "spill": 0, "call": 0}
    return Source(streaming_kernel(entry, target, halves, body), entry, halves.block, expects)


def halves_at(block: Block, array: str) -> list[str]:
    """Where the vectors of halves of a block begin, those of the element `block.index` first."""
    function, vectors = block.function, block.vectors
    first = function.value(f"getelementptr half, ptr {block.pointers[array]}, i64 {block.index}")
    return [function.offset(first, table.HALF_BYTES * vectors.lanes * number) for number in range(vectors.count)]


def load_halves(block: Block, array: str, kind: str) -> list[str]:
    """The vectors of halves of a block."""
    alignment = table.HALF_BYTES * block.vectors.lanes
    return [block.function.value(f"load {kind}, ptr {at}, align {alignment}") for at in halves_at(block, array)]


def _product(target: Target, variant: Variant, computation: Computation) -> Source:
    """Each row of halves by the vector, multiplied and added up as floats."""
    vectors, ahead = _sizes(target, variant)
    entry = entry_name("table_gemv", f"{vectors}_{ahead}")

    def floats(block: Block, array: str) -> list[str]:
        kind = block.vectors.type
        halves = kind.replace("float", "half")
        return [
            block.function.value(f"fpext {halves} {value} to {kind}") for value in load_halves(block, array, halves)
        ]

    def row(row: Row) -> None:
        def add(block: Block, old: States) -> States:
            _prefetch_halves(block, ahead)
            column = block.function.value(f"sub i64 {block.index}, {row.first}")
            factors = floats(replace(block, index=column), "z")
            return [block.fma(*each) for each in zip(floats(block, "x"), factors, old, strict=True)]

        total = row.total(row.sweep(row.zeros(), add))
        row.leave("y", row.function.value(f"fptrunc float {total} to half"), "half")

    counted = multiply_adds(target, vectors.count, additions_across(target, 1, vectors))
    asked = expected_prefetches(_as_floats(vectors), ahead)
    expects = counted | asked | {"store": 0, "store_nt": 0, "spill": 0, "call": 0}
    return Source(rows_kernel(entry, target, vectors, row), entry, COLUMNS, expects)


def _as_floats(vectors: Vectors) -> Vectors:
    """As many bytes of floats as `vectors` has of halves."""
    return replace(vectors, count=vectors.count // 2)


def _prefetch_halves(block: Block, ahead: int) -> None:
    if block.vectors.single:
        return
    index = block.function.value(f"lshr i64 {block.index}, 1")
    replace(block, vectors=_as_floats(block.vectors), index=index).prefetch("x", ahead)


def _softmax(target: Target, variant: Variant, computation: Computation) -> Source:
    """The greatest of a row; powers and their sum; each power over the sum."""
    vectors, ahead = _sizes(target, variant)
    entry = entry_name("table_softmax", f"{vectors}_{ahead}")

    def row(row: Row) -> None:
        function, kind = row.function, row.kind
        lowest = [function.splat(MINUS_INFINITY, "float", row.block.vectors.lanes)] * row.block.vectors.count
        found = row.sweep(lowest, lambda block, old: _larger(block, block.load("x"), old))
        greatest = row.everywhere(row.greatest(found))

        def powers(block: Block, old: States) -> States:
            block.prefetch("x", ahead)
            values = [_power(block, x, greatest) for x in block.load("x")]
            block.store("y", values)
            return sums(block, values, old)

        total = row.total(row.sweep(row.zeros(), powers))
        factor = row.everywhere(function.value(f"fdiv float 1.0, {total}"))

        def scale(block: Block, _: States) -> States:
            block.store("y", [function.value(f"fmul {kind} {value}, {factor}") for value in block.load("y")])
            return []

        row.sweep([], scale)

    power = special_cpu.expected(target, vectors)
    expects = {
        "fma": power["fma"],
        "mul": power["mul"] + 2 * vectors.count,
        "add": power["add"] + vectors.count + additions_across(target, 1, vectors),
        **expected_stores(vectors, non_temporal=False),
        **expected_prefetches(vectors, ahead),
        "store": 2 * vectors.count,
    }
    return Source(rows_kernel(entry, target, vectors, row), entry, COLUMNS, expects)


def _larger(block: Block, values: Sequence[str], others: Sequence[str]) -> list[str]:
    return [larger(block.function, block.vectors.type, x, y) for x, y in zip(values, others, strict=True)]


def _power(block: Block, x: str, greatest: str) -> str:
    """E to the power of x less the greatest."""
    function, kind = block.function, block.vectors.type
    below = function.value(f"fsub {kind} {x}, {greatest}")
    exponent = function.value(f"fmul {kind} {below}, {splat(block, FACTOR_OF_POWERS)}")
    return special_cpu.exp2(block, larger(function, kind, exponent, splat(block, LEAST_POWER)))


def _layer_norm(target: Target, variant: Variant, computation: Computation) -> Source:
    """The mean of a row; its differences from it and their squares, summed; the result.

    What the mean lacks by rounding is in the differences: their sum corrects both it and the variance, as on a GPU.
    """
    vectors, ahead = _sizes(target, variant)
    entry = entry_name("table_layer_norm", f"{vectors}_{ahead}")

    def row(row: Row) -> None:
        function, kind, count = row.function, row.kind, row.block.vectors.count
        total = row.total(row.sweep(row.zeros(), lambda block, old: sums(block, block.load("x"), old)))
        mean = row.mean_of(total)
        everywhere = row.everywhere(mean)

        def moments(block: Block, states: States) -> States:
            block.prefetch("x", ahead)
            less = [function.value(f"fsub {kind} {x}, {everywhere}") for x in block.load("x")]
            squares = [block.fma(d, d, old) for d, old in zip(less, states[:count], strict=True)]
            return [*squares, *sums(block, less, states[count:])]

        states = row.sweep(row.zeros() * 2, moments)
        squares, left = row.total(states[:count]), row.total(states[count:])
        correction = row.mean_of(left)
        corrected = function.value(f"fmul float {correction}, {correction}")
        variance = function.value(f"fsub float {row.mean_of(squares)}, {corrected}")
        variance = larger(function, "float", variance, "0.0")  # rounding may leave less
        factor, rest = row.everywhere(inverse_deviation(row, variance)), row.everywhere(correction)

        def result(block: Block, _: States) -> States:
            gammas, betas = row.of_columns(block, "z"), row.of_columns(block, "z", second_row(row))
            parts = zip(block.load("x"), gammas, betas, strict=True)
            values = []
            for x, gamma, beta in parts:
                less = function.value(f"fsub {kind} {function.value(f'fsub {kind} {x}, {everywhere}')}, {rest}")
                values.append(block.fma(function.value(f"fmul {kind} {less}, {factor}"), gamma, beta))
            block.store("y", values, non_temporal=True)
            return []

        row.sweep([], result)

    # of the row: three sums across and three means, the correction of the variance, epsilon
    across = additions_across(target, 3, vectors)
    counted = multiply_adds(target, 2 * vectors.count, 2 * vectors.count + across + 1, vectors.count + 4)
    expects = counted | expected_stores(vectors, non_temporal=True) | expected_prefetches(vectors, ahead)
    return Source(rows_kernel(entry, target, vectors, row), entry, COLUMNS, expects)


def sums(block: Block, values: Sequence[str], before: Sequence[str]) -> list[str]:
    """What was summed before, and the values at hand."""
    kind = block.vectors.type
    return [block.function.value(f"fadd {kind} {one}, {two}") for one, two in zip(before, values, strict=True)]


def inverse_deviation(row: Row, variance: str) -> str:
    """1 / sqrt(variance + epsilon)."""
    function = row.function
    raised = function.value(f"fadd float {variance}, {row.scalar}")
    return function.value(f"fdiv float 1.0, {function.call('float', 'llvm.sqrt.f32', ('float', raised))}")


def second_row(row: Row) -> str:
    """Where the second row of parameters begins, as `table.second_row` has it."""
    function = row.function
    size = function.slot("size", "i64")
    beyond = function.call("i64", "llvm.usub.sat.i64", ("i64", size), ("i64", str(COLUMNS)))
    whole = function.value(f"and i64 {beyond}, -4")
    return function.call("i64", "llvm.umin.i64", ("i64", whole), ("i64", str(COLUMNS)))


Writer = Callable[[Target, Variant, Computation], Source]
Blocks = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Writing:
    """How the code of a computation is written: by what, in which blocks (by registers), and by which kind of store."""

    writer: Writer
    blocks: Mapping[int, Blocks]
    slope: str
    suffix: str = ""


WRITINGS: Mapping[str, Writing] = {
    "vecadd": Writing(_stream, dict.fromkeys((16, 32), STREAMS), "dram_triad_nt", "-nt"),
    "saxpy": Writing(_stream, dict.fromkeys((16, 32), STREAMS), "dram_accumulate", "-inplace"),
    "relu": Writing(_relu, dict.fromkeys((16, 32), STREAMS[:2]), "dram_copy_nt", "-nt"),
    "softmax": Writing(_softmax, POWERS, "dram_copy_ordinary", "-ordinary"),
    "layer-norm": Writing(_layer_norm, MOMENTS, "dram_copy_nt", "-nt"),
    "gemv": Writing(_product, dict.fromkeys((16, 32), PRODUCTS), "dram_read"),
}


def form(computation: Computation) -> Form:
    """How a computation runs on a CPU."""
    writing = WRITINGS[computation.name]
    converts = computation is table.GEMV

    def forms(target: Target) -> Sequence[Variant]:
        if converts and target.architecture == "x86-64-v2":
            return ()
        return variants(target, writing.blocks[target.registers], pairs=writing.suffix == "-nt")

    return Form(
        kind="cpu",
        variants=forms,
        source=lambda target, variant: writing.writer(target, variant, computation),
        slope=writing.slope,
        suffix=writing.suffix,
        unit="fp32",  # a CPU's comparisons of halves have no roof of their own
        unsupported=NO_HALVES if converts else "",
    )


def every_kernel() -> Iterator[Kernel]:
    """The kernel of every computation."""
    return (table.kernel(computation, form(computation)) for computation in table.COMPUTATIONS)
