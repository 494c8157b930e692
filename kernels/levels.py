"""H1: one slope for each level of a CPU's memory: reads that one cache serves, pass after pass over the same set.

A set is read that the level holds and the one before it does not, in shares of equal size by all cores. Each element is
added to a sum, which shows that every pass read all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from roofline.kernel import Array, Kernel
from roofline.model import Device, Traffic, Work

from . import levels_cpu

KIBIBYTE = 1 << 10
BYTES_OF_AN_ELEMENT = 4
# The last cache of a CPU that nobody has asked yet: its size decides how large a set is read before one is known.
ASSUMED_CACHE_BYTES = 32 << 20
# A last cache may be shared with other machines: a quarter of it is read, but more for each core than most second-level
# caches hold, as far as it has room.
BEYOND_THE_SECOND = 1536 * KIBIBYTE
Reference = Callable[[Sequence[Array], int], Sequence[Array]]


@dataclass(frozen=True)
class Cache:
    """A cache of a CPU by its resource, the set to read from it, in bytes for each core, and the passes of a launch.

    The set of the last cache, which the cores share, follows from what the device says it holds: then it is 0 here.
    """

    resource: Literal["l1", "l2", "l3"]
    set_bytes: int
    passes: int

    def elements(self, device: Device) -> int:
        """Elements of the set that suits a device."""
        if self.set_bytes:
            return self.set_bytes * device.cores // BYTES_OF_AN_ELEMENT
        cache = device.cache_bytes or ASSUMED_CACHE_BYTES
        return min(max(cache // 4, BEYOND_THE_SECOND * device.cores), cache * 3 // 4) // BYTES_OF_AN_ELEMENT


# First-level caches hold 32 to 128 KiB, second-level ones 256 KiB and more, a core (the makers' optimisation guides):
# most of the smallest first-level cache, and half of the smallest second-level one, in blocks of 4, 8 or 12 vectors
# without a rest. A launch takes a tenth of a millisecond or two: long beside what it costs to meet, short beside the
# turns of a busy machine's other processes.
CACHES = (
    Cache("l1", 24 * KIBIBYTE, passes=1024),
    Cache("l2", 120 * KIBIBYTE, passes=128),
    Cache("l3", 0, passes=4),
)
ONE_CORE = Device("any CPU", "cpu", "unknown", cores=1)


def sum_of_passes(passes: int) -> Reference:
    """What the sum of the last array is after launches that each add that of the first to it, `passes` times over."""

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        read, kept = (array.sum(dtype=np.float64) for array in (arrays[0], arrays[-1]))
        return [np.asarray(kept + launches * passes * read)]

    return reference


def observed_sum(arrays: Sequence[Array]) -> Sequence[Array]:
    """The sum of the last array, whichever of its elements a device adds to."""
    return [np.asarray(arrays[-1].sum(dtype=np.float64))]


def work_of_passes(level: str, passes: int) -> Callable[[int], Work]:
    """Counts `passes` passes over n elements, read at `level`."""

    def work(n: int) -> Work:
        return Work(
            flops=0.0,
            unit="fp32",
            traffic={"dram": Traffic(0.0, 0.0), level: Traffic(float(BYTES_OF_AN_ELEMENT * passes * n), 0.0)},
            convention="each element read once a pass; additions, and bringing the set in, not counted",
        )

    return work


def fitted(cache: Cache, device: Device) -> Kernel:
    """Reads of the set that suits a device."""
    elements = cache.elements(device)
    return replace(kernel(cache), size=lambda _: elements)


def kernel(cache: Cache) -> Kernel:
    """Reads that one cache of a CPU serves."""
    return Kernel(
        experiment="levels",
        name=f"{cache.resource}-read",
        unit="fp32",
        level=cache.resource,
        work=work_of_passes(cache.resource, cache.passes),
        variants=levels_cpu.variants,
        sources={"cpu": lambda target, variant: levels_cpu.source(target, variant, cache.passes)},
        reference=sum_of_passes(cache.passes),
        observe=observed_sum,
        measures=(cache.resource,),
        memory="own",
        size=lambda _: cache.elements(ONE_CORE),
        fitted=lambda device: fitted(cache, device),
    )


def every_kernel() -> Iterator[Kernel]:
    """The kernel of every cache, nearest to the core first."""
    return (kernel(cache) for cache in CACHES)
