"""The steps of a chain on a GPU, by `fixes.cu`: one a launch, or all of them."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.model import Variant

THREADS = 128


@cache
def text() -> str:
    """The CUDA C++ of the steps."""
    return Path(__file__).with_name("fixes.cu").read_text(encoding="utf-8")


def variants() -> Sequence[Variant]:
    """One shape: what differs between the ways is how they are launched."""
    return (Variant(f"scalars-{THREADS}", {"threads": THREADS}),)


def source(variant: Variant, steps: int) -> CudaSource:
    """So many steps in one launch, one element a thread."""
    threads = variant.integer("threads")
    return CudaSource(
        text=text(),
        entry=f"chain::steps<{steps}, {threads}>",
        block=threads,
        expects={"fma": steps, "load": 1, "store": 1, "spill": 0},
        threads=threads,
    )
