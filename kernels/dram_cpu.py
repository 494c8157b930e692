"""The LLVM IR of the DRAM patterns: straight loads and stores of whole vectors, a block at a time.

How many vectors a block has, and so how many loads are issued before the first store, is what is searched, with how far
ahead lines are asked for. Reading sums into one accumulator a vector, so that no load can be left out and no addition
waits for the one before.
"""

from collections.abc import Callable, Mapping, Sequence

from roofline.kernel import Source, Target
from roofline.llvm import (
    Block,
    Vectors,
    block_variant,
    entry_name,
    expected_prefetches,
    expected_stores,
    streaming_kernel,
    summing_kernel,
)
from roofline.model import Variant

FORMS = ((2, 0), (4, 0), (1, 0), (8, 0), (8, 2048))  # vectors a block, bytes asked for ahead


def variants(target: Target, pattern: str) -> Sequence[Variant]:
    """The blocks worth trying; a pattern that reads nothing has nothing to ask for ahead.

    AArch64 stores past the cache in pairs of vectors, so there a block of one has no such store.
    """
    reads = not pattern.startswith("write")
    pairs = target.architecture == "aarch64" and pattern.endswith("-nt")
    forms = [(vectors, ahead) for vectors, ahead in FORMS if (reads or not ahead) and not (pairs and vectors % 2)]
    return [block_variant(target, vectors, ahead) for vectors, ahead in forms]


def _written(block: Block) -> Sequence[str]:
    return [block.a] * block.vectors.count


def _copied(block: Block) -> Sequence[str]:
    return block.load("x")


def _updated(block: Block) -> Sequence[str]:
    return [block.function.value(f"fadd {block.vectors.type} {value}, {block.a}") for value in block.load("x")]


def _accumulated(block: Block) -> Sequence[str]:
    pairs = zip(block.load("x"), block.load("y"), strict=True)
    return [block.function.value(f"fadd {block.vectors.type} {total}, {value}") for value, total in pairs]


def _triad(block: Block) -> Sequence[str]:
    pairs = zip(block.load("x"), block.load("z"), strict=True)
    return [block.fma(second, block.a, first) for first, second in pairs]


# what a block stores, by the first word of the pattern's name
VALUES: Mapping[str, Callable[[Block], Sequence[str]]] = {
    "write": _written,
    "copy": _copied,
    "update": _updated,
    "accumulate": _accumulated,
    "triad": _triad,
}
# the arrays that a block reads
INPUTS = {"read": "x", "write": "", "copy": "x", "update": "x", "accumulate": "xy", "triad": "xz"}


def source(target: Target, variant: Variant, pattern: str, stores: str) -> Source:
    """One pattern with one kind of store."""
    vectors, ahead = Vectors(target.lanes, variant.integer("vectors")), variant.integer("ahead")
    entry = entry_name(f"dram_{pattern.replace('-', '_')}", f"{vectors}_{ahead}")
    what = pattern.split("-")[0]
    inputs = INPUTS[what]
    expects = _arithmetic(target, vectors, what) | expected_stores(vectors, stores == "nt")
    expects["prefetch"] = len(inputs) * expected_prefetches(vectors, ahead)["prefetch"]
    if what == "read":
        return Source(summing_kernel(entry, target, vectors, ahead), entry, vectors.block, expects)

    def body(block: Block) -> None:
        for array in inputs:
            block.prefetch(array, ahead)
        block.store("y", VALUES[what](block), stores == "nt")

    return Source(streaming_kernel(entry, target, vectors, body), entry, vectors.block, expects)


def _arithmetic(target: Target, vectors: Vectors, what: str) -> dict[str, int]:
    counts = {"fma": 0, "mul": 0, "add": 0}
    if what in ("read", "update", "accumulate"):
        counts["add"] = vectors.count
    if what == "triad":
        counts |= dict.fromkeys(("fma",) if target.has_fma else ("mul", "add"), vectors.count)
    return counts
