"""The kernels of the explorer: what each computes and moves, counted by `roofline.counting`, setting by setting."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from roofline import counting
from roofline.model import Work

ELEMENTS = 1 << 26
SIDE = 4096
BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
SIDES = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
CONTEXTS = (512, 1024, 2048, 4096, 8192, 16384, 32768)
TWO_READS_A_WRITE = "dram_triad"
HEADS, HEAD_WIDTH, QUERY_TILE = 32, 128, 128


@dataclass(frozen=True)
class Step:
    """One position of a preset's slider, and the work that one launch then does."""

    label: str
    work: Work


@dataclass(frozen=True)
class Preset:
    """A kernel of the explorer: its name, what it does in plain words, and what its slider sets (empty: it has none).

    `first` is the step that is shown first.
    """

    name: str
    about: str
    steps: Sequence[Step]
    setting: str = ""
    first: int = 0


def presets() -> Sequence[Preset]:
    """The kernels of the chapter, from the fewest FLOPs a byte to the most (X2)."""
    return (
        _one(
            "vecadd",
            "Adds two FP32 vectors: reads 8 bytes and writes 4 for every addition.",
            mixed(counting.vecadd(ELEMENTS), TWO_READS_A_WRITE),
        ),
        _one(
            "SAXPY",
            "y = a·x + y in FP32: a multiply-add for every 12 bytes.",
            mixed(counting.saxpy(ELEMENTS), TWO_READS_A_WRITE),
        ),
        _one(
            "softmax, fused",
            "Softmax over rows in FP32 in one pass: about 5 FLOP for each element read and written once.",
            counting.softmax(16384, SIDE),
        ),
        _one(
            "layer norm, fused",
            "Layer norm over rows in FP32 in one pass: about 8 FLOP for each element read and written once.",
            counting.layer_norm(16384, SIDE),
        ),
        _one(
            "matmul, naive",
            f"A {SIDE} × {SIDE} product in FP32 that nothing caches: two loads for every multiply-add.",
            counting.tiled_gemm(SIDE, SIDE, SIDE, 1),
        ),
        _swept(
            "matmul, tiled",
            f"A {SIDE} × {SIDE} product in FP32: each tile in shared memory is used by a whole row of the block.",
            "tile",
            ((f"{tile} × {tile}", counting.tiled_gemm(SIDE, SIDE, SIDE, tile)) for tile in (8, 16, 32)),
            first=1,
        ),
        _one(
            "matmul, register-tiled",
            f"A {SIDE} × {SIDE} product in FP32 in blocks of 128 × 128 that are kept in registers.",
            counting.tiled_gemm(SIDE, SIDE, SIDE, 128),
        ),
        _swept(
            "GEMM, FP32",
            "A product of square FP32 matrices, each read or written once.",
            "side",
            ((str(side), counting.gemm(side, side, side)) for side in SIDES),
            first=SIDES.index(SIDE),
        ),
        _swept(
            "GEMM, FP16",
            "A product of square FP16 matrices on tensor cores, each read or written once.",
            "side",
            ((str(side), _fp16_gemm(side)) for side in SIDES),
            first=SIDES.index(SIDE),
        ),
        _swept(
            "decode layer",
            f"A linear layer of {SIDE} × {SIDE} FP16 weights that serves one token of each sequence in the batch.",
            "batch",
            ((str(batch), counting.decode_layer(batch, SIDE, SIDE)) for batch in BATCHES),
        ),
        _swept(
            "attention, decode",
            f"One new token a sequence looks back at 4096 others, {HEADS} heads: no sequence shares its cache, so a "
            "larger batch moves the point nowhere.",
            "batch",
            ((str(batch), counting.attention_decode(batch, HEADS, 4096, HEAD_WIDTH)) for batch in BATCHES),
        ),
        _swept(
            "attention, prefill",
            f"A whole prompt at once, all pairs of tokens, {HEADS} heads, in tiles of {QUERY_TILE} queries.",
            "length",
            ((str(length), _prefill(length)) for length in CONTEXTS),
            first=CONTEXTS.index(4096),
        ),
    )


def mixed(work: Work, slope: str) -> Work:
    """Work that is judged by the slope of its own mix of reads and writes, where a card knows that."""
    return replace(work, slopes={"dram": slope})


def _one(name: str, about: str, work: Work) -> Preset:
    return Preset(name, about, (Step("", work),))


def _swept(name: str, about: str, setting: str, steps: Iterable[tuple[str, Work]], first: int = 0) -> Preset:
    return Preset(name, about, tuple(Step(label, work) for label, work in steps), setting, first)


def _fp16_gemm(side: int) -> Work:
    return counting.gemm(side, side, side, "float16", "tensor_fp16_fp32acc")


def _prefill(length: int) -> Work:
    return counting.attention_prefill(1, HEADS, length, HEAD_WIDTH, QUERY_TILE)
