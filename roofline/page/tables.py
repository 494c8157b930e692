"""The library's tables as HTML: the same figures in the same words as in the terminal."""

from collections.abc import Iterable, Sequence

from roofline.page.markup import Markup, element
from roofline.report.tables import Column, Table

# A table's title is its name in capitals, some spaces, and what it shows.
GAP = "   "
SHORT, SENTENCE = 24, 48
ABBREVIATIONS = {"DRAM"}


def table(found: Table, level: int = 3, anchor: str = "") -> Markup:
    """A heading, what is shown, the table in a frame that scrolls by itself, and the remarks."""
    name, about = titled(found.title)
    parts = [element(f"h{level}", name, **({"id": anchor} if anchor else {}))]
    if about:
        parts.append(element("p", _sentence(about), class_="about"))
    if found.rows:
        parts.append(grid(found, name))
    if found.notes:
        parts.append(element("ul", [element("li", note) for note in found.notes], class_="notes"))
    return element("section", parts, class_="table")


def folded(found: Table, unfolded: bool = False) -> Markup:
    """The same under a summary that opens it; open from the start where that is asked for."""
    name, about = titled(found.title)
    summary = element("summary", element("span", name, class_="name"), f" — {about}" if about else "")
    notes = element("ul", [element("li", note) for note in found.notes], class_="notes") if found.notes else ""
    return element("details", summary, grid(found, name) if found.rows else "", notes, open=unfolded)


def titled(title: str) -> tuple[str, str]:
    """The name of a table, as a heading has it, and what it shows."""
    name, _, about = title.partition(GAP)
    return name if name in ABBREVIATIONS else name.capitalize(), about.strip()


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def grid(found: Table, name: str) -> Markup:
    """The table alone."""
    head = element("tr", [_head(column) for column in found.columns])
    rows = [_row(found, row) for row in found.rows]
    body = element("table", element("caption", name, class_="hidden"), element("thead", head), element("tbody", rows))
    return element("div", body, class_="frame", tabindex="0", role="group", aria_label=name)


def _head(column: Column) -> Markup:
    text = " ".join(column.head.split()).replace("- ", "-")
    if not text:
        return element("td")
    return element("th", text, scope="col", class_=column.align)


def _row(found: Table, row: Sequence[str]) -> Markup:
    if row[0] in found.styles and not any(row[1:]):
        return element("tr", element("th", row[0], scope="rowgroup", colspan=str(len(found.columns))), class_="group")
    return element("tr", list(_cells(found, row)))


def _cells(found: Table, row: Sequence[str]) -> Iterable[Markup]:
    for text, column in zip(row, found.columns, strict=True):
        style = found.styles.get(text, "")
        if text and not text.strip("#"):
            yield element("td", text, class_="bar")
        elif style:
            yield element("td", element("span", text, class_=f"said {style}"), class_=column.align)
        else:
            yield element("td", text, class_=f"{column.align} {_length(text)}".strip())


def _length(text: str) -> str:
    """How a cell may be broken: a figure never, a sentence only where it is some words wide."""
    return "short" if len(text) <= SHORT else "long" if len(text) > SENTENCE else ""
