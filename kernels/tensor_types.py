"""The types that tensor units multiply: how an operand is made of an FP32 element, and what its sums can hold.

Operands are made so that ones, zeros and small integers stay what they are, but for a factor: their sums are exact in
the accumulators, and every check of them is too. Random elements of [1, 2) give both signs and every mantissa bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roofline.kernel import Array

SINGLE_MANTISSA = 23
BYTES_OF_A_STEP = 32  # of a row of A or a column of B: what one instruction of any tensor unit takes, but for FP64


@dataclass(frozen=True)
class Format:
    """A type of operands. `mantissa` bits are kept of `factor` times an FP32 element, rounded half away from zero.

    `code` is the same in CUDA C++ (tensor.cu). INT8 and FP64, which are no narrow floats, have rules of their own.
    """

    ptx: str
    bits: int
    code: str
    mantissa: int = 0
    factor: float = 0.25

    @property
    def elements_of_a_word(self) -> int:
        """Operands in a 32-bit register; an FP64 takes two of them for itself."""
        return max(1, 32 // self.bits)

    def operands(self, array: Array) -> NDArray[np.float64]:
        """What the kernels make of FP32 elements: zeros, or values in the format's normal range."""
        elements = array.astype(np.float32)
        bits = elements.view(np.uint32)
        if self.ptx == "s8":  # the low byte of the mantissa is random or, in small integers, zero
            return (
                (elements.astype(np.int32) + bits.astype(np.uint8).astype(np.int8)).astype(np.int8).astype(np.float64)
            )
        if self.ptx == "f64":
            values = _filled(self.factor * elements.astype(np.float64), bits)
        else:
            values = self.factor * _rounded(bits, self.mantissa).astype(np.float64)
        if self.ptx == "e2m1":
            values = np.clip(values, -LARGEST_E2M1, LARGEST_E2M1)
        return np.where(bits & 1, -values, values)


LARGEST_E2M1 = 6.0


def _rounded(bits: NDArray[np.uint32], mantissa: int) -> NDArray[np.float32]:
    """FP32 values with fewer mantissa bits, halves away from zero."""
    half, dropped = 1 << (SINGLE_MANTISSA - 1 - mantissa), (1 << (SINGLE_MANTISSA - mantissa)) - 1
    return np.asarray((bits + np.uint32(half)) & np.uint32(~dropped & 0xFFFF_FFFF), np.uint32).view(np.float32)


def _filled(values: NDArray[np.float64], bits: NDArray[np.uint32]) -> NDArray[np.float64]:
    """FP64 values whose 29 lowest mantissa bits, zero in what was FP32, repeat the twelve lowest of the element."""
    low = (bits & 0xFFF).astype(np.uint64)
    filling = low << np.uint64(17) | low << np.uint64(5) | low >> np.uint64(7)
    return np.asarray(values.view(np.uint64) | filling).view(np.float64)


@dataclass(frozen=True)
class Type:
    """Operands of one format and the accumulators of their products; `name` makes the resource `tensor_<name>`.

    `terms` are those of a step, the deepest product of one instruction. `counts_to` is the number of steps that ones
    are counted exactly for. A kernel's accumulators restart every `period` steps, which keeps what they hold exact
    (`exact`: sums of small integers) or small. `step_error` bounds what a step of random operands may err, relative to
    the greater of one and the sum.
    """

    name: str
    spoken: str
    format: Format
    accumulator: str
    step_error: float
    reason: str
    exact: bool = True
    counts_to: int = 2048
    period: int = 64

    @property
    def unit(self) -> str:
        """The arithmetic unit, and the resource that its peak sets."""
        return f"tensor_{self.name}"

    @property
    def label(self) -> str:
        """Its part of a kernel's name. FP16 came first: its kernels are named by their accumulators alone."""
        return self.name.removeprefix("fp16_")

    @property
    def terms(self) -> int:
        """Products added to each element of D in a step."""
        return 16 if self.format.bits == 64 else 8 * BYTES_OF_A_STEP // self.format.bits

    @property
    def counted(self) -> float:
        """What `counts_to` steps on ones add up to."""
        one = float(self.format.operands(np.ones(1))[0])
        return self.counts_to * self.terms * one * one


_IN_FP32 = "each product is exact, and a step of FP32 sums errs by a few units in the last place"
FP16 = Format("f16", 16, "Float<16, 10, 114>", mantissa=10)
TYPES = (
    Type("fp16_fp32acc", "FP16 (FP32 accumulators)", FP16, "f32", 2.0**-20, _IN_FP32),
    Type(
        "fp16_fp16acc",
        "FP16 (FP16 accumulators)",
        FP16,
        "f16",
        2.0**-9,
        "each step may err by half a unit in the last place of a sum below 8 that grows in proportion",
        exact=False,
    ),
    Type("bf16", "BF16", Format("bf16", 16, "Float<16, 7, 2>", mantissa=7), "f32", 2.0**-20, _IN_FP32),
    Type("tf32", "TF32", Format("tf32", 32, "Float<32, 10, 2>", mantissa=10), "f32", 2.0**-20, _IN_FP32),
    # Hopper adds FP8 products in fixed point, 13 bits below the largest of them and the sum (DeepSeek-V3, arXiv
    # 2412.19437, 3.3.2): a step of 32 may lose 33 such bits, and counting ones stops at 2^14 times their product.
    Type(
        "fp8",
        "FP8 (E4M3)",
        Format("e4m3", 8, "Float<8, 3, 122>", mantissa=3),
        "f32",
        33 * 2.0**-13,
        "each of 32 products and the sum may lose what lies 13 bits below the largest",
        counts_to=512,
        period=16,
    ),
    Type("int8", "INT8", Format("s8", 8, "Int8", factor=1.0), "s32", 2.0**-24, "a sum is rounded once, to FP32"),
    Type("fp64", "FP64", Format("f64", 64, "Fp64"), "f64", 2.0**-30, "a sum is rounded once more, to FP32"),
    Type(
        "fp4",
        "FP4 (E2M1, a scale for 16)",
        Format("e2m1", 4, "Float<4, 1, 126>", mantissa=1, factor=1.0),
        "f32",
        2.0**-20,
        _IN_FP32,
        counts_to=512,
        period=16,
    ),
)
BY_NAME = {kind.name: kind for kind in TYPES}


def product(kind: Type, tile: tuple[int, int, int], arrays: Sequence[Array], steps: int) -> Array:
    """D in float64: each tile's A B, as often as `steps` steps add it; past the last element are zeros.

    `tile` is its rows, columns and terms. A and B lie at the start of the tile's own part of their arrays.
    """
    rows, columns, terms = tile
    n = arrays[0].size
    a, b = (_operands_of_tiles(kind, array, rows * columns) for array in arrays[:2])
    left = a[:, _places(rows * terms, rows * columns)].reshape(-1, rows, terms)
    right = b[:, _places(columns * terms, rows * columns)].reshape(-1, columns, terms).transpose(0, 2, 1)
    return np.asarray(np.matmul(left, right).reshape(-1)[:n] * (steps * kind.terms / terms))


def _operands_of_tiles(kind: Type, array: Array, elements: int) -> NDArray[np.float64]:
    values = kind.format.operands(array)
    return np.pad(values, (0, -array.size % elements)).reshape(-1, elements)


def _places(wanted: int, elements: int) -> NDArray[np.int64]:
    """Where in a tile's part its operands lie: one after the other, and round again where there are too few.

    Each round begins further on, by an odd number, so that no two columns hold the same terms in the same order.
    """
    place = np.arange(wanted)
    return np.asarray((place + FURTHER * (place // elements)) % elements)


FURTHER = 37
