"""The table of kernels: right on odd shapes and at the ends of their types, and counted by what they really do."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from counted import Memory, Number, Tally, total

from roofline import counting
from roofline.checking import check
from roofline.devices.base import Backend, KernelUnsupported, Launch
from roofline.devices.cpu import open_cpu
from roofline.devices.cuda import open_cuda, why_no_cuda
from roofline.devices.fake import FakeBackend, FakeTruth
from roofline.kernel import Array, Kernel, Target
from roofline.kernels import every_kernel, kernels_of, table, table_cpu
from roofline.rooflines import unit_of
from roofline.session import Session, runs_on

pytestmark = pytest.mark.correctness

COLUMNS = table.COLUMNS
KERNELS = kernels_of("table")
X86 = Target("cpu", "x86-64-v3", lanes=8, registers=16, has_fma=True)


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and why_no_cuda() is not None:
        pytest.skip(f"no CUDA device: {why_no_cuda()}")
    backend = open_cpu() if request.param == "cpu" else open_cuda("0")
    yield backend
    backend.close()


def of(device: Backend, computation: table.Computation) -> Kernel:
    """The kernel of a computation on this kind of device."""
    kernels = [k for k in KERNELS if runs_on(k, device.device.kind) and k.name.startswith(computation.name)]
    assert len(kernels) == 1
    return kernels[0]


def results(device: Backend, computation: table.Computation, arrays: Sequence[Array]) -> list[Array]:
    """What each variant leaves in the last array."""
    kernel = of(device, computation)
    found = []
    for binary in device.build(kernel, kernel.variants(device.target)):
        buffers = device.bind(arrays)
        device.run(Launch(binary, buffers, arrays[0].size), 1)
        found.append(device.read_back(buffers)[-1].astype(np.float64))
        device.free(buffers)
    return found


@pytest.mark.parametrize("computation", table.COMPUTATIONS, ids=lambda c: c.name)
def test_rows_that_are_not_whole_are_as_right_as_those_that_are(device, computation):
    """T1 to T6: a row less one, one more, several and a part, and rooms for parameters that end where they should."""
    kernel = of(device, computation)
    for binary in device.build(kernel, kernel.variants(device.target)):
        check(device, binary, (4095, 4097, 4099, 2 * COLUMNS + 5, 3 * COLUMNS, 9 * COLUMNS + 77), launches=2)


def filled(n: int, values: Callable[[int], Array]) -> Array:
    return values(n).astype(np.float32)


EXTREME_ROWS = {
    "as large as floats get, of both signs": lambda n: np.where(np.arange(n) % 7 == 0, 3.4028234e38, -3.4028234e38),
    "all as low as floats get": lambda n: np.full(n, -3.4028234e38),
    "all as large": lambda n: np.full(n, 3.4028234e38),
    "one far above the others": lambda n: np.where(np.arange(n) == n - 1, 1e4, -1e4),
    "none below the smallest normal float": lambda n: np.full(n, 1e-38),
    "spread over all that an exponential can tell apart": lambda n: np.linspace(-90, 90, n),
}


@pytest.mark.parametrize("n", [3 * COLUMNS, COLUMNS + 1025], ids=["whole", "short"])
@pytest.mark.parametrize("values", EXTREME_ROWS.values(), ids=EXTREME_ROWS)
def test_softmax_of_extreme_rows_is_a_distribution_and_the_right_one(device, values, n):
    """T4: the greatest is taken away before any exponential, so nothing overflows and nothing is lost."""
    x = filled(n, values)
    want = table.SOFTMAX.reference([x], 1)
    for have in results(device, table.SOFTMAX, [x, np.zeros_like(x)]):
        assert np.isfinite(have).all()
        assert np.abs(have - want).max() <= table.SOFTMAX.tolerance
        sums = [have[first : first + COLUMNS].sum() for first in range(0, n, COLUMNS)]
        assert sums == pytest.approx([1.0] * len(sums), abs=1e-5)


@pytest.mark.parametrize("n", [3 * COLUMNS, COLUMNS + 1025, 1000], ids=["whole", "short", "only a short one"])
@pytest.mark.parametrize("value", [0.0, 1234.567, -1e6 / 3, 1e15])
def test_layer_norm_of_a_constant_row_is_beta(device, value, n):
    """T5: the last bit of a mean, which rounding may miss, is no deviation of every element from it."""
    x, parameters = np.full(n, value, np.float32), np.random.default_rng(5).normal(size=n).astype(np.float32)
    _, beta = table.parameters_of(parameters)
    want = np.concatenate([beta[: len(row)] for row in np.split(x, range(COLUMNS, n, COLUMNS))])
    for have in results(device, table.LAYER_NORM, [x, parameters, np.zeros_like(x)]):
        assert np.abs(have - want).max() <= table.LAYER_NORM.tolerance


@pytest.mark.parametrize("offset", [0.0, 1e3, -1e5])
def test_layer_norm_of_rows_far_from_zero_keeps_what_their_floats_tell(device, offset):
    """T5: the variance is summed of differences from the mean, not as a difference of large sums."""
    n = 2 * COLUMNS + 1025
    drawn = np.random.default_rng(6)
    x, parameters = (offset + drawn.normal(size=n)).astype(np.float32), drawn.normal(size=n).astype(np.float32)
    want = table.LAYER_NORM.reference([x, parameters], 1)
    for have in results(device, table.LAYER_NORM, [x, parameters, np.zeros_like(x)]):
        assert np.abs(have - want).max() <= table.LAYER_NORM.tolerance


def test_relu_is_right_for_every_half_there_is(device):
    """T3: all 65536 patterns but those that are no numbers: both zeros, subnormals and infinities too."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = halves[~np.isnan(halves)]
    for have in results(device, table.RELU, [x, np.full_like(x, 7)]):
        np.testing.assert_array_equal(have, np.maximum(x.astype(np.float64), 0))
        assert not np.signbit(have).any()


