"""The ways to ask a card for a matrix product, which cards have them for which type, and their sources.

`wgmma` is the instruction of four warps of Hopper, `tcgen05` that of an SM of data-centre Blackwell, `mma` that of one
warp, `wmma` the portable form of the last. The first of them that a card has is its best.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.kernel import Target
from roofline.model import Variant

from .dial_cuda import compute_capability
from .tensor_ptx import ACCUMULATORS, pieces, tensor_mma, warp_mma, warpgroup_mma
from .tensor_types import Type

PATHS = ("wgmma", "tcgen05", "mma", "wmma")


@dataclass(frozen=True)
class Cards:
    """The compute capabilities that have an instruction: some, or all from the first of them on."""

    each: tuple[int, ...]
    and_later: bool = False

    def have(self, capability: int) -> bool:
        """Whether a card of this compute capability has it."""
        return capability in self.each or (self.and_later and capability >= self.each[0])

    def __str__(self) -> str:
        """As a person says it."""
        named = ", ".join(f"sm_{number}" for number in self.each)
        return f"{named} and later" if self.and_later else named


TURING, AMPERE = Cards((75,), and_later=True), Cards((80,), and_later=True)
HOPPER, BLACKWELL = Cards((90,)), Cards((100, 103, 110))
FP16 = ("fp16_fp32acc", "fp16_fp16acc")
# What compilers emulate on the other cards, by converting or in many small steps, is not here: the machine code of FP8
# by `mma` on sm_90 and sm_100 holds conversions and FP16 products.
CARDS: Mapping[str, Mapping[str, Cards]] = {
    "wgmma": dict.fromkeys((*FP16, "bf16", "tf32", "fp8", "int8"), HOPPER),
    "tcgen05": dict.fromkeys((*FP16, "bf16", "tf32", "fp8", "fp4"), BLACKWELL) | {"int8": Cards((100, 110))},
    "mma": {
        **dict.fromkeys((*FP16, "int8"), TURING),
        **dict.fromkeys(("bf16", "tf32", "fp64"), AMPERE),
        "fp8": Cards((89, 120, 121)),
        "fp4": Cards((120, 121)),
    },
    "wmma": dict.fromkeys(FP16, TURING),
}
# Rows and columns of the tile that one owner keeps, and the steps that its operands make.
TILES = {"wgmma": (64, 256, 4), "tcgen05": (128, 256, 4), "mma": (32, 64, 1), "wmma": (32, 64, 1)}
COLUMNS_OF_FP64 = 32  # half of what others keep: its registers are twice as wide
# Steps in the body of a warp's loop (`BODY` of tensor.cu); a step of a warp is made of 16 x 8 products.
BODY = 8
ROW_BYTES = 128  # of an operand in shared memory
ALIGNMENT = 1024  # where the swizzle wants operands to start
SCALE_COLUMNS = 16  # of tensor memory
# The instruction that machine code must hold, by path and format; what is not named is HMMA, HGMMA or tcgen05's.
CLASSES = {
    "wgmma": {"e4m3": "qgmma", "s8": "igmma"},
    "tcgen05": dict.fromkeys(("f16", "bf16", "tf32", "e4m3", "s8", "e2m1"), "tcgen05"),
    "mma": {"e4m3": "qmma", "s8": "imma", "f64": "dmma", "e2m1": "omma"},
    "wmma": {},
}


def _warps(path: str) -> Sequence[Variant]:
    shapes = ((256, 1), (128, 2))
    return tuple(Variant(f"{t}x{b}", {"path": path, "threads": t, "blocks": b}) for t, b in shapes)


def _blocks(path: str, shapes: Sequence[tuple[int, int]]) -> Sequence[Variant]:
    return tuple(Variant(f"{b}-blocks-{r}", {"path": path, "blocks": b, "rounds": r}) for b, r in shapes)


# For warps the threads and blocks of an SM; else the blocks of an SM, and how often each goes through its four steps
# before it waits.
SHAPES = {
    "wgmma": _blocks("wgmma", ((2, 2), (2, 1))),
    "tcgen05": _blocks("tcgen05", ((2, 2), (2, 4))),
    "mma": _warps("mma"),
    "wmma": _warps("wmma"),
}


def tile(path: str, kind: Type) -> tuple[int, int, int]:
    """Rows, columns and terms of the tile that one owner keeps."""
    rows, columns, steps = TILES[path]
    return rows, COLUMNS_OF_FP64 if kind.name == "fp64" else columns, steps * kind.terms


def paths_of(kind: Type) -> Sequence[str]:
    """The ways to multiply a type that any card has, the best first."""
    return [path for path in PATHS if kind.name in CARDS[path]]


def variants(target: Target, path: str, kind: Type) -> Sequence[Variant]:
    """The shapes of one path; none where the card lacks its instruction."""
    cards = CARDS[path].get(kind.name)
    if target.kind != "cuda" or cards is None or not cards.have(compute_capability(target.architecture)):
        return ()
    return SHAPES[path]


def missing(path: str, kind: Type) -> str:
    """Why a card that has no variants of it has none: where there are any."""
    elsewhere = ", ".join(f"{other} on {CARDS[other][kind.name]}" for other in paths_of(kind))
    return f"no {path} of {kind.spoken} on this card; there is {elsewhere}"


def best_path(target: Target, kind: Type) -> str:
    """The first path that this card has; where it has none, the last that any card has."""
    paths = paths_of(kind)
    return next((path for path in paths if variants(target, path, kind)), paths[-1])


@cache
def text(name: str) -> str:
    """The CUDA C++ of a file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def source(target: Target, variant: Variant, path: str, kind: Type, period: int) -> CudaSource:
    """One shape of one path."""
    capability = compute_capability(target.architecture)
    if path in ("wgmma", "tcgen05"):
        return _of_a_block(variant, path, kind, period)
    return _of_a_warp(capability, variant, path, kind, period)


