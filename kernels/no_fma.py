"""R1: multiplications and additions in equal numbers, none of them fused: what code without FMA can reach.

Where the same pipes do both, as on every NVIDIA GPU, each operation takes the slot in which an FMA does two: half the
roof. A CPU with pipes of their own for additions (AMD's Zen) does both at once, and loses nothing.

Steps are v·a + b and v·b + b in turn with a = 2 and b = 1/2: two of them make v + 3/4, exactly, and whatever was left
out, multiplication or addition, shows.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from roofline.kernel import Array, Kernel, Target
from roofline.llvm import STEPS_IN_LOOP, Block, Vectors, vector_type

from . import units_cpu, units_cuda
from .units_cuda import Loop

SCALARS = (2.0, 0.5)
CONVENTION = "a multiplication = 1 FLOP, an addition = 1 FLOP"


def result(elements: Array, steps: int) -> Array:
    """Two steps add 3/4."""
    return np.asarray(elements.astype(np.float64) + 0.75 * (steps // 2))


CUDA = units_cuda.Unit(
    "fp32_no_fma",
    "no-fma",
    Loop("MultiplyAdd", {"mul": 1, "add": 1, "fma": 0}, steps=1024, instructions=2, files=("units.cu", "no_fma.cu")),
    SCALARS,
    result,
    convention=CONVENTION,
    experiment="no_fma",
    counted_as="fp32",
)


class MultiplyAdd:
    """v·a + b and v·b + b in turn; IR never fuses what is written as two instructions."""

    registers = 1

    def kind(self, lanes: int) -> str:
        """FP32."""
        return vector_type("float", lanes)

    def enter(self, block: Block, vector: str) -> str:
        """The elements themselves."""
        return vector

    def operands(self, block: Block) -> Sequence[str]:
        """Both scalars."""
        return [block.a, block.b]

    def step(self, block: Block, operands: Sequence[str], state: str, number: int) -> str:
        """A multiplication by one scalar or the other, and an addition."""
        kind = block.vectors.type
        product = block.function.value(f"fmul {kind} {state}, {operands[number % 2]}")
        return block.function.value(f"fadd {kind} {product}, {operands[1]}")

    def leave(self, block: Block, state: str) -> str:
        """The elements themselves."""
        return state

    def expects(self, target: Target, vectors: Vectors) -> Mapping[str, int]:
        """One of each a step."""
        steps = vectors.count * STEPS_IN_LOOP
        return {"fma": 0, "mul": steps, "add": steps}


CPU = units_cpu.Unit(
    "fp32_no_fma",
    "no-fma-vectors",
    MultiplyAdd(),
    SCALARS,
    result,
    convention=CONVENTION,
    experiment="no_fma",
    counted_as="fp32",
)


def every_kernel() -> Iterator[Kernel]:
    """The GPU's loop in registers and the CPU's loop over vectors."""
    yield units_cuda.kernel(CUDA)
    yield units_cpu.kernel(CPU)
