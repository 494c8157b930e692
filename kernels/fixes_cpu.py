"""The LLVM IR of the steps of a chain, in place: one a region, or all of them."""

from collections.abc import Sequence

from roofline.kernel import Source, Target
from roofline.llvm import Block, Vectors, entry_name, expected_steps, expected_stores, streaming_kernel
from roofline.model import Variant

VECTORS = 4


def variants(target: Target) -> Sequence[Variant]:
    """One form: what differs between the ways is how they are launched."""
    return (Variant(f"{target.lanes}x{VECTORS}", {"vectors": VECTORS}),)


def source(target: Target, variant: Variant, steps: int) -> Source:
    """So many steps on each vector of a block, between a load and a store."""
    vectors = Vectors(target.lanes, variant.integer("vectors"))
    entry = entry_name(f"fixes_{steps}", str(vectors))

    def body(block: Block) -> None:
        block.store("x", block.steps(block.load("x"), steps))

    return Source(
        text=streaming_kernel(entry, target, vectors, body),
        entry=entry,
        block=vectors.block,
        expects=expected_steps(target, vectors, steps) | expected_stores(vectors, non_temporal=False),
    )
