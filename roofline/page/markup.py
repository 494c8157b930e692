"""HTML as values: what is not markup already is escaped, so no text of a record can become any."""

from collections.abc import Iterable
from html import escape

from roofline.escaping import one_line

VOID = {"meta", "input", "br"}


class Markup(str):
    """Text that is HTML; all other text is escaped where it is put into an element."""

    __slots__ = ()


Child = str | Iterable["Child"]


def element(name: str, /, *children: Child, **attributes: str | bool) -> Markup:
    """An element. In an attribute's name `_` stands for "-", at its end for nothing (`class_`); True has no value."""
    given = "".join(_attribute(key, value) for key, value in attributes.items() if value is not False)
    if name in VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Markup:
    """Children one behind the other."""
    return Markup("".join(_written(child) for child in children))


def _written(child: Child) -> str:
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(one_line(child))
    return joined(child)


def _attribute(key: str, value: str | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(one_line(value))}"'