@pytest.mark.parametrize("n", [5 * COLUMNS, 2 * COLUMNS + 1025])
def test_products_of_full_mantissa_halves_are_rounded_once(device, n):
    """T6: multiplied and added up as floats; a sum in halves would err in the second digit."""
    drawn = np.random.default_rng(7)
    arrays = [drawn.uniform(1, 2, n).astype(np.float16) for _ in range(3)]
    want = table.GEMV.reference(arrays, 1)
    for have in results(device, table.GEMV, arrays):
        rows = table.rows_of(n)
        assert np.abs(have[:rows] / want[:rows] - 1).max() <= 1.01 * table.GEMV.tolerance
        np.testing.assert_array_equal(have[rows:], want[rows:])


# The kernels as programs on counting numbers: each row is read once and kept, as in registers.


def add(x: Memory, z: Memory, y: Memory) -> None:
    for i in range(len(x)):
        y[i] = x[i] + z[i]


def scale_and_add(x: Memory, y: Memory) -> None:
    for i in range(len(x)):
        y[i] = x[i] * table.FACTOR + y[i]


def rectify(x: Memory, y: Memory) -> None:
    for i in range(len(x)):
        y[i] = x[i].larger(0.0)


def rows(x: Memory) -> list[range]:
    return [range(first, min(first + COLUMNS, len(x))) for first in range(0, len(x), COLUMNS)]


def softmax(x: Memory, y: Memory) -> None:
    for row in rows(x):
        values = [x[i] for i in row]
        greatest = values[0]
        for value in values[1:]:
            greatest = greatest.larger(value)
        powers = [(value - greatest).exp() for value in values]
        whole = total(powers)
        for i, power in zip(row, powers, strict=True):
            y[i] = power / whole


def layer_norm(x: Memory, parameters: Memory, y: Memory) -> None:
    n, columns = len(x), min(len(x), COLUMNS)
    gamma = [parameters[i] for i in range(columns)]
    beta = [parameters[table.second_row(n) + i] for i in range(columns)]
    for row in rows(x):
        values = [x[i] for i in row]
        mean = total(values) / len(row)
        differences = [v - mean for v in values]
        variance = total([d * d for d in differences]) / len(row)
        factor = (variance + table.EPSILON).inverse_root()
        for i, v, g, b in zip(row, values, gamma, beta, strict=False):
            y[i] = (v - mean) * factor * g + b


def multiply(a: Memory, x: Memory, y: Memory) -> None:
    vector = [x[i] for i in range(min(len(a), COLUMNS))]
    for number, row in enumerate(rows(a)):
        result = Number(0.0, a.tally)
        for i, factor in zip(row, vector, strict=False):
            result = a[i] * factor + result
        y[number] = result


# Beyond what is counted an element: FLOPs a row, and reads a launch of rows of parameters.
PROGRAMS = (
    (table.VECADD, add, 0, 0),
    (table.SAXPY, scale_and_add, 0, 0),
    (table.RELU, rectify, 0, 0),
    (table.SOFTMAX, softmax, -2, 0),  # a sum and a greatest of k take k - 1 each
    (table.LAYER_NORM, layer_norm, 2, 2),  # two sums of k take k - 1, two quotients, epsilon and a root 1 each
    (table.GEMV, multiply, 0, 0),
)


