"""Blocks of fixed time on a GPU, by `waves.cu`, and the shared memory that leaves an SM room for exactly two."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.kernel import Target
from roofline.model import Variant

from .dial_cuda import compute_capability

# One warp for each of an SM's four schedulers; with two blocks each of those issues at most half of the time.
THREADS, RESIDENT = 128, 2
# FMAs written out, and how often they are repeated: 33 µs a block at four cycles each and 2 GHz.
STEPS, REPEATS = 1024, 16
KIBIBYTE = 1 << 10
# Shared memory of an SM in KiB by compute capability, and what each block takes of it besides what it asks for
# (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", and its notes on each).
SHARED_OF_AN_SM = {
    75: 64,
    80: 164,
    86: 100,
    87: 164,
    89: 100,
    90: 228,
    100: 228,
    103: 228,
    110: 228,
    120: 100,
    121: 100,
}
RESERVED = 1


@cache
def text() -> str:
    """The CUDA C++ of the blocks."""
    return Path(__file__).with_name("waves.cu").read_text(encoding="utf-8")


def variants(target: Target) -> Sequence[Variant]:
    """One shape; none where it is not known how much shared memory an SM has."""
    known = target.kind == "cuda" and compute_capability(target.architecture) in SHARED_OF_AN_SM
    return (Variant(f"chain-{THREADS}x{RESIDENT}", {"threads": THREADS}),) if known else ()


def shared_bytes(capability: int) -> int:
    """What a block asks for so that `RESIDENT` of them fill an SM and no more fit."""
    return (SHARED_OF_AN_SM[capability] // RESIDENT - RESERVED) * KIBIBYTE


def source(target: Target, variant: Variant) -> CudaSource:
    """One element a thread, in one chain."""
    return CudaSource(
        text=text(),
        entry=f"waves::chain<{STEPS}, {THREADS}>",
        block=THREADS,
        expects={"fma": STEPS, "spill": 0},
        threads=THREADS,
        shared_bytes=shared_bytes(compute_capability(target.architecture)),
        resident=RESIDENT,
    )
