"""The roofline model against the figures of the chapter, on the specification of its reference card."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline import counting
from roofline.model import Ceiling, Device, Estimate, Measurement, Nominal, RowKey, Samples, Timer, Traffic, Work
from roofline.rooflines import MissingCeiling, Roofline, ceilings_of, unit_of
from roofline.specsheets import RTX_5070

pytestmark = pytest.mark.correctness

TERA = 1e12


def measured(work, seconds, resource=(), spread=0.0, clock=None):
    """A measurement of `work` that took `seconds`."""
    return Measurement(
        key=RowKey("test", "kernel", 1, work.unit, "dram"),
        work=work,
        variant="only",
        samples=Samples((seconds,), Timer("test", 1e-9), clock_hz=clock),
        seconds=Estimate(seconds, seconds * (1 - spread), seconds * (1 + spread)),
        measures=tuple(resource),
    )


def at(intensity, flop_per_s, unit="fp32"):
    """A measurement at a point of the chart."""
    return measured(Work(flop_per_s, unit, {"dram": Traffic(flop_per_s / intensity, 0.0)}), 1.0)


def test_time_is_the_longer_of_computing_and_moving_plus_overhead():
    """M1: time ≈ max(FLOPs / P, bytes / β) + overhead."""
    moving = Work(1e9, "fp32", {"dram": Traffic(672e9, 0.0)})
    computing = Work(30.9e12, "fp32", {"dram": Traffic(1e9, 0.0)})
    assert RTX_5070.seconds(moving) == pytest.approx(1.0)
    assert RTX_5070.seconds(computing, overhead_s=0.5) == pytest.approx(1.5)


def test_attainable_at_intensity_ten_on_the_reference_card():
    """M2: attainable = min(P, I·β); at I = 10 it is 6.7 TFLOP/s, 22 % of the peak, 4.6 times left of the ridge."""
    attainable, bound_by = RTX_5070.attainable(10)
    assert attainable.value == pytest.approx(6.72 * TERA)
    assert bound_by == "dram"
    assert attainable.value / RTX_5070.ceiling("fp32").rate == pytest.approx(0.22, abs=0.005)
    assert RTX_5070.ridge().value / 10 == pytest.approx(4.6, abs=0.02)


@pytest.mark.parametrize(("unit", "ridge"), [("fp32", 46), ("tensor_fp16_fp32acc", 92), ("tensor_fp4", 735)])
def test_ridge_points_of_the_reference_card(unit, ridge):
    """M3: the ridge P / β separates memory-bound from compute-bound: 46, 92 and 735 FLOP per byte."""
    assert RTX_5070.ridge(unit).value == pytest.approx(ridge, abs=0.5)
    assert RTX_5070.attainable(ridge * 0.9, unit)[1] == "dram"
    assert RTX_5070.attainable(ridge * 1.1, unit)[1] == unit


def test_a_kernel_is_judged_by_the_roof_above_its_point():
    """M4: 6 TFLOP/s at I = 10 is 90 % of its roof, though a fifth of the peak."""
    point = RTX_5070.place(at(10, 6 * TERA))
    assert point.fraction == pytest.approx(0.893, abs=0.001)
    assert (point.bound_by, point.regime) == ("dram", "memory")
    assert point.nearest[0][0] == "dram"


def test_fraction_is_never_clamped():
    """M5: a quarter of the peak at I = 10 cannot come from DRAM: the point stays above the roof and is called that."""
    point = RTX_5070.place(at(10, 0.25 * 30.9 * TERA))
    assert point.fraction == pytest.approx(1.15, abs=0.005)
    assert point.regime == "above-roof"


def test_noise_alone_does_not_put_a_point_above_its_roof():
    """A point whose interval reaches below the roof is not called above it."""
    work = Work(6.8e12, "fp32", {"dram": Traffic(6.8e11, 0.0)})
    assert RTX_5070.place(measured(work, 0.97, spread=0.1)).regime == "memory"


def test_a_short_kernel_far_from_its_roof_is_bound_by_overhead():
    """A kernel whose work is shorter than a launch and that is far below its roof is in the overhead regime."""
    launch = Ceiling("launch", 4e-6, 4e-6, 4e-6, "s", "launch", "")
    roofline = Roofline({**RTX_5070.ceilings, "launch": launch})
    assert roofline.place(measured(counting.vecadd(1000), 4.2e-6)).regime == "overhead"


@pytest.mark.parametrize(("k", "flops"), [(1, 2), (4096, 8192)])
def test_a_dot_product_counts_two_flops_an_element(k, flops):
    """M7: an FMA is two FLOPs, so a dot product of K elements is 2K."""
    assert counting.dot(k).flops == flops


def test_a_matrix_product_counts_two_flops_for_each_triple():
    """M7: (M×K) by (K×N) is 2·M·N·K."""
    assert counting.gemm(3, 5, 7).flops == 2 * 3 * 5 * 7


def test_bytes_read_and_written_both_count_and_the_type_scales_them():
    """M8: reads plus writes; FP16 halves them."""
    assert counting.vecadd(10).traffic["dram"] == Traffic(80.0, 40.0)
    assert counting.vecadd(10).traffic["dram"].total == 120
    assert counting.gemm(8, 8, 8).traffic["dram"].total == 2 * counting.gemm(8, 8, 8, "float16").traffic["dram"].total


def test_a_special_function_counts_one_flop():
    """M9: softmax has five operations an element, the exponential one of them."""
    assert counting.softmax(2, 3).flops == 5 * 6


def test_a_compare_counts_only_to_place_the_point():
    """M10: the compare of a ReLU is the one integer-like operation that is counted, and the work says how it counts."""
    assert counting.relu(8).flops == 8
    assert "FMA = 2 FLOP" in counting.relu(8).convention


@pytest.mark.parametrize(
    ("work", "intensity"),
    [
        pytest.param(counting.vecadd(1 << 20), 1 / 12, id="T1 vecadd"),
        pytest.param(counting.saxpy(1 << 20), 2 / 12, id="T2 saxpy"),
        pytest.param(counting.relu(1 << 20), 0.25, id="T3 relu"),
        pytest.param(counting.softmax(1024, 1024), 0.625, id="T4 softmax"),
        pytest.param(counting.layer_norm(1024, 1024), 1.0, id="T5 layer norm"),
        pytest.param(counting.gemv(4096, 4096), 1.0, id="T6 gemv"),
        pytest.param(counting.gemm(4096, 4096, 4096), 4096 / 6, id="T7 gemm fp32"),
        pytest.param(counting.gemm(4096, 4096, 4096, "float16"), 4096 / 3, id="T8 gemm fp16"),
        pytest.param(counting.dial(1 << 20, 2048), 512, id="A dial"),
        pytest.param(counting.tiled_gemm(4096, 4096, 4096, 1), 0.25, id="K1 naive"),
        pytest.param(counting.tiled_gemm(4096, 4096, 4096, 16), 4, id="K2 tile 16"),
        pytest.param(counting.tiled_gemm(4096, 4096, 4096, 32), 8, id="K2 tile 32"),
        pytest.param(counting.tiled_gemm(4096, 4096, 4096, 128), 32, id="K3 register tiles"),
    ],
)
def test_intensities_of_the_table(work, intensity):
    """T1 … T8, K1 … K3: algorithmic intensities of the chapter's kernels (output traffic of tiles is below 4 %)."""
    assert work.intensity() == pytest.approx(intensity, rel=0.04)


