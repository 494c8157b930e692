"""The table of what changed: the largest first, the same counted, and nothing that a terminal or a page acts on."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sample import cpu_report

from roofline.changes import compare
from roofline.model import Estimate
from roofline.noise import Floors
from roofline.record import Record, Run
from roofline.report.changes import MOST_ROWS, change_line, changes_table, markdown, text, time_change
from roofline.report.markdown import markdown as as_markdown
from roofline.report.tables import Column, Table

pytestmark = pytest.mark.correctness

REPORT = cpu_report()


def run(rows, **state):
    environment = replace(REPORT.environment, state={**REPORT.environment.state, **state})
    return Run(REPORT.device, environment, "", measurements=tuple(rows), points=REPORT.points)


def record(rows):
    return Record(run(rows), datetime(2025, 1, 31, tzinfo=UTC), Path("baselines/card/0003_second.json"))


def times(row, factor):
    """The row with every time multiplied, of other machine code."""
    was = row.seconds
    seconds = Estimate(*(factor * figure for figure in (was.value, was.low, was.high)))
    samples = replace(row.samples, seconds=tuple(factor * second for second in row.samples.seconds))
    return replace(row, seconds=seconds, samples=samples, binary="0ther")


def changed(*factors, rows=REPORT.measurements):
    """The comparison in which the first rows changed by these factors."""
    new = [times(row, factor) for row, factor in zip(rows, factors, strict=False)]
    return compare(record([replace(row, binary="c0de") for row in rows]), run([*new, *rows[len(new) :]]), Floors())


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (1.051, "+5.1 %"),
        (0.97, "-3.0 %"),
        (1.0, "+0.0 %"),
        (2.4, "× 2.4"),
        (1 / 3, "÷ 3.0"),
        (1234.5, "× 1200"),
    ],
)
def test_a_change_is_a_percentage_and_a_large_one_a_factor(ratio, said):
    assert time_change(Estimate(ratio, ratio, ratio)) == said


def test_changes_come_by_size_and_the_same_are_counted():
    comparison = changed(1.6, 3.0, 0.3)
    table = changes_table(comparison)
    assert [row[2] for row in table.rows] == ["÷ 3.3", "× 3.0", "+60.0 %"]
    assert table.title.endswith(f"{len(REPORT.measurements) - 3} same")
    assert "card/0003_second.json" in table.title


def test_nothing_changed_is_a_line_without_a_table():
    lines = text(changed()).splitlines()
    assert lines[0] == f"CHANGES   against card/0003_second.json: {len(REPORT.measurements)} same"
    assert "verdict" not in "".join(lines[1:])


def test_text_stays_within_a_hundred_columns_and_shows_no_escape():
    rows = [
        replace(row, key=replace(row.key, kernel=row.key.kernel + "\x1b[31m\u202e" * 40)) for row in REPORT.measurements
    ]
    shown = text(changed(3.0, rows=rows))
    assert max(map(len, shown.splitlines())) <= 100
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_pull_request_gets_a_table_in_which_no_name_acts():
    rows = [replace(row, key=replace(row.key, kernel="a|b<script>" + row.key.kernel)) for row in REPORT.measurements]
    shown = markdown(changed(3.0, rows=rows))
    assert "| ---" in shown
    assert "<script>" not in shown
    assert "a|b" not in shown


def test_what_differs_of_the_state_is_said_below():
    shown = text(compare(record(REPORT.measurements), run(REPORT.measurements, workers=1), Floors()))
    assert "workers differs: 2 before, 1 now" in shown
    assert "no row was compared" in shown


def test_a_run_of_hundreds_of_changes_names_the_largest():
    table = changes_table(changed(*[3.0] * len(REPORT.measurements)))
    assert len(table.rows) == MOST_ROWS
    assert f"and {len(REPORT.measurements) - MOST_ROWS} more" in table.notes[0]


def test_hundreds_of_new_rows_are_counted_and_hide_no_change():
    """A run of every experiment against one of the core."""
    before, rows = REPORT.measurements[:20], REPORT.measurements
    table = changes_table(compare(record(before), run([times(before[0], 1.6), *rows[1:]]), Floors()))
    assert [row[2] for row in table.rows] == ["+60.0 %"]
    assert table.notes[0].startswith("new: ")


def test_one_change_in_a_few_words():
    (change,) = changed(*[1.0] * 10, 3.0).of("slower", "inconclusive")
    assert change_line(change) == f"{change.verdict}, × 3.0 (kernel)"
    assert change_line(replace(change, verdict="gone", ratio=None, cause="")) == "gone"


def test_nothing_in_a_pull_request_becomes_a_link_or_a_list():
    table = Table("https://x", [Column("a", 9)], [("www.x",)], ["- [ ] it", "1. it", "=== it", "12 rows"])
    title, *_, box, one, rule, rows = as_markdown(table).split("\n\n")
    assert title == r"**https\://x**"
    assert r"| www\.x |" in as_markdown(table)
    assert (box, one, rule, rows) == (r"\- \[ \] it", r"1\. it", r"\=== it", "12 rows")
