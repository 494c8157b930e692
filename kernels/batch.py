"""K5: a linear layer of 4096 × 4096 weights in FP16 for a batch of vectors: the batch is the dial.

Every weight that comes from DRAM serves the whole batch, so intensity is about the batch and throughput grows with it
until the tensor cores have enough to do. A launch takes as many layers as the array of weights holds, each with vectors
of its own: more weights than any last cache, so that each comes from DRAM, and no launch so short that its cost counts.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from roofline.counting import decode_layer
from roofline.kernel import Array
from roofline.library_source import Shape
from roofline.model import Measurement, Traffic, Work

EXPERIMENT = "batch"
UNIT = "tensor_fp16_fp32acc"
# Rows and columns of a layer; of fewer elements, the largest multiple of VECTOR whose square they hold.
SIDE = 4096
VECTOR = 8
# Where it is timed: a gigabyte of weights, at which a card's DRAM ceilings are measured too.
LAYERS = 32
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 4096)
# Our own kernel reads all vectors again for every few rows of weights; past this they cost as much as the weights.
LARGEST_OWN = 16
# From here on the library is asked too: fewer vectors take it as long as so many, and our own kernel less.
LEAST_OF_LIBRARY = 16
CORE = (1, 16, 256, 4096)


def name(batch: int, library: bool) -> str:
    """The kernel's name, in whose order batches grow."""
    return f"layer-{batch:04d}{'-library' if library else ''}"


def batch_of(kernel: str) -> int:
    """The batch of a kernel by its name."""
    return int(kernel.split("-")[1])


def side(n: int) -> int:
    """Rows and columns of a layer when there are `n` weights."""
    return min(SIDE, math.isqrt(n) // VECTOR * VECTOR)


def layers(n: int) -> int:
    """How many whole layers `n` weights are."""
    return n // side(n) ** 2 if side(n) else 0


def vectors(n: int, batch: int) -> int:
    """The batch, or what an array as small as a layer holds of it."""
    return min(batch, side(n))


def shape(n: int, batch: int) -> Shape:
    """The products as a library wants them described."""
    return Shape(vectors(n, batch), side(n), side(n), layers(n), turned=True)


def work(n: int, batch: int) -> Work:
    """All layers: 2·K·N·batch FLOPs each, over 2·K·N + 2·batch·(K + N) bytes (K5)."""
    layer, count = decode_layer(vectors(n, batch), side(n), side(n)), layers(n)
    moved = layer.traffic["dram"]
    return replace(
        layer,
        flops=count * layer.flops,
        unit=UNIT,
        traffic={"dram": Traffic(count * moved.read, count * moved.written)},
        slopes={"dram": "dram_read"},
        convention="FMA = 2 FLOP; weights and vectors read once, products written once",
    )


def of_intensity(intensity: float) -> float:
    """The batch that has this intensity: B over 1 + 2·B / 4096, turned round."""
    return intensity / (1 - 2 * intensity / SIDE)


def best_of(measured: Iterable[Measurement]) -> dict[int, Measurement]:
    """The faster row of each batch, smallest batch first."""
    best: dict[int, Measurement] = {}
    for row in sorted(measured, key=lambda row: -row.seconds.value):
        best[batch_of(row.key.kernel)] = row
    return dict(sorted(best.items()))


def product(arrays: Sequence[Array], batch: int) -> NDArray[np.float64]:
    """The last array as it must come out: each layer's vectors times its turned weights, then what stood there."""
    n = arrays[0].size
    length, count, rows = side(n), layers(n), vectors(n, batch)
    x = arrays[0][: count * rows * length].reshape(count, rows, length).astype(np.float64)
    w = arrays[1][: count * length**2].reshape(count, length, length).astype(np.float64)
    result = arrays[2].astype(np.float64)
    result[: x.size] = np.matmul(x, w.transpose(0, 2, 1)).reshape(-1)
    return result
