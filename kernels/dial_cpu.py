"""The dial's LLVM IR: load a few vectors, take F steps on each, store them.

The vectors of one block are the independent chains, and the block's length is what is searched, with how far ahead
lines are asked for. Short blocks keep more loads in flight, which counts as long as memory bounds the kernel; many
chains hide the latency of the steps, which counts past the ridge. Near the ridge a core's window holds too few blocks
to overlap memory with steps, and asking ahead brings the last tenth of the roof. Stores in place are ordinary stores:
only the pointers differ, so both share one code.
"""

from collections.abc import Sequence

from roofline.kernel import Source, Target
from roofline.llvm import (
    Block,
    Vectors,
    block_variant,
    entry_name,
    expected_prefetches,
    expected_steps,
    expected_stores,
    streaming_kernel,
)
from roofline.model import Variant

# (steps up to which a family holds, (vectors a block, bytes asked for ahead), best guess first), by the number of
# vector registers: two of them hold the scalars, so 12 vectors are the most of 16. Past the ridge latency x pipes
# decides: 8 chains of 256-bit FMAs on Zen 3, 10 on Haswell, 4 of 512-bit ones on Zen 4, 8 on Intel, 16 on large AArch64
# cores.
FAMILIES = {
    16: (
        (8, ((4, 0), (8, 2048))),
        (16, ((8, 4096), (4, 4096), (8, 0))),
        (2048, ((8, 2048), (12, 2048))),
    ),
    32: (
        (8, ((4, 0), (2, 0), (8, 2048))),
        (32, ((4, 4096), (8, 4096), (4, 0))),
        (64, ((8, 2048), (4, 2048), (12, 2048))),
        (2048, ((8, 2048), (12, 2048), (16, 2048))),
    ),
}


def variants(target: Target, steps: int) -> Sequence[Variant]:
    """The blocks worth trying at F = `steps`."""
    family = next(forms for most, forms in FAMILIES[target.registers] if steps <= most)
    return [block_variant(target, vectors, ahead) for vectors, ahead in family]


def source(target: Target, variant: Variant, steps: int, stores: str) -> Source:
    """The dial at F = `steps` in blocks of the variant's vectors."""
    vectors, ahead = Vectors(target.lanes, variant.integer("vectors")), variant.integer("ahead")
    non_temporal = stores == "nt"
    entry = entry_name(f"dial_{steps}", f"{'nt' if non_temporal else 'ordinary'}_{vectors}_{ahead}")

    def body(block: Block) -> None:
        block.prefetch("x", ahead)
        block.store("y", block.steps(block.load("x"), steps), non_temporal)

    expects = expected_steps(target, vectors, steps) | expected_stores(vectors, non_temporal)
    return Source(
        text=streaming_kernel(entry, target, vectors, body),
        entry=entry,
        block=vectors.block,
        expects=expects | expected_prefetches(vectors, ahead),
    )
