"""A kernel whose code is not ours: it names an operation, and the device asks its vendor's library for it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from roofline.kernel import Source

Arithmetic = Literal["fp32", "tf32", "fp16"]
Epilogue = Literal["", "gelu"]


@dataclass(frozen=True)
class Shape:
    """`count` products one behind the other, each `rows` × `depth` by `depth` × `columns`, all by rows.

    A `turned` right matrix lies the other way: `columns` rows of `depth` elements.
    """

    rows: int
    columns: int
    depth: int
    count: int = 1
    turned: bool = False

    def __str__(self) -> str:
        """As a person says it."""
        times = f"{self.count} × " if self.count > 1 else ""
        return f"{times}{self.rows} × {self.depth} by {self.depth} × {self.columns}"


def square(elements: int) -> Shape:
    """The largest square matrices that arrays of so many elements hold."""
    side = math.isqrt(elements)
    return Shape(side, side, side)


@dataclass(frozen=True)
class LibrarySource(Source):
    """The product of the two matrices that begin the first two arrays, into the third; `text` says so.

    `shape` is that of the matrices in arrays of so many elements.

    `arithmetic` is "fp32" (every product and sum in FP32), "tf32" (operands of float32 arrays rounded to TF32) or
    "fp16" (arrays of FP16, sums in FP32). `epilogue` is what is done to each element before it is stored.
    """

    arithmetic: Arithmetic = "fp32"
    epilogue: Epilogue = ""
    shape: Callable[[int], Shape] = square


def product(arithmetic: Arithmetic, epilogue: Epilogue = "") -> LibrarySource:
    """C = A·B of the largest square matrices that the arrays hold, by rows."""
    return LibrarySource(text="C = A·B", entry="matmul", arithmetic=arithmetic, epilogue=epilogue)


def layers(shape: Callable[[int], Shape]) -> LibrarySource:
    """Y = X·Wᵀ in FP16, one product for each of the layers that the arrays hold."""
    return LibrarySource(text="Y = X·Wᵀ, layer by layer", entry="layers", arithmetic="fp16", shape=shape)
