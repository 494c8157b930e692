"""K2: products of square matrices, C = A·B in FP32, counted at every memory level by what a kernel asks of it.

The rungs of a ladder: the more often a value is used once it is near, the fewer bytes cross each level, and the further
right the kernel lies there (H2, H3). `Work.traffic` holds the bytes of each level, and the roofline names the level, or
the unit, that limits (H4).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from roofline.kernel import Array
from roofline.model import Traffic, Work

TILES = (16, 32)
# Rows and columns where it is timed: three matrices of 67 MB, more than any last cache but the largest.
SIDE = 4096
FLOAT = 4


def side(n: int) -> int:
    """Rows and columns of the square matrices that arrays of `n` elements hold; what is left over stays untouched."""
    return math.isqrt(n)


def tiled(n: int, tile: int) -> Work:
    """A product in square tiles that a block of threads brings into shared memory and reads from there.

    DRAM: each matrix once, 12 N² bytes. L2: each tile of C asks for a row of tiles of A and a column of tiles of B,
    8 N³ / tile bytes, and is written once: N / tile tiles a side, so intensity tile / 4 (K2). Shared memory: what it
    takes in from L2, whole tiles at the edges too, and 8 bytes for each multiply-add of each thread: one warp-wide read
    for the value of A and one for that of B. Where lanes want the same word it is still one pass of the pipe, 32 lanes
    wide (CUDA C++ Programming Guide, "Shared Memory": a word is broadcast to the threads that want it), so the bytes
    that lanes are given are those that the pipe has passed.
    """
    rows = side(n)
    tiles = math.ceil(rows / tile)
    padded = tiles * tile
    return Work(
        flops=2.0 * rows**3,
        unit="fp32",
        traffic={
            "dram": Traffic(2.0 * FLOAT * rows**2, 1.0 * FLOAT * rows**2),
            "l2": Traffic(2.0 * FLOAT * rows**2 * tiles, 1.0 * FLOAT * rows**2),
            "shared": Traffic(2.0 * FLOAT * padded**3, 2.0 * FLOAT * padded**2 * tiles),
        },
        convention="FMA = 2 FLOP; DRAM: each matrix once; L2: what blocks ask; shared: what lanes are given and store",
    )


def product(arrays: Sequence[Array]) -> NDArray[np.float64]:
    """The last array as it must come out: the product of the first two, then what stood there before."""
    n = arrays[0].size
    rows = side(n)
    left, right = (array[: rows**2].reshape(rows, rows).astype(np.float64) for array in arrays[:2])
    result = arrays[2].astype(np.float64)
    result[: rows**2] = (left @ right).reshape(-1)
    return result
