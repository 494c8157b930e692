"""What holds each kernel back and what to try next, for all that are not themselves ceilings (L3)."""

import re
from collections.abc import Iterator, Mapping, Sequence

from roofline.diagnose import diagnoses
from roofline.model import Diagnosis, Measurement
from roofline.report import Report
from roofline.report.tables import Column, Style, Table
from roofline.report.text import row_name, shortened
from roofline.units import percent_number

# In the order in which they are shown: what cannot be believed first, what is done last.
CASES: Mapping[str, Style] = {
    "impossible": "bad",
    "overhead": "warn",
    "extra-bytes": "warn",
    "below-roof": "warn",
    "at-roof": "good",
}
NAME_WIDTH, TEXT_WIDTH = 20, 65
# Advice ends with what following it may gain: "… (at most 3.99 × as fast)."
GAIN = re.compile(r"(.*?)( \(at most [^)]*\))?(\.)")

Told = tuple[Measurement, Diagnosis]


def diagnosis_table(report: Report) -> Table:
    """Two lines a kernel: what was found, and what to try next. Kernels of one experiment that share both share them.

    The text of several is that of the one that is furthest from its roof.
    """
    groups = sorted(_groups(report), key=lambda group: list(CASES).index(group[0][1].case))
    return Table(
        title="DIAGNOSIS   of every kernel that sets no ceiling: what holds it back, and what to try next",
        columns=[Column("kernel", NAME_WIDTH), Column("case", 11), Column("finding, then advice", TEXT_WIDTH)],
        rows=list(_told_once(groups)),
        styles=CASES,
    )


def _told_once(groups: Sequence[Sequence[Told]]) -> Iterator[tuple[str, str, str]]:
    """The rows of every group. Advice that an earlier one was given is not repeated but for what it may gain."""
    given: dict[str, str] = {}
    for group in groups:
        finding, (shares, none, advice) = _rows(group)
        split = GAIN.fullmatch(advice)
        words, gain = (split[1], split[2] or "") if split else (advice, "")
        new = words not in given
        first = given.setdefault(words, finding[0].partition(" and ")[0])
        yield finding
        yield shares, none, advice if new else f"As for {first}{gain}."


def _groups(report: Report) -> list[list[Told]]:
    """The diagnosed kernels that are no candidates for a ceiling, those that share their advice together."""
    told = diagnoses(report)
    groups: dict[tuple[str, ...], list[Told]] = {}
    for measurement in report.measurements:
        diagnosis = told.get(measurement.key)
        if diagnosis and not measurement.measures:
            groups.setdefault(_shared(measurement, diagnosis), []).append((measurement, diagnosis))
    return list(groups.values())


def _shared(measurement: Measurement, diagnosis: Diagnosis) -> tuple[str, ...]:
    """What kernels must share to be told together; one above its roof stands alone."""
    key = measurement.key
    alone = str(key) if diagnosis.case == "impossible" else ""
    return (key.experiment, diagnosis.case, diagnosis.bound_by, diagnosis.level, alone)


def _rows(group: Sequence[Told]) -> Iterator[tuple[str, str, str]]:
    measurement, diagnosis = min(group, key=lambda told: told[1].fraction.value)
    yield _name(measurement, len(group) - 1), diagnosis.case, diagnosis.finding
    yield _range(group), "", diagnosis.advice


def _name(measurement: Measurement, others: int) -> str:
    """The kernel whose finding stands beside, and how many others share it."""
    name = shortened(row_name(measurement.key), 2 * NAME_WIDTH)
    return f"{name} and {others} more" if others else name


def _range(group: Sequence[Told]) -> str:
    """Between which shares of their roof several lie."""
    if len(group) == 1:
        return ""
    shares = [diagnosis.fraction.value for _, diagnosis in group]
    ends = dict.fromkeys(percent_number(share) for share in (min(shares), max(shares)))
    return f"{' … '.join(ends)} %"
