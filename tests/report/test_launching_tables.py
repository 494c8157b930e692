"""The tables of what launching costs, and of what counters saw, on constructed reports."""

from dataclasses import replace

import pytest
from sample import CPU, GPU, measured, row

from roofline.kernels.fixes import WAYS
from roofline.kernels.floor import CORE, name_of
from roofline.kernels.waves import Grid
from roofline.model import Traffic, Work
from roofline.report import Report
from roofline.report.counters import counters_table
from roofline.report.launching import fixes_table, floor_table, waves_table
from roofline.report.tables import WIDTH, formatted

pytestmark = pytest.mark.correctness


def report(rows, device=GPU) -> Report:
    return Report(device, None, {}, rows, {}, {}, (), (), True, (), ())


def vecadd(n, seconds):
    work = Work(float(n), "fp32", {"dram": Traffic(8.0 * n, 4.0 * n)})
    return measured(row("floor", name_of(n), n), work, seconds)


def test_the_floor_shows_its_fit_and_its_crossing():
    """C5: each size beside the fitted line, and below the table what was fitted."""
    table = floor_table(report([vecadd(n, 4e-6 + 12 * n / 4e12) for n in CORE]))
    assert table.rows[0][:2] == ("768 B", "4.00")
    assert [cells[1] for cells in table.rows] == [cells[3] for cells in table.rows]
    assert table.notes == ["fitted t0 4.00 µs, β 4.00 TB/s: below 16.0 MB a launch takes as long as launching does"]


def test_two_sizes_are_shown_without_a_fit():
    table = floor_table(report([vecadd(1 << 10, 4e-6), vecadd(1 << 11, 4e-6)]))
    assert len(table.rows) == 2
    assert not table.notes


def test_fixes_are_compared_by_the_time_of_one_problem():
    """C7: of a batch every problem has its share."""
    work = Work(1.0, "fp32", {"dram": Traffic(0, 0)})
    rows = [measured(row("fixes", way.name, 1, level="none"), work, 64e-6) for way in WAYS]
    shares = {cells[0]: cells[3] for cells in fixes_table(report(rows)).rows}
    assert shares["chain-streamed"] == shares["chain-waited"] == "100 %"
    assert shares["chain-batched"] == "1.56 %"


def grid(waves, blocks, seconds, device=GPU):
    work = Work(1.0, "fp32", {"dram": Traffic(0, 0)})
    size = blocks * (128 if device.kind == "cuda" else 4)
    return measured(row("waves", waves.name, size, level="none"), work, seconds)


def test_waves_show_what_is_idle_and_what_a_block_more_costs():
    """W1: one block more than 264 leaves half of two waves idle."""
    rows = [grid(Grid(1, +1), 265, 67e-6), grid(Grid(1), 264, 34e-6)]
    full, more = waves_table(report(rows)).rows
    assert full[1:] == ("264", "1", "0 %", "34.0", "1.00")
    assert more[1:] == ("265", "2", "49.8 %", "67.0", "1.97")


def test_waves_of_a_cpu_are_of_its_cores():
    (cells,) = waves_table(report([grid(Grid(1), 2, 1e-5, CPU)], CPU)).rows
    assert cells[1:4] == ("2", "1", "0 %")


def test_counters_show_both_bytes_and_both_intensities():
    """M11: what moved beside what was counted."""
    work = Work(2e9, "fp32", {"dram": Traffic(1e9, 1e9)})
    counted = replace(measured(row("dram", "triad-plain"), work, 1e-3), achieved={"dram": Traffic(1.5e9, 1e9)})
    table = counters_table(report([counted, measured(row("dram", "copy-plain"), work, 1e-3)]))
    assert len(table.rows) == 1
    assert table.rows[0][1:4] == ("2.00 GB", "2.50 GB", "1.25")
    assert table.rows[0][-2:] == ("1.00", "0.800")


def test_every_table_fits_a_terminal():
    work = Work(2e9, "fp32", {"dram": Traffic(1e9, 1e9)})
    counted = replace(measured(row("dram", "k" * 90), work, 1e-3), achieved={"dram": Traffic(1.5e9, 1e9)})
    rows = [*(vecadd(n, 4e-6 + 12 * n / 4e12) for n in CORE), grid(Grid(32, -1), 8447, 1e-3), counted]
    for build in (floor_table, waves_table, counters_table):
        assert max(map(len, formatted(build(report(rows))).splitlines())) <= WIDTH
