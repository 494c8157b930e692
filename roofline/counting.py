"""FLOPs and bytes of the usual kernels, counted from the algorithm: inputs read once, outputs written once.

An FMA is two FLOPs. Comparisons, integer and address arithmetic are none, but for the compare of a ReLU, which counts
as one only to place its point. A special function (exp, rsqrt) counts as one FLOP although it runs on units with a
lower roof of their own. The conventions are those of Williams, Waterman and Patterson, "Roofline", CACM 52 (4), 2009.
"""

from roofline.model import Traffic, Work

BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}


def streaming(elements: int, flops: float, reads: int, writes: int, dtype: str = "float32", unit: str = "fp32") -> Work:
    """An elementwise kernel: `flops` an element over `reads` input and `writes` output arrays."""
    size = BYTES[dtype]
    traffic = Traffic(float(reads * size * elements), float(writes * size * elements))
    return Work(flops * elements, unit, {"dram": traffic})


def dial(elements: int, steps: int) -> Work:
    """Load a float, `steps` FMAs on it, store it: intensity steps / 4."""
    return streaming(elements, 2.0 * steps, reads=1, writes=1)


def vecadd(elements: int) -> Work:
    """Sum of two FP32 vectors: 1 FLOP for 12 bytes."""
    return streaming(elements, 1.0, reads=2, writes=1)


def saxpy(elements: int) -> Work:
    """SAXPY, y = a·x + y in FP32: 2 FLOPs for 12 bytes."""
    return streaming(elements, 2.0, reads=2, writes=1)


def relu(elements: int) -> Work:
    """max(x, 0) in FP16: one compare, counted as 1 FLOP to place the point, for 4 bytes."""
    return streaming(elements, 1.0, reads=1, writes=1, dtype="float16", unit="fp16")


def softmax(rows: int, columns: int) -> Work:
    """Fused FP32 softmax over each row: about 5 FLOPs an element (max, subtract, exp, sum, divide) for 8 bytes."""
    return streaming(rows * columns, 5.0, reads=1, writes=1)


def layer_norm(rows: int, columns: int) -> Work:
    """Fused FP32 layer norm over each row: about 8 FLOPs an element for 8 bytes, parameter rows left out."""
    return streaming(rows * columns, 8.0, reads=1, writes=1)


def dot(k: int, dtype: str = "float32", unit: str = "fp32") -> Work:
    """Dot product of two vectors of k elements: 2k FLOPs."""
    size = BYTES[dtype]
    return Work(2.0 * k, unit, {"dram": Traffic(2.0 * size * k, float(size))})


def gemm(m: int, n: int, k: int, dtype: str = "float32", unit: str = "fp32") -> Work:
    """(m × k) by (k × n): 2·m·n·k FLOPs; both inputs read once, the output written once, all of `dtype`."""
    size = BYTES[dtype]
    return Work(2.0 * m * n * k, unit, {"dram": Traffic(float(size * (m * k + k * n)), float(size * m * n))})


def gemv(m: int, k: int, dtype: str = "float16", unit: str = "fp16") -> Work:
    """(m × k) by a vector: a GEMM with one column, about one FLOP a byte in FP16."""
    return gemm(m, 1, k, dtype, unit)


def tiled_gemm(m: int, n: int, k: int, tile: int, dtype: str = "float32", unit: str = "fp32") -> Work:
    """A GEMM that reads each input tile once per use: tile × tile blocks of output, intensity tile/4 in FP32.

    `tile` = 1 is the naive kernel with nothing cached: two loads for each FMA.
    """
    size = BYTES[dtype]
    traffic = Traffic(2.0 * size * m * n * k / tile, float(size * m * n))
    return Work(2.0 * m * n * k, unit, {"dram": traffic}, convention="FMA = 2 FLOP; a tile is read once per use")


def decode_layer(batch: int, k: int, n: int) -> Work:
    """One linear layer while tokens are generated, (batch × k) by (k × n) in FP16: every weight serves the whole batch.

    2·k·n·batch FLOPs over 2·k·n + 2·batch·(k + n) bytes, so intensity is about the batch (K5).
    """
    return gemm(batch, n, k, "float16", "tensor_fp16_fp32acc")


def attention_decode(batch: int, heads: int, context: int, width: int) -> Work:
    """Attention of one new token a sequence over its own cache of keys and values, in FP16: about 1 FLOP a byte (K6).

    A head multiplies its query with `context` keys of `width` and sums as many values: 4·context·width FLOPs. No two
    sequences share a cache, so a larger batch moves as many bytes more as it computes.
    """
    size, rows = BYTES["float16"], batch * heads
    read = size * rows * width * (2 * context + 1)
    return Work(
        4.0 * rows * context * width,
        "tensor_fp16_fp32acc",
        {"dram": Traffic(float(read), float(size * rows * width))},
        convention="FMA = 2 FLOP; keys, values and the query read once, the output written once; softmax not counted",
    )


def attention_prefill(batch: int, heads: int, length: int, width: int, tile: int) -> Work:
    """Attention over a whole prompt in FP16, all pairs, in tiles of `tile` queries that each read all keys and values.

    4·length²·width FLOPs a head; with 128 queries a tile, length 4096 and width 128 that is 124 FLOP a byte (K7).
    """
    size, rows = BYTES["float16"], batch * heads
    passes = -(-length // tile)
    read = size * rows * length * width * (1 + 2 * passes)
    return Work(
        4.0 * rows * length**2 * width,
        "tensor_fp16_fp32acc",
        {"dram": Traffic(float(read), float(size * rows * length * width))},
        convention="FMA = 2 FLOP; all pairs, not the causal half; keys and values once a tile; softmax not counted",
    )
