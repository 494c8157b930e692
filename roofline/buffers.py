"""How large the buffers of DRAM experiments are: well beyond the last cache, and within the memory there is."""

from dataclasses import dataclass

from roofline.model import Device

# A1: arrays must exceed the last cache "far": eight times leaves at most an eighth of an array in it between launches.
# A GPU's bandwidth falls with the footprint: sixteen times its L2 is about the gigabyte at which peers are compared.
CACHE_FACTOR = {"cpu": 8, "cuda": 16, "fake": 8}
# Under this factor a DRAM figure would hold too much of the cache, and is refused.
LEAST_CACHE_FACTOR = 4
# Small caches still get arrays that take a launch well beyond its own overhead.
LEAST_ARRAY_BYTES = 256 << 20
# Where a device does not say how large its last cache is: larger than that of most desktop parts.
ASSUMED_CACHE_BYTES = 64 << 20
# Physical placement alone moves a CPU's DRAM figures by up to 1.6x: three allocations show it. A GPU interleaves its
# memory finely, and two still differ by up to 3 %.
PLACEMENTS = {"cpu": 3, "cuda": 2, "fake": 2}
ARRAYS = 3
BLOCK = 1 << 20


class TooLittleMemory(Exception):
    """DRAM experiments cannot be run beyond the cache in the memory there is; the message gives both figures."""


@dataclass(frozen=True)
class BufferPlan:
    """`placements` allocations of `arrays` arrays of `array_bytes` each."""

    array_bytes: int
    placements: int
    arrays: int = ARRAYS

    @property
    def total_bytes(self) -> int:
        """What all of them take together."""
        return self.array_bytes * self.arrays * self.placements


def plan(device: Device, memory_limit: int) -> BufferPlan:
    """The buffers for `device` when they may take `memory_limit` bytes together.

    Fewer allocations are given up first, then size, down to `LEAST_CACHE_FACTOR` times the last cache.

    Raises:
        TooLittleMemory: even that does not fit.

    """
    cache = device.cache_bytes or ASSUMED_CACHE_BYTES
    wanted = _blocks(max(CACHE_FACTOR[device.kind] * cache, LEAST_ARRAY_BYTES))
    for placements in range(PLACEMENTS[device.kind], 0, -1):
        fits = BufferPlan(wanted, placements)
        if fits.total_bytes <= memory_limit:
            return fits
    least = _blocks(LEAST_CACHE_FACTOR * cache)
    largest = memory_limit // ARRAYS // BLOCK * BLOCK
    if largest >= least:
        return BufferPlan(largest, 1)
    raise TooLittleMemory(
        f"DRAM experiments need {ARRAYS} arrays of {least / 1e9:.2f} GB, {LEAST_CACHE_FACTOR} times the last cache of "
        f"{cache / 1e6:.0f} MB, and only {memory_limit / 1e9:.2f} GB may be used: free memory, raise the container's "
        "limit, or leave the DRAM experiments out with -k 'not dram and not dial'"
    )


def _blocks(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
