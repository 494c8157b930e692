"""R8 on a GPU: a loop of independent chains in registers for each arithmetic unit, and how its machine code is counted.

The loop is `units.cu`; an *operation* is a C++ type with what one step does. Every unit is measured by the same loop,
so that rates differ by what the units do and nothing else. `no_fma` and `special` bring operations of their own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from roofline.cuda_source import CudaSource
from roofline.kernel import Array, Kernel, Target
from roofline.model import Traffic, Variant, Work

from .dial_cuda import compute_capability

# Elements of a launch: with the repeats of a loop, enough chunks that they share out to half a percent over the SMs.
ELEMENTS = 1 << 22
# Chains, threads and instructions of a body: the more there are the less the loop around them costs, as long as they
# stay in the instruction cache. Eight chains suit what begins every cycle, four and many warps what takes turns with
# others.
SHAPES = tuple(
    Variant(f"{chains}-chains-{threads}-{body}", {"chains": chains, "threads": threads, "body": body})
    for chains, threads, body in ((8, 256, 512), (8, 128, 1024), (4, 256, 512), (4, 1024, 512))
)
# The multiplier and increment of a generator of full period (an odd increment, a multiplier of 1 modulo 4: Knuth, The
# Art of Computer Programming 2, 3.2.1.2): no number of skipped steps below 2^32 leaves a value where it should be.
MULTIPLIER, INCREMENT = 1664525, 12345
WRAP = 1 << 32
# What the bytes of a dot product hold: each step adds 4 · 3 · 5.
LEFT, RIGHT = 3, 5


@dataclass(frozen=True)
class Loop:
    """One operation of the register loop, and what a step of it is.

    `operation` is the C++ type and `files` the sources that it takes; `expects` are the instructions of one step by
    class, of `instructions` in all. Between loading and storing each element takes `steps` steps of `flops` each,
    `repeats` times a launch; a word holds `width` elements.
    """

    operation: str
    expects: Mapping[str, int]
    steps: int
    repeats: int = 16
    width: int = 1
    instructions: int = 1
    flops: float = 2.0
    files: tuple[str, ...] = ("units.cu",)

    def unrolled(self, variant: Variant) -> int:
        """Steps in the body of the loop: the greatest power of two that keeps it as small as the variant says."""
        return 1 << ((variant.integer("body") // (variant.integer("chains") * self.instructions)).bit_length() - 1)

    def source(self, variant: Variant) -> CudaSource:
        """The loop over this operation in one shape."""
        chains, threads = variant.integer("chains"), variant.integer("threads")
        body = self.unrolled(variant)
        return CudaSource(
            text="".join(map(text, self.files)),
            entry=f"units::run<units::{self.operation}, {chains}, {self.steps}, {body}, {threads}>",
            block=chains * self.width * threads,
            expects={kind: number * body * chains for kind, number in self.expects.items()} | {"spill": 0},
            threads=threads,
            blocks_per_sm="full",
        )


@dataclass(frozen=True)
class Unit:
    """A unit of an SM as one kernel measures it: which ceiling, by which loop, how counted, with what result.

    `result(elements, steps)` is the reference. Cards before compute capability `since` lack the unit, for the reason in
    `absence`. `counted_as` is the arithmetic unit of the FLOPs where that is not the ceiling's own name.
    """

    ceiling: str
    name: str
    loop: Loop
    scalars: tuple[float, float]
    result: Callable[[Array, int], Array]
    convention: str = "FMA = 2 FLOP"
    since: int = 0
    absence: str = ""
    experiment: str = "units"
    counted_as: str = ""
    tolerance: float = 0.0
    tolerance_reason: str = "the result is exact in the type"

    def work(self, n: int) -> Work:
        """All steps of a launch over n elements."""
        return Work(
            flops=self.loop.flops * self.loop.steps * self.loop.repeats * n,
            unit=self.counted_as or self.ceiling,
            traffic={"dram": Traffic(0.0, 0.0)},
            convention=f"{self.convention}; the arrays pass once for hundreds of steps, their traffic is not counted",
        )

    def variants(self, target: Target) -> Sequence[Variant]:
        """The shapes of the loop; none where the architecture is older than the unit."""
        if target.kind != "cuda" or compute_capability(target.architecture) < self.since:
            return ()
        return SHAPES


@cache
def text(file: str) -> str:
    """The CUDA C++ of one file."""
    return Path(__file__).with_name(file).read_text(encoding="utf-8")


def quarters(elements: Array, steps: int) -> Array:
    """Each step adds 1/4."""
    return np.asarray(elements.astype(np.float64) + steps / 4)


def taken_back(elements: Array, steps: int) -> Array:
    """Each step adds 1/4, and the last one of each body takes back all but 1/256 a step."""
    return np.asarray(elements.astype(np.float64) + steps / 256)


def dots(elements: Array, steps: int) -> Array:
    """Each step adds the dot product of four equal bytes with four others."""
    return np.asarray(np.trunc(elements.astype(np.float64)) + 4 * LEFT * RIGHT * steps)


def generated(elements: Array, steps: int) -> Array:
    """The upper 24 bits after `steps` steps of v·MULTIPLIER + INCREMENT, modulo 2^32, on the bits of the elements."""
    factor, addend = 1, 0
    for _ in range(steps):
        factor, addend = factor * MULTIPLIER % WRAP, (addend * MULTIPLIER + INCREMENT) % WRAP
    bits = elements.astype(np.float32).view(np.uint32).astype(np.uint64)
    after = (bits * np.uint64(factor) + np.uint64(addend)) % np.uint64(WRAP)
    return (after >> np.uint64(8)).astype(np.float64)


PACKED = "FMA = 2 FLOP, two of them an instruction"
UNITS = (
    Unit("fp64", "fp64-fma", Loop("Fp64", {"fma64": 1}, steps=1024, repeats=8), (0.5, 0.5), quarters),
    Unit(
        "fp16",
        "fp16-half2",
        Loop("Fp16", {"fma16": 1}, steps=4096, repeats=24, width=2),
        (0.5, 0.5),
        taken_back,
        convention=PACKED,
        since=53,
        absence="packed FP16 arithmetic begins with sm_53",
    ),
    Unit(
        "bf16",
        "bf16-bfloat162",
        Loop("Bf16", {"fma16": 1}, steps=4096, repeats=24, width=2),
        (0.5, 0.5),
        taken_back,
        convention=PACKED,
        since=80,
        absence="packed BF16 arithmetic begins with sm_80; what is older emulates it in FP32",
    ),
    Unit(
        "int32",
        "int32-multiply-add",
        Loop("Int32", {"fma_int": 1}, steps=1024),
        (MULTIPLIER, INCREMENT),
        generated,
        convention="an integer multiply-add = 2 OP",
    ),
    Unit(
        "int8_dot",
        "int8-dp4a",
        Loop("Int8Dot", {"dot4": 1}, steps=1024, flops=8.0),
        (LEFT, RIGHT),
        dots,
        convention="a dot product of four bytes, added to a sum = 8 OP: 4 multiplications and 4 additions",
        since=61,
        absence="the dot product of four bytes (dp4a) begins with sm_61",
    ),
)


def kernel(unit: Unit) -> Kernel:
    """The register loop of one unit."""

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [unit.result(arrays[0], unit.loop.steps)]

    return Kernel(
        experiment=unit.experiment,
        name=unit.name,
        unit=unit.counted_as or unit.ceiling,
        level="none",
        work=unit.work,
        variants=unit.variants,
        sources={"cuda": lambda target, variant: unit.loop.source(variant)},
        reference=reference,
        measures=(unit.ceiling,),
        scalars=unit.scalars,
        memory="cache",
        size=lambda elements: ELEMENTS,
        repeats=unit.loop.repeats,
        tolerance=unit.tolerance,
        tolerance_reason=unit.tolerance_reason,
        unsupported={"cuda": unit.absence} if unit.absence else {},
    )


def kernels() -> Iterator[Kernel]:
    """One kernel a unit."""
    return map(kernel, UNITS)
