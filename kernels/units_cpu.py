"""R8 on a CPU: each arithmetic unit as independent chains of vectors, on values that the near caches hold.

The loop is that of `chains_cpu`: load a block of vectors, take steps on each, store it. An *operation* turns a vector
of FP32 elements into its own type, says what a step is, and turns it back. FP64 values take two registers a vector,
so half as many vectors make as many chains.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from roofline.kernel import Array, Kernel, Source, Target
from roofline.llvm import (
    STEPS_IN_LOOP,
    Block,
    Span,
    Vectors,
    block_variant,
    entry_name,
    expected_stores,
    streaming_kernel,
    vector_type,
)
from roofline.model import Traffic, Variant, Work

from .chains import ELEMENTS, STEPS
from .units_cuda import INCREMENT, MULTIPLIER, generated, quarters

# Chains worth trying by the number of vector registers, best guess first: it takes latency x pipes of them, operands
# need registers too, and none may spill.
CHAINS = {16: (12, 8), 32: (16, 12, 8)}
# What makes a BF16 dot product of an instruction set's extension, and the FP32 lanes that it fills.
BF16_DOTS = {
    "avx512bf16": ("llvm.x86.avx512bf16.dpbf16ps.512", 16),
    "bf16": ("llvm.aarch64.neon.bfdot.v4f32.v8bf16", 4),
}

UNUSED = {"fma": 0, "mul": 0, "add": 0}  # instructions on FP32 that the step of another unit has none of
AVX2_LANES = 8


class Operation(Protocol):
    """What a unit does to a vector of FP32 elements, written in LLVM IR."""

    registers: int
    """Vector registers that the state of one vector takes."""

    def kind(self, lanes: int) -> str:
        """The type of a state."""
        ...

    def enter(self, block: Block, vector: str) -> str:
        """The state that a vector of FP32 elements becomes."""
        ...

    def operands(self, block: Block) -> Sequence[str]:
        """What every step takes."""
        ...

    def step(self, block: Block, operands: Sequence[str], state: str, number: int) -> str:
        """The state after one more step, the `number`-th of those written one after the other."""
        ...

    def leave(self, block: Block, state: str) -> str:
        """The FP32 elements that a state becomes."""
        ...

    def expects(self, target: Target, vectors: Vectors) -> Mapping[str, int]:
        """The instructions of the steps written one after the other, by class, and stores that are not one a vector."""
        ...


class Doubles:
    """FP64: v = a·b + v, or v = v·(a + b) + a·b where no instruction fuses the two."""

    registers = 2

    def kind(self, lanes: int) -> str:
        """Doubles."""
        return vector_type("double", lanes)

    def enter(self, block: Block, vector: str) -> str:
        """Each FP32 element as a double."""
        return self._extended(block, vector)

    def operands(self, block: Block) -> Sequence[str]:
        """The scalars, or their sum and product."""
        pair = (block.a, block.b) if block.target.has_fma else (block.factor, block.addend)
        return [self._extended(block, vector) for vector in pair]

    def step(self, block: Block, operands: Sequence[str], state: str, number: int) -> str:
        """One FMA, or a multiplication and an addition."""
        one, other = operands
        kind = self.kind(block.vectors.lanes)
        if not block.target.has_fma:
            product = block.function.value(f"fmul {kind} {state}, {one}")
            return block.function.value(f"fadd {kind} {product}, {other}")
        suffix = "f64" if block.vectors.lanes == 1 else f"v{block.vectors.lanes}f64"
        return block.function.call(kind, f"llvm.fma.{suffix}", (kind, one), (kind, other), (kind, state))

    def leave(self, block: Block, state: str) -> str:
        """Each double as an FP32 element."""
        return block.function.value(f"fptrunc {self.kind(block.vectors.lanes)} {state} to {block.vectors.type}")

    def expects(self, target: Target, vectors: Vectors) -> Mapping[str, int]:
        """Two registers, so two instructions a step; AVX2 stores the halves of a vector as they come."""
        steps = self.registers * vectors.count * STEPS_IN_LOOP
        stores = {"store": vectors.count * (2 if target.lanes == AVX2_LANES else 1)}
        if target.has_fma:
            return {"fma64": steps, "mul64": 0, "add64": 0} | stores
        return {"fma64": 0, "mul64": steps, "add64": steps, "mul": 1, "add": 1} | stores

    def _extended(self, block: Block, vector: str) -> str:
        return block.function.value(f"fpext {block.vectors.type} {vector} to {self.kind(block.vectors.lanes)}")


class Integers:
    """INT32: v = v·a + b modulo 2^32 on the bits of the elements, whose upper 24 bits come out."""

    registers = 1

    def kind(self, lanes: int) -> str:
        """32-bit integers."""
        return vector_type("i32", lanes)

    def enter(self, block: Block, vector: str) -> str:
        """The bits of the elements."""
        return block.function.value(f"bitcast {block.vectors.type} {vector} to {self.kind(block.vectors.lanes)}")

    def operands(self, block: Block) -> Sequence[str]:
        """The scalars, which are whole numbers."""
        kind = self.kind(block.vectors.lanes)
        return [
            block.function.value(f"fptosi {block.vectors.type} {vector} to {kind}") for vector in (block.a, block.b)
        ]

    def step(self, block: Block, operands: Sequence[str], state: str, number: int) -> str:
        """A multiplication and an addition, one instruction where there is one for both."""
        kind = self.kind(block.vectors.lanes)
        product = block.function.value(f"mul {kind} {state}, {operands[0]}")
        return block.function.value(f"add {kind} {product}, {operands[1]}")

    def leave(self, block: Block, state: str) -> str:
        """The upper 24 bits, which FP32 holds exactly."""
        kind = self.kind(block.vectors.lanes)
        eight = block.function.splat("8", "i32", block.vectors.lanes)
        upper = block.function.value(f"lshr {kind} {state}, {eight}")
        return block.function.value(f"sitofp {kind} {upper} to {block.vectors.type}")

    def expects(self, target: Target, vectors: Vectors) -> Mapping[str, int]:
        """AArch64 multiplies and adds in one instruction, x86-64 in two."""
        steps = vectors.count * STEPS_IN_LOOP
        if target.architecture == "aarch64":
            return {"fma_int": steps}
        return {"mul_int": steps, "add_int": steps}


class Bf16Dots:
    """BF16: each FP32 lane gains the dot product of two BF16 pairs, here 2·a·b."""

    registers = 1

    def kind(self, lanes: int) -> str:
        """FP32 sums."""
        return vector_type("float", lanes)

    def enter(self, block: Block, vector: str) -> str:
        """The elements themselves."""
        return vector

    def operands(self, block: Block) -> Sequence[str]:
        """The scalars as BF16, two a lane: the upper halves of their FP32 bits, which the lower ones do not add to."""
        lanes = block.vectors.lanes
        if lanes == 1:
            return [block.a, block.b]
        return [self._pairs(block, vector) for vector in (block.a, block.b)]

    def step(self, block: Block, operands: Sequence[str], state: str, number: int) -> str:
        """One instruction; two FMAs where a rest handles a single element."""
        one, other = operands
        lanes, kind = block.vectors.lanes, block.vectors.type
        if lanes == 1:
            return block.fma(one, other, block.fma(one, other, state))
        intrinsic = next(name for name, width in BF16_DOTS.values() if width == lanes)
        pairs = f"<{2 * lanes} x bfloat>"
        return block.function.call(kind, intrinsic, (kind, state), (pairs, one), (pairs, other))

    def leave(self, block: Block, state: str) -> str:
        """The sums themselves."""
        return state

    def expects(self, target: Target, vectors: Vectors) -> Mapping[str, int]:
        """One instruction a step."""
        return {"dot_bf16": vectors.count * STEPS_IN_LOOP}

    def _pairs(self, block: Block, vector: str) -> str:
        lanes, function = block.vectors.lanes, block.function
        bits = function.value(f"bitcast {block.vectors.type} {vector} to <{lanes} x i32>")
        upper = function.value(f"lshr <{lanes} x i32> {bits}, {function.splat('16', 'i32', lanes)}")
        alone = function.value(f"and <{lanes} x i32> {bits}, {function.splat('-65536', 'i32', lanes)}")
        both = function.value(f"or <{lanes} x i32> {upper}, {alone}")
        return function.value(f"bitcast <{lanes} x i32> {both} to <{2 * lanes} x bfloat>")


@dataclass(frozen=True)
class Unit:
    """A unit of a CPU core as one kernel measures it: which ceiling, by which operation, how counted, with what result.

    `flops` are those of one step of one element, `result(elements, steps)` is the reference. Targets without any of
    `extensions` lack the unit, for the reason in `absence`. `counted_as` is the arithmetic unit of the FLOPs where that
    is not the ceiling's own name.
    """

    ceiling: str
    name: str
    operation: Operation
    scalars: tuple[float, float]
    result: Callable[[Array, int], Array]
    convention: str = "FMA = 2 FLOP"
    flops: float = 2.0
    extensions: tuple[str, ...] = ()
    absence: str = ""
    experiment: str = "units"
    counted_as: str = ""

    def work(self, n: int) -> Work:
        """All steps over n elements."""
        return Work(
            flops=self.flops * STEPS * n,
            unit=self.counted_as or self.ceiling,
            traffic={"dram": Traffic(0.0, 0.0)},
            convention=f"{self.convention}; no DRAM traffic, the caches serve both arrays",
        )

    def variants(self, target: Target) -> Sequence[Variant]:
        """Blocks of as many vectors as make the chains; none where the target lacks the unit."""
        if self.extensions and not target.extensions.intersection(self.extensions):
            return ()
        return [block_variant(target, chains // self.operation.registers, 0) for chains in CHAINS[target.registers]]

    def source(self, target: Target, variant: Variant) -> Source:
        """All steps on each vector of a block."""
        vectors = Vectors(target.lanes, variant.integer("vectors"))
        entry = entry_name(f"{self.experiment}_{self.ceiling}", str(vectors))
        return Source(
            text=streaming_kernel(entry, target, vectors, partial(take_steps, self.operation)),
            entry=entry,
            block=vectors.block,
            expects={
                **UNUSED,
                **expected_stores(vectors, non_temporal=False),
                **self.operation.expects(target, vectors),
            },
        )


def take_steps(operation: Operation, block: Block) -> None:
    """Load the vectors of a block, take all steps on each, and store them."""
    states = [operation.enter(block, vector) for vector in block.load("x")]
    operands = operation.operands(block)

    def some(_: str, states: Sequence[str]) -> Sequence[str]:
        stepped = list(states)
        for number in range(STEPS_IN_LOOP):
            stepped = [operation.step(block, operands, state, number) for state in stepped]
        return stepped

    kind = operation.kind(block.vectors.lanes)
    ended = block.function.loop(Span(0, STEPS, STEPS_IN_LOOP), kind, states, some)
    block.store("y", [operation.leave(block, state) for state in ended])


def halves(elements: Array, steps: int) -> Array:
    """Each step adds 1/2."""
    return np.asarray(elements.astype(np.float64) + steps / 2)


UNITS = (
    Unit("fp64", "fp64-vectors", Doubles(), (0.5, 0.5), quarters),
    Unit(
        "int32",
        "int32-vectors",
        Integers(),
        (MULTIPLIER, INCREMENT),
        generated,
        convention="an integer multiplication and an addition = 2 OP",
    ),
    Unit(
        "bf16",
        "bf16-dots",
        Bf16Dots(),
        (0.5, 0.5),
        halves,
        convention="a dot product of two pairs, added to a sum = 4 FLOP",
        flops=4.0,
        extensions=tuple(BF16_DOTS),
        absence="BF16 dot products need AVX512-BF16 (x86-64) or BF16 (AArch64), which this CPU lacks",
    ),
)


def kernel(unit: Unit) -> Kernel:
    """The chains of one unit."""

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [unit.result(arrays[0], STEPS)]

    return Kernel(
        experiment=unit.experiment,
        name=unit.name,
        unit=unit.counted_as or unit.ceiling,
        level="l1",
        work=unit.work,
        variants=unit.variants,
        sources={"cpu": unit.source},
        reference=reference,
        measures=(unit.ceiling,),
        scalars=unit.scalars,
        memory="cache",
        size=lambda elements: ELEMENTS,
        unsupported={"cpu": unit.absence} if unit.absence else {},
    )


def kernels() -> Iterator[Kernel]:
    """One kernel a unit."""
    return map(kernel, UNITS)
