"""The LLVM IR of masked lanes: every lane runs every instruction, and a mask made at run time says whose step counts.

The mask takes the operands of the steps from the other lanes, which then add 0 to what they hold: the registers and
instructions are those of the roof itself.
"""

from collections.abc import Sequence
from dataclasses import replace

from roofline.kernel import Source, Target
from roofline.llvm import (
    Block,
    Vectors,
    block_variant,
    entry_name,
    expected_steps,
    expected_stores,
    streaming_kernel,
    vector_type,
)
from roofline.model import Variant

# Vectors of a block: what fills the pipes of most cores, as the roof itself is searched.
CHAINS = (12, 10, 8)
# Registers that hold what every step takes (a and b, or their sum and product) and what the mask is made from; and,
# where nothing is fused, the constant 1 and a product on its way.
OPERANDS, MASK, UNFUSED = 2, 3, 2


def variants(target: Target, one_in: int) -> Sequence[Variant]:
    """The blocks worth trying; none where some vectors would have no lane that counts."""
    if one_in > target.lanes:
        return ()
    left = target.registers - OPERANDS - MASK - (0 if target.has_fma else UNFUSED)
    return [block_variant(target, count, 0) for count in CHAINS if count <= left]


def source(target: Target, variant: Variant, one_in: int, steps: int) -> Source:
    """`steps` steps on every element whose number is a multiple of `one_in`."""
    vectors = Vectors(target.lanes, variant.integer("vectors"))
    entry = entry_name(f"divergence_{one_in}", str(vectors))

    def body(block: Block) -> None:
        block.store("y", _masked(block, one_in).steps(block.load("x"), steps))

    return Source(
        text=streaming_kernel(entry, target, vectors, body),
        entry=entry,
        block=vectors.block,
        expects=expected_steps(target, vectors, steps) | expected_stores(vectors, non_temporal=False),
    )


def _masked(block: Block, one_in: int) -> Block:
    """The block with steps that change nothing in the other lanes: v + 0·b, or v·1 + 0 where nothing is fused.

    Every vector of a block begins at a multiple of its lanes, so one mask serves all.
    """
    mask = _mask(block, one_in)
    if block.target.has_fma:
        return replace(block, a=_kept(block, mask, block.a, 0.0))
    return replace(block, factor=_kept(block, mask, block.factor, 1.0), addend=_kept(block, mask, block.addend, 0.0))


def _kept(block: Block, mask: str, operand: str, otherwise: float) -> str:
    kind = block.vectors.type
    rest = block.function.splat(str(otherwise), "float", block.vectors.lanes)
    return block.function.value(f"select {mask}, {kind} {operand}, {kind} {rest}")


def _mask(block: Block, one_in: int) -> str:
    """A typed vector of truths: whether each element's number is a multiple of `one_in`, a power of two."""
    function, lanes = block.function, block.vectors.lanes
    kind = vector_type("i32", lanes)
    first = function.value(f"trunc i64 {block.index} to i32")
    numbers = function.value(f"add {kind} {function.splat(first, 'i32', lanes)}, {_constant(range(lanes))}")
    below = function.value(f"and {kind} {numbers}, {_constant([one_in - 1] * lanes)}")
    return f"{vector_type('i1', lanes)} {function.value(f'icmp eq {kind} {below}, {_constant([0] * lanes)}')}"


def _constant(values: Sequence[int]) -> str:
    """A constant vector of integers, a plain one where it has a single lane."""
    if len(values) == 1:
        return str(values[0])
    return f"<{', '.join(f'i32 {value}' for value in values)}>"
