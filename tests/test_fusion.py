"""Layer norm in six steps and in one: the same result, ten passes against two."""

import numpy as np
import pytest
from counted import Memory, Tally, total

from roofline.checking import check
from roofline.devices.base import Launch
from roofline.devices.cpu import open_cpu
from roofline.devices.cuda import open_cuda, why_no_cuda
from roofline.devices.fake import FakeBackend, FakeTruth
from roofline.kernels import fusion, kernels_of, table
from roofline.session import Session, runs_on

pytestmark = pytest.mark.correctness

COLUMNS = table.COLUMNS
KERNELS = kernels_of("fusion")
STEPS = {step.name: step for step in fusion.STEPS}


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and why_no_cuda() is not None:
        pytest.skip(f"no CUDA device: {why_no_cuda()}")
    backend = open_cpu() if request.param == "cpu" else open_cuda("0")
    yield backend
    backend.close()


def built(device, name):
    """Every variant of a step, or of the fused kernel, on this kind of device."""
    kernels = [k for k in KERNELS if runs_on(k, device.device.kind) and k.name in (name, f"{name}-nt")]
    assert len(kernels) == 1
    return device.build(kernels[0], kernels[0].variants(device.target))


def result(device, binary, *arrays):
    """The last array after one launch."""
    buffers = device.bind(arrays)
    device.run(Launch(binary, buffers, arrays[0].size), 1)
    found = device.read_back(buffers)[-1]
    device.free(buffers)
    return found


@pytest.mark.parametrize("name", [*STEPS, fusion.FUSED])
def test_rows_that_are_not_whole_are_as_right_as_those_that_are(device, name):
    """L1: values of rows and of columns meet the right elements, a row less one, one more, several and a part."""
    for binary in built(device, name):
        check(device, binary, (4095, 4097, 4099, 3 * COLUMNS, 9 * COLUMNS + 77), launches=2)


@pytest.mark.parametrize("n", [3 * COLUMNS, 2 * COLUMNS + 1025])
def test_six_steps_in_a_row_are_the_fused_kernel(device, n):
    """L1, L2: both take the same input to the same result, that of float64."""
    drawn = np.random.default_rng(9)
    x, parameters = (drawn.normal(5, 3, n).astype(np.float32) for _ in "12")
    gamma, beta = (values.astype(np.float32) for values in table.parameters_of(parameters))
    rooms = [np.zeros(n, np.float32) for _ in "123"]
    first = {name: built(device, name)[0] for name in STEPS}
    means = result(device, first["mean"], x, rooms[0])
    less = result(device, first["subtract"], x, means, rooms[1])
    deviations = result(device, first["deviation"], less, rooms[0])
    scaled = result(device, first["scale"], less, deviations, rooms[1])
    times = result(device, first["gamma"], scaled, np.resize(gamma, n), rooms[1])
    apart = result(device, first["beta"], times, np.resize(beta, n), rooms[1])
    want = table.LAYER_NORM.reference([x, parameters], 1)
    assert np.abs(apart - want).max() <= table.LAYER_NORM.tolerance
    for binary in built(device, fusion.FUSED):
        assert np.abs(result(device, binary, x, parameters, rooms[2]) - want).max() <= table.LAYER_NORM.tolerance


# The steps as programs on counting numbers. `v` holds the values of rows or of columns.


def reduce_rows(x, y, of_row):
    for number, first in enumerate(range(0, len(x), COLUMNS)):
        y[number] = of_row([x[i] for i in range(first, min(first + COLUMNS, len(x)))])


def mean(x, y):
    reduce_rows(x, y, lambda row: total(row) / len(row))


def deviation(x, y):
    reduce_rows(x, y, lambda row: (total([value * value for value in row]) / len(row) + table.EPSILON).inverse_root())


def by_row(x, v, y, operation):
    for first in range(0, len(x), COLUMNS):
        value = v[first // COLUMNS]
        for i in range(first, min(first + COLUMNS, len(x))):
            y[i] = operation(x[i], value)


def by_column(x, v, y, operation):
    values = [v[i] for i in range(COLUMNS)]
    for i in range(len(x)):
        y[i] = operation(x[i], values[i % COLUMNS])


# What each does beyond the count: FLOPs of a row; values read and written.
PROGRAMS = {
    "mean": (mean, 0, 0, 1),  # k - 1 additions and a quotient
    "subtract": (lambda x, v, y: by_row(x, v, y, lambda one, two: one - two), 0, 1, 0),
    "deviation": (deviation, 2, 0, 1),  # k - 1 additions, a quotient, epsilon and a root
    "scale": (lambda x, v, y: by_row(x, v, y, lambda one, two: one * two), 0, 1, 0),
    "gamma": (lambda x, v, y: by_column(x, v, y, lambda one, two: one * two), 0, None, 0),
    "beta": (lambda x, v, y: by_column(x, v, y, lambda one, two: one + two), 0, None, 0),
}


@pytest.mark.parametrize("name", STEPS)
def test_counts_are_those_of_the_program_on_counting_numbers(name):
    """L1, M7, M8: FLOPs and passes; what else a step reads or writes is one value a row, or one row."""
    (program, flops_of_a_row, read_of_a_row, written_of_a_row), step = PROGRAMS[name], STEPS[name]
    n, drawn, tally = 2 * COLUMNS + 1025, np.random.default_rng(10), Tally()
    arrays = [drawn.integers(-8, 9, n).astype(np.float32) for _ in range(step.computation.arrays)]
    want = step.reference([array.copy() for array in arrays], 1)
    memories = [Memory(array, tally) for array in arrays]
    program(*memories)
    assert np.allclose(memories[-1].values, want, rtol=1e-9, atol=1e-9)
    work, rows = step.work(n), table.rows_of(n)
    beside = COLUMNS if read_of_a_row is None else read_of_a_row * rows
    assert tally.flops - flops_of_a_row * rows == work.flops
    assert 4 * (tally.read - beside) == work.traffic["dram"].read
    assert 4 * (tally.written - written_of_a_row * rows) == work.traffic["dram"].written


def test_ten_passes_of_268_megabytes_against_two():
    """L1, L2: 2.7 GB in six kernels, 0.54 GB in one, at the chapter's size."""
    n = fusion.size(1 << 40)
    assert n == 16384 * 4096
    moved = [step.work(n).moved("dram") for step in fusion.STEPS]
    assert fusion.PASSES == 10
    assert sum(moved) == 10 * 4 * n == pytest.approx(2.7e9, rel=0.01)
    assert table.LAYER_NORM.work(n).moved("dram") == sum(moved) / 5 == pytest.approx(0.54e9, rel=0.01)


def test_smaller_arrays_hold_fewer_rows_and_whole_ones():
    assert fusion.size(100 * COLUMNS + 1) == 100 * COLUMNS


def test_where_every_kernel_is_at_its_slope_six_take_as_long_as_their_bytes_say():
    """L2: on a device that does what its ceilings say the fused kernel is five times as fast, still memory-bound."""
    session = Session(FakeBackend(FakeTruth(ceilings={"dram": 100e9, "fp32": 1e12, "l2": 1e12})))
    session.ensure(["dram_read", "dram_copy_nt", "fp32"])
    seconds = {k.name: session.measure(k).seconds.value for k in KERNELS if "cpu" in k.sources}
    fused = seconds.pop(f"{fusion.FUSED}-nt")
    assert sum(seconds.values()) / fused == pytest.approx(5.0, rel=0.01)
    points = [point for key, point in session.points().items() if key.experiment == "fusion"]
    assert len(points) == 7
    assert {point.regime for point in points} == {"memory"}
