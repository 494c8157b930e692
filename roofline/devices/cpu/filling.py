"""How buffers get their first contents, in machine code: by the cores that will use them, the same each time."""

from collections.abc import Callable

from roofline.kernel import Target
from roofline.llvm import Block, Vectors, entry_name, merged, streaming_kernel, vector_type, zero

# A 32-bit integer hash (the first two rounds of murmur3's finaliser after a Weyl step), of the element's number.
WEYL, MIX = 0x9E3779B1, 0x85EBCA6B
SHIFTS = (15, 13)
MANTISSA_SHIFT, ONE = 9, 0x3F800000  # the bits of 1.0: any mantissa beside them gives a value in [1, 2)
HALF_MANTISSAS, HALF_ONES = 0x03FF03FF, 0x3C003C00  # the same for the two FP16 values that fill the same four bytes
SEED_STEP = 0x3C6EF372  # apart the numbers of consecutive arrays, so that no two arrays hold the same values
VECTORS_PER_BLOCK = 4

WORD_BYTES = 4
FILLS = ("random", "zeros")
# How each type is filled, by words of four bytes.
ENTRIES = {
    ("float32", "random"): "random",
    ("float16", "random"): "random_halves",
    ("float32", "zeros"): "zeros",
    ("float16", "zeros"): "zeros",
}


def fill_code(target: Target) -> str:
    """The module with every one of the `ENTRIES`; they write array `x`, from `seed` on."""
    vectors = Vectors(target.lanes, VECTORS_PER_BLOCK)
    bodies: dict[str, Callable[[Block], None]] = {"random": _random, "random_halves": _random_halves, "zeros": _zeros}
    return merged([streaming_kernel(_entry(name), target, vectors, body) for name, body in bodies.items()])


def entry_of(fill: str, dtype: str = "float32") -> str:
    """The entry that fills words of `dtype` with `fill`."""
    return _entry(ENTRIES[dtype, fill])


def _entry(name: str) -> str:
    return entry_name(f"fill_{name}", "all")


def block_of(target: Target) -> int:
    """The elements in a block of these entries."""
    return Vectors(target.lanes, VECTORS_PER_BLOCK).block


def _zeros(block: Block) -> None:
    block.store("x", [zero(block.vectors)] * block.vectors.count)


def _random(block: Block) -> None:
    def value(bits: str) -> str:
        shifted = block.function.value(f"lshr {_words(block)} {bits}, {_constant(block, MANTISSA_SHIFT)}")
        return block.function.value(f"or {_words(block)} {shifted}, {_constant(block, ONE)}")

    _scattered(block, value)


def _random_halves(block: Block) -> None:
    def value(bits: str) -> str:
        mantissas = block.function.value(f"and {_words(block)} {bits}, {_constant(block, HALF_MANTISSAS)}")
        return block.function.value(f"or {_words(block)} {mantissas}, {_constant(block, HALF_ONES)}")

    _scattered(block, value)


def _words(block: Block) -> str:
    return vector_type("i32", block.vectors.lanes)


def _constant(block: Block, value: int) -> str:
    lanes = block.vectors.lanes
    return str(value) if lanes == 1 else f"<{', '.join([f'i32 {value}'] * lanes)}>"


def _scattered(block: Block, value: Callable[[str], str]) -> None:
    """Store a value of the hash of each word's number."""
    function, lanes = block.function, block.vectors.lanes
    number = function.value(
        f"add i32 {function.value(f'trunc i64 {block.index} to i32')}, {function.slot('seed', 'i32')}"
    )
    start = function.splat(number, "i32", lanes)
    values = [value(_hashed(block, start, vector * lanes)) for vector in range(block.vectors.count)]
    block.store("x", [function.value(f"bitcast {_words(block)} {bits} to {block.vectors.type}") for bits in values])


def _hashed(block: Block, start: str, ahead: int) -> str:
    function, lanes, kind = block.function, block.vectors.lanes, _words(block)
    numbers = ", ".join(f"i32 {ahead + lane}" for lane in range(lanes))
    bits = function.value(f"add {kind} {start}, {ahead if lanes == 1 else f'<{numbers}>'}")
    for factor, shift in zip((WEYL, MIX), SHIFTS, strict=True):
        bits = function.value(f"mul {kind} {bits}, {_constant(block, factor)}")
        bits = function.value(f"xor {kind} {bits}, {function.value(f'lshr {kind} {bits}, {_constant(block, shift)}')}")
    return bits
