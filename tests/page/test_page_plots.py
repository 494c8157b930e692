"""The small plots: of every sweep that was measured one, and none of what was not."""

import pytest

from roofline.kernels import footprint, waves
from roofline.model import Ceiling, Device, Environment, Estimate, Measurement, RowKey, Samples, Timer, Traffic, Work
from roofline.page.plots import Plot, plots
from roofline.report import Report
from roofline.report.stored import report_of

pytestmark = pytest.mark.correctness

GPU = Device("Card", "cuda", "sm_90", 132)


def row(experiment: str, kernel: str, size: int, seconds: float, work: Work) -> Measurement:
    key = RowKey(experiment, kernel, size, work.unit, next(iter(work.traffic)))
    interval = Estimate(seconds, seconds * 0.99, seconds * 1.01)
    return Measurement(key, work, "v", Samples((seconds,) * 5, Timer("t", 1e-9)), interval)


def the_plot(rows: list[Measurement], *ceilings: Ceiling) -> Plot:
    found = plots(Report(GPU, Environment(), {c.resource: c for c in ceilings}, rows, {}))
    assert len(found) == 1
    return found[0]


def ceiling(resource: str, rate: float, unit: str) -> Ceiling:
    return Ceiling(resource, rate, rate, rate, unit, "k", "v")


def test_a_kernel_of_many_sizes_shows_the_launch_floor():
    """C5: time by bytes, with the time of a launch across it."""
    sizes = [2**power for power in range(10, 26, 2)]
    rows = [
        row(
            "floor",
            f"vecadd-{12 * n:010d}B",
            n,
            max(4e-6, 12 * n / 4e12),
            Work(n, "fp32", {"dram": Traffic(8.0 * n, 4.0 * n)}),
        )
        for n in reversed(sizes)
    ]
    plot = the_plot(rows, ceiling("launch", 4e-6, "s"))
    assert plot.title == "Launch overhead"
    assert [x for x, _ in plot.series[0].points] == [12.0 * n for n in sizes]
    assert [(rule.axis, rule.value) for rule in plot.rules] == [("y", 4e-6)]


def test_waves_are_shown_by_blocks():
    """W1: with a line where the first wave is full."""
    work = Work(1e9, "fp32", {"dram": Traffic(0.0, 0.0)})
    places, block = waves.places(GPU), waves.block_of(GPU)
    grids = (places // 2, places, places + 1, 2 * places)
    rows = [
        row("waves", f"waves-{i:04.1f}", blocks * block, 1e-3 * -(-blocks // places), work)
        for i, blocks in enumerate(grids)
    ]
    plot = the_plot(rows)
    assert [x for x, _ in plot.series[0].points] == list(grids)
    assert [(rule.axis, rule.value) for rule in plot.rules] == [("x", places)]


def test_a_kernel_of_ones_own_at_several_sizes_has_a_plot_too():
    work = Work(1e9, "fp32", {"l1": Traffic(0.0, 0.0)})
    plot = the_plot([row("mine", "mine", n, 1e-3, work) for n in (1, 2, 3, 4)])
    assert plot.title == "Time by size: mine"
    assert plot.x.unit == ""


def test_independent_work_has_a_line_for_each_number_of_warps():
    """R4."""
    work = Work(1e12, "fp32", {"l1": Traffic(0.0, 0.0)})
    rows = [
        row("independence", f"independence-{chains:02d}-{warps}-warps", 1, 1 / (chains * warps), work)
        for chains in (1, 2, 4, 8)
        for warps in (4, 8)
    ]
    plot = the_plot(rows, ceiling("fp32", 65e12, "FLOP/s"))
    assert [series.name for series in plot.series] == ["4 warps on each SM", "8 warps on each SM"]
    assert plot.rules[0].name == "fp32 65.0 TFLOP/s"


def test_the_footprint_names_where_a_cache_is_full():
    """H1: reads fall off between 1 and 2 MiB."""
    sets = [2**power for power in range(16, 25)]
    work = Work(0.0, "fp32", {"l1": Traffic(1e9, 0.0)})
    rows = [
        row("footprint", footprint.name_of(size), size // 4, 1e-3 if size <= 2**20 else 4e-3, work) for size in sets
    ]
    plot = the_plot(rows)
    assert len(plot.rules) == 1
    assert 2**20 <= plot.rules[0].value <= 2**21
    assert plot.rules[0].axis == "x"


def test_too_few_points_are_no_sweep():
    work = Work(1e9, "fp32", {"dram": Traffic(1e6, 0.0)})
    rows = [row("floor", "vecadd", n, 1e-3, work) for n in (1, 2)]
    assert plots(Report(GPU, Environment(), {}, rows, {})) == []


def test_a_record_without_a_sweep_has_no_small_plot(h200):
    assert plots(report_of(h200)) == []
