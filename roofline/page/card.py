"""A card of the page: a stored run, or a spec sheet, under a name that tells it from the others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from roofline.model import Device, Environment
from roofline.record import Record
from roofline.report import Report
from roofline.report.stored import report_of
from roofline.report.text import shortened
from roofline.rooflines import Roofline
from roofline.specsheets import SpecSheet

NAME_WIDTH = 48
Source = Record | SpecSheet


@dataclass(frozen=True)
class Card:
    """What the page shows of one source: `label` is unique on the page, `letter` its short form in tables."""

    letter: str
    label: str
    source: Source
    report: Report

    @property
    def roofline(self) -> Roofline:
        """Its ceilings, as the model asks for them."""
        return Roofline(self.report.ceilings)

    @property
    def measured(self) -> bool:
        """Whether this is a run; else it is what a maker promises."""
        return isinstance(self.source, Record)


def cards_of(sources: Sequence[Source]) -> list[Card]:
    """The cards of a page, in the order given."""
    reports = [_report(source) for source in sources]
    letters = [chr(ord("A") + order) if order < 26 else str(order + 1) for order in range(len(sources))]
    labels = _labels(sources, reports)
    return [Card(*parts) for parts in zip(letters, labels, sources, reports, strict=True)]


def _report(source: Source) -> Report:
    if isinstance(source, Record):
        return report_of(source)
    facts = {name: figure.value for name, figure in source.facts.items()}
    device = Device(source.name, "cuda", "", int(facts.get("sms", 0)))
    return Report(device, Environment(), source.roofline.ceilings, (), {})


def _labels(sources: Sequence[Source], reports: Sequence[Report]) -> Iterator[str]:
    """The device's name; of runs of one name also the file's, and its place on the page where even that is the same."""
    names = [shortened(report.device.name, NAME_WIDTH) for report in reports]
    longer = [_longer(name, source, names) for name, source in zip(names, sources, strict=True)]
    for order, label in enumerate(longer, start=1):
        yield label if longer.count(label) == 1 else f"{label} ({order})"


def _longer(name: str, source: Source, names: Sequence[str]) -> str:
    if isinstance(source, SpecSheet):
        return f"{name}, specification"
    return f"{name}, {shortened(source.path.stem, NAME_WIDTH)}" if Counter(names)[name] > 1 else name
