"""Tables: what they hold, and how they become text of at most 100 columns."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tabulate import tabulate

from roofline.report.text import one_line

WIDTH = 100
GAP = 2

Style = Literal["heading", "good", "bad", "warn", "faint"]
Paint = Callable[[str, Style], str]


def unpainted(text: str, style: Style) -> str:  # noqa: ARG001  # the shape of a Paint
    """The text as it is: a terminal without colour."""
    return text


@dataclass(frozen=True)
class Column:
    """A column's head and the characters that a cell is wrapped at; figures stand on the right."""

    head: str
    width: int
    align: Literal["left", "right"] = "left"


@dataclass(frozen=True)
class Table:
    """A title, columns, rows of text and remarks below; `styles` paints the cells that say exactly that."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    styles: Mapping[str, Style] = field(default_factory=dict)


def wrapped(text: str, width: int = WIDTH, indent: str = "") -> str:
    """`text` in lines of at most `width` characters, those after the first indented."""
    return "\n".join(textwrap.wrap(one_line(text), width, subsequent_indent=indent)) or ""


def formatted(table: Table, paint: Paint = unpainted) -> str:
    """The table as text: title, columns, remarks."""
    parts = [paint(wrapped(table.title), "heading")]
    if table.rows:
        parts.append(_grid(table, paint))
    parts += [wrapped(note, indent="  ") for note in table.notes]
    return "\n".join(parts)


def _grid(table: Table, paint: Paint) -> str:
    rows = [
        [_cell(text, column.width, table.styles, paint) for text, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    text: str = tabulate(
        rows,
        headers=[column.head for column in table.columns],
        colalign=[column.align for column in table.columns],
        tablefmt="simple",
        disable_numparse=True,
    )
    return "\n".join(line.rstrip() for line in text.splitlines())


def _cell(text: str, width: int, styles: Mapping[str, Style], paint: Paint) -> str:
    return paint(text, styles[text]) if text in styles else wrapped(text, width)