def _of_a_warp(capability: int, variant: Variant, path: str, kind: Type, period: int) -> CudaSource:
    rows, columns, _ = tile(path, kind)
    threads, sums = variant.integer("threads"), ACCUMULATORS[kind.accumulator]
    wide = 2 if path == "wmma" else 1  # its product is 16 x 16, two instructions of 16 x 8
    shape = f"{4 * wide // sums.in_a_register}, {rows // 16}, {columns // (8 * wide)}, {period}, {threads}"
    if path == "wmma":
        written, entry = text("tensor_wmma.cu"), f"tensor::wmma_sync<{sums.word}, {shape}>"
    else:
        written = warp_mma(kind, capability) + text("tensor_warp.cu")
        entry = f"tensor::mma_sync<tensor::{kind.format.code}, {sums.word}, {shape}>"
    count = BODY * (rows // 16) * (columns // 8) * len(pieces(kind, capability))
    return CudaSource(
        text=text("tensor.cu") + written,
        entry=entry,
        block=rows * columns,
        expects={CLASSES[path].get(kind.format.ptx, "mma"): count, "spill": 0},
        threads=threads,
        blocks_per_sm=variant.integer("blocks"),
    )


def _of_a_block(variant: Variant, path: str, kind: Type, period: int) -> CudaSource:
    rows, columns, _ = tile(path, kind)
    rounds, blocks, word = variant.integer("rounds"), variant.integer("blocks"), ACCUMULATORS[kind.accumulator].word
    _, _, steps = TILES[path]
    if path == "wgmma":
        sums = 128 // ACCUMULATORS[kind.accumulator].in_a_register
        written, arguments = warpgroup_mma(kind) + text("tensor_hopper.cu"), f"{word}, {sums}, {period}, {rounds}"
    else:
        scales = SCALE_COLUMNS if kind.format.ptx == "e2m1" else 0
        blocks = 1 if scales else blocks  # with scales a block takes all of an SM's tensor memory
        written, arguments = tensor_mma(kind) + text("tensor_blackwell.cu"), f"{word}, {scales}, {period}, {rounds}"
    return CudaSource(
        text=text("tensor.cu") + text("tensor_staging.cu") + written,
        entry=f"tensor::{path}<tensor::{kind.format.code}, {arguments}>",
        block=rows * columns,
        expects={CLASSES[path].get(kind.format.ptx, "wgmma"): rounds * steps, "mma": 0, "spill": 0},
        threads=128,
        shared_bytes=ROW_BYTES * (rows + columns) + ALIGNMENT,
        blocks_per_sm=blocks,
    )
