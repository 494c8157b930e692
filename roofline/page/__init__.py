"""One HTML file of stored runs: the roofline to look into, an explorer of kernels, every table; offline and whole."""

from collections.abc import Sequence
from pathlib import Path

from roofline.page.card import Source, cards_of
from roofline.page.layout import page
from roofline.page.overlay import FloorsOf, learnt_alone

SUFFIXES = (".html", ".htm")


def check(path: Path | str) -> None:
    """See to it, before anything is measured, that a page can be written into a file of this name.

    Raises:
        ValueError: the suffix is none of a page, or the folder is not there.
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise ValueError(f"cannot write a page into {str(path)!r}: give it a name that ends in {' or '.join(SUFFIXES)}")
    if not target.absolute().parent.is_dir():
        raise ValueError(f"cannot write a page into {str(path)!r}: the folder does not exist")


def html(sources: Sequence[Source], floors_of: FloorsOf = learnt_alone) -> str:
    """The page of these runs and spec sheets; the first is what the others are held against.

    Raises:
        ValueError: there is nothing to show.
    """
    if not sources:
        raise ValueError("a page shows one record or more: give at least one")
    return page(cards_of(sources), floors_of)


def write(sources: Sequence[Source], path: Path | str, floors_of: FloorsOf = learnt_alone) -> None:
    """Write the page into a file.

    Raises:
        ValueError: there is nothing to show, or the name is none of a page.
        OSError: the file cannot be written.
    """
    check(path)
    Path(path).write_text(html(sources, floors_of), encoding="utf-8")
