"""K1 to K4 on a CPU: a product that keeps nothing, and one whose tiles of C lie in registers, in LLVM IR.

A cache is no memory that code can place things in, so tiles of A and B have no rung of their own here. The upper rung
goes through C in panels as wide as a tile, so that the part of B that it needs is near when the next rows want it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from roofline.kernel import Source, Target
from roofline.llvm import (
    METADATA,
    ONE_BY_ONE,
    Block,
    Function,
    Span,
    States,
    Vectors,
    entry_name,
    rest_name,
    zero,
)
from roofline.model import Variant

from .ladder import CPU_TILE

ROWS, COLUMNS = CPU_TILE
SQUARE_ROOT = "llvm.sqrt.f64"


@dataclass(frozen=True)
class Product:
    """What the code of a product knows: its function, the side of the matrices, and where they begin."""

    function: Function
    target: Target
    side: str
    left: str
    right: str
    result: str

    @classmethod
    def begun(cls, function: Function, target: Target) -> "Product":
        """Read the job. Where an array holds more than a square, the largest one that it holds counts."""
        elements = function.value(f"uitofp i64 {function.slot('size', 'i64')} to double")
        root = function.call("double", SQUARE_ROOT, ("double", elements))  # correctly rounded: exact below 2^52
        side = function.value(f"fptoui double {root} to i64")
        return cls(function, target, side, *(function.slot(name, "ptr") for name in ("x", "z", "y")))

    def times(self, one: str, other: str | int) -> str:
        """The product of two integers."""
        return self.function.value(f"mul i64 {one}, {other}")

    def plus(self, one: str, other: str | int) -> str:
        """Their sum."""
        return self.function.value(f"add i64 {one}, {other}")

    def least(self, one: str, other: str) -> str:
        """The lesser of two integers."""
        less = self.function.value(f"icmp ult i64 {one}, {other}")
        return self.function.value(f"select i1 {less}, i64 {one}, i64 {other}")

    def whole(self, number: str, by: int) -> str:
        """The greatest multiple of `by` that is no more than a number."""
        return self.times(self.function.value(f"udiv i64 {number}, {by}"), by)

    def at(self, matrix: str, row: str, column: str | int) -> str:
        """The address of an element."""
        return self.moved(matrix, self.plus(self.times(row, self.side), column))

    def moved(self, pointer: str, floats: str | int) -> str:
        """The address so many floats further on."""
        return self.function.value(f"getelementptr float, ptr {pointer}, i64 {floats}")

    def fma(self, vectors: Vectors, one: str, other: str, total: str) -> str:
        """A multiply-add of whole vectors."""
        return Block(self.function, vectors, self.target, {}, "", "").fma(one, other, total)


def naive(target: Target, variant: Variant) -> Source:
    """An element of C after the other, each a row of A by a column of B: a block is one of them."""

    def body(product: Product) -> None:
        function = product.function
        last = product.least(function.slot("high", "i64"), product.times(product.side, product.side))
        span = Span(function.slot("low", "i64"), last)

        def one(index: str, _: States) -> States:
            row = function.value(f"udiv i64 {index}, {product.side}")
            _element(product, row, function.value(f"urem i64 {index}, {product.side}"))
            return []

        function.loop(span, "i64", [], one)

    return _source("matmul_naive", target, body, multiply_adds=1, stores=1)


def blocked(target: Target, variant: Variant) -> Source:
    """Tiles of C in registers, panel by panel; the rows and columns that no tile fills after them.

    A worker makes the rows of tiles that begin within its share of the elements.
    """
    vectors = Vectors(target.lanes, COLUMNS // target.lanes)

    def body(product: Product) -> None:
        function = product.function
        filled = product.times(product.side, product.side)
        low, high = (product.least(function.slot(edge, "i64"), filled) for edge in ("low", "high"))
        first, last = (product.least(_tile_rows_up_to(product, edge), product.side) for edge in (low, high))
        tiled = product.plus(first, product.whole(function.value(f"sub i64 {last}, {first}"), ROWS))
        paneled = product.whole(product.side, COLUMNS)

        def panel(column: str, _: States) -> States:
            _each(product, Span(first, tiled, ROWS), lambda row: _tile(product, vectors, ROWS, row, column))
            _each(product, Span(tiled, last), lambda row: _tile(product, vectors, 1, row, column))
            return []

        function.loop(Span(0, paneled, COLUMNS), "i64", [], panel)
        _each(
            product,
            Span(first, last),
            lambda row: _each(product, Span(paneled, product.side), lambda column: _element(product, row, column)),
        )

    vectors_of_tiles = (ROWS + 1) * vectors.count
    return _source("matmul_blocked", target, body, multiply_adds=vectors_of_tiles + 1, stores=vectors_of_tiles + 1)


def fits(target: Target) -> bool:
    """Whether a tile, a row of B and a value of A have room in the registers."""
    vectors = COLUMNS // target.lanes
    return target.kind == "cpu" and (ROWS + 1) * vectors + 1 <= target.registers


def variants(target: Target) -> Sequence[Variant]:
    """The one shape of the tile, where it fits."""
    return (Variant(f"{ROWS}x{COLUMNS}"),) if fits(target) else ()


def _tile_rows_up_to(product: Product, element: str) -> str:
    """The first row of the first tile that begins at an element or after it."""
    of_a_row = product.times(product.side, ROWS)
    up = product.function.value(f"sub i64 {product.plus(element, of_a_row)}, 1")
    return product.times(product.function.value(f"udiv i64 {up}, {of_a_row}"), ROWS)


def _each(product: Product, span: Span, body: Callable[[str], None]) -> None:
    """Do `body` for each index of a span."""

    def one(index: str, _: States) -> States:
        body(index)
        return []

    product.function.loop(span, "i64", [], one)


def _element(product: Product, row: str, column: str) -> None:
    """One element of C, by scalars."""
    function = product.function
    a, b = product.at(product.left, row, 0), product.moved(product.right, column)

    def step(k: str, sums: States) -> States:
        x = function.value(f"load float, ptr {product.moved(a, k)}")
        y = function.value(f"load float, ptr {product.moved(b, product.times(k, product.side))}")
        return [product.fma(ONE_BY_ONE, x, y, sums[0])]

    (total,) = function.loop(Span(0, product.side), "float", ["0.0"], step)
    function.emit(f"store float {total}, ptr {product.at(product.result, row, column)}")


def _tile(product: Product, vectors: Vectors, rows: int, row: str, column: str) -> None:
    """A tile of C: each value of A times a row of B, as wide as the tile. Rows of a matrix begin on any float."""
    function = product.function
    lefts = [product.at(product.left, product.plus(row, r), 0) for r in range(rows)]
    right = product.moved(product.right, column)

    def step(k: str, sums: States) -> States:
        strip = _parts(product, vectors, product.moved(right, product.times(k, product.side)))
        values = [function.value(f"load {vectors.type}, ptr {part}, align 4") for part in strip]
        following = []
        for r, left in enumerate(lefts):
            scalar = function.value(f"load float, ptr {product.moved(left, k)}")
            factor = function.splat(scalar, "float", vectors.lanes)
            own = sums[r * vectors.count : (r + 1) * vectors.count]
            following += [product.fma(vectors, value, factor, total) for value, total in zip(values, own, strict=True)]
        return following

    sums = function.loop(Span(0, product.side), vectors.type, [zero(vectors)] * (rows * vectors.count), step)
    for r in range(rows):
        place = product.at(product.result, product.plus(row, r), column)
        own = sums[r * vectors.count : (r + 1) * vectors.count]
        for total, part in zip(own, _parts(product, vectors, place), strict=True):
            function.emit(f"store {vectors.type} {total}, ptr {part}, align 4")


def _parts(product: Product, vectors: Vectors, pointer: str) -> list[str]:
    return [product.moved(pointer, vectors.lanes * number) for number in range(vectors.count)]


def _source(kernel: str, target: Target, body: Callable[[Product], None], multiply_adds: int, stores: int) -> Source:
    """A module whose entry makes a worker's part of C; any size is whole, so its rest has nothing to do."""
    entry = entry_name(kernel, f"{target.lanes}")
    whole, rest = Function(entry), Function(rest_name(entry))
    body(Product.begun(whole, target))
    text = "\n".join([*sorted(whole.declarations), METADATA, whole.text(), rest.text()])
    fused = {"fma": multiply_adds, "mul": 0, "add": 0}
    apart = {"fma": 0, "mul": multiply_adds, "add": multiply_adds}
    kept = {"store": stores, "store_nt": 0, "spill": 0, "call": 0}
    return Source(text, entry, expects=(fused if target.has_fma else apart) | kept)
