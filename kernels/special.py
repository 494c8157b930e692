"""R5, M9: functions that special units compute, exp2, 1/sqrt and sin, each counted as 1 FLOP: their private roof.

On a GPU a step evaluates the function by its one machine instruction (MUFU) and adds the result up; arguments lie a
small step apart, so nothing can be reused. A CPU has no such unit: there a polynomial takes its place, counted as 1
FLOP an exponential just the same, so that the figure answers the same question.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from roofline.kernel import Array, Kernel

from . import special_cpu, units_cuda
from .units_cuda import Loop, Unit

STEPS = 256
# Arguments are |x|/8 + START, then STEPS of them STEP apart: within [1/2, 5/2] for the small integers of the check.
STEP, START = 2.0**-8, 0.5
# The relative error of one evaluation, and what each rounding of the sum may add. PTX ISA: ex2 and rsqrt err by no
# more than 2^-22 of the value, sin by no more than 2^-20.5, here of values no smaller than sin(1/2) = 0.48. A term
# that was left out would be a hundred times as much.
TOLERANCE = 2.0**-19 + STEPS * 2.0**-24
FUNCTIONS: tuple[tuple[str, str, int, Callable[[Array], Array]], ...] = (
    ("exp2", "Exp2", 3, np.exp2),
    ("rsqrt", "Rsqrt", 3, lambda x: 1.0 / np.sqrt(x)),
    ("sin", "Sin", 4, np.sin),
)


def summed(function: Callable[[Array], Array], elements: Array, steps: int) -> Array:
    """The sum of `function` over the arguments of a chain."""
    starts = np.abs(elements.astype(np.float64)) / 8 + START
    return np.asarray(sum(function(starts + STEP * step) for step in range(steps)))


def unit(name: str, operation: str, instructions: int, function: Callable[[Array], Array]) -> Unit:
    """One function of the special units."""
    return Unit(
        f"sfu_{name}",
        f"{name}-mufu",
        Loop(operation, {"special": 1}, STEPS, instructions=instructions, flops=1.0, files=("units.cu", "special.cu")),
        (STEP, START),
        partial(summed, function),
        convention=f"one {name} = 1 FLOP; the additions beside it are not counted",
        experiment="special",
        tolerance=TOLERANCE,
        tolerance_reason="the documented error of one evaluation, and the rounding of a sum of 256 positive terms",
    )


CUDA = tuple(unit(*row) for row in FUNCTIONS)


def every_kernel() -> Iterator[Kernel]:
    """Each function by its special instruction on a GPU, and exp2 by a polynomial on a CPU."""
    yield from map(units_cuda.kernel, CUDA)
    yield special_cpu.kernel()
