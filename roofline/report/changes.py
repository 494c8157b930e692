"""What changed between two runs of one model, as a table: for a terminal, or as Markdown for a pull request."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from roofline.changes import Change, Comparison, Verdict
from roofline.differences import Difference, Value
from roofline.model import Estimate
from roofline.report.markdown import markdown as as_markdown
from roofline.report.tables import Column, Paint, Style, Table, formatted, unpainted
from roofline.report.text import one_line, shortened
from roofline.units import UNKNOWN, percent, si

STYLES: Mapping[str, Style] = {
    "slower": "bad",
    "gone": "bad",
    "inconclusive": "warn",
    "incomparable": "warn",
    "faster": "good",
    "new": "faint",
}
VERDICTS: tuple[Verdict, ...] = ("slower", "gone", "incomparable", "inconclusive", "faster", "new", "same")
# Beyond this factor a change reads better as a factor than in percent.
LARGE = 2.0
# A verdict that names more rows of one kind than this is about the whole run, and the rest are counted.
MOST_ROWS = 40
# More new rows than this are a wider run: they are counted by experiment, and hide no change.
MOST_NEW = 8


def changes_table(comparison: Comparison) -> Table:
    """Every row that is not the same, the largest change first, and what a reader should know below."""
    new = comparison.of("new")
    apart = ("same", "new") if len(new) > MOST_NEW else ("same",)
    shown = [change for change in comparison.by_size if change.verdict not in apart]
    return Table(
        title=f"CHANGES   against {comparison.before.name}: {counted(comparison)}",
        columns=[
            Column("row", 32),
            Column("verdict", 12),
            Column("time", 9, "right"),
            Column("floor", 8, "right"),
            Column("because", 30),
        ],
        rows=[_row(change) for change in shown[:MOST_ROWS]],
        notes=[*_left_out(shown), *(_by_experiment(new) if "new" in apart else ()), *_remarks(comparison)],
        styles=STYLES,
    )


def text(comparison: Comparison, paint: Paint = unpainted) -> str:
    """The table as text of at most 100 columns."""
    return formatted(changes_table(comparison), paint)


def markdown(comparison: Comparison) -> str:
    """The table as Markdown."""
    return as_markdown(changes_table(comparison))


def counted(comparison: Comparison) -> str:
    """How many rows have each verdict: "1 slower, 2 inconclusive, 40 same"."""
    counts = {verdict: len(comparison.of(verdict)) for verdict in VERDICTS}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "no row in either run"


def time_change(ratio: Estimate | None) -> str:
    """How a time changed: "+5.1 %", "-3.0 %", "× 2.4", "÷ 3.0"."""
    if ratio is None:
        return UNKNOWN
    if ratio.value >= LARGE:
        return f"× {si(ratio.value, '', 2)}"
    if ratio.value <= 1 / LARGE:
        return f"÷ {si(1 / ratio.value, '', 2)}"
    return f"{100 * (ratio.value - 1):+.1f} %"


def change_line(change: Change) -> str:
    """One change in a few words: "slower, +5.1 % (kernel)"."""
    cause = f" ({change.cause})" if change.cause else ""
    time = f", {time_change(change.ratio)}" if change.ratio else ""
    return f"{change.verdict}{time}{cause}"


def _row(change: Change) -> tuple[str, ...]:
    because = f"{change.cause}: {change.reason}" if change.cause else change.reason
    return (
        shortened(str(change.key), 128),
        change.verdict,
        time_change(change.ratio) if change.ratio else "",
        percent(change.floor, 2) if change.ratio else "",
        one_line(because),
    )


def _left_out(shown: list[Change]) -> Iterator[str]:
    if len(shown) > MOST_ROWS:
        yield f"and {len(shown) - MOST_ROWS} more, none larger than these"


def _by_experiment(new: Sequence[Change]) -> Iterator[str]:
    """New rows that are too many to list."""
    counts = Counter(change.key.experiment for change in new)
    yield "new: " + ", ".join(f"{shortened(one_line(name), 40)} ({count})" for name, count in sorted(counts.items()))


def _remarks(comparison: Comparison) -> Iterator[str]:
    """What differs, what was noted, and why a gate would close where the table does not show it."""
    for name, difference in comparison.differs.items():
        yield f"{name} differs: {_sides(difference)}; figures of two states are not compared"
    yield from comparison.notes
    if not comparison.judged:
        yield "no row was compared, so this says nothing about what became slower"
    for change in comparison.unusable:
        yield f"{change.key} has a figure that is no positive number"


def _sides(difference: Difference) -> str:
    before, after = map(_value, difference)
    return f"{before} before, {after} now"


def _value(value: Value) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:.6g}" if isinstance(value, float) else str(value)
