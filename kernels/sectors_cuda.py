"""What the strides are on a GPU: the shapes of `sectors.cu`."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.model import Variant

# (loads a thread, threads a block); stores need no more of either.
READS = ((16, 256), (8, 512), (4, 1024))
WRITES = ((1, 1024), (4, 256))


def variants(writes: bool) -> Sequence[Variant]:
    """The shapes worth trying."""
    return tuple(
        Variant(f"{loads}x{threads}", {"loads": loads, "threads": threads})
        for loads, threads in (WRITES if writes else READS)
    )


@cache
def text() -> str:
    """The source that every instance is made from."""
    return Path(__file__).with_name("sectors.cu").read_text(encoding="utf-8")


def source(variant: Variant, stride: int, what: str) -> CudaSource:
    """A "read" or a "write" of one element of every `stride`."""
    loads, threads = variant.integer("loads"), variant.integer("threads")
    moves = {"load": loads, "store": 0} if what == "read" else {"load": 0, "store": loads}
    return CudaSource(
        text=text(),
        entry=f"sectors::{what}<{stride}, {loads}, {threads}>",
        block=stride * loads * threads,
        expects={**moves, "spill": 0},
        threads=threads,
        tail=f"sectors::{what}_tail<{stride}>",
    )
