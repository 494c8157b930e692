"""How buffers get their first contents, in machine code: by the cores that will use them, the same each time."""

from collections.abc import Callable

from roofline.kernel import Target
from roofline.llvm import Block, Vectors, entry_name, merged, streaming_kernel, vector_type, zero

# A 32-bit integer hash (the first two rounds of murmur3's finaliser after a Weyl step), of the element's number.
WEYL, MIX = 0x9E3779B1, 0x85EBCA6B
SHIFTS = (15, 13)
MANTISSA_SHIFT, ONE = 9, 0x3F800000  # the bits of 1.0: any mantissa beside them gives a value in [1, 2)
SEED_STEP = 0x3C6EF372  # apart the numbers of consecutive arrays, so that no two arrays hold the same values
VECTORS_PER_BLOCK = 4

FILLS = ("random", "zeros")


def fill_code(target: Target) -> str:
    """The module with one entry for each of the `FILLS`; they write array `x`, from `seed` on."""
    vectors = Vectors(target.lanes, VECTORS_PER_BLOCK)
    bodies: dict[str, Callable[[Block], None]] = {"random": _random, "zeros": _zeros}
    return merged([streaming_kernel(entry_of(fill), target, vectors, bodies[fill]) for fill in FILLS])


def entry_of(fill: str) -> str:
    """The entry that fills with `fill`."""
    return entry_name(f"fill_{fill}", "all")


def block_of(target: Target) -> int:
    """The elements in a block of these entries."""
    return Vectors(target.lanes, VECTORS_PER_BLOCK).block


def _zeros(block: Block) -> None:
    block.store("x", [zero(block.vectors)] * block.vectors.count)


def _random(block: Block) -> None:
    function, lanes = block.function, block.vectors.lanes
    number = function.value(
        f"add i32 {function.value(f'trunc i64 {block.index} to i32')}, {function.slot('seed', 'i32')}"
    )
    start = function.splat(number, "i32", lanes)
    block.store("x", [_hashed(block, start, vector * lanes) for vector in range(block.vectors.count)])


def _hashed(block: Block, start: str, ahead: int) -> str:
    function, lanes = block.function, block.vectors.lanes
    kind = vector_type("i32", lanes)

    def constant(value: int) -> str:
        return str(value) if lanes == 1 else f"<{', '.join([f'i32 {value}'] * lanes)}>"

    numbers = ", ".join(f"i32 {ahead + lane}" for lane in range(lanes))
    bits = function.value(f"add {kind} {start}, {ahead if lanes == 1 else f'<{numbers}>'}")
    for factor, shift in zip((WEYL, MIX), SHIFTS, strict=True):
        bits = function.value(f"mul {kind} {bits}, {constant(factor)}")
        bits = function.value(f"xor {kind} {bits}, {function.value(f'lshr {kind} {bits}, {constant(shift)}')}")
    mantissa = function.value(f"lshr {kind} {bits}, {constant(MANTISSA_SHIFT)}")
    value = function.value(f"or {kind} {mantissa}, {constant(ONE)}")
    return function.value(f"bitcast {kind} {value} to {block.vectors.type}")
