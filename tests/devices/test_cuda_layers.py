"""What the vendor's library is told of layers, by a stand-in that multiplies what it was told: by columns, strided."""

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

from roofline.devices.cuda import library
from roofline.kernels import batch
from roofline.library_source import LibrarySource, Shape, layers, product

pytestmark = pytest.mark.correctness

CALLS_WITHOUT_EFFECT = (
    *("cublasLtCreate", "cublasLtDestroy", "cublasLtMatmulDescDestroy", "cublasLtMatrixLayoutDestroy"),
    *("cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulPreferenceDestroy"),
)


class StandIn:
    """cuBLASLt as its documentation has it, for FP16 products on the host's memory: D = op(A)·B, by columns."""

    def __init__(self) -> None:
        self.shapes: dict[int, tuple[int, int, int]] = {}
        self.attributes: dict[tuple[int, int], int] = {}
        self.multiplied = 0
        for name in CALLS_WITHOUT_EFFECT:
            setattr(self, name, lambda *arguments: 0)
        self.cublasLtGetVersion = lambda: 1
        self.cublasLtMatmulDescSetAttribute = self.cublasLtMatrixLayoutSetAttribute = self.set

    def cublasLtMatmulDescCreate(self, description, compute, scale) -> int:  # noqa: N802 - the library's own name
        description._obj.value = 1
        return 0

    def cublasLtMatrixLayoutCreate(self, layout, kind, rows, columns, leading) -> int:  # noqa: N802 - its own name
        assert kind == library.R_16F
        layout._obj.value = 100 + len(self.shapes)
        self.shapes[layout._obj.value] = rows.value, columns.value, leading.value
        return 0

    def set(self, of, attribute, value, size) -> int:
        assert size.value == ctypes.sizeof(value._obj)
        self.attributes[of.value, attribute] = value._obj.value
        return 0

    def cublasLtMatmulAlgoGetHeuristic(self, *arguments) -> int:  # noqa: N802 - its own name
        arguments[-1]._obj.value = 1
        return 0

    def cublasLtMatmul(self, handle, description, one, a, of_a, b, of_b, zero, c, of_c, d, of_d, *rest) -> int:  # noqa: N802 - its own
        for number in range(self.attributes.get((of_d.value, library.BATCH_COUNT), 1)):
            left, right, result = (self.matrix(*of, number) for of in ((a, of_a), (b, of_b), (d, of_d)))
            turned = self.attributes.get((description.value, library.FIRST_OPERAND))
            result[:] = (left.T if turned == library.TRANSPOSED else left).astype(np.float64) @ right.astype(np.float64)
            self.multiplied += 1
        return 0

    def matrix(self, pointer, layout, number: int) -> np.ndarray:
        """One of the matrices by columns that lie at a pointer."""
        rows, columns, leading = self.shapes[layout.value]
        assert leading == rows
        stride = self.attributes.get((layout.value, library.BATCH_STRIDE), 0)
        memory = (ctypes.c_uint16 * (rows * columns)).from_address(pointer.value + 2 * number * stride)
        return np.frombuffer(memory, np.float16).reshape(columns, rows).T


def multiplied(source: LibrarySource, arrays: Sequence[np.ndarray]) -> StandIn:
    """The stand-in after it was asked for what the source says."""
    stand_in = StandIn()
    room = ctypes.create_string_buffer(8)
    products = library.Products(stand_in, 0, lambda size: ctypes.addressof(room))
    products.call(source).multiply([array.ctypes.data for array in arrays], arrays[0].size)
    products.close()
    return stand_in


def small_integers(n: int) -> list[np.ndarray]:
    return [((np.arange(n) * (array + 3)) % 17 - 8).astype(np.float16) for array in range(3)]


@pytest.mark.parametrize("shape", [Shape(3, 5, 7, 2, turned=True), Shape(3, 5, 7, 2), Shape(1, 8, 8, 1, turned=True)])
def test_products_are_those_of_matrices_by_rows(shape):
    """Rows, columns and depth of any shape, one product behind the other, the right matrix turned or not."""
    left, right, result = small_integers(200)
    want = result.copy()
    stand_in = multiplied(layers(lambda n: shape), [left, right, result])
    a = left[: shape.count * shape.rows * shape.depth].reshape(shape.count, shape.rows, shape.depth)
    b = right[: shape.count * shape.depth * shape.columns]
    b = (
        b.reshape(shape.count, shape.columns, shape.depth).transpose(0, 2, 1)
        if shape.turned
        else b.reshape(shape.count, shape.depth, shape.columns)
    )
    expected = np.matmul(a.astype(np.float64), b.astype(np.float64)).reshape(-1)
    want[: expected.size] = expected
    assert np.array_equal(result, want)
    assert stand_in.multiplied == shape.count


@pytest.mark.parametrize("n", [1, 64, 1023, 4096])
def test_layers_come_out_as_their_reference_says(n):
    """K5, A9: what the library is told of an array is what the reference makes of it; of too small a one, nothing."""
    arrays = small_integers(n)
    want = batch.product([array.copy() for array in arrays], 16)
    multiplied(layers(lambda elements: batch.shape(elements, 16)), arrays)
    assert np.array_equal(arrays[2], want.astype(np.float16))


def test_a_square_product_is_that_of_the_largest_squares():
    """K4: the ladder's product goes the same way."""
    left, right, result = small_integers(30)
    multiplied(product("fp16"), [left, right, result])
    assert np.array_equal(result[:25].reshape(5, 5), left[:25].reshape(5, 5) @ right[:25].reshape(5, 5))
