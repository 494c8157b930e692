"""Calls of the vendor's library, without a card: what it is told, and what is said where it refuses."""

import builtins
import ctypes

import pytest

from roofline.devices.base import KernelUnsupported
from roofline.devices.cuda import library
from roofline.devices.cuda.library import LibraryRefused, Products
from roofline.library_source import product

pytestmark = pytest.mark.correctness

STREAM, WORKSPACE = 77, 4096
A, B, C = 0x1000, 0x2000, 0x3000


class Recorded:
    """A library that notes what it is called with, and answers as it is told."""

    def __init__(self, refuses=None, status=1, proposals=1):
        self.calls = []
        self.refuses, self.status, self.proposals = refuses, status, proposals

    def __getattr__(self, name):
        if not name.startswith("cublasLt"):
            raise AttributeError(name)

        def function(*arguments):
            self.calls.append((name, arguments))
            if name == "cublasLtGetVersion":
                return 130200
            if name == self.refuses:
                return self.status
            if name == "cublasLtMatmulAlgoGetHeuristic":
                arguments[-1]._obj.value = self.proposals
            return 0

        self.__dict__[name] = function
        return function

    def named(self, name):
        """The arguments of each call of that name."""
        return [arguments for called, arguments in self.calls if called == name]


def opened(functions):
    return Products(functions, STREAM, lambda wanted: WORKSPACE)


def value(argument):
    """What a pointer or a number of ctypes holds."""
    return getattr(argument, "_obj", argument).value


def test_rows_are_handed_over_as_the_columns_of_the_transposed_matrix():
    """Cᵀ = Bᵀ·Aᵀ: operands in the other order, nothing transposed, the result written where C lies."""
    functions = Recorded()
    opened(functions).call(product("fp32")).multiply([A, B, C], 33**2 + 5)
    ((_, _, alpha, left, _, right, _, beta, addend, _, result, _, _, workspace, size, stream),) = functions.named(
        "cublasLtMatmul"
    )
    assert [value(each) for each in (left, right, addend, result)] == [B, A, C, C]
    assert (value(alpha), value(beta)) == (1.0, 0.0)
    assert (value(workspace), value(size), value(stream)) == (WORKSPACE, library.WORKSPACE_BYTES, STREAM)
    for _, _, rows, columns, stride in functions.named("cublasLtMatrixLayoutCreate"):
        assert (value(rows), value(columns), value(stride)) == (33, 33, 33)


@pytest.mark.parametrize(
    ("arithmetic", "matrices", "compute"),
    [("fp32", library.R_32F, library.COMPUTE_32F), ("tf32", library.R_32F, library.COMPUTE_TF32),
     ("fp16", library.R_16F, library.COMPUTE_32F)],
)  # fmt: skip
def test_each_arithmetic_is_asked_for_by_its_types(arithmetic, matrices, compute):
    """T7: TF32 only where it is asked for by name."""
    functions = Recorded()
    opened(functions).call(product(arithmetic)).multiply([A, B, C], 64)
    ((_, told, _),) = functions.named("cublasLtMatmulDescCreate")
    assert told == compute
    assert {type_ for _, type_, *_ in functions.named("cublasLtMatrixLayoutCreate")} == {matrices}


@pytest.mark.parametrize(("epilogue", "number"), [("", 1), ("gelu", 32)])
def test_the_epilogue_is_asked_for(epilogue, number):
    """K8: nothing, or GELU."""
    functions = Recorded()
    opened(functions).call(product("tf32", epilogue)).multiply([A, B, C], 64)
    ((_, attribute, told, _),) = functions.named("cublasLtMatmulDescSetAttribute")
    assert (attribute, value(told)) == (library.EPILOGUE, number)


def test_a_product_is_planned_once_a_size():
    """What the library is asked before a call costs more than the call."""
    functions = Recorded()
    call = opened(functions).call(product("fp32"))
    for elements in (64, 64, 100, 64):
        call.multiply([A, B, C], elements)
    assert len(functions.named("cublasLtMatmulAlgoGetHeuristic")) == 2
    assert len(functions.named("cublasLtMatmul")) == 4


def test_calls_of_other_arithmetic_or_library_are_other_code():
    """The record's hash tells them apart, and the math mode says which it was."""
    calls = [opened(Recorded()).call(product(*wanted)) for wanted in (("fp32",), ("tf32",), ("tf32", "gelu"))]
    assert len({call.identity for call in calls}) == 3
    assert calls[0].math_mode == "cuBLASLt 130200: FP32, TF32 off"


def test_a_status_is_named_with_the_call():
    """Refused is an error, never a row."""
    with pytest.raises(LibraryRefused, match="cublasLtMatmul returned status 13"):
        opened(Recorded("cublasLtMatmul", 13)).call(product("fp32")).multiply([A, B, C], 64)


@pytest.mark.parametrize("functions", [Recorded("cublasLtMatmulAlgoGetHeuristic", 15), Recorded(proposals=0)])
def test_a_card_without_such_a_product_makes_the_row_absent(functions):
    """Unsupported, with the size and the arithmetic that were asked for."""
    with pytest.raises(KernelUnsupported, match="has no fp16 product of 8 × 8 by 8 × 8 here"):
        opened(functions).call(product("fp16")).multiply([A, B, C], 64)


def test_closing_gives_back_every_plan_and_the_library():
    """As many destroyed as created."""
    functions = Recorded()
    products = opened(functions)
    for elements in (64, 100):
        products.call(product("fp32")).multiply([A, B, C], elements)
    products.close()
    for made in ("MatmulDesc", "MatrixLayout"):
        created, destroyed = (functions.named(f"cublasLt{made}{what}") for what in ("Create", "Destroy"))
        assert len(created) == len(destroyed) >= 2
    assert len(functions.named("cublasLtDestroy")) == 1


def test_a_library_that_is_not_installed_makes_the_row_absent(monkeypatch):
    """The reason says what to install."""

    def missing(name, *arguments, **keywords):
        if name == "cuda":
            raise ImportError(name)
        return imported(name, *arguments, **keywords)

    imported = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(KernelUnsupported, match="pip install nvidia-cublas"):
        library.load()


def test_a_proposal_has_the_size_that_the_library_writes():
    """cublasLtMatmulHeuristicResult_t is 96 bytes: the algorithm's 64, size, status, waves, and 16 kept free."""
    fields = (8 * ctypes.sizeof(ctypes.c_uint64), ctypes.sizeof(ctypes.c_size_t), 4, 4, 4 * 4)
    assert sum(fields) == 8 * library.WORDS_OF_A_PROPOSAL
    assert sum(fields[:2]) == 8 * library.STATUS_WORD
