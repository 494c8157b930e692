"""The small roofline in characters: where things are drawn, within 100 columns, on any terminal."""

import math
import re
from dataclasses import replace

import pytest
from sample import CPU, card_report, ceiling, cpu_report, gpu_report

from roofline.model import Environment
from roofline.report import Report
from roofline.report.plot_text import ABOVE, ASCII, BOX, COLUMNS, MARGIN, ROWS, plot
from roofline.report.scene import scene

pytestmark = pytest.mark.correctness

REPORTS = {"cpu": cpu_report(), "gpu": gpu_report(), "card": card_report()}


def field_of(text):
    """The rows inside the frame, filled up with spaces."""
    rows = text.splitlines()[1 : ROWS + 1]
    return [row[MARGIN:].ljust(COLUMNS) for row in rows]


def cell(report, intensity, rate):
    """Where a point must be, worked out from the limits of the scene."""
    shown = scene(report)
    share = [
        math.log(value / low) / math.log(high / low)
        for value, (low, high) in ((intensity, shown.x_limits), (rate, shown.y_limits))
    ]
    return round((1 - share[1]) * (ROWS - 1)), round(share[0] * (COLUMNS - 1))


@pytest.mark.parametrize("signs", [BOX, ASCII], ids=["box", "ascii"])
@pytest.mark.parametrize("name", REPORTS)
def test_it_fits_100_columns_in_either_set_of_signs(name, signs):
    text = plot(REPORTS[name], signs=signs)
    assert max(map(len, text.splitlines())) <= 100
    assert ROWS + 3 < len(text.splitlines()) < ROWS + 14


def test_plain_signs_are_ascii_but_for_names():
    assert "".join(field_of(plot(REPORTS["cpu"], signs=ASCII))).isascii()
    assert not BOX.all.isascii()


@pytest.mark.parametrize("name", REPORTS)
def test_every_point_is_drawn_where_it_was_measured(name):
    """M6: log-log, and all points inside. A point may be covered by another, never by a line."""
    field = field_of(plot(REPORTS[name]))
    for mark in scene(REPORTS[name]).marks:
        row, column = cell(REPORTS[name], mark.intensity, mark.flop_per_s.value)
        assert field[row][column] in "oxv*#@&%" + ABOVE, mark.name


def test_a_point_above_its_roof_has_a_sign_of_its_own_which_the_key_explains():
    """M5: shown above, not clipped."""
    (above,) = [mark for mark in scene(REPORTS["gpu"]).marks if mark.above]
    text = plot(REPORTS["gpu"])
    row, column = cell(REPORTS["gpu"], above.intensity, above.flop_per_s.value)
    assert field_of(text)[row][column] == ABOVE
    assert "! above its roof" in text
    assert "above its roof" not in plot(REPORTS["cpu"])


def test_a_slope_rises_by_one_decade_a_decade():
    """M6: slope 1."""
    ceilings = {"dram": ceiling("dram", 1e11), "fp32": ceiling("fp32", 1e13)}
    report = Report(CPU, Environment(), ceilings, (), {})
    field = field_of(plot(report))
    cells = [(row, column) for row, text in enumerate(field) for column, sign in enumerate(text) if sign == BOX.slope]
    limits = scene(report)
    columns, rows = ((COLUMNS - 1), (ROWS - 1))
    across, up = (
        math.log10(high / low) / size for (low, high), size in ((limits.x_limits, columns), (limits.y_limits, rows))
    )
    assert len(cells) > 20
    for row, column in cells[1:-1]:
        intensity = math.log10(limits.x_limits[0]) + column * across
        rate = math.log10(limits.y_limits[1]) - row * up
        assert abs(rate - intensity - 11) <= up, "log rate - log intensity is log bandwidth, within a row"


def test_the_roof_carries_its_name_and_the_key_has_slopes_ridges_and_groups():
    report = REPORTS["cpu"]
    text = plot(report)
    assert re.search(r"fp32 228 GFLOP/s$", text, re.MULTILINE)
    assert re.search(r"^slopes  a dram_update 55\.1 GB/s; b dram_copy_nt 45\.2 GB/s; c ", text, re.MULTILINE)
    ridge = report.ridges["fp32/dram_update"].value
    assert f"fp32/dram_update {ridge:.2f} FLOP/B" in text
    row, column = cell(report, ridge, report.ceilings["fp32"].rate)
    assert field_of(text)[row][column] in BOX.ridge + "oxv"
    assert "points  o dial, inplace; x dial, nt; v dial, ordinary" in text


def test_lines_that_are_not_drawn_are_named():
    text = plot(REPORTS["card"])
    drawn = " ".join(text.split())
    assert "not here but on the chart and the page: " in drawn


def test_colour_goes_around_the_signs_and_moves_nothing():
    report = REPORTS["gpu"]
    painted = plot(report, paint=lambda text, style: f"\x1b[1m{text}\x1b[0m")
    assert "\x1b" in painted
    plain = re.sub(r"\x1b\[\d+m", "", painted)
    assert [line.rstrip() for line in plain.splitlines()] == plot(report).splitlines()


def test_without_a_slope_or_a_roof_there_is_nothing_to_draw():
    for kept in ("fp32", "dram"):
        ceilings = {kept: ceiling(kept, 1e11)}
        assert plot(Report(CPU, Environment(), ceilings, (), {})) == ""


@pytest.mark.parametrize("name", ["$x_1$", "\x1b[31mred", "two\nlines", "核心", "n" * 600])
def test_hostile_names_stay_in_their_place(name):
    """C56: of a device."""
    text = plot(replace(REPORTS["cpu"], device=replace(CPU, name=name)))
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100
