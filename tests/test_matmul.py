"""The product of square matrices: how it is counted, and what must come out at any size."""

from dataclasses import replace

import numpy as np
import pytest

from roofline.checking import AWKWARD, example_inputs
from roofline.devices.fake import FakeBackend, FakeTruth
from roofline.kernel import Target
from roofline.kernels import matmul, matmul_cuda
from roofline.model import Ceiling, Variant
from roofline.rooflines import unit_of
from roofline.session import Session

pytestmark = pytest.mark.correctness

BY_TILE = {tile: matmul_cuda.kernel(tile) for tile in matmul.TILES}


@pytest.mark.parametrize(("tile", "intensity"), [(16, 4), (32, 8)])
def test_a_tile_of_t_has_intensity_t_over_4_at_l2(tile, intensity):
    """K2: 4 at T = 16, 8 at T = 32, less the one write of C."""
    assert matmul.tiled(4096**2, tile).intensity("l2") == pytest.approx(intensity, rel=0.005)


def test_intensities_fall_inwards():
    """H3: N/6 at DRAM, T/4 at L2, a quarter at most in shared memory."""
    work = matmul.tiled(4096**2, 32)
    assert work.intensity("dram") == pytest.approx(4096 / 6)
    assert work.intensity("shared") == pytest.approx(0.25 / (1 + 1 / 32))


def test_whole_tiles_at_the_edge_are_counted_where_they_are_multiplied():
    """M8: what blocks ask of L2 ends at the matrix, what their threads multiply does not."""
    work = matmul.tiled(33**2, 32)
    assert work.flops == 2 * 33**3
    assert work.traffic["l2"].read == 2 * 4 * 33**2 * 2
    assert work.traffic["shared"].read == 8 * 64**3


@pytest.mark.parametrize("n", AWKWARD)
def test_the_product_fills_the_largest_square_and_leaves_the_rest(n):
    """A9: sizes that are no square hold one and some more, which stays as it was."""
    arrays = example_inputs(BY_TILE[16], n)
    result = matmul.product(arrays)
    rows = matmul.side(n)
    assert rows**2 <= n < (rows + 1) ** 2
    left, right = (array[: rows**2].reshape(rows, rows).astype(np.int64) for array in arrays[:2])
    assert np.array_equal(result[: rows**2].reshape(rows, rows), np.einsum("ik,kj->ij", left, right))
    assert np.array_equal(result[rows**2 :], arrays[2][rows**2 :])


def test_every_product_of_the_check_is_exact_in_fp32():
    """Sums of a row's products stay far below the 24 bits of an FP32 mantissa."""
    largest = max(np.abs(matmul.product(example_inputs(BY_TILE[32], n))).max() for n in (*AWKWARD, 3 * 1024 + 77))
    assert largest < 2**24


@pytest.mark.parametrize("tile", matmul.TILES)
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
