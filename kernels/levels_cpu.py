"""The LLVM IR of reads that a cache serves: the sum of a set, pass after pass.

How many vectors one trip of the loop adds up, each into an accumulator of its own, is what is searched. An addition
takes its operand from memory, so there are as many loads as additions, and near a core nothing is asked for ahead.
"""

from collections.abc import Sequence

from roofline.kernel import Source, Target
from roofline.llvm import Vectors, block_variant, entry_name, expected_prefetches, expected_stores, summing_kernel
from roofline.model import Variant

FORMS = (12, 8, 4)  # vectors a trip: 12 accumulators and what the loop needs fit the 16 registers of AVX2


def variants(target: Target) -> Sequence[Variant]:
    """The blocks worth trying."""
    return [block_variant(target, vectors, ahead=0) for vectors in FORMS]


def source(target: Target, variant: Variant, passes: int) -> Source:
    """`passes` passes over each worker's part of the set."""
    vectors, ahead = Vectors(target.lanes, variant.integer("vectors")), variant.integer("ahead")
    entry = entry_name(f"read_{passes}_times", f"{vectors}_{ahead}")
    stored = expected_stores(vectors, non_temporal=False)
    return Source(
        text=summing_kernel(entry, target, vectors, ahead, passes),
        entry=entry,
        block=vectors.block,
        expects={"fma": 0, "mul": 0, "add": vectors.count} | stored | expected_prefetches(vectors, ahead),
    )