def test_ceilings_are_the_best_that_was_measured():
    """M12: a ceiling is the envelope of what was measured, and names what reached it."""
    device = Device("card", "cuda", "sm_90", 1)
    slow = measured(Work(0.0, "fp32", {"dram": Traffic(1e9, 0.0)}), 0.02, ["dram_read"])
    fast = measured(Work(0.0, "fp32", {"dram": Traffic(1e9, 0.0)}), 0.01, ["dram_read"])
    assert ceilings_of([slow, fast, slow], device)["dram_read"].rate == pytest.approx(1e11)


def test_the_best_launch_is_the_shortest():
    """A latency is a ceiling from the other side."""
    work = Work(0.0, "none", {"dram": Traffic(0.0, 0.0)})
    ceilings = ceilings_of(
        [measured(work, 3e-6, ["launch"]), measured(work, 2e-6, ["launch"])], Device("c", "cpu", "x", 1)
    )
    assert (ceilings["launch"].rate, ceilings["launch"].unit) == (2e-6, "s")


def test_each_unit_is_judged_by_its_own_roof():
    """M13: FP16 arithmetic on the CUDA cores is not judged by the tensor cores' roof."""
    assert RTX_5070.attainable(1000, "fp16")[0].value == pytest.approx(30.9 * TERA)
    assert RTX_5070.attainable(1000, "tensor_fp16_fp32acc")[0].value == pytest.approx(61.7 * TERA)


