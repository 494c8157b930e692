"""Matrix products of the vendor's library, cuBLASLt, called through ctypes as whoever calls it gets them.

The first algorithm that the library proposes is taken. Its matrices lie by columns: what lies by rows is to it the
transposed matrix, and Cᵀ = Bᵀ·Aᵀ, so operands are handed over in the other order, and only a B that lies turned already
is transposed.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from roofline.devices.base import DeviceFault, KernelUnsupported
from roofline.library_source import Arithmetic, Epilogue, LibrarySource, Shape

NAME = "cuBLASLt"
# What NVIDIA recommends for Hopper is 32 MiB (cuBLAS, "cublasSetWorkspace"); twice that refuses no algorithm.
WORKSPACE_BYTES = 64 << 20
# Numbers of the library's enumerations (library_types.h, cublas_api.h, cublasLt.h).
R_32F, R_16F = 0, 2
COMPUTE_32F, COMPUTE_TF32 = 68, 77
FIRST_OPERAND, EPILOGUE, MAX_WORKSPACE = 3, 7, 1
BATCH_COUNT, BATCH_STRIDE = 5, 6
TRANSPOSED = 1
EPILOGUES = {"": 1, "gelu": 32}
NOT_SUPPORTED = 15
WORDS_OF_A_PROPOSAL = 12  # cublasLtMatmulHeuristicResult_t: 64 bytes of algorithm, size, status, waves, reserved
STATUS_WORD = 9


@dataclass(frozen=True)
class Types:
    """What the library is told of a product: type of the matrices and of computing, and what that is to a person."""

    matrices: int
    compute: int
    spoken: str


TYPES = {
    "fp32": Types(R_32F, COMPUTE_32F, "FP32, TF32 off"),
    "tf32": Types(R_32F, COMPUTE_TF32, "TF32, sums in FP32"),
    "fp16": Types(R_16F, COMPUTE_32F, "FP16, sums in FP32"),
}


class LibraryRefused(DeviceFault):
    """A call of the library failed; the message names it and its status."""


@dataclass(frozen=True)
class Plan:
    """One product of one shape as the library wants it described: what to do, the matrices (B, A, C), and how."""

    description: Any
    layouts: Sequence[Any]
    algorithm: Any


@dataclass(frozen=True)
class Call:
    """One operation of the library: `multiply(pointers, elements)` queues it on arrays of so many elements."""

    multiply: Callable[[Sequence[int], int], None]
    math_mode: str
    identity: str


class Products:
    """An open cuBLASLt that queues products on one stream.

    `functions` is the loaded library, `allocate` gives that many bytes on the card.
    """

    def __init__(self, functions: Any, stream: int, allocate: Callable[[int], int]) -> None:
        self._functions = functions
        self._stream = stream
        self._workspace = allocate(WORKSPACE_BYTES)
        self._handle = ctypes.c_void_p()
        self._call("cublasLtCreate", ctypes.byref(self._handle))
        functions.cublasLtGetVersion.restype = ctypes.c_size_t
        self._version = functions.cublasLtGetVersion()
        self._plans: dict[tuple[Arithmetic, Epilogue, Shape], Plan] = {}
        self._one, self._zero = ctypes.c_float(1.0), ctypes.c_float(0.0)

    def call(self, source: LibrarySource) -> Call:
        """What `source` asks for, ready to be queued."""
        spoken = f"{NAME} {self._version}: {TYPES[source.arithmetic].spoken}"
        return Call(
            multiply=lambda pointers, elements: self._multiply(source, pointers, source.shape(elements)),
            math_mode=spoken,
            identity=f"{spoken}; {source.text}; {source.epilogue or 'no epilogue'}",
        )

    def _multiply(self, source: LibrarySource, pointers: Sequence[int], shape: Shape) -> None:
        if not shape.count:  # arrays too small for one of them
            return
        wanted = source.arithmetic, source.epilogue, shape
        if wanted not in self._plans:
            self._plans[wanted] = self._planned(source, shape)
        plan = self._plans[wanted]
        of_right, of_left, of_result = plan.layouts
        left, right, result = (ctypes.c_void_p(pointer) for pointer in pointers)
        self._call(
            "cublasLtMatmul",
            self._handle,
            plan.description,
            ctypes.byref(self._one),
            *(right, of_right),
            *(left, of_left),
            ctypes.byref(self._zero),
            *(result, of_result) * 2,
            ctypes.byref(plan.algorithm),
            ctypes.c_void_p(self._workspace),
            ctypes.c_size_t(WORKSPACE_BYTES),
            ctypes.c_void_p(self._stream),
        )

    def _planned(self, source: LibrarySource, shape: Shape) -> Plan:
        types, description = TYPES[source.arithmetic], ctypes.c_void_p()
        self._call("cublasLtMatmulDescCreate", ctypes.byref(description), types.compute, R_32F)
        self._set("cublasLtMatmulDescSetAttribute", description, EPILOGUE, ctypes.c_int32(EPILOGUES[source.epilogue]))
        if shape.turned:
            self._set("cublasLtMatmulDescSetAttribute", description, FIRST_OPERAND, ctypes.c_int32(TRANSPOSED))
        right = (shape.columns, shape.depth) if shape.turned else (shape.depth, shape.columns)
        by_rows = (right, (shape.rows, shape.depth), (shape.rows, shape.columns))
        layouts = [self._layout(types.matrices, *matrix, shape.count) for matrix in by_rows]
        return Plan(description, layouts, self._proposed(source, shape, description, layouts))

    def _layout(self, kind: int, rows: int, columns: int, count: int) -> Any:
        """`count` matrices by rows, one behind the other, as the library sees them: transposed, by columns."""
        layout, lengths = ctypes.c_void_p(), (ctypes.c_uint64(columns), ctypes.c_uint64(rows))
        self._call("cublasLtMatrixLayoutCreate", ctypes.byref(layout), kind, *lengths, ctypes.c_int64(columns))
        if count > 1:
            self._set("cublasLtMatrixLayoutSetAttribute", layout, BATCH_COUNT, ctypes.c_int32(count))
            self._set("cublasLtMatrixLayoutSetAttribute", layout, BATCH_STRIDE, ctypes.c_int64(rows * columns))
        return layout

    def _proposed(self, source: LibrarySource, shape: Shape, description: Any, layouts: Sequence[Any]) -> Any:
        """The algorithm that the library proposes first.

        Raises:
            KernelUnsupported: it has none for this card.
        """
        preference, found = ctypes.c_void_p(), ctypes.c_int32()
        proposal = (ctypes.c_uint64 * WORDS_OF_A_PROPOSAL)()
        self._call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        limit = ctypes.c_uint64(WORKSPACE_BYTES)
        self._set("cublasLtMatmulPreferenceSetAttribute", preference, MAX_WORKSPACE, limit)
        status = self._functions.cublasLtMatmulAlgoGetHeuristic(
            self._handle, description, *layouts, layouts[-1], preference, 1, proposal, ctypes.byref(found)
        )
        self._call("cublasLtMatmulPreferenceDestroy", preference)
        if status == NOT_SUPPORTED or (not status and not found.value):
            raise KernelUnsupported(f"{NAME} {self._version} has no {source.arithmetic} product of {shape} here")
        _expect_success("cublasLtMatmulAlgoGetHeuristic", status or proposal[STATUS_WORD] & 0xFFFFFFFF)
        return proposal

    def _set(self, function: str, of: Any, attribute: int, value: Any) -> None:
        self._call(function, of, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))

    def _call(self, function: str, *arguments: Any) -> None:
        _expect_success(function, getattr(self._functions, function)(*arguments))

    def close(self) -> None:
        """Give back what the library holds; the memory it worked in belongs to whoever allocated it."""
        for plan in self._plans.values():
            for layout in plan.layouts:
                self._call("cublasLtMatrixLayoutDestroy", layout)
            self._call("cublasLtMatmulDescDestroy", plan.description)
        self._plans.clear()
        self._call("cublasLtDestroy", self._handle)


def _expect_success(function: str, status: int) -> None:
    if status:
        raise LibraryRefused(f"{NAME}: {function} returned status {status} (cublasStatus_t in its documentation)")


def load() -> Any:
    """The library's functions.

    Raises:
        KernelUnsupported: it is not installed, or cannot be loaded.
    """
    try:
        from cuda import pathfinder

        return ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublasLt").abs_path)
    except (ImportError, OSError, RuntimeError) as missing:
        raise KernelUnsupported(
            f"{NAME}, NVIDIA's library of matrix products, is not installed: pip install nvidia-cublas (CUDA 13) or "
            "nvidia-cublas-cu12"
        ) from missing
