"""The LLVM IR of the addition of two arrays, with ordinary stores: what small launches use."""

from collections.abc import Sequence

from roofline.kernel import Source, Target
from roofline.llvm import Block, Vectors, entry_name, expected_stores, streaming_kernel
from roofline.model import Variant

VECTORS = 4  # a block of a small launch must not be larger than a worker's share


def variants(target: Target) -> Sequence[Variant]:
    """One form for all sizes: a series of many would not be one line."""
    return (Variant(f"{target.lanes}x{VECTORS}", {"vectors": VECTORS}),)


def source(target: Target, variant: Variant) -> Source:
    """Load a block of both, add, store."""
    vectors = Vectors(target.lanes, variant.integer("vectors"))
    entry = entry_name("floor", str(vectors))

    def body(block: Block) -> None:
        pairs = zip(block.load("x"), block.load("z"), strict=True)
        kind = block.vectors.type
        block.store("y", [block.function.value(f"fadd {kind} {one}, {other}") for one, other in pairs])

    expects = {"fma": 0, "mul": 0, "add": vectors.count} | expected_stores(vectors, non_temporal=False)
    return Source(streaming_kernel(entry, target, vectors, body), entry, vectors.block, expects)
