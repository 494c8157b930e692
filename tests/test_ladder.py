"""The ladder of products of square matrices: how each rung is counted, and what must come out at any size."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from roofline.checking import AWKWARD, check, example_inputs
from roofline.devices.base import Launch
from roofline.devices.cpu import CpuBackend, open_cpu
from roofline.devices.fake import FakeBackend, FakeTruth
from roofline.kernel import Target
from roofline.kernels import ladder, ladder_cuda
from roofline.model import Ceiling, Variant
from roofline.rooflines import unit_of
from roofline.session import Session

pytestmark = pytest.mark.correctness

BY_TILE = {tile: ladder_cuda.tile(tile) for tile in ladder.TILES}


@pytest.mark.parametrize(("tile", "intensity"), [(16, 4), (32, 8)])
def test_a_tile_of_t_has_intensity_t_over_4_at_l2(tile, intensity):
    """K2: 4 at T = 16, 8 at T = 32, less the one write of C."""
    assert ladder.tiled(4096**2, tile).intensity("l2") == pytest.approx(intensity, rel=0.005)


def test_intensities_fall_inwards():
    """H3: N/6 at DRAM, T/4 at L2, a quarter at most in shared memory."""
    work = ladder.tiled(4096**2, 32)
    assert work.intensity("dram") == pytest.approx(4096 / 6)
    assert work.intensity("shared") == pytest.approx(0.25 / (1 + 1 / 32))


def test_nothing_kept_is_2_flops_for_8_bytes():
    """K1: 0.25 FLOP/B of what lanes are given, but for the one write of C."""
    assert ladder.naive(4096**2).intensity("l1") == pytest.approx(0.25, rel=2e-4)


def test_register_tiles_of_128_have_intensity_32_at_l2():
    """K3: about 32, less the one write of C; shared memory is asked for an eighth of what tiles alone ask."""
    assert ladder.registers(4096**2).intensity("l2") == pytest.approx(32, rel=0.02)
    asked, of_tiles = (work.traffic["shared"].read for work in (ladder.registers(4096**2), ladder.tiled(4096**2, 32)))
    assert of_tiles / asked == 8


def test_each_rung_asks_for_less_than_the_one_below():
    """K4: by the program's own traffic, past shared memory; of the library only the least is known."""
    *own, vendor = (kernel.work(4096**2) for kernel in ladder_cuda.rungs())
    asked = [work.moved("l2") or work.moved("l1") for work in own]
    assert all(below > above for below, above in pairwise(asked))
    assert set(vendor.traffic) == {"dram"}


@pytest.mark.parametrize("kernel", [*ladder_cuda.every_kernel()], ids=lambda kernel: kernel.name)
def test_every_rung_does_the_same_flops_and_moves_each_matrix_once(kernel):
    """T7, T8: 2 N³ FLOPs; 12 N² bytes in FP32, 6 N² in FP16."""
    work, itemsize = kernel.work(301**2 + 5), {"float32": 4, "float16": 2}[kernel.dtype]
    assert work.flops == 2 * 301**3
    assert work.moved("dram") == 3 * itemsize * 301**2


class Counted(float):
    """A number that counts how often it, or what came of it, is multiplied and added."""

    multiplied = added = 0

    def __mul__(self, other):
        Counted.multiplied += 1
        return Counted(float(self) * float(other))

    def __add__(self, other):
        Counted.added += 1
        return Counted(float(self) + float(other))


def test_a_product_on_counting_numbers_takes_as_many_flops_as_are_counted():
    """M7: N³ multiplications and as many additions to sums that begin at 0."""
    side = 7
    left, right = ([[Counted(i + 2 * j) for j in range(side)] for i in range(side)] for _ in "ab")
    for row in left:
        for column in zip(*right, strict=True):
            total = Counted(0)
            for one, other in zip(row, column, strict=True):
                total = total + one * other
    assert Counted.multiplied + Counted.added == ladder.naive(side**2).flops


def test_whole_tiles_at_the_edge_are_counted_where_they_are_multiplied():
    """M8: what blocks ask of L2 ends at the matrix, what their threads multiply does not."""
    work = ladder.tiled(33**2, 32)
    assert work.flops == 2 * 33**3
    assert work.traffic["l2"].read == 2 * 4 * 33**2 * 2
    assert work.traffic["shared"].read == 8 * 64**3


@pytest.mark.parametrize("n", AWKWARD)
def test_the_product_fills_the_largest_square_and_leaves_the_rest(n):
    """A9: sizes that are no square hold one and some more, which stays as it was."""
    arrays = example_inputs(BY_TILE[16], n)
    result = ladder.product(arrays)
    rows = ladder.side(n)
    assert rows**2 <= n < (rows + 1) ** 2
    left, right = (array[: rows**2].reshape(rows, rows).astype(np.int64) for array in arrays[:2])
    assert np.array_equal(result[: rows**2].reshape(rows, rows), np.einsum("ik,kj->ij", left, right))
    assert np.array_equal(result[rows**2 :], arrays[2][rows**2 :])


def test_every_product_of_the_check_is_exact_in_fp32():
    """Sums of a row's products stay far below the 24 bits of an FP32 mantissa."""
    largest = max(np.abs(ladder.product(example_inputs(BY_TILE[32], n))).max() for n in (*AWKWARD, 3 * 1024 + 77))
    assert largest < 2**24


@pytest.mark.parametrize("tile", ladder.TILES)
def test_a_kind_without_a_source_has_a_reason_and_no_variant(tile):
    """Absent, with what there is to say about it."""
    kernel = BY_TILE[tile]
    assert kernel.unsupported["cpu"]
    assert "cpu" not in kernel.sources
    assert [v.name for v in kernel.variants(Target("cuda", "sm_90a"))] == [f"{tile}x{tile}"]
    assert kernel.variants(Target("cpu", "x86-64-v3")) == ()


