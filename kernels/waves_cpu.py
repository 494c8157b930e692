"""The LLVM IR of blocks of fixed work: one chain of FMAs each, long enough that sharing them out costs nothing."""

from collections.abc import Sequence

from roofline.kernel import Source, Target
from roofline.llvm import Block, Vectors, entry_name, expected_steps, expected_stores, streaming_kernel
from roofline.model import Variant

LANES = 4  # every target has vectors of that width, so a block has as many elements everywhere
STEPS = 8192  # 11 µs at four cycles each and 3 GHz


def variants(target: Target) -> Sequence[Variant]:
    """One form: one vector, one chain."""
    return (Variant(f"{LANES}x1", {}),) if target.kind != "cuda" else ()


def source(target: Target, variant: Variant) -> Source:
    """All steps on one vector."""
    vectors = Vectors(LANES, 1)
    entry = entry_name("waves", str(vectors))

    def body(block: Block) -> None:
        block.store("y", block.steps(block.load("x"), STEPS))

    return Source(
        text=streaming_kernel(entry, target, vectors, body),
        entry=entry,
        block=vectors.block,
        expects=expected_steps(target, vectors, STEPS) | expected_stores(vectors, non_temporal=False),
    )
