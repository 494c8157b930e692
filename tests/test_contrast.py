"""Two cards side by side: ratios that turn round with the sides, ridges, and what flips (M4, M8, M13)."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.contrast import Side, binding, contrast, kind_of
from roofline.model import Ceiling, Estimate, Measurement, RowKey, Samples, Timer, Traffic, Work
from roofline.record import load
from roofline.report.contrast import tables, text
from roofline.report.markdown import markdown
from roofline.rooflines import Roofline, unit_of
from roofline.specsheets import sheet

pytestmark = pytest.mark.correctness

RECORDS = Path(__file__).with_name("records")


@pytest.fixture(scope="module")
def h200() -> Side:
    return Side.of(load(RECORDS / "nvidia-h200" / "0001_cuda13.json"))


@pytest.fixture(scope="module")
def epyc() -> Side:
    return Side.of(load(RECORDS / "amd-epyc-znver3-2c" / "0001_2-vcpu.json"))


def roofline(**rates: float) -> Roofline:
    return Roofline({name: Ceiling(name, r, r, r, unit_of(name), "k", "v") for name, r in rates.items()})


def kernel(name: str, flops: float, moved: float, seconds: float, size: int = 64, **traffic: float) -> Measurement:
    bytes_ = {"dram": Traffic(moved, 0.0), **{level: Traffic(total, 0.0) for level, total in traffic.items()}}
    return Measurement(
        RowKey("own", name, size, "fp32", "dram"),
        Work(flops, "fp32", bytes_),
        "v",
        Samples((seconds,), Timer("t", 1e-9)),
        Estimate(seconds, seconds, seconds),
    )


def side(name: str, roof: Roofline, *rows: Measurement) -> Side:
    points = {row.key: roof.place(row) for row in rows}
    return Side(name, name, False, roof, None, rows, points)


SLOW_MEMORY = roofline(dram=100.0, fp32=1000.0, launch=1e-6)
FAST_MEMORY = roofline(dram=400.0, fp32=1000.0, launch=2e-6)


class TestAnything:
    """What holds of any two cards."""

    def test_a_card_beside_itself_is_as_fast_and_flips_nothing(self, h200, epyc):
        for card in (h200, epyc, Side.of(sheet("rtx-5070-spec"))):
            found = contrast(card, card)
            assert found.flips == ()
            assert {pair.ratio.value for pair in found.ceilings} == {1.0}
            assert {pair.shift.value for pair in found.ridges} <= {1.0}
            assert len(found.both) == len(card.measurements)
            assert {pair.ratio.value for pair in found.both} <= {1.0}

    def test_the_other_way_round_every_ratio_turns_and_the_same_kernels_flip(self, h200, epyc):
        there, back = contrast(h200, epyc), contrast(epyc, h200)
        turned = {pair.resource: 1 / pair.ratio.value for pair in back.ceilings}
        assert {pair.resource: pair.ratio.value for pair in there.ceilings} == pytest.approx(turned)
        assert {pair.key for pair in there.flips} == {pair.key for pair in back.flips}
        assert len(there.kernels) == len(back.kernels)

    @given(scale=st.floats(1e-3, 1e3))
    def test_a_card_that_is_faster_in_everything_by_one_factor_moves_no_ridge(self, scale):
        faster = roofline(dram=100.0 * scale, fp32=1000.0 * scale, launch=1e-6)
        found = contrast(side("A", SLOW_MEMORY, kernel("k", 100, 100, 1.5)), side("B", faster))
        assert [pair.shift.value for pair in found.ridges] == pytest.approx([1.0])
        assert found.flips == ()


class TestCeilings:
    """Of rates more is faster, of times less."""

    def test_the_ratio_says_how_many_times_as_fast_the_second_is(self):
        found = contrast(side("A", SLOW_MEMORY), side("B", FAST_MEMORY))
        assert {pair.resource: pair.ratio.value for pair in found.ceilings} == {"dram": 4.0, "fp32": 1.0, "launch": 0.5}

    def test_what_only_one_has_is_named_and_not_compared(self):
        found = contrast(side("A", SLOW_MEMORY), side("B", roofline(dram=1.0, fp64=1.0)))
        assert [pair.resource for pair in found.ceilings] == ["dram"]
        assert found.notes == ("only A has fp32, launch", "only B has fp64")

    def test_lesser_roofs_have_no_ridge_of_their_own(self):
        both = roofline(dram=1.0, fp32=8.0, fp32_no_fma=4.0, sfu_exp2=1.0, launch=1.0)
        assert [pair.name for pair in contrast(side("A", both), side("B", both)).ridges] == ["fp32/dram"]

    def test_without_memory_there_is_no_ridge(self):
        only = roofline(fp32=8.0)
        assert contrast(side("A", only), side("B", only)).ridges == ()


class TestKernels:
    """A kernel is found again by its key; where sizes differ, rates are compared and not times."""

    def test_a_kernel_that_memory_binds_here_and_arithmetic_there_flips(self):
        here, there = kernel("k", 500, 100, 1.2), kernel("k", 500, 100, 0.6)
        (flip,) = contrast(side("A", SLOW_MEMORY, here), side("B", FAST_MEMORY, there)).flips
        assert (flip.first.bound_by, flip.second.bound_by, flip.intensity) == ("dram", "fp32", 5.0)
        assert (flip.first.fraction, flip.second.fraction) == pytest.approx((1 / 1.2, 0.5 / 0.6))
        assert flip.ratio.value == pytest.approx(2.0)

    def test_where_a_kernel_was_not_measured_the_model_says_what_binds_it(self):
        row = kernel("k", flops=500, moved=100, seconds=1.2)
        (pair,) = contrast(side("A", SLOW_MEMORY, row), side("B", FAST_MEMORY)).kernels
        assert (pair.first.bound_by, pair.first.measured) == ("dram", True)
        assert (pair.second.bound_by, pair.second.measured) == ("fp32", False)
        assert pair.flips
        assert pair.ratio is None

    def test_what_needs_a_ceiling_that_a_card_lacks_flips_nothing(self):
        row = kernel("k", flops=500, moved=100, seconds=1.2)
        (pair,) = contrast(side("A", SLOW_MEMORY, row), side("B", roofline(dram=1.0))).kernels
        assert pair.second.bound_by is None
        assert not pair.flips

    def test_of_one_size_times_are_compared_and_of_two_sizes_rates(self):
        here = side("A", SLOW_MEMORY, kernel("k", 100, 100, 2.0, size=64))
        same = side("B", SLOW_MEMORY, kernel("k", 100, 100, 1.0, size=64))
        twice_the_work = side("B", SLOW_MEMORY, kernel("k", 200, 200, 2.0, size=128))
        assert contrast(here, same).both[0].ratio.value == 2.0
        assert contrast(here, twice_the_work).both[0].ratio.value == 2.0

    def test_a_sweep_of_sizes_is_paired_size_by_size_and_never_by_guess(self):
        here = side("A", SLOW_MEMORY, *(kernel("k", 1, 100, 2.0, size=n) for n in (1, 2, 4)))
        there = side("B", SLOW_MEMORY, *(kernel("k", 1, 100, 1.0, size=n) for n in (2, 4, 8)))
        found = contrast(here, there)
        assert [pair.key.size for pair in found.both] == [2, 4]
        assert sorted(pair.key.size for pair in found.kernels) == [1, 2, 4, 8]

    def test_two_ways_to_count_are_not_compared(self):
        """C29: a ratio of two conventions is none."""
        row = kernel("k", 100, 100, 2.0)
        other = replace(row, work=replace(row.work, convention="write-allocate counted"))
        (pair,) = contrast(side("A", SLOW_MEMORY, row), side("B", SLOW_MEMORY, other)).both
        assert pair.ratio is None
        assert "counted otherwise" in pair.why

    def test_overhead_binds_what_launching_binds(self):
        slow_launch = roofline(dram=1e12, fp32=1e12, launch=1.0)
        row = kernel("k", 1.0, 1.0, 1.5)
        (pair,) = contrast(side("A", slow_launch, row), side("B", FAST_MEMORY)).kernels
        assert pair.first.bound_by == "launch"


class TestBinding:
    """What the model says binds some work: what takes longest, of all levels that it counts."""

    def test_a_mix_of_reads_and_writes_takes_the_levels_own_slope_where_its_own_is_unknown(self):
        work = Work(1.0, "fp32", {"dram": Traffic(100, 100)}, {"dram": "dram_copy_nt"})
        assert binding(SLOW_MEMORY, work) == "dram"
        assert binding(roofline(dram=1.0, dram_copy_nt=1e9, fp32=1e3), work) == "fp32"

    def test_an_inner_level_may_bind(self):
        row = kernel("k", 1.0, 10.0, 1.0, l2=1000.0)
        assert binding(roofline(dram=100.0, l2=200.0, fp32=1e6), row.work) == "l2"
        assert binding(roofline(dram=100.0, fp32=1e6), row.work) == "dram"

    def test_without_the_bandwidth_of_dram_nobody_knows_what_binds_what_uses_it(self):
        assert binding(roofline(l2=1.0, fp32=1.0), kernel("k", 1.0, 10.0, 1.0, l2=10.0).work) is None

    def test_what_moves_and_computes_nothing_is_bound_by_nothing(self):
        assert binding(SLOW_MEMORY, Work(0.0, "none", {"dram": Traffic(0, 0)})) is None

    @pytest.mark.parametrize(
        ("resource", "kind"),
        [("dram_copy_nt", "dram"), ("l2", "l2"), ("fp32", "fp32"), ("tensor_fp16_fp32acc", "tensor_fp16_fp32acc")],
    )
    def test_a_slope_is_known_by_its_level(self, resource, kind):
        assert kind_of(resource) == kind


class TestReport:
    """The tables: at most 100 columns, both sides named, a specification called one wherever it stands."""

    def test_every_line_fits_a_terminal(self, h200, epyc):
        for one, other in ((h200, epyc), (Side.of(sheet("rtx-5070-spec")), h200)):
            assert max(map(len, text(contrast(one, other)).splitlines())) <= 100

    def test_a_specification_is_never_called_a_measurement(self, h200):
        spec = Side.of(sheet("h200-spec"))
        shown = text(contrast(spec, h200))
        assert "A: NVIDIA H200 SXM (h200-spec, specification)" in shown
        assert "B: NVIDIA H200 (nvidia-h200/0001_cuda13.json, measured 2026-11-29)" in shown
        assert all(ceiling.source == "specification" for ceiling in spec.roofline.ceilings.values())

    def test_nothing_is_called_slower(self, h200, epyc):
        assert not {"slower", "regression", "faster"} & set(text(contrast(h200, epyc)).split())

    def test_markdown_has_as_many_cells_in_each_row(self, h200, epyc):
        for table in tables(contrast(h200, epyc)):
            rows = [line for line in markdown(table).splitlines() if line.startswith("| ")]
            assert {line.replace("\\|", "").count("|") for line in rows} <= {len(table.columns) + 1}