def test_a_missing_ceiling_is_named_and_not_guessed():
    """No roof is made up: the error names what is missing and what there is."""
    with pytest.raises(MissingCeiling, match=r"no ceiling 'fp64' \(there are: dram, fp16"):
        RTX_5070.attainable(10, "fp64")


def test_work_without_flops_is_judged_by_its_slope():
    """A copy has no point on a log-log chart, but it has a share of its bandwidth ceiling."""
    point = RTX_5070.place(measured(Work(0.0, "fp32", {"dram": Traffic(336e9, 0.0)}), 1.0))
    assert (point.bound_by, point.fraction, point.intensity) == ("dram", pytest.approx(0.5), 0.0)


LEVELS = {"dram": 60.0, "l2": 8.0, "shared": 0.9}
"""FLOP per byte of the chapter's tiled matmul, at each level."""


def tiled(flop_per_s=12 * TERA):
    """The chapter's tiled matmul: its bytes at each level, in one second."""
    traffic = {level: Traffic(flop_per_s / intensity, 0.0) for level, intensity in LEVELS.items()}
    return measured(Work(flop_per_s, "fp32", traffic), 1.0)


def hierarchy():
    """The chapter's card with an L2 of twice the speed that such a matmul asks of it."""
    l2 = Ceiling("l2", 3e12, 3e12, 3e12, "B/s", "sheet", "")
    return Roofline({**RTX_5070.ceilings, "l2": l2})


def test_a_kernel_is_placed_once_a_level():
    """H2: at 12 TFLOP/s the tiled matmul of the chapter lies at I = 60 (DRAM), 8 (L2) and 0.9 (shared memory)."""
    points = hierarchy().place_by_level(tiled())
    assert {level: point.intensity for level, point in points.items()} == pytest.approx(LEVELS)
    assert {point.flop_per_s for point in points.values()} == {12 * TERA}
    assert hierarchy().place(tiled()).intensities == pytest.approx(LEVELS)


def test_intensities_are_told_from_dram_inwards_and_fall():
    """H3: from DRAM to L2 to shared memory."""
    reordered = replace(tiled().work, traffic=dict(reversed(tiled().work.traffic.items())))
    intensities = hierarchy().place(replace(tiled(), work=reordered)).intensities
    assert list(intensities) == ["dram", "l2", "shared"]
    assert sorted(intensities.values(), reverse=True) == list(intensities.values())


def test_the_line_that_is_nearest_limits_and_each_other_says_how_near_it_is():
    """H4: the level whose point is nearest its own slope is the limiter."""
    point = hierarchy().place(tiled())
    assert (point.level, point.bound_by, point.regime) == ("shared", "shared", "memory")
    assert point.fraction == pytest.approx(0.8645, abs=1e-3)
    assert [line for line, _ in point.nearest] == ["shared", "l2", "fp32", "dram"]
    assert dict(point.nearest) == pytest.approx({"shared": 0.8645, "l2": 0.5, "fp32": 0.3883, "dram": 0.2976}, abs=1e-3)


def test_a_level_beyond_its_slope_is_above_the_roof_though_dram_is_far():
    """M5: more bytes than shared memory can give were not all asked of it."""
    point = hierarchy().place(tiled(18 * TERA))
    assert (point.regime, point.bound_by) == ("above-roof", "shared")
    assert point.fraction == pytest.approx(1.297, abs=1e-3)


