"""Reads with a set number of bytes in flight on a GPU, and the chase: `in_flight.cu`."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.kernel import Target
from roofline.model import Variant

# Warps that an SM holds (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
MOST_WARPS = {"sm_75": 32} | dict.fromkeys(("sm_86", "sm_87", "sm_88", "sm_89", "sm_110a", "sm_120a", "sm_121a"), 48)
MOST_WARPS_ELSEWHERE = 64
WARPS_OF_A_BLOCK = 32


def variants(target: Target, warps: int, loads: int) -> Sequence[Variant]:
    """The one form of so many loads a thread in so many warps of an SM; none where it holds fewer."""
    if target.kind != "cuda" or warps > MOST_WARPS.get(target.architecture, MOST_WARPS_ELSEWHERE):
        return ()
    blocks = -(-warps // WARPS_OF_A_BLOCK)
    threads = 32 * warps // blocks
    return (Variant(f"{loads}x{threads}x{blocks}", {"loads": loads, "threads": threads, "blocks": blocks}),)


def one_thread(target: Target) -> Sequence[Variant]:
    """The one form of the chase."""
    return (Variant("one-thread"),) if target.kind == "cuda" else ()


@cache
def text() -> str:
    """The source that every instance is made from."""
    return Path(__file__).with_name("in_flight.cu").read_text(encoding="utf-8")


def read(variant: Variant) -> CudaSource:
    """As many blocks on each SM as the variant says."""
    loads, threads, blocks = (variant.integer(name) for name in ("loads", "threads", "blocks"))
    return CudaSource(
        text=text(),
        entry=f"in_flight::read<{loads}, {threads}, {blocks}>",
        block=loads * threads,
        expects={"load": loads, "spill": 0},
        threads=threads,
        tail="in_flight::read_tail",
        blocks_per_sm=blocks,
    )


def chase(spacing: int) -> CudaSource:
    """A hop every `spacing` elements; two loads stand in the code, one of them that of the sum so far."""
    return CudaSource(
        text=text(),
        entry=f"in_flight::chase<{spacing}>",
        expects={"load": 2, "store": 1, "spill": 0},
        threads=32,
        blocks_per_sm=1,
    )
