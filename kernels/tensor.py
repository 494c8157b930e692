"""B: the tensor-core peak. FP16 operands, FP32 or FP16 accumulators, nothing but matrix instructions in the loop.

Three ways to ask for the same product: `wmma`, the portable instruction; `mma`, that of a warp; `wgmma`, that of four
warps on sm_90a. A launch takes `repeats` steps of 16 terms; 2·16 FLOPs an element of D and step.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from roofline.cuda_source import CudaSource
from roofline.kernel import Array, Kernel, Target
from roofline.model import Traffic, Variant, Work

from .dial_cuda import compute_capability

TERMS = 16
REPEATS = 65536
# Elements of D in a launch: 128 tiles of a warpgroup, 1024 of a warp, whose steps share out over any number of SMs.
ELEMENTS = 1 << 21
# Accumulators start again at zero after so many steps: random data stay finite in FP16 however long a launch is.
PERIOD = 64
ACCUMULATORS = ("fp32acc", "fp16acc")
PATHS = ("wgmma", "mma", "wmma")
# Rows, columns and terms of the tile that one owner keeps: a warpgroup, or a warp with 2 x 8 (2 x 4) accumulators.
TILES = {"wgmma": (64, 256, 64), "mma": (32, 64, 16), "wmma": (32, 64, 16)}
ACROSS = {"mma": 8, "wmma": 4}
# Steps in the body of a warp's loop, each with 16 instructions (`BODY` of tensor.cu).
BODY = 8
WARP_SHAPES = tuple(Variant(f"{t}x{b}", {"threads": t, "blocks": b}) for t, b in ((256, 1), (128, 2)))
# Blocks an SM, and how often a block goes through its 64 terms before it waits.
WARPGROUP_SHAPES = tuple(Variant(f"{b}-blocks-{r}", {"blocks": b, "rounds": r}) for b, r in ((2, 2), (2, 1)))
UNSUPPORTED = {
    "wgmma": "warpgroup MMA is an instruction of sm_90a alone",
    "mma": "tensor cores with this instruction begin with sm_75",
    "wmma": "tensor cores with this instruction begin with sm_75",
}


def variants(target: Target, path: str) -> Sequence[Variant]:
    """The shapes of one path; none where the architecture lacks its instruction."""
    if target.kind != "cuda":
        return ()
    if path == "wgmma":
        return WARPGROUP_SHAPES if target.architecture == "sm_90a" else ()
    return WARP_SHAPES if compute_capability(target.architecture) >= 75 else ()


@cache
def text(name: str = "tensor.cu") -> str:
    """The CUDA C++ of this file."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def warpgroup_mma(accumulators: str) -> str:
    """The function around one wgmma: all its accumulators are operands, so it is written here and not by hand."""
    wide = accumulators == "fp32acc"
    count, word, constraint, kind = (128, "float", "+f", "f32") if wide else (64, "unsigned", "+r", "f16")
    registers = ", ".join(f"%{i}" for i in range(count))
    operands = ", ".join(f'"{constraint}"(d[{i}])' for i in range(count))
    return f"""
namespace tensor {{
__device__ __forceinline__ void warpgroup_mma({word} (&d)[{count}], u64 a, u64 b, unsigned keep) {{
    asm volatile("{{.reg .pred p; setp.ne.b32 p, %{count + 2}, 0; "
        "wgmma.mma_async.sync.aligned.m64n256k16.{kind}.f16.f16 {{{registers}}}, "
        "%{count}, %{count + 1}, p, 1, 1, 0, 0;}}"
        : {operands} : "l"(a), "l"(b), "r"(keep) : "memory");
}}
}}  // namespace tensor
"""


def source(target: Target, variant: Variant, path: str, accumulators: str, period: int) -> CudaSource:
    """One shape of one path."""
    if path == "wgmma":
        return _wgmma(variant, accumulators, period)
    threads, across = variant.integer("threads"), ACROSS[path]
    kind = "Fp32" if accumulators == "fp32acc" else "Fp16"
    halves = 2 if compute_capability(target.architecture) < 80 else 1  # sm_75 takes two instructions for 16 terms
    return CudaSource(
        text=text(),
        entry=f"tensor::{path}_sync<tensor::{kind}, 2, {across}, {period}, {threads}>",
        block=TILES[path][0] * TILES[path][1],
        expects={"mma": BODY * 16 * halves, "spill": 0},
        threads=threads,
        blocks_per_sm=variant.integer("blocks"),
    )