def test_what_arithmetic_limits_lies_at_the_outermost_level():
    """H4: where no level is nearest, the roof is, and the point stays where a plain roofline has it."""
    work = Work(30 * TERA, "fp32", {"dram": Traffic(1e10, 0.0), "l2": Traffic(1e11, 0.0)})
    point = hierarchy().place(measured(work, 1.0))
    assert (point.level, point.bound_by, point.intensity) == ("dram", "fp32", 3000.0)


def test_a_level_without_a_known_slope_has_no_point():
    """Only levels that can be judged are: one unknown slope does not take the others' points away."""
    assert list(RTX_5070.place(tiled()).intensities) == ["dram", "shared"]
    with pytest.raises(MissingCeiling, match="no ceiling 'l2'"):
        RTX_5070.place(measured(Work(1.0, "fp32", {"l2": Traffic(1.0, 0.0)}), 1.0))


def test_what_never_leaves_a_cache_of_unknown_slope_is_judged_by_its_roof():
    """Chains in the first-level cache keep their point where nothing measured that cache."""
    work = Work(15.45 * TERA, "fp32", {"dram": Traffic(0.0, 0.0), "l1": Traffic(1e9, 1e9)})
    point = RTX_5070.place(measured(work, 1.0))
    assert (point.bound_by, point.fraction, point.intensities) == ("fp32", pytest.approx(0.5), {})


def test_turns_taken_at_dram_say_nothing_of_the_other_levels():
    """A share taken in turns with DRAM's own kernel judges DRAM alone."""
    beside = replace(tiled(), beside=Estimate(0.5, 0.49, 0.51))
    shares = dict(hierarchy().place(beside).nearest)
    assert (shares["dram"], shares["shared"]) == (pytest.approx(0.5), pytest.approx(0.8645, abs=1e-3))


def test_work_that_does_nothing_has_no_point():
    with pytest.raises(ValueError, match="computes and moves nothing"):
        RTX_5070.place(measured(Work(0.0, "none", {"dram": Traffic(0.0, 0.0)}), 1.0))


def test_work_without_dram_traffic_is_judged_by_its_roof_alone():
    point = RTX_5070.place(measured(Work(15.45e12, "fp32", {"dram": Traffic(0.0, 0.0)}), 1.0))
    assert (point.intensity, point.bound_by, point.fraction) == (math.inf, "fp32", pytest.approx(0.5))


@given(st.floats(1e-3, 1e6), st.sampled_from(["fp32", "tensor_fp8", "fp16"]))
def test_attainable_never_passes_either_ceiling(intensity, unit):
    """M2 for any intensity."""
    attainable, bound_by = RTX_5070.attainable(intensity, unit)
    assert attainable.value <= RTX_5070.ceiling(unit).rate
    assert attainable.value <= intensity * RTX_5070.ceiling("dram").rate * (1 + 1e-12)
    assert bound_by in (unit, "dram")


@pytest.mark.parametrize(
    ("resource", "unit"),
    [("launch_graph", "s"), ("dram_copy_nt", "B/s"), ("l2", "B/s"), ("shared", "B/s"), ("fp32_no_fma", "FLOP/s")],
)
def test_resources_have_the_unit_their_name_says(resource, unit):
    assert unit_of(resource) == unit


def test_a_rate_is_held_against_the_nominal_one_at_the_clock_it_had():
    """B1, R8: half the clock halves what is promised; without a clock or a promise there is no share."""
    nominal = Nominal(200.0, "FLOP/s", "", "")
    measured = Ceiling("fp32", 90.0, 80.0, 95.0, "FLOP/s", "k", "v", 1e9, nominal, at_rated_clock=180.0)
    share = measured.of_nominal
    assert (share.value, share.low, share.high) == pytest.approx((0.9, 0.8, 0.95))
    assert replace(measured, nominal=None).of_nominal is None
    assert replace(measured, at_rated_clock=None).of_nominal is None
