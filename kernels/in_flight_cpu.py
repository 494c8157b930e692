"""The LLVM IR of dependent streams: walks through lines, each next address waiting for the line before.

A worker's part of the array is one region a stream, and all its streams take a hop in turn. A region is walked yard by
yard: few enough pages that their addresses stay translated, and in them an order of lines that no prefetcher guesses.
What makes a load wait is its address: it contains bits of the line before, masked by a zero that only the run time
knows.
"""

from collections.abc import Sequence

from roofline.kernel import Source, Target
from roofline.llvm import (
    LINE,
    Block,
    Function,
    Span,
    States,
    Vectors,
    entry_name,
    expected_stores,
    summing_module,
    zero,
)
from roofline.model import Variant

ELEMENTS = LINE // 4  # of a line
YARD = 512  # lines: eight pages of 4 KiB
# Each pair, an odd factor and a shift, maps the numbers below YARD onto themselves: n · factor, then n ^ (n >> shift).
MIXING = ((0x1B5, 4), (0x0E3, 5), (0x179, 3))


def place(hop: int) -> int:
    """The line of a yard that is met at that hop."""
    for factor, shift in MIXING:
        hop = hop * factor % YARD
        hop ^= hop >> shift
    return hop


def block(streams: int) -> int:
    """Elements of a yard in each of so many streams."""
    return streams * YARD * ELEMENTS


def variants(target: Target, streams: int) -> Sequence[Variant]:
    """The one form that so many streams have: whole lines in the widest vectors."""
    lanes = min(target.lanes, ELEMENTS)
    return (Variant(f"{lanes}x{ELEMENTS // lanes}", {"lanes": lanes, "streams": streams}),)


def source(target: Target, variant: Variant, workers: int | None) -> Source:
    """The sum of all lines, in as many dependent streams on each of `workers` cores (None: all)."""
    lanes, streams = variant.integer("lanes"), variant.integer("streams")
    line = Vectors(lanes, ELEMENTS // lanes)
    entry = entry_name("in_flight", f"{line}_{streams}")
    return Source(
        text=summing_module(entry, target, line, lambda block: _walks(block, streams)),
        entry=entry,
        block=block(streams),
        expects={"fma": 0, "mul": 0, "add": streams * line.count, **expected_stores(line, non_temporal=False)},
        workers=workers,
    )


def _walks(block: Block, streams: int) -> States:
    """All streams side by side, one hop of each a trip; the sums, a vector for each of a line's vectors."""
    function, line = block.function, block.vectors
    low, high = function.slot("low", "i64"), function.slot("high", "i64")
    region = function.value(f"udiv i64 {function.value(f'sub i64 {high}, {low}')}, {streams}")
    mask = function.value(f"fptosi double {function.slot('b', 'double')} to i32")

    def hop(yard: str, number: str, states: States) -> States:
        origins, sums = states[:streams], states[streams:]
        at = function.value(f"add i64 {yard}, {_placed(function, number)}")
        walked = []
        for origin in origins:
            address = function.value(f"getelementptr float, ptr {origin}, i64 {at}")
            sums = _add(block, address, sums)
            walked.append(_linked(function, origin, address, mask))
        return [*walked, *sums]

    def walk(yard: str, states: States) -> States:
        return function.loop(Span(0, YARD), kinds, states, lambda number, old: hop(yard, number, old))

    origins = [function.value(f"getelementptr float, ptr {block.pointers['x']}, i64 {low}")]
    while len(origins) < streams:
        origins.append(function.value(f"getelementptr float, ptr {origins[-1]}, i64 {region}"))
    kinds = ["ptr"] * streams + [line.type] * line.count
    states = [*origins, *[zero(line)] * line.count]
    return function.loop(Span(0, region, YARD * ELEMENTS), kinds, states, walk)[streams:]


def _placed(function: Function, hop: str) -> str:
    """The first element, within a yard, of the line that is met at that hop."""
    for factor, shift in MIXING:
        product = function.value(f"and i64 {function.value(f'mul i64 {hop}, {factor}')}, {YARD - 1}")
        hop = function.value(f"xor i64 {product}, {function.value(f'lshr i64 {product}, {shift}')}")
    return function.value(f"mul i64 {hop}, {ELEMENTS}")


def _add(block: Block, address: str, sums: States) -> States:
    """The sums with the line at `address` added to them."""
    function, line = block.function, block.vectors
    added = []
    for number, total in enumerate(sums):
        at = function.offset(address, number * line.bytes)
        loaded = function.value(f"load {line.type}, ptr {at}, align {line.bytes}")
        added.append(function.value(f"fadd {line.type} {total}, {loaded}"))
    return added


def _linked(function: Function, origin: str, address: str, mask: str) -> str:
    """The same origin, known only once what lies at `address` is."""
    bits = function.value(f"load i32, ptr {address}")
    nothing = function.value(f"zext i32 {function.value(f'and i32 {bits}, {mask}')} to i64")
    return function.value(f"getelementptr i8, ptr {origin}, i64 {nothing}")
