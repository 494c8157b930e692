"""The LLVM IR of the strides: scalar loads that far apart, each added to a sum of its own.

A block has enough of them that the additions do not wait for one another. The lines of a stride are asked for ahead, or
the core's own prefetching follows them: which is better is searched, as it is for the DRAM ceilings.
"""

from collections.abc import Sequence

from roofline.kernel import Source, Target
from roofline.llvm import (
    Block,
    Vectors,
    entry_name,
    expected_prefetches,
    expected_stores,
    streaming_kernel,
    summing_kernel,
)
from roofline.model import Variant

FORMS = ((16, 0), (2, 0), (16, 2048), (4, 2048))  # elements a block, bytes asked for ahead


def variants(writes: bool) -> Sequence[Variant]:
    """The blocks worth trying; a store has nothing to ask for ahead."""
    forms = [(count, ahead) for count, ahead in FORMS if not (writes and ahead)]
    return [_variant(count, ahead) for count, ahead in forms]


def _variant(count: int, ahead: int) -> Variant:
    return Variant(f"{count}" + (f"-ahead-{ahead}" if ahead else ""), {"count": count, "ahead": ahead})


def read(target: Target, variant: Variant, stride: int) -> Source:
    """The sum of one element of every `stride`."""
    vectors, ahead = Vectors(1, variant.integer("count"), stride), variant.integer("ahead")
    entry = entry_name(f"sectors_read_{stride}", f"{vectors}_{ahead}")
    expects = {"fma": 0, "mul": 0, "add": vectors.count} | expected_stores(vectors, non_temporal=False)
    return Source(
        text=summing_kernel(entry, target, vectors, ahead),
        entry=entry,
        block=vectors.block,
        expects=expects | expected_prefetches(vectors, ahead),
    )


def write(target: Target, variant: Variant, stride: int) -> Source:
    """One element of every `stride` written, by ordinary stores."""
    vectors = Vectors(1, variant.integer("count"), stride)
    entry = entry_name(f"sectors_write_{stride}", str(vectors))

    def body(block: Block) -> None:
        block.store("y", [block.a] * block.vectors.count)

    expects = {"fma": 0, "mul": 0, "add": 0} | expected_stores(vectors, non_temporal=False)
    return Source(streaming_kernel(entry, target, vectors, body), entry, vectors.block, expects)
