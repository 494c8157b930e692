"""T1 to T6: six kernels that everyone has, each counted and placed by the mix of reads and writes that it has.

Vector addition, SAXPY and ReLU are streams; softmax and layer norm are fused, so each row is read once and written
once; the product of a matrix and a vector reads the matrix. Rows have 4096 columns; an array's last may be shorter.

What they are judged by are bare streams of the same mix, that are no kernels of this table: two reads and a write (on
a CPU a stream of its own where that is in place), a copy, a read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from roofline import counting
from roofline.kernel import Array, Kernel, Source, Target
from roofline.model import Traffic, Variant, Work

COLUMNS = 4096
FLOAT_BYTES, HALF_BYTES = 4, 2
# Handed over as the scalar a: SAXPY's factor, and what layer norm adds to the variance.
FACTOR, EPSILON = 0.5, 1e-5

Mix = Literal["read", "copy", "triad"]
Doubles = NDArray[np.float64]


def rows_of(n: int) -> int:
    """Rows that n elements fill, the last one perhaps not whole."""
    return -(-n // COLUMNS)


def columns_of(n: int) -> int:
    """Columns of the longest row of n elements."""
    return min(n, COLUMNS)


def doubles(array: Array) -> Doubles:
    """An array in float64."""
    return array.astype(np.float64)


def by_row(array: Array, function: Callable[[Doubles], Doubles | float]) -> Sequence[Doubles | float]:
    """A function of each row."""
    values = doubles(array)
    return [function(values[first : first + COLUMNS]) for first in range(0, values.size, COLUMNS)]


def beginning_with(array: Array, values: Sequence[Doubles | float]) -> Doubles:
    """`array` with its first elements replaced: what a kernel leaves that writes one value a row."""
    result = doubles(array)
    result[: len(values)] = values
    return result


def second_row(n: int) -> int:
    """Where layer norm's second row of parameters begins in an array of n elements.

    A row behind the first; where there is less room, as far behind it as there is, in whole vectors of four.
    """
    return min(COLUMNS, (n - columns_of(n)) // 4 * 4)


def parameters_of(array: Array) -> tuple[Doubles, Doubles]:
    """Gamma and beta: one row each, from one array."""
    columns, second = columns_of(array.size), second_row(array.size)
    values = doubles(array)
    return values[:columns], values[second : second + columns]


def softmax(row: Doubles) -> Doubles:
    """Softmax of a row."""
    powers: Doubles = np.exp(row - row.max())
    shares: Doubles = powers / powers.sum()
    return shares


def normalised(row: Doubles) -> Doubles:
    """A row less its mean, over its standard deviation."""
    result: Doubles = (row - row.mean()) / np.sqrt(row.var() + EPSILON)
    return result


def _added(arrays: Sequence[Array], launches: int) -> Array:
    return doubles(arrays[0]) + doubles(arrays[1])


def _scaled_and_added(arrays: Sequence[Array], launches: int) -> Array:
    return launches * FACTOR * doubles(arrays[0]) + doubles(arrays[1])


def _positive(arrays: Sequence[Array], launches: int) -> Array:
    return np.maximum(doubles(arrays[0]), 0.0)


def _softmax(arrays: Sequence[Array], launches: int) -> Array:
    return np.concatenate(by_row(arrays[0], softmax))


def _layer_norm(arrays: Sequence[Array], launches: int) -> Array:
    gamma, beta = parameters_of(arrays[1])
    rows = by_row(arrays[0], lambda row: normalised(row) * gamma[: row.size] + beta[: row.size])
    return np.concatenate(rows)


def _product(arrays: Sequence[Array], launches: int) -> Array:
    vector = doubles(arrays[1])
    return beginning_with(arrays[2], by_row(arrays[0], lambda row: float(row @ vector[: row.size])))


def gemv(n: int) -> Work:
    """A matrix of n halves by a vector: each read once, however often a cache hands the vector out."""
    read = Traffic(float(HALF_BYTES * (n + columns_of(n))), float(HALF_BYTES * rows_of(n)))
    return Work(2.0 * n, "fp32", {"dram": read})


@dataclass(frozen=True)
class Computation:
    """What a kernel of the table computes, whatever device it runs on.

    `work` counts n elements, by `convention`. `mix` names the stream that it is judged by. The last of its arrays is
    written; SAXPY's is also read.
    """

    name: str
    mix: Mix
    arrays: int
    work: Callable[[int], Work]
    convention: str
    reference: Callable[[Sequence[Array], int], Array]
    dtype: str = "float32"
    scalar: float = 0.0
    tolerance: float = 0.0
    tolerance_reason: str = "the result is exact in the type"


VECADD = Computation("vecadd", "triad", 3, counting.vecadd, "one addition; two elements read, one written", _added)
SAXPY = Computation(
    name="saxpy",
    mix="triad",
    arrays=2,
    work=counting.saxpy,
    convention="FMA = 2 FLOP; two elements read, one written, in place",
    reference=_scaled_and_added,
    scalar=FACTOR,
)
RELU = Computation(
    name="relu",
    mix="copy",
    arrays=2,
    work=counting.relu,
    convention="its compare counted as 1 FLOP to place the point, although a comparison is none",
    reference=_positive,
    dtype="float16",
)
SOFTMAX = Computation(
    name="softmax",
    mix="copy",
    arrays=2,
    work=lambda n: counting.softmax(1, n),
    convention="maximum, subtraction, exp, addition, division: 1 FLOP each, exp too, whatever it takes",
    reference=_softmax,
    tolerance=2.0**-19,
    tolerance_reason="an exp errs by 2^-21 of itself, by more only where it is small, and sums round likewise",
)
LAYER_NORM = Computation(
    name="layer-norm",
    mix="copy",
    arrays=3,
    work=lambda n: counting.layer_norm(1, n),
    convention="mean 1, variance 3, result 4 FLOPs an element; the rows of parameters not counted",
    reference=_layer_norm,
    scalar=EPSILON,
    tolerance=2.0**-13,
    tolerance_reason="squares of a short row, added one by one, err by some 2^-19; times 2 deviations and gamma = 8, "
    "of which beta may leave little. An element too few would show in the 9th bit",
)
GEMV = Computation(
    name="gemv",
    mix="read",
    arrays=3,
    work=gemv,
    convention="FMA = 2 FLOP, on halves as floats; matrix and vector read once, one half a row written",
    reference=_product,
    dtype="float16",
    tolerance=2.0**-11,
    tolerance_reason="the sum is rounded to FP16 once; as a sum of floats it is exact for small integers",
)
COMPUTATIONS = (VECADD, SAXPY, RELU, SOFTMAX, LAYER_NORM, GEMV)


@dataclass(frozen=True)
class Form:
    """How a computation runs on one kind of device: the code of its variants, and the ceiling that it is judged by."""

    kind: Literal["cpu", "cuda"]
    variants: Callable[[Target], Sequence[Variant]]
    source: Callable[[Target, Variant], Source]
    slope: str
    suffix: str = ""
    unit: str = ""
    unsupported: str = ""


def kernel(
    computation: Computation, form: Form, experiment: str = "table", size: Callable[[int], int] | None = None
) -> Kernel:
    """The kernel of a computation in one form."""
    unit = form.unit or computation.work(1).unit

    def work(n: int) -> Work:
        counted = computation.work(n)
        return replace(counted, unit=unit, slopes={"dram": form.slope}, convention=computation.convention)

    def variants(target: Target) -> Sequence[Variant]:
        return form.variants(target) if (target.kind == "cuda") == (form.kind == "cuda") else ()

    unsupported: Mapping[str, str] = {form.kind: form.unsupported} if form.unsupported else {}
    return Kernel(
        experiment=experiment,
        name=computation.name + form.suffix,
        unit=unit,
        level="dram",
        work=work,
        variants=variants,
        sources={form.kind: form.source},
        reference=lambda arrays, launches: [computation.reference(arrays, launches)],
        arrays=computation.arrays,
        scalars=(computation.scalar, 0.0),
        dtype=computation.dtype,
        size=size or (lambda elements: elements),
        tolerance=computation.tolerance,
        tolerance_reason=computation.tolerance_reason,
        unsupported=unsupported,
    )
