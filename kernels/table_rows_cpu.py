"""The LLVM IR of kernels that go by rows of 4096 columns: a worker takes whole rows, and the last one what is left.

A row is small enough for the first cache of a core, so only its first pass comes from memory. `rows_kernel` gives the
entry and the rest the same body: of whole vectors for the one, of single elements for the other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from roofline.kernel import Target
from roofline.llvm import (
    METADATA,
    Block,
    Function,
    Span,
    States,
    Vectors,
    one_of,
    rest_name,
    vector_type,
    zero,
)

from .table import COLUMNS


@dataclass(frozen=True)
class Row:
    """The row from element `first` up to `stop`, of which `block` handles some vectors at a time.

    `scalar` is the kernel's first scalar, once and not in every lane.
    """

    block: Block
    first: str
    stop: str
    scalar: str

    @property
    def function(self) -> Function:
        """The function that is being written."""
        return self.block.function

    @property
    def kind(self) -> str:
        """The type of a vector."""
        return self.block.vectors.type

    def mean_of(self, total: str) -> str:
        """A sum over its columns: of a whole row their number is known, and dividing by it is a multiplication."""
        share = f"{1 / COLUMNS}"  # a power of two, and exact in decimals too
        if self.block.vectors.single:
            columns = self.function.value(f"sub i64 {self.stop}, {self.first}")
            share = self.function.value(f"fdiv float 1.0, {self.function.value(f'sitofp i64 {columns} to float')}")
        return self.function.value(f"fmul float {total}, {share}")

    def sweep(self, initial: States, body: Callable[[Block, States], States]) -> States:
        """Go over the row once; `body` sees the vectors at hand and the states of those before."""
        span = Span(self.first, self.stop, self.block.vectors.block)
        return self.function.loop(
            span, self.kind, initial, lambda index, states: body(replace(self.block, index=index), states)
        )

    def zeros(self) -> list[str]:
        """A vector of zeros for each vector of a block."""
        return [zero(self.block.vectors)] * self.block.vectors.count

    def everywhere(self, scalar: str) -> str:
        """A vector of copies of a scalar."""
        return self.function.splat(scalar, "float", self.block.vectors.lanes)

    def total(self, vectors: Sequence[str]) -> str:
        """The sum of all lanes of all vectors."""
        return self._together(vectors, lambda kind, one, two: self.function.value(f"fadd {kind} {one}, {two}"))

    def greatest(self, vectors: Sequence[str]) -> str:
        """The greatest of all lanes of all vectors."""
        return self._together(vectors, lambda kind, one, two: larger(self.function, kind, one, two))

    def _together(self, vectors: Sequence[str], combine: Callable[[str, str, str], str]) -> str:
        """One scalar of many lanes: vectors in pairs, then halves of a vector with one another."""
        left = list(vectors)
        while len(left) > 1:
            odd = left[len(left) // 2 * 2 :]
            left = [combine(self.kind, one, two) for one, two in zip(left[::2], left[1::2], strict=False)] + odd
        lanes, whole = self.block.vectors.lanes, left[0]
        while lanes > 1:
            lanes //= 2
            low, high = (self._half(whole, lanes, start) for start in (0, lanes))
            whole = combine(vector_type("float", lanes), low, high)
        return whole

    def _half(self, whole: str, lanes: int, start: int) -> str:
        kind = vector_type("float", 2 * lanes)
        if lanes == 1:
            return self.function.value(f"extractelement {kind} {whole}, i32 {start}")
        picked = ", ".join(f"i32 {lane}" for lane in range(start, start + lanes))
        return self.function.value(f"shufflevector {kind} {whole}, {kind} poison, <{lanes} x i32> <{picked}>")

    def leave(self, array: str, scalar: str, kind: str = "float") -> None:
        """Store a value for this row, in the order of the rows."""
        row = self.function.value(f"udiv i64 {self.first}, {COLUMNS}")
        at = self.function.value(f"getelementptr {kind}, ptr {self.block.pointers[array]}, i64 {row}")
        self.function.emit(f"store {kind} {scalar}, ptr {at}")

    def value(self, array: str) -> str:
        """The value of this row, in every lane."""
        row = self.function.value(f"udiv i64 {self.first}, {COLUMNS}")
        at = self.function.value(f"getelementptr float, ptr {self.block.pointers[array]}, i64 {row}")
        return self.everywhere(self.function.value(f"load float, ptr {at}"))

    def of_columns(self, block: Block, array: str, begin: str = "0") -> list[str]:
        """The vectors of a row of parameters, which begins anywhere in `array`, for the columns of `block`."""
        column = self.function.value(f"sub i64 {block.index}, {self.first}")
        at = self.function.value(f"add i64 {column}, {begin}")
        first = self.function.value(f"getelementptr float, ptr {block.pointers[array]}, i64 {at}")
        places = [self.function.offset(first, number * block.vectors.bytes) for number in range(block.vectors.count)]
        return [self.function.value(f"load {self.kind}, ptr {place}, align 4") for place in places]


def larger(function: Function, kind: str, one: str, two: str) -> str:
    """The larger of two, lane by lane; of a value and what is no number, the second."""
    flags = kind.replace("float", "i1")
    chosen = function.value(f"fcmp ogt {kind} {one}, {two}")
    return function.value(f"select {flags} {chosen}, {kind} {one}, {kind} {two}")


def rows_kernel(entry: str, target: Target, vectors: Vectors, body: Callable[[Row], None]) -> str:
    """A module whose `entry` applies `body` to every whole row of a worker, and whose rest to the row that is left.

    Raises:
        ValueError: the vectors do not divide a row.
    """
    if COLUMNS % vectors.block:
        raise ValueError(f"blocks of {vectors.block} elements do not divide a row of {COLUMNS}: give a power of two")
    whole, rest = Function(entry), Function(rest_name(entry))
    _each_row(whole, target, vectors, ("low", "high"), body)
    _each_row(rest, target, one_of(vectors), ("high", "end"), body)
    declared = sorted(whole.declarations | rest.declarations)
    return "\n".join([*declared, METADATA, whole.text(), rest.text()])


def _each_row(
    function: Function, target: Target, vectors: Vectors, slots: tuple[str, str], body: Callable[[Row], None]
) -> None:
    pointers = {name: function.slot(name, "ptr") for name in "xyz"}
    a, b = (function.value(f"fptrunc double {function.slot(name, 'double')} to float") for name in "ab")
    block = Block(function, vectors, target, pointers, *(function.splat(s, "float", vectors.lanes) for s in (a, b)))
    first, end = (function.slot(slot, "i64") for slot in slots)

    def row(index: str, _: States) -> States:
        stop = end if vectors.single else function.value(f"add i64 {index}, {COLUMNS}")
        body(Row(block, index, stop, scalar=a))
        return []

    function.loop(Span(first, end, COLUMNS), [], [], row)
