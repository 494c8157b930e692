"""What stands below a chart: all of it where it is short, numbers and tables where it is long."""

from dataclasses import replace

import pytest
from sample import card_report, cpu_report, row

from roofline.model import Absent
from roofline.report.caption import MOST_LINES, caption, spoken
from roofline.report.scene import scene

pytestmark = pytest.mark.correctness

REASONS = [f"reason number {n}, which takes a good part of a line of its own" for n in range(30)]


def crowded():
    """A run that lacks thirty rows, each for a reason of its own."""
    absent = [Absent(row("own", f"kernel-{n:02d}"), "unsupported", reason) for n, reason in enumerate(REASONS)]
    return replace(card_report(), absent=absent)


def lines(text):
    """A text in lines of as many characters as a picture holds about."""
    return [text[start : start + 130] for start in range(0, len(text), 130)]


def test_a_short_caption_says_everything():
    shown = scene(cpu_report())
    assert spoken(shown) == list(shown.remarks)
    assert any("no such unit" in said or "no tensor units" in said for said in caption(shown, frozenset(), lines))


def test_a_long_caption_is_four_lines_and_every_row_is_counted():
    shown = scene(crowded())
    assert len(shown.remarks) > MOST_LINES
    said = caption(shown, frozenset(), lines)
    assert len(said) <= MOST_LINES
    assert "30 rows (absent)" in "".join(said)
    assert sum(each.group == "absent" for each in shown.left_out) == 30
    assert "".join(spoken(shown)) in "".join(said)


def test_points_above_their_roof_keep_their_names_in_a_long_caption():
    """M5: a finding is never hidden."""
    shown = scene(crowded())
    found = replace(shown, above=("above its roof (ringed): x 240 % of dram",))
    assert "x 240 % of dram" in "".join(caption(found, frozenset(), lines))


def test_names_without_room_stand_in_either_caption():
    shown = scene(crowded())
    name = next(mark.name for mark in shown.marks if mark.named)
    assert f"={name}" in "".join(caption(shown, frozenset({name}), lines))
