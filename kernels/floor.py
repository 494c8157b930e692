"""C5, C6: the addition of two arrays at every size from less than 1 KB on, timed by whoever launches it.

Below some size a launch takes as long as launching takes, whatever is in it; beyond, as long as its bytes do. Launches
follow one another through arrays several times as large as the last cache, so that lines are cold when they are met
again: otherwise sizes in between would come out of that cache, faster than DRAM, and no one line would fit. Only sizes
that take a thousandth of the cache or so stay in there, where bytes cost next to nothing either way.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from roofline.kernel import Array, Kernel, Launched
from roofline.model import Device, Traffic, Work

from . import floor_cpu, floor_cuda

EXPERIMENT = "floor"
ARRAYS, BYTES_OF_AN_ELEMENT = 3, 12
# 768 B to 6.4 GB, an octave apart.
SIZES = tuple(1 << octave for octave in range(6, 30))
# Four that are flat on every device known, and two that DRAM decides, far apart.
CORE = tuple(1 << octave for octave in (6, 10, 14, 18, 24, 27))
# All arrays together exceed the last cache so many times; a launch's window moves on through them, round and round.
CACHES, ASSUMED_CACHE_BYTES = 4, 64 << 20
MOST_WINDOWS = 1024
# A CPU's DRAM moves tens of gigabytes a second: beyond this a size costs seconds and tells nothing new.
MOST_BYTES = {"cpu": 512 << 20, "fake": 8 << 30, "cuda": 8 << 30}


@dataclass(frozen=True)
class Way:
    """How a kind of device launches and stores: the mode that is timed, and the ceiling that such an addition has."""

    mode: str
    slope: str


# A GPU is queued ahead without waiting. A CPU's region is waited for: what leaves and meets again in machine code costs
# less than one line from DRAM, and no size would be flat.
WAYS = {
    "cuda": Way("launch", "dram_triad"),
    "cpu": Way("launch_sync", "dram_triad_ordinary"),
    "fake": Way("launch", "dram_triad_ordinary"),
}


def name_of(size: int) -> str:
    """The name of the row that adds so many elements; names sort by size."""
    return f"vecadd-{BYTES_OF_AN_ELEMENT * size:010d}B"


def in_reach(size: int, device: Device) -> bool:
    """Whether a size tells something on this device."""
    return BYTES_OF_AN_ELEMENT * size <= MOST_BYTES[device.kind]


def windows(size: int, device: Device) -> int:
    """Parts of the arrays that launches of `size` elements go through in turn."""
    whole = CACHES * (device.cache_bytes or ASSUMED_CACHE_BYTES)
    return min(MOST_WINDOWS, -(-whole // (BYTES_OF_AN_ELEMENT * size)))


def _sum(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
    return [arrays[0].astype(np.float64) + arrays[1].astype(np.float64)]


def _work(slope: str) -> Callable[[int], Work]:
    def work(n: int) -> Work:
        return Work(
            flops=float(n),
            unit="fp32",
            traffic={"dram": Traffic(read=8.0 * n, written=4.0 * n)},
            slopes={"dram": slope},
            convention="an addition = 1 FLOP; each element read or written once; write-allocate traffic not counted",
        )

    return work


def fitted(kernel: Kernel, size: int, device: Device) -> Kernel:
    """The kernel as this device launches it, on arrays with room for all of its windows."""
    way, room = WAYS[device.kind], size * windows(size, device)
    return replace(
        kernel,
        fitted=None,
        launched=Launched(way.mode),
        work=_work(way.slope),
        size=lambda elements: size if elements else room,
    )


def kernel(size: int) -> Kernel:
    """The addition of two arrays of so many elements."""
    base = Kernel(
        experiment=EXPERIMENT,
        name=name_of(size),
        unit="fp32",
        level="dram",
        work=_work("dram"),
        variants=lambda target: floor_cuda.variants() if target.kind == "cuda" else floor_cpu.variants(target),
        sources={"cpu": floor_cpu.source, "cuda": floor_cuda.source},
        reference=_sum,
        arrays=ARRAYS,
        memory="own",
        size=lambda elements: size,
    )
    return replace(base, fitted=lambda device: fitted(base, size, device))


def every_kernel() -> Iterator[Kernel]:
    """The kernel of every size."""
    return map(kernel, SIZES)
