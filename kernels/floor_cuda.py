"""The addition of two arrays in one grid, by `floor.cu`."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.kernel import Target
from roofline.model import Variant

THREADS = 256


@cache
def text() -> str:
    """The CUDA C++ of the addition."""
    return Path(__file__).with_name("floor.cu").read_text(encoding="utf-8")


def variants() -> Sequence[Variant]:
    """One shape for all sizes: a series of many would not be one line."""
    return (Variant(f"vectors-{THREADS}", {"threads": THREADS}),)


def source(target: Target, variant: Variant) -> CudaSource:
    """Four elements a thread, one grid."""
    threads = variant.integer("threads")
    return CudaSource(
        text=text(), entry=f"overhead::add<{threads}>", block=4 * threads, expects={"spill": 0}, threads=threads
    )
