"""The LLVM IR of the chains: the dial's block with a given number of vectors, on data that a near cache holds."""

from collections.abc import Sequence

from roofline.kernel import Source, Target
from roofline.llvm import Block, Vectors, entry_name, expected_steps, expected_stores, streaming_kernel
from roofline.model import Variant

NARROW_LANES = {"128-bit": 4, "scalar": 1}
SCALAR_OPERANDS = 2  # registers that hold what every step takes: a and b, or their sum and product


def variants(target: Target, chains: int, width: str) -> Sequence[Variant]:
    """The one form that so many chains of that width have; none where the registers cannot hold them."""
    if chains + SCALAR_OPERANDS > target.registers:
        return ()
    lanes = NARROW_LANES.get(width, target.lanes)
    return (Variant(f"{lanes}x{chains}", {"vectors": chains, "lanes": lanes}),)


def source(target: Target, variant: Variant, steps: int) -> Source:
    """`steps` steps on each vector of a block."""
    vectors = Vectors(variant.integer("lanes"), variant.integer("vectors"))
    entry = entry_name("chains", str(vectors))

    def body(block: Block) -> None:
        block.store("y", block.steps(block.load("x"), steps))

    return Source(
        text=streaming_kernel(entry, target, vectors, body),
        entry=entry,
        block=vectors.block,
        expects=expected_steps(target, vectors, steps) | expected_stores(vectors, non_temporal=False),
    )
