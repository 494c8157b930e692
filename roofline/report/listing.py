"""What a store holds, as a table: each file with its card, its day, its state and what of its claims failed."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from roofline.catalogue import Listed
from roofline.report.tables import Column, Paint, Style, Table, formatted, unpainted, wrapped
from roofline.report.text import listed as some
from roofline.report.text import one_line, shortened

STYLES: Mapping[str, Style] = {"baseline": "good", "damaged": "bad", "incomplete": "warn"}
UNKNOWN = "-"
State = Mapping[str, str | float | int | bool | None]
NAME_WIDTH = 40


def text(root: Path, files: Sequence[Listed], sheets: Sequence[str], paint: Paint = unpainted) -> str:
    """The files of every card, and the spec sheets, which are no files of the store."""
    parts = [formatted(_card(slug, list(own)), paint) for slug, own in groupby(files, key=lambda file: file.slug)]
    if not files:
        parts.append(wrapped(f"no record in {root}: pytest -m bench --benchmark-save makes one"))
    parts.append(wrapped(f"SPECIFICATIONS   not measurements: {', '.join(sheets)}", indent="  "))
    return "\n\n".join(parts)


def _card(slug: str, files: Sequence[Listed]) -> Table:
    names = dict.fromkeys(one_line(file.header.run.device.name) for file in files if file.header)
    card = f" ({some([shortened(name, NAME_WIDTH) for name in names])})" if names else ""
    states = [file.header.run.environment.state for file in files if file.header]
    newest = states[0] if states else {}
    return Table(
        title=f"{shortened(slug, NAME_WIDTH * 2)}{card}",
        columns=[
            Column("file", 24),
            Column("what", 10),
            Column("day", 10),
            Column("driver", 12),
            Column("rows", 5, "right"),
            Column("failed", 10),
            Column("state", 16),
        ],
        rows=[_row(file, newest) for file in files],
        notes=[*([f"state of the newest: {_state(newest)}"] if newest else []), *_notes(files)],
        styles=STYLES,
    )


def _row(file: Listed, newest: State) -> tuple[str, ...]:
    name, header = shortened(file.path.stem, NAME_WIDTH), file.header
    if header is None:
        return (name, file.state, *[UNKNOWN] * 5)
    state = header.run.environment.state
    differs = {key: value for key, value in state.items() if value != newest.get(key)}
    return (
        name,
        file.state,
        header.created.date().isoformat(),
        shortened(header.driver or UNKNOWN, 24),
        str(header.rows),
        shortened(", ".join(header.refuted) or "none", NAME_WIDTH),
        _state(differs) if differs else "as the newest",
    )


def _state(state: State) -> str:
    """What makes figures incomparable when it differs."""
    shown = [f"{name} {_value(value)}" for name, value in state.items()]
    return shortened(", ".join(shown) or UNKNOWN, 6 * NAME_WIDTH)


def _value(value: object) -> str:
    if value is None:
        return "unknown"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _missing(missing: Sequence[str]) -> str:
    return some([shortened(what, 60) for what in missing], 3) or "nobody knows what"


def _notes(files: Sequence[Listed]) -> list[str]:
    notes = [f"{one_line(file.path.name)} is damaged: {one_line(file.wrong)}" for file in files if file.wrong]
    notes += [
        f"{one_line(file.path.name)} lacks {_missing(file.header.run.missing)}"
        for file in files
        if file.state == "incomplete" and file.header
    ]
    if any(file.state == "damaged" for file in files) and all(file.state != "baseline" for file in files):
        notes.append("until the damaged file is restored or deleted no run of this card can be judged by a baseline")
    return notes
