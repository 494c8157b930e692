"""The tables of memory levels and of growing sets: what they show, and where they say that a cache ends."""

import pytest
from sample import ENVIRONMENT, measured, row

from roofline.kernels import footprint
from roofline.model import BYTES_PER_SECOND, Device, Measurement, Nominal, Traffic, Work
from roofline.report import Report
from roofline.report.levels import footprint_fields, footprint_table, levels_fields, levels_table
from roofline.report.tables import WIDTH, formatted

pytestmark = pytest.mark.correctness

CARD = Device(
    name="a card",
    kind="cuda",
    architecture="sm_90a",
    cores=10,
    cache_bytes=64 << 20,
    nominal={
        "shared": Nominal(10 * 128 * 3.6e9, BYTES_PER_SECOND, "10 SMs × 128 B × 3.6 GHz", "attributes"),
        "clock": Nominal(3.6e9, "Hz", "3.6 GHz", "attributes"),
    },
)
MEBIBYTE = 1 << 20


def report(measurements: list[Measurement]) -> Report:
    return Report(CARD, ENVIRONMENT, {}, measurements, {})


def read(experiment: str, name: str, level: str, rate: float) -> Measurement:
    """A row that read 1 MB at `level` at `rate`."""
    work = Work(0.0, "fp32", {level: Traffic(1e6, 0.0)})
    return measured(row(experiment, name, n=250_000, level=level), work, 1e6 / rate)


def sweep(order: str, capacity: int) -> list[Measurement]:
    """Sets of 8 to 256 MiB, four an octave, at 10 TB/s as far as they fit and at 4 TB/s beyond."""
    sizes = [round(8 * MEBIBYTE * 2 ** (step / 4)) for step in range(21)]
    return [
        read("footprint", f"{footprint.name_of(size)}{order}", "l2", 10e12 if size <= capacity else 4e12)
        for size in sizes
    ]


def test_a_level_is_shown_with_its_bytes_a_clock_and_its_share_of_nominal():
    """H1: 4320 GB/s of ten SMs at 3.6 GHz are 120 of 128 B a clock."""
    table = levels_table(report([read("levels", "shared-read-plain", "shared", 4.32e12)]))
    (cells,) = table.rows
    assert cells[0:2] == ("shared", "4320")
    assert cells[3:6] == ("120", "93.8", "1.00 MB")


def test_an_unknown_nominal_stays_unknown():
    (cells,) = levels_table(report([read("levels", "l2-read-plain", "l2", 1e12)])).rows
    assert cells[4] == "unknown"


def test_the_end_of_a_cache_stands_between_the_sets_on_either_side():
    """H1: a capacity of 64 MiB shows at the largest set that still fits, and nowhere else."""
    rows = footprint_table(report(sweep("-plain", 64 * MEBIBYTE))).rows
    assert [cells[0] for cells in rows if cells[-1]] == ["67.1 MB"]
    (remark,) = [cells[-1] for cells in rows if cells[-1]]
    assert 67.1 <= float(remark.split()[0]) <= 79.8


def test_bars_are_as_long_as_the_rates():
    rows = footprint_table(report(sweep("-plain", 64 * MEBIBYTE))).rows
    assert len(rows[0][2]) == 30
    assert len(rows[-1][2]) == 12


def test_each_order_has_its_own_column_and_its_own_capacity():
    """H1: what scattered reads leave of a cache is told apart from what reads in order leave."""
    both = report(sweep("-plain", 64 * MEBIBYTE) + sweep("-scattered", 32 * MEBIBYTE))
    remarks = {cells[0]: cells[-1] for cells in footprint_table(both).rows if cells[-1]}
    assert remarks.keys() == {"33.6 MB", "67.1 MB"}
    assert remarks["33.6 MB"].endswith("(scattered)")
    assert not remarks["67.1 MB"].endswith(")")


def test_a_sweep_of_a_cpu_has_one_column():
    table = footprint_table(report(sweep("", 64 * MEBIBYTE)))
    assert len(table.columns) == 4
    assert len([cells for cells in table.rows if cells[-1]]) == 1


def test_the_tables_fit_a_terminal():
    rows = [read("levels", "shared-read-plain", "shared", 4.32e12), *sweep("-plain", 64 * MEBIBYTE)]
    rows += sweep("-scattered", 100 * MEBIBYTE)
    for table in (levels_table, footprint_table):
        assert max(map(len, formatted(table(report(rows))).splitlines())) <= WIDTH


def test_nothing_measured_is_no_table():
    assert not levels_table(report([])).rows
    assert not footprint_table(report([])).rows


def test_a_line_to_paste_names_slopes_and_capacities():
    rows = [read("levels", "shared-read-plain", "shared", 4.32e12), *sweep("-plain", 64 * MEBIBYTE)]
    assert list(levels_fields(report(rows))) == ["shared 4.32 TB/s"]
    (field,) = footprint_fields(report(rows))
    assert field.endswith("MB at 10.0 TB/s")
