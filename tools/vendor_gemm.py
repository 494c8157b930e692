"""The rates of the vendor's own matrix products, cuBLASLt through ctypes, for every type that tensor units multiply.

Square products of random operands, A transposed as INT8 and FP8 want it; of the algorithms that the library proposes,
up to `ALGORITHMS` are tried, since the first is not always the fastest.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import cupy

ALGORITHMS = 4
ROUNDS, ROUND_S = 5, 0.06
WORKSPACE_BYTES = 64 << 20
# Numbers of the library's enumerations (cublas_api.h, cublasLt.h, library_types.h).
R_32F, R_64F, R_16F, R_8I, R_32I, R_16BF, R_8F_E4M3 = 0, 1, 2, 3, 10, 14, 28
COMPUTE_16F, COMPUTE_32F, COMPUTE_64F, COMPUTE_32I, COMPUTE_TF32 = 64, 68, 70, 72, 77
TRANSPOSE_A, FAST_ACCUMULATION, MAX_WORKSPACE = 3, 25, 1
BYTES_OF_A_PROPOSAL = 96
BYTES = {R_32F: 4, R_64F: 8, R_16F: 2, R_8I: 1, R_32I: 4, R_16BF: 2, R_8F_E4M3: 1}


class LibraryRefused(Exception):
    """cuBLASLt returned a status other than success; the message names the call."""


def _uniform(n: int, dtype: Any) -> Any:
    return (cupy.random.random((n, n), dtype=cupy.float32) * 2 - 1).astype(dtype)


def _bf16(n: int) -> Any:
    return (_uniform(n, cupy.float32).view(cupy.uint32) >> 16).astype(cupy.uint16)


def _bytes(n: int) -> Any:
    return cupy.random.randint(0, 256, (n, n), dtype=cupy.uint8)


@dataclass(frozen=True)
class Product:
    """One kind of product: types of the operands and of the result, of computing and of the factors, and operands."""

    operands: int
    result: int
    compute: int
    factors: int
    make: Callable[[int], Any]


PRODUCTS = {
    "fp16_fp32acc": Product(R_16F, R_16F, COMPUTE_32F, R_32F, lambda n: _uniform(n, cupy.float16)),
    "fp16_fp16acc": Product(R_16F, R_16F, COMPUTE_16F, R_16F, lambda n: _uniform(n, cupy.float16)),
    "bf16": Product(R_16BF, R_16BF, COMPUTE_32F, R_32F, _bf16),
    "tf32": Product(R_32F, R_32F, COMPUTE_TF32, R_32F, lambda n: _uniform(n, cupy.float32)),
    # Bytes without bit 6 are E4M3 values below 2, none of them a NaN.
    "fp8": Product(R_8F_E4M3, R_16BF, COMPUTE_32F, R_32F, lambda n: _bytes(n) & 0xBF),
    "int8": Product(R_8I, R_32I, COMPUTE_32I, R_32I, _bytes),
    "fp64": Product(R_64F, R_64F, COMPUTE_64F, R_64F, lambda n: _uniform(n, cupy.float64)),
}
FACTORS = {
    R_32F: (ctypes.c_float(1), ctypes.c_float(0)),
    R_64F: (ctypes.c_double(1), ctypes.c_double(0)),
    R_32I: (ctypes.c_int32(1), ctypes.c_int32(0)),
    R_16F: (ctypes.c_uint16(0x3C00), ctypes.c_uint16(0)),
}


class Library:
    """An open cuBLASLt."""

    def __init__(self) -> None:
        from cuda import pathfinder

        self._functions = ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublasLt").abs_path)
        self._handle = ctypes.c_void_p()
        self.call("cublasLtCreate", ctypes.byref(self._handle))
        self._workspace = cupy.empty(WORKSPACE_BYTES, cupy.uint8)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the library.

        Raises:
            LibraryRefused: its status is not success.
        """
        status = getattr(self._functions, name)(*arguments)
        if status:
            raise LibraryRefused(f"{name} returned status {status}")

    def best(self, name: str, n: int) -> float:
        """The greatest median rate, in operations a second, of the algorithms proposed for n x n x n.

        Raises:
            LibraryRefused: it has no such product here.
        """
        product = PRODUCTS[name]
        a, b = product.make(n), product.make(n)
        c = cupy.zeros(n * n * BYTES[product.result], cupy.uint8)
        with self._described(product, n, fast=name == "fp8") as (description, operand, result):
            layouts = (operand, operand, result, result)
            proposals, count = self._proposals(description, layouts)
            alpha, beta = FACTORS[product.factors]

            def multiply(i: int) -> None:
                self.call(
                    "cublasLtMatmul",
                    self._handle,
                    description,
                    ctypes.byref(alpha),
                    ctypes.c_void_p(a.data.ptr),
                    operand,
                    ctypes.c_void_p(b.data.ptr),
                    operand,
                    ctypes.byref(beta),
                    *(ctypes.c_void_p(c.data.ptr), result) * 2,
                    ctypes.byref(proposals, BYTES_OF_A_PROPOSAL * i),
                    ctypes.c_void_p(self._workspace.data.ptr),
                    ctypes.c_size_t(WORKSPACE_BYTES),
                    ctypes.c_void_p(0),
                )

            return max(_rate(lambda i=i: multiply(i), 2.0 * n**3) for i in range(count))

    @contextmanager
    def _described(self, product: Product, n: int, fast: bool) -> Iterator[tuple[Any, Any, Any]]:
        description, layouts = ctypes.c_void_p(), [ctypes.c_void_p(), ctypes.c_void_p()]
        self.call("cublasLtMatmulDescCreate", ctypes.byref(description), product.compute, product.factors)
        self._set(description, TRANSPOSE_A, ctypes.c_int32(1))
        if fast:
            self._set(description, FAST_ACCUMULATION, ctypes.c_int8(1))
        size = ctypes.c_uint64(n)
        for layout, kind in zip(layouts, (product.operands, product.result), strict=True):
            self.call("cublasLtMatrixLayoutCreate", ctypes.byref(layout), kind, size, size, ctypes.c_int64(n))
        yield description, *layouts
        for layout in layouts:
            self.call("cublasLtMatrixLayoutDestroy", layout)
        self.call("cublasLtMatmulDescDestroy", description)

    def _set(self, description: Any, attribute: int, value: Any) -> None:
        self.call(
            "cublasLtMatmulDescSetAttribute",
            description,
            attribute,
            ctypes.byref(value),
            ctypes.c_size_t(ctypes.sizeof(value)),
        )

    def _proposals(self, description: Any, layouts: tuple[Any, ...]) -> tuple[Any, int]:
        preference, limit = ctypes.c_void_p(), ctypes.c_size_t(WORKSPACE_BYTES)
        self.call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        self.call(
            "cublasLtMatmulPreferenceSetAttribute", preference, MAX_WORKSPACE, ctypes.byref(limit), ctypes.c_size_t(8)
        )
        proposals, found = (ctypes.c_uint64 * (BYTES_OF_A_PROPOSAL // 8 * ALGORITHMS))(), ctypes.c_int32()
        self.call(
            "cublasLtMatmulAlgoGetHeuristic",
            self._handle,
            description,
            *layouts,
            preference,
            ALGORITHMS,
            proposals,
            ctypes.byref(found),
        )
        self.call("cublasLtMatmulPreferenceDestroy", preference)
        return proposals, found.value


def _rate(multiply: Callable[[], None], operations: float) -> float:
    """Median operations a second of several rounds of calls, by events."""
    multiply()
    calls = max(2, int(ROUND_S / _seconds(multiply, 2)))
    return median(operations / _seconds(multiply, calls) for _ in range(ROUNDS))


def _seconds(multiply: Callable[[], None], calls: int) -> float:
    began, ended = cupy.cuda.Event(), cupy.cuda.Event()
    began.record()
    for _ in range(calls):
        multiply()
    ended.record()
    ended.synchronize()
    return float(cupy.cuda.get_elapsed_time(began, ended)) * 1e-3 / calls
