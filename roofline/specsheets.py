"""Spec sheets: what the makers of common cards promise, figure by figure with its source. Never a measurement.

A sheet is one file in `specs/`; adding a card is adding a file. All tensor rates are dense.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from roofline.layout import NAMED, POSITIVE
from roofline.model import Ceiling
from roofline.rooflines import Roofline, unit_of
from roofline.schema import DocumentError, Rules, decode, read

FOLDER = Path(__file__).with_name("specs")
SUFFIX = "-spec"


@dataclass(frozen=True)
class Source:
    """A white paper, data sheet or page, by title and address."""

    title: str
    url: str = ""


@dataclass(frozen=True)
class Figure:
    """A promised value in base SI units: which source it is from, and how it follows where that does not state it."""

    value: float
    source: str
    formula: str = ""


@dataclass(frozen=True)
class SpecSheet:
    """One card as its maker describes it: `facts` (SMs, clocks, sizes) and peak `rates` by resource."""

    slug: str
    name: str
    sources: Mapping[str, Source]
    rates: Mapping[str, Figure]
    facts: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def roofline(self) -> Roofline:
        """The roofline that these rates promise."""
        return Roofline({resource: self._ceiling(resource, figure) for resource, figure in self.rates.items()})

    def cited(self, figure: Figure) -> str:
        """Where a figure is from, in words."""
        title = self.sources[figure.source].title
        return f"{figure.formula} ({title})" if figure.formula else title

    def _ceiling(self, resource: str, figure: Figure) -> Ceiling:
        rate = figure.value
        return Ceiling(resource, rate, rate, rate, unit_of(resource), self.cited(figure), "", source="specification")


RULES: Rules = {
    (Source, "title"): NAMED,
    (Figure, "value"): POSITIVE,
    (SpecSheet, "name"): NAMED,
}


class NoSuchSheet(LookupError):
    """There is no spec sheet of that name; the message says which there are."""


def slugs() -> list[str]:
    """The names of all sheets, each ending in `-spec`."""
    return sorted(path.stem for path in FOLDER.glob(f"*{SUFFIX}.json"))


def sheet(slug: str) -> SpecSheet:
    """The sheet of that name.

    Raises:
        NoSuchSheet: there is none.
    """
    if slug not in slugs():
        raise NoSuchSheet(f"no spec sheet {slug!r}; there are: {', '.join(slugs())}")
    found: SpecSheet = decode(SpecSheet, read(FOLDER / f"{slug}.json"), "", RULES)
    _check(found, slug)
    return found


def _check(found: SpecSheet, slug: str) -> None:
    """What types and rules do not say: each figure names one of the sources, and the file is called as the sheet."""
    if found.slug != slug:
        raise DocumentError.value("slug", found.slug, f"{slug}, as its file is called")
    for name, figure in (*found.facts.items(), *found.rates.items()):
        if figure.source not in found.sources:
            raise DocumentError.value(f"{name}.source", figure.source, f"one of {', '.join(found.sources)}")


# The reference card of the roofline chapter, with the figures that it states.
RTX_5070 = sheet("rtx-5070-spec").roofline