@pytest.mark.parametrize(
    ("computation", "program", "of_a_row", "parameters"), PROGRAMS, ids=lambda v: getattr(v, "name", "")
)
@pytest.mark.parametrize("n", [2 * COLUMNS, 2 * COLUMNS + 1025])
def test_counts_are_those_of_the_program_on_counting_numbers(computation, program, of_a_row, parameters, n):
    """T1 to T6, M7, M8, M9, M10: FLOPs, bytes read and written, exponentials as one, comparisons by convention."""
    drawn, tally = np.random.default_rng(8), Tally()
    arrays = [drawn.integers(-8, 9, n).astype(computation.dtype) for _ in range(computation.arrays)]
    want = computation.reference([array.copy() for array in arrays], 1)
    memories = [Memory(array, tally) for array in arrays]
    program(*memories)
    assert np.allclose(memories[-1].values, want, rtol=1e-9, atol=1e-9)
    work, size = computation.work(n), np.dtype(computation.dtype).itemsize
    assert tally.flops - of_a_row * table.rows_of(n) == work.flops
    assert size * (tally.read - parameters * table.columns_of(n)) == work.traffic["dram"].read
    assert size * tally.written == work.traffic["dram"].written


@pytest.mark.parametrize(
    ("computation", "intensity"),
    list(zip(table.COMPUTATIONS, (1 / 12, 2 / 12, 1 / 4, 5 / 8, 1.0, 1.0), strict=True)),
    ids=[computation.name for computation in table.COMPUTATIONS],
)
def test_intensities_are_those_of_the_chapter(computation, intensity):
    """T1 to T6: 0.083, 0.17, 0.25, about 0.6, about 1 and about 1 FLOP a byte."""
    assert computation.work(1 << 24).intensity() == pytest.approx(intensity, rel=1e-3)


def test_whole_matrices_are_counted_as_the_library_counts_a_product():
    counted, ours = counting.gemv(512, COLUMNS), table.gemv(512 * COLUMNS)
    assert (ours.flops, ours.traffic) == (counted.flops, counted.traffic)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{next(iter(kernel.sources))}-{kernel.name}")
def test_each_is_judged_by_a_stream_of_its_own_mix_that_is_none_of_the_table(kernel):
    """M4: what sets the ceiling reads and writes as much for one another, and was not written for this table."""
    work = kernel.work(COLUMNS)
    slope, moved = work.slopes["dram"], work.traffic["dram"]
    controls = [k for k in every_kernel() if slope in k.measures and k.sources.keys() == kernel.sources.keys()]
    assert controls
    assert {k.experiment for k in controls} == {"dram"}
    assert not kernel.measures
    assert unit_of(slope) == "B/s"
    for control in controls:
        asked = control.work(COLUMNS).traffic["dram"]
        # a vector and a result a row are a thousandth of a matrix
        assert asked.written / asked.total == pytest.approx(moved.written / moved.total, abs=1e-3)


def test_a_cpu_that_converts_no_halves_lacks_the_product_and_says_why():
    """T6: converting by hand would time the conversion, so the row is absent with its reason."""
    kernel = next(k for k in KERNELS if k.name == "gemv" and "cpu" in k.sources)
    assert kernel.variants(Target("cpu", "x86-64-v2", lanes=4, registers=16, has_fma=False)) == ()
    assert kernel.unsupported["cpu"] == table_cpu.NO_HALVES
    assert "F16C" in table_cpu.NO_HALVES
    assert kernel.variants(X86)


def test_a_product_in_blocks_that_do_not_divide_a_row_is_refused():
    kernel = next(k for k in KERNELS if k.name == "gemv" and "cpu" in k.sources)
    with pytest.raises(ValueError, match="blocks of 24 elements do not divide a row of 4096"):
        kernel.sources["cpu"](X86, table_cpu.block_variant(X86, 3, 0))


def fake_session(memory_bytes: int) -> Session:
    return Session(FakeBackend(FakeTruth(cache_bytes=32 << 20, memory_bytes=memory_bytes)))


def measured(session: Session, name: str):
    return session.measure(next(k for k in KERNELS if k.name == name and "cpu" in k.sources))


def test_arrays_of_a_second_type_take_as_many_placements_as_memory_is_left_for():
    """C37: the halves come after the floats, and do with what those have left."""
    session = fake_session(memory_bytes=3 * 3 * (256 << 20) + (1 << 20))
    assert set(measured(session, "vecadd-nt").samples.placements) == {0, 1}
    assert set(measured(session, "relu-nt").samples.placements) == {0}


def test_where_no_memory_is_left_for_a_second_type_the_row_is_absent_with_the_figures():
    """C37: nothing is shrunk below what the cache could serve, and no row ends as an error."""
    session = fake_session(memory_bytes=2 * 3 * (256 << 20) + (1 << 20))
    measured(session, "vecadd-nt")
    with pytest.raises(KernelUnsupported, match=r"its float16 arrays take 805 MB, and 1\.05 MB can be had"):
        measured(session, "relu-nt")
    assert {absent.status for absent in session.absent.values()} == {"unsupported"}
