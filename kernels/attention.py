"""K6, K7: attention in FP16, heads 128 wide: a stream while tokens are generated, a product over a whole prompt.

Decoding, each sequence has one query a head and a cache of keys and values that nobody shares: 4 FLOPs for the 4 bytes
of a key's and a value's element, at any batch. Heads of queries that share one of keys multiply the FLOPs and not the
bytes. Over a prompt, a tile of queries meets every key and value that it brings near.

Arrays are rows of 128, heads and sequences one behind the other; elements beyond the last whole row stay untouched.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roofline.kernel import Array
from roofline.model import Traffic, Work

EXPERIMENT = "attention"
UNIT = "tensor_fp16_fp32acc"
HALF = 2
WIDTH = 128
HEADS = 32
LENGTH = 4096
# Sequences of a prefill: 16384 tokens, at which attention kernels are compared (arXiv 2307.08691, 4.1).
SEQUENCES = 4
# Queries of a block over a prompt (K7).
ROWS = 128
# Products of weights in FP16 err by 2^-11 of values up to 8, and scores up to 2^10 in FP32 by half of that at most.
TOLERANCE = 2.0**-7
TOLERANCE_REASON = "weights are rounded to FP16, and scores of 2^10 in FP32 make them err by half as much again"


@dataclass(frozen=True)
class Decoding:
    """`batch` sequences with `context` tokens each; `sharing` heads of queries have one head of keys and values."""

    batch: int
    context: int
    sharing: int = 1

    @property
    def name(self) -> str:
        """The kernel's name, in whose order batches grow."""
        return f"decode-{self.batch:02d}{'-grouped' if self.sharing > 1 else ''}"

    @property
    def size(self) -> int:
        """Elements of all keys."""
        return self.batch * HEADS // self.sharing * self.context * WIDTH


# A gigabyte of keys and values each, or more: well beyond every last cache.
DECODINGS = (
    Decoding(1, 65536),
    Decoding(2, 32768),
    Decoding(4, 16384),
    *(Decoding(batch, 8192) for batch in (8, 16, 32, 64)),
    Decoding(64, 8192, sharing=8),
)
CORE_DECODING = Decoding(8, 8192)
# As many bytes as the core's, eight times its sequences.
GROUPED = DECODINGS[-1]


def parts(n: int, length: int) -> Iterator[slice]:
    """The rows of each head in arrays of `n` elements: `length` each, the last perhaps fewer."""
    rows = n // WIDTH
    return (slice(first, min(first + length, rows)) for first in range(0, rows, length))


def decoding_work(n: int, of: Decoding) -> Work:
    """4·context·width FLOPs a query; keys and values once, and a query and an output each (K6)."""
    heads = list(parts(n, of.context))
    tokens, queries = n // WIDTH, _queries(n, of)
    read = HALF * WIDTH * (2 * tokens + queries)
    flops = sum(4.0 * WIDTH * (part.stop - part.start) * of.sharing for part in heads)
    return Work(
        flops=flops,
        unit=UNIT,
        traffic={"dram": Traffic(float(read), float(HALF * WIDTH * queries))},
        slopes={"dram": "dram_read"},
        convention="FMA = 2 FLOP; keys, values and queries read once, outputs written once; softmax not counted",
    )


def pairs(length: int, causal: bool) -> int:
    """Queries times keys, or exactly those in which the key does not come after the query (C26)."""
    return length * (length + 1) // 2 if causal else length**2


def prefill_work(n: int, causal: bool) -> Work:
    """4·pairs·width FLOPs a head. DRAM: every matrix once. L2: keys and values once for each tile of queries (K7)."""
    lengths = [part.stop - part.start for part in parts(n, LENGTH)]
    matrix = float(HALF * WIDTH * sum(lengths))
    met = sum(_met(length, causal) for length in lengths)
    which = "pairs with no later key, exactly S(S+1)/2" if causal else "all pairs, S²"
    near = "DRAM: each matrix once; L2: keys and values once a tile"
    return Work(
        flops=sum(4.0 * WIDTH * pairs(length, causal) for length in lengths),
        unit=UNIT,
        traffic={"dram": Traffic(3 * matrix, matrix), "l2": Traffic(matrix + 2.0 * HALF * WIDTH * met, matrix)},
        convention=f"FMA = 2 FLOP; {which}; softmax not counted; {near}",
    )


def _met(length: int, causal: bool) -> int:
    """Keys that the tiles of a head of queries meet, all together."""
    tiles = range(0, length, ROWS)
    return sum(min(first + ROWS, length) if causal else length for first in tiles)


def _queries(n: int, of: Decoding) -> int:
    """Heads of queries that arrays of `n` elements hold: `sharing` for each head of keys, if there are rows enough."""
    rows = n // WIDTH
    return min(rows, of.sharing * len(list(parts(n, of.context))))


def decoded(arrays: Sequence[Array], of: Decoding) -> NDArray[np.float64]:
    """The outputs, which begin the last array; behind them the kernel keeps what its blocks have to put together."""
    n = arrays[0].size
    keys, values, queries = (_rows(array) for array in arrays[:3])
    outputs = [
        attended(queries[of.sharing * head : of.sharing * (head + 1)], keys[part], values[part])
        for head, part in enumerate(parts(n, of.context))
    ]
    return np.concatenate([*outputs, np.empty((0, WIDTH))])[: _queries(n, of)].reshape(-1)


def outputs(arrays: Sequence[Array], of: Decoding) -> Sequence[Array]:
    """What of the arrays a decoding is there for."""
    return [arrays[-1][: _queries(arrays[-1].size, of) * WIDTH]]


def prefilled(arrays: Sequence[Array], causal: bool) -> NDArray[np.float64]:
    """The last array as it must come out: the outputs of each head, then what stood there before."""
    queries, keys, values = (_rows(array) for array in arrays[:3])
    result = arrays[3].astype(np.float64)
    for part in parts(result.size, LENGTH):
        head = attended(queries[part], keys[part], values[part], causal)
        result[part.start * WIDTH : part.stop * WIDTH] = head.reshape(-1)
    return result


def attended(
    queries: NDArray[np.float64], keys: NDArray[np.float64], values: NDArray[np.float64], causal: bool = False
) -> NDArray[np.float64]:
    """softmax(Q·Kᵀ / √width)·V."""
    scores = queries @ keys.T / np.sqrt(WIDTH)
    if causal:
        scores = np.where(np.tri(len(queries), len(keys), dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights @ values / weights.sum(axis=1, keepdims=True))


def _rows(array: Array) -> NDArray[np.float64]:
    return array[: array.size // WIDTH * WIDTH].reshape(-1, WIDTH).astype(np.float64)
