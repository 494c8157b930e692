"""H1 on a GPU: how fast sets of growing size are read past the first-level caches, by the `whole` form of `levels.cu`.

Quarter octaves around what an L2 holds, so that where reads fall off is known to a tenth; then steps of four up to what
the card's memory holds. Those once more scattered, since a set that reaches further than addresses are translated at
once may pay for that only where reads follow one another far apart.
"""

from collections.abc import Iterator
from dataclasses import replace

from roofline.kernel import Kernel

from .footprint import FAR_FROM, KIBIBYTE, name_of, unjudged
from .levels_cuda import EITHER, whole, whole_variants

# Sets of L2s, from an eighth of the smallest there is to four times the largest.
SMALLEST, QUARTER_OCTAVES = 512 * KIBIBYTE, 40
GRAIN = 128 * KIBIBYTE
FAR = tuple(FAR_FROM * 4**step for step in range(4))


def near() -> Iterator[int]:
    """The sets around the capacity of an L2."""
    for step in range(QUARTER_OCTAVES + 1):
        yield round(SMALLEST * 2 ** (step / 4) / GRAIN) * GRAIN


def kernel(set_bytes: int, scattered: bool = False) -> Kernel:
    """Reads a set, in the order of its addresses or scattered."""
    read = whole(f"{name_of(set_bytes)}-{'scattered' if scattered else 'plain'}", set_bytes, scattered)
    return replace(
        read,
        experiment="footprint",
        work=lambda n: unjudged(read.work(n)),
        variants=lambda target: whole_variants(target, EITHER),
    )


def every_kernel() -> Iterator[Kernel]:
    """The kernel of every set in order, and of the far ones scattered."""
    yield from (kernel(set_bytes) for set_bytes in (*near(), *FAR))
    yield from (kernel(set_bytes, scattered=True) for set_bytes in FAR)
