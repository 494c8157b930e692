"""L1, L2: layer norm of 16384 × 4096 floats, as six elementary kernels and as one.

As a program of array operations: the mean of each row; less the mean; one over the deviation of each row; times that;
times gamma; plus beta. That is ten passes over 268 MB. Fused it is two: one read, one write. Each elementary kernel is
measured by itself, and judged by the bare stream of its mix; what the values of rows and columns add to a pass, one
byte in 4096, is not counted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from roofline.kernel import Array
from roofline.model import Traffic, Work

from .table import COLUMNS, EPSILON, FLOAT_BYTES, LAYER_NORM, Computation, Doubles, Mix, beginning_with, by_row, doubles

ROWS = 16384
FUSED = LAYER_NORM.name


def size(elements: int) -> int:
    """Elements a launch: 16384 rows, or the whole rows that arrays have room for where that is less."""
    return min(elements // COLUMNS, ROWS) * COLUMNS


def of_columns(array: Array) -> Doubles:
    """For each element of an array the value that its first row has in that column."""
    return doubles(array)[np.arange(array.size) % COLUMNS]


def of_rows(array: Array) -> Doubles:
    """For each element of an array the value that stands for its row at the array's start."""
    return doubles(array)[np.arange(array.size) // COLUMNS]


def _means(arrays: Sequence[Array], launches: int) -> Array:
    return beginning_with(arrays[1], by_row(arrays[0], lambda row: float(row.mean())))


def _deviations(arrays: Sequence[Array], launches: int) -> Array:
    inverse = by_row(arrays[0], lambda row: float((np.mean(row**2) + EPSILON) ** -0.5))
    return beginning_with(arrays[1], inverse)


def _subtracted(arrays: Sequence[Array], launches: int) -> Array:
    return doubles(arrays[0]) - of_rows(arrays[1])


def _scaled(arrays: Sequence[Array], launches: int) -> Array:
    return doubles(arrays[0]) * of_rows(arrays[1])


def _times_gamma(arrays: Sequence[Array], launches: int) -> Array:
    return doubles(arrays[0]) * of_columns(arrays[1])


def _plus_beta(arrays: Sequence[Array], launches: int) -> Array:
    return doubles(arrays[0]) + of_columns(arrays[1])


@dataclass(frozen=True)
class Step:
    """One elementary kernel: FLOPs and passes an element, and what comes out.

    A step of mix "read" leaves a value a row; one of mix "copy" takes from its second array a value a row ("rows") or
    a column ("columns"), and combines it with each element by `operation`.
    """

    name: str
    flops: int
    operation: str
    values: str
    reference: Callable[[Sequence[Array], int], Array]
    scalar: float = 0.0
    tolerance: float = 0.0
    tolerance_reason: str = "the result is exact in the type"

    @property
    def mix(self) -> Mix:
        """The stream that it is judged by."""
        return "read" if not self.values else "copy"

    @property
    def passes(self) -> int:
        """How often the whole array crosses memory."""
        return 1 if self.mix == "read" else 2

    def work(self, n: int) -> Work:
        """What n elements take."""
        read, written = float(FLOAT_BYTES * n), float(FLOAT_BYTES * n * (self.passes - 1))
        return Work(float(self.flops * n), "fp32", {"dram": Traffic(read, written)})

    @property
    def computation(self) -> Computation:
        """As the table has it."""
        return Computation(
            name=self.name,
            mix=self.mix,
            arrays=2 if self.mix == "read" else 3,
            work=self.work,
            convention=f"{self.flops} FLOP an element; passes over the array, without the values of rows and columns",
            reference=self.reference,
            scalar=self.scalar,
            tolerance=self.tolerance,
            tolerance_reason=self.tolerance_reason,
        )


STEPS = (
    Step(
        "mean", 1, "mean", "", _means, tolerance=2.0**-22, tolerance_reason="an exact sum, divided with two roundings"
    ),
    Step("subtract", 1, "subtract", "rows", _subtracted),
    Step(
        name="deviation",
        flops=2,
        operation="deviation",
        values="",
        reference=_deviations,
        scalar=EPSILON,
        tolerance=2.0**-20,
        tolerance_reason="1/sqrt errs by 2^-22 of itself, which is up to 1/sqrt(epsilon) only where all are 0",
    ),
    Step("scale", 1, "multiply", "rows", _scaled),
    Step("gamma", 1, "multiply", "columns", _times_gamma),
    Step("beta", 1, "add", "columns", _plus_beta),
)
PASSES = sum(step.passes for step in STEPS)