def _wgmma(variant: Variant, accumulators: str, period: int) -> CudaSource:
    rows, columns, terms = TILES["wgmma"]
    word, count = ("float", 128) if accumulators == "fp32acc" else ("unsigned", 64)
    rounds = variant.integer("rounds")
    return CudaSource(
        text=text() + warpgroup_mma(accumulators) + text("tensor_hopper.cu"),
        entry=f"tensor::wgmma<{word}, {count}, {period}, {rounds}>",
        block=rows * columns,
        expects={"wgmma": rounds * terms // TERMS, "mma": 0, "spill": 0},
        threads=128,
        shared_bytes=2 * terms * (rows + columns) + 1024,  # the swizzle wants a start at a multiple of 1024
        blocks_per_sm=variant.integer("blocks"),
    )


def operands(array: Array) -> Array:
    """What the kernels make of FP32 elements: a quarter, negative where the last mantissa bit is set, as FP16."""
    quarter = np.float32(0.25) * array.astype(np.float32)
    odd = (array.astype(np.float32).view(np.uint32) & 1).astype(bool)
    return np.where(odd, -quarter, quarter).astype(np.float16)


def product(path: str, arrays: Sequence[Array], steps: int) -> Array:
    """D in float64: each tile's A B, as often as `steps` steps of 16 terms add it; past the last element are zeros."""
    rows, columns, terms = TILES[path]
    n, tile = arrays[0].size, rows * columns
    a, b = (np.pad(operands(array), (0, -n % tile)).reshape(-1, tile).astype(np.float64) for array in arrays[:2])
    left = a[:, : rows * terms].reshape(-1, rows, terms)
    right = b[:, : columns * terms].reshape(-1, columns, terms).transpose(0, 2, 1)
    return np.asarray(np.matmul(left, right).reshape(-1)[:n] * (steps * TERMS / terms))


def kernel(path: str, accumulators: str, repeats: int = REPEATS, period: int = PERIOD, fill: str = "random") -> Kernel:
    """The peak of one of the `PATHS` with one of the `ACCUMULATORS`; D holds `period` steps when a launch ends.

    Random operands give the figure of record: zeros switch fewer transistors, and a card clocks higher on them.
    """
    if repeats % period or period % 16:
        raise ValueError(
            f"repeats = {repeats}, period = {period}: give a period that 16 divides and that divides repeats"
        )
    unit = f"tensor_fp16_{accumulators}"

    def work(n: int) -> Work:
        return Work(
            flops=2.0 * TERMS * repeats * n,
            unit=unit,
            traffic={"dram": Traffic(0.0, 0.0)},
            convention="FMA = 2 FLOP; operands are read once a launch, the loop moves nothing to or from DRAM",
        )

    return Kernel(
        experiment="tensor",
        name=f"{path}-{accumulators}",
        unit=unit,
        level="dram",
        work=work,
        variants=lambda target: variants(target, path),
        sources={"cuda": lambda target, variant: source(target, variant, path, accumulators, period)},
        reference=lambda arrays, launches: [product(path, arrays, period)],
        measures=(unit,) if fill == "random" else (),
        arrays=3,
        memory="none",
        size=lambda elements: ELEMENTS,
        repeats=repeats,
        tolerance=period * (2.0**-9 if accumulators == "fp16acc" else 2.0**-20),
        tolerance_reason="each step may err by half a unit in the last place of a sum below 8 that grows in proportion",
        fill=fill,
        sustained=True,
        unsupported={"cuda": UNSUPPORTED[path]},
    )


def every_kernel() -> Iterator[Kernel]:
    """Each way to ask, with each kind of accumulator; and the one that data centres use, on zeros."""
    yield from (kernel(path, accumulators) for path in PATHS for accumulators in ACCUMULATORS)
    yield from (kernel(path, "fp32acc", fill="zeros") for path in PATHS[:2])
