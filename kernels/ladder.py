"""K1 to K4: the ladder of reuse. Products of square matrices, C = A·B, counted at each level by what a kernel asks.

From rung to rung a value is used more often once it is near: not at all, in tiles that lie in shared memory, in tiles
whose elements lie in registers, and as the vendor's library does it. So fewer bytes cross each level, and the kernel
lies further right there (H2, H3). `Work.traffic` holds the bytes of each level, and the roofline names the level, or
the unit, that limits (H4).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from roofline.kernel import Array
from roofline.model import Traffic, Work

EXPERIMENT = "ladder"
TILES = (16, 32)
# Rows and columns of the tile of C that a block keeps in registers, and of the square that a thread does.
REGISTER_TILE, EACH = 128, 8
# Rows and columns where it is timed: three matrices of 67 MB, more than any last cache but the largest.
SIDE = 4096
FLOAT = 4
# Rows and columns of the tile that a CPU keeps in registers: 12 vectors of AVX2, and two for B, one for A beside them.
CPU_TILE = (6, 16)
# Rows and columns on a CPU, where the lowest rung is a thousand times slower: tiles divide it, and it is no power of
# two, which would put a column of B into a few sets of the cache.
CPU_SIDE = 336


def side(n: int) -> int:
    """Rows and columns of the square matrices that arrays of `n` elements hold; what is left over stays untouched."""
    return math.isqrt(n)


def once(n: int, itemsize: int = FLOAT) -> Traffic:
    """Both factors read once and the product written once: the least that any product moves, 3 N² elements."""
    return Traffic(2.0 * itemsize * side(n) ** 2, 1.0 * itemsize * side(n) ** 2)


def naive(n: int) -> Work:
    """A product whose threads make an element each and keep nothing.

    L1: 8 bytes for each multiply-add of each thread, as lanes are given them, so intensity 1/4 (K1). What L1 asks of L2
    is for it to decide, and is not counted. DRAM: each matrix once.
    """
    rows = side(n)
    return Work(
        flops=2.0 * rows**3,
        unit="fp32",
        traffic={"dram": once(n), "l1": Traffic(2.0 * FLOAT * rows**3, 1.0 * FLOAT * rows**2)},
        convention="FMA = 2 FLOP; DRAM: each matrix once; L1: what lanes are given",
    )


def tiled(n: int, tile: int) -> Work:
    """A product in square tiles that a block of threads brings into shared memory and reads from there.

    DRAM: each matrix once, 12 N² bytes. L2: each tile of C asks for a row of tiles of A and a column of tiles of B,
    8 N³ / tile bytes, and is written once: N / tile tiles a side, so intensity tile / 4 (K2). Shared memory: what it
    takes in from L2, whole tiles at the edges too, and 8 bytes for each multiply-add of each thread: one warp-wide read
    for the value of A and one for that of B. Where lanes want the same word it is still one pass of the pipe, 32 lanes
    wide (CUDA C++ Programming Guide, "Shared Memory": a word is broadcast to the threads that want it), so the bytes
    that lanes are given are those that the pipe has passed.
    """
    padded = math.ceil(side(n) / tile) * tile
    return _blocked(n, tile, Traffic(2.0 * FLOAT * padded**3, 2.0 * FLOAT * padded**3 / tile))


def registers(n: int) -> Work:
    """A product in tiles that a block of threads keeps in registers, each thread a square of them.

    As in `tiled`, intensity is tile / 4 at L2 (K3). A thread takes a row and a column of its square from shared memory
    for each of its steps, so a byte feeds `EACH` times as many multiply-adds. They are read in fours and shared by
    lanes, which takes the pipe fewer passes than the bytes that lanes are given: the share of its slope is an upper
    bound.
    """
    rows = side(n)
    padded = math.ceil(rows / REGISTER_TILE) * REGISTER_TILE
    given = 2.0 * FLOAT * padded**2 * rows
    return _blocked(n, REGISTER_TILE, Traffic(given / EACH, given / REGISTER_TILE))


def _blocked(n: int, tile: int, shared: Traffic) -> Work:
    rows = side(n)
    tiles = math.ceil(rows / tile)
    return Work(
        flops=2.0 * rows**3,
        unit="fp32",
        traffic={
            "dram": once(n),
            "l2": Traffic(2.0 * FLOAT * rows**2 * tiles, 1.0 * FLOAT * rows**2),
            "shared": shared,
        },
        convention="FMA = 2 FLOP; DRAM: each matrix once; L2: what blocks ask; shared: what lanes are given and store",
    )


def blocked(n: int) -> Work:
    """A product whose tiles of C lie in a CPU's registers.

    L1: for each step of a tile a core asks for its rows of A and its columns of B, 4 (6 + 16) bytes for 192 FLOPs:
    intensity 2.2 where the lowest rung has 1/4. DRAM: each matrix once.
    """
    rows, (tall, wide) = side(n), CPU_TILE
    return Work(
        flops=2.0 * rows**3,
        unit="fp32",
        traffic={"dram": once(n), "l1": Traffic(FLOAT * rows**3 * (1 / tall + 1 / wide), 1.0 * FLOAT * rows**2)},
        convention="FMA = 2 FLOP; DRAM: each matrix once; L1: what a core asks, in whole tiles",
    )


def library(n: int, unit: str, itemsize: int = FLOAT) -> Work:
    """A product by code that is not ours (T7, T8): 2 N³ FLOPs, each matrix once, and what else it asks is not known."""
    return Work(
        flops=2.0 * side(n) ** 3,
        unit=unit,
        traffic={"dram": once(n, itemsize)},
        convention="FMA = 2 FLOP; DRAM: each matrix once; what it asks of nearer levels is not known",
    )


def product(arrays: Sequence[Array]) -> NDArray[np.float64]:
    """The last array as it must come out: the product of the first two, then what stood there before."""
    n = arrays[0].size
    rows = side(n)
    left, right = (array[: rows**2].reshape(rows, rows).astype(np.float64) for array in arrays[:2])
    result = arrays[2].astype(np.float64)
    result[: rows**2] = (left @ right).reshape(-1)
    return result
