"""H1: how fast sets of growing size are read, from what a first-level cache holds to what no cache does.

Where a set no longer fits a cache, reads fall off: so the sweep finds what each cache holds without asking anybody
(`roofline.capacity`). On a CPU the cores share a set out; every load is counted where it goes, at the first-level
cache, whichever level serves it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from roofline.kernel import Kernel
from roofline.llvm import block_variant
from roofline.model import Device, Traffic, Work

from . import levels_cpu
from .levels import BYTES_OF_AN_ELEMENT, observed_sum, sum_of_passes

KIBIBYTE = 1 << 10
# Half octaves: a cache's edge then lies between sets 19 % smaller and 19 % larger than their middle.
SMALLEST, HALF_OCTAVES = 16 * KIBIBYTE, 36
GRAIN = 4 * KIBIBYTE
# A launch reads so many bytes: a fifth of a millisecond from the nearest cache, some milliseconds from DRAM.
BYTES_A_LAUNCH = 64 << 20
# On a CPU from half of the smallest first-level cache, for each core, to what a last cache holds an eighth of; on a GPU
# from an eighth of L2 to five times as much, and from `FAR_FROM` on.
LEAST_A_CORE, MOST_CACHES = 16 * KIBIBYTE, {"cpu": 8, "fake": 8, "cuda": 5}
LEAST_SHARE = 8
FAR_FROM = 1 << 30
BLOCK, AHEAD = 8, 2048  # vectors a trip; bytes that lines are asked for ahead,
AHEAD_FROM = 1 << 20  # which pays for sets from this on, and costs the nearest cache every other load

_NAME = re.compile(r"read-(\d+)K(?:-.+)?")


def name_of(set_bytes: int) -> str:
    """The name of the row that reads such a set; names sort by size."""
    return f"read-{set_bytes // KIBIBYTE:08d}K"


def set_bytes(name: str) -> int | None:
    """The bytes of the set that a row of that name reads, None for a name of another kind."""
    match = _NAME.fullmatch(name)
    return int(match[1]) * KIBIBYTE if match else None


def sets() -> Iterator[int]:
    """The sets of the sweep on a CPU, in bytes for all cores together."""
    for step in range(HALF_OCTAVES + 1):
        yield round(SMALLEST * 2 ** (step / 2) / GRAIN) * GRAIN


def order_of(name: str) -> str:
    """The order in which a row of that name reads, empty on a CPU."""
    return name.partition("K-")[2]


def in_reach(name: str, device: Device) -> bool:
    """Whether a set tells something on this device, judged by its cores and by how large its last cache is said to be.

    Only what is worth measuring follows from that: what a cache holds does not.
    """
    size, cache = set_bytes(name) or 0, device.cache_bytes
    if cache is None or (device.kind == "cuda" and size >= FAR_FROM):
        return True
    least = cache / LEAST_SHARE if device.kind == "cuda" else LEAST_A_CORE * device.cores
    return least <= size <= MOST_CACHES[device.kind] * cache


def unjudged(work: Work) -> Work:
    """The same work under no slope: which level serves it, and so which would judge it, is what the sweep finds out."""
    return replace(work, slopes=dict.fromkeys(work.traffic, "footprint"))


def kernel(size_bytes: int) -> Kernel:
    """Reads a set of that size, in passes that make up a launch."""
    passes = max(1, BYTES_A_LAUNCH // size_bytes)
    forms = (0,) if size_bytes < AHEAD_FROM else (0, AHEAD)

    def work(n: int) -> Work:
        counted = Work(
            flops=0.0,
            unit="fp32",
            traffic={"l1": Traffic(float(BYTES_OF_AN_ELEMENT * passes * n), 0.0)},
            convention="each element read once a pass, counted at L1, whether it has it or not; additions not counted",
        )
        return unjudged(counted)

    return Kernel(
        experiment="footprint",
        name=name_of(size_bytes),
        unit="fp32",
        level="l1",
        work=work,
        variants=lambda target: [block_variant(target, BLOCK, ahead) for ahead in forms],
        sources={"cpu": lambda target, variant: levels_cpu.source(target, variant, passes)},
        reference=sum_of_passes(passes),
        observe=observed_sum,
        memory="own",
        size=lambda _: size_bytes // BYTES_OF_AN_ELEMENT,
    )


def every_kernel() -> Iterator[Kernel]:
    """The kernel of every set."""
    return (kernel(size_bytes) for size_bytes in sets())