def test_a_session_places_it_at_each_level_and_names_the_limiter():
    """H2, H4: with the card's ceilings known, shared memory is what it is nearest to, and the ridges say where."""
    rates = {"dram": 4.27e12, "l2": 9.7e12, "shared": 33.1e12, "fp32": 65.7e12}
    truth = FakeTruth(ceilings=rates, launch_s={"launch": 1e-9})
    run = Session(FakeBackend(truth))
    kernel = on_any_device(BY_TILE[32])
    row = run.measure(kernel)
    run.ceilings = lambda: {name: ceiling(name, rate) for name, rate in truth.ceilings.items()}
    point = run.points()[row.key]
    assert list(point.intensities) == ["dram", "l2", "shared"]
    assert (point.level, point.bound_by) == ("shared", "shared")
    assert point.fraction == pytest.approx(1.0, rel=0.01)
    assert set(run.ridges()) == {"fp32/dram", "fp32/l2", "fp32/shared"}


def on_any_device(kernel):
    """The kernel with a variant for the fake device too, and small enough for a quick check."""
    return replace(kernel, variants=lambda target: (Variant("only"),), size=lambda elements: 256**2)


def ceiling(resource, rate):
    """A ceiling without noise."""
    return Ceiling(resource, rate, rate, rate, unit_of(resource), "told", "")


@pytest.fixture(scope="module")
def cpu() -> Iterator[CpuBackend]:
    with open_cpu() as backend:
        yield backend


CPU_RUNGS = (ladder_cuda.naive(), ladder_cuda.blocked())


@pytest.mark.parametrize("kernel", CPU_RUNGS, ids=lambda kernel: kernel.name)
def test_cpu_rungs_agree_with_float64_where_no_tile_fits_and_where_all_do(cpu, kernel):
    """A9: no tile, whole tiles, and rows and columns left over, with elements beyond the square."""
    for binary in cpu.build(kernel, kernel.variants(cpu.target)):
        check(cpu, binary, sizes=(1, 15, 16**2, 1023, 1025, 96**2, 97**2 + 3, 115**2))


def test_a_cpu_worker_may_have_no_tile_at_all(cpu):
    """A tile belongs to the worker in whose share of the elements it begins: 6 rows are one tile, of one worker."""
    kernel = ladder_cuda.blocked()
    check(cpu, cpu.build(kernel, kernel.variants(cpu.target))[0], sizes=(6 * 6, 18 * 18), launches=2)


def test_sums_on_a_cpu_are_right_to_the_depth_of_the_sum(cpu):
    """A9: of full-mantissa operands each multiply-add rounds once, so N of them are off by N half units at most."""
    kernel = ladder_cuda.blocked()
    binary = cpu.build(kernel, kernel.variants(cpu.target))[0]
    side = 112
    drawn = np.random.default_rng(5)
    host = [drawn.uniform(1, 2, side**2).astype(np.float32) for _ in range(3)]
    buffers = cpu.bind(host)
    cpu.run(Launch(binary, buffers, side**2), 1)
    want = ladder.product(host)
    assert np.max(np.abs(cpu.read_back(buffers)[-1] - want) / want) < side * 2.0**-24
    cpu.free(buffers)


def test_a_cpu_runs_the_lowest_rung_on_smaller_matrices_than_a_gpu(cpu):
    """What one size would take a second of on one device is too short to time on the other."""
    kernel = ladder_cuda.naive()
    assert kernel.fitted is not None
    assert kernel.fitted(cpu.device).size(0) == ladder.CPU_SIDE**2 < kernel.size(0) == ladder.SIDE**2
    assert ladder.CPU_SIDE % ladder.CPU_TILE[0] == ladder.CPU_SIDE % ladder.CPU_TILE[1] == 0


@pytest.mark.parametrize(
    ("target", "room"),
    [
        (Target("cpu", "x86-64-v2", lanes=4, registers=16), False),
        (Target("cpu", "x86-64-v3", lanes=8, registers=16), True),
        (Target("cpu", "x86-64-v4", lanes=16, registers=32), True),
        (Target("cpu", "aarch64", lanes=4, registers=32), True),
        (Target("cuda", "sm_90a", lanes=1, registers=255), False),
    ],
    ids=lambda value: getattr(value, "architecture", value),
)
def test_the_tile_of_a_cpu_is_only_tried_where_its_registers_hold_it(target, room):
    """Where it had to be put aside at each step it would be another kernel than the one that is counted."""
    assert bool(ladder_cuda.blocked().variants(target)) is room


USERS_KERNEL = """
from dataclasses import replace
from roofline.kernels import dram
from roofline.model import Traffic, Work

COPY = dram.kernel(dram.PATTERNS[0])
WORK = lambda n: Work(4.0 * n, "fp32", {"dram": Traffic(4.0 * n, 0.0), "l1": Traffic(64.0 * n, 0.0)})

def test_own(measure):
    measure(replace(COPY, experiment="own", name="own", level="l1", work=WORK, measures=()))
"""


def test_a_kernel_measured_alone_gets_the_ceilings_of_its_levels_from_probes(pytester):
    """H2: every level that it counts has a slope to judge it by, though no test here measures one."""
    pytester.makepyfile(USERS_KERNEL)
    result = pytester.runpytest_inprocess("--device=fake", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*quick probe*: dram, fp32, l1", "HIERARCHY *", "own * dram *", "*l1 *", "*fp32 *"])
