"""R3 on a GPU: some of the 32 lanes of each warp compute while the others wait, or take another path.

A warp has one instruction counter for the lanes that run together: while a branch sends some of them elsewhere, each
instruction takes as long as for all 32. So the roof falls to the share of lanes that are active, whether the others
wait or come later on a path of their own, whose time then adds up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from roofline.cuda_source import CudaSource
from roofline.kernel import Array, Kernel, Target
from roofline.model import Traffic, Variant, Work

from .divergence import resource

WARP = 32
ACTIVE = (1, 2, 4, 8, 16, 32)
PATHS = (2,)
CHAINS = 4
# FMAs of a lane between loading and storing its elements: many, so that these cost nothing that shows.
DEPTH = 16384
# FFMA in the body of the loop on each path: a shorter one shows its counter, and more paths than two of this length
# fall out of the instruction cache.
BODY = 512
# Elements of a launch; and the turns of all blocks together, whatever the number of lanes: some milliseconds.
ELEMENTS = 1 << 18
TURNS = 1 << 15
THREADS = 256


@dataclass(frozen=True)
class Split:
    """How the lanes of a warp are split: `parts` of them active, or over that many `paths` one after another."""

    form: Literal["lanes", "paths"]
    parts: int

    @property
    def active(self) -> int:
        """The lanes that compute at a time."""
        return self.parts if self.form == "lanes" else WARP // self.parts

    @property
    def computing(self) -> int:
        """The lanes of a warp that have elements in a turn."""
        return self.parts if self.form == "lanes" else WARP

    @property
    def name(self) -> str:
        """The kernel's name."""
        return f"lanes-{self.parts:02d}-of-32" if self.form == "lanes" else f"paths-{self.parts:02d}"

    @property
    def measures(self) -> tuple[str, ...]:
        """Waiting lanes set the lower roofs; paths show that it is the same one, and all lanes are the control."""
        return (resource(self.active),) if self.form == "lanes" and self.active < WARP else ()


SPLITS = (*(Split("lanes", active) for active in ACTIVE), *(Split("paths", paths) for paths in PATHS))


@cache
def text() -> str:
    """The source that every instance is made from."""
    return Path(__file__).with_name("divergence.cu").read_text(encoding="utf-8")


def variants(target: Target) -> Sequence[Variant]:
    """Blocks of eight warps, as many as an SM holds."""
    return (Variant(f"full-{THREADS}", {"threads": THREADS}),) if target.kind == "cuda" else ()


def source(split: Split) -> CudaSource:
    """The code of one split."""
    paths = 1 if split.form == "lanes" else split.parts
    return CudaSource(
        text=text(),
        entry=f"divergence::{split.form}<{split.parts}, {CHAINS}, {DEPTH // CHAINS}, {BODY // CHAINS}, {THREADS}>",
        block=elements_a_turn(split),
        expects={"fma": BODY * paths, "mul": 0, "add": paths - 1, "spill": 0, "select": 0} | meeting(split),
        threads=THREADS,
        blocks_per_sm="full",
    )


def meeting(split: Split) -> dict[str, int]:
    """The one place where lanes that went different ways are collected again; with all of them there is no branch."""
    return {"reconverge": 1} if split.active < WARP else {}


def elements_a_turn(split: Split) -> int:
    """Elements that a block handles at a time."""
    return THREADS // WARP * split.computing * CHAINS


def kernel(split: Split) -> Kernel:
    """One split of the lanes; FLOPs are those of the lanes that compute."""
    steps = DEPTH // CHAINS
    repeats = TURNS * elements_a_turn(split) // ELEMENTS
    if split.form == "paths":
        repeats //= split.parts  # each path takes as long as all the lanes together would

    def work(n: int) -> Work:
        return Work(
            flops=2.0 * steps * repeats * n,
            unit="fp32",
            traffic={"dram": Traffic(0.0, 0.0)},
            convention="FMA = 2 FLOP, of active lanes only; the traffic of the arrays is not counted",
        )

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [arrays[0].astype(np.float64) + steps / 4]

    return Kernel(
        experiment="divergence",
        name=split.name,
        unit="fp32",
        level="l1",
        work=work,
        variants=variants,
        sources={"cuda": lambda target, variant: source(split)},
        reference=reference,
        measures=split.measures,
        scalars=(0.5, 0.5),
        memory="cache",
        size=lambda elements: ELEMENTS,
        repeats=repeats,
    )


def every_kernel() -> Iterator[Kernel]:
    """Every split of a warp."""
    return (kernel(split) for split in SPLITS)
