"""Tables as Markdown, for a pull request or a page; every cell is text, whatever a file calls its kernels."""

import re
from collections.abc import Iterable

from roofline.report.tables import Table
from roofline.report.text import one_line

# What Markdown, or HTML within it, would act on.
ACTING = re.compile(r"([\\`*_{}\[\]<>#!|~$&]|:(?=//)|(?<=www)\.)")
# What makes a list or a rule of the paragraph that it begins.
LEADING = re.compile(r"^(\s*\d*)([-+=.)])")


def markdown(table: Table) -> str:
    """The table with its title above and its remarks below."""
    parts = [f"**{escaped(table.title)}**"]
    if table.rows:
        head = [escaped(column.head.strip()) for column in table.columns]
        rule = ["---:" if column.align == "right" else "---" for column in table.columns]
        parts.append("\n".join(_row(cells) for cells in (head, rule, *(map(escaped, row) for row in table.rows))))
    parts += [_paragraph(note) for note in table.notes]
    return "\n\n".join(parts)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Text on one line in which nothing is Markdown or HTML."""
    return ACTING.sub(r"\\\1", one_line(text))


def _paragraph(text: str) -> str:
    return LEADING.sub(r"\1\\\2", escaped(text.strip()))
