"""Several records on one page: what each card reaches of its own roof, and each against the first."""

from collections.abc import Callable, Iterator, Sequence

from roofline.changes import compare
from roofline.contrast import Contrast, Side, contrast, kind_of
from roofline.model import Measurement, RowKey
from roofline.noise import Floors, learn
from roofline.page.card import Card
from roofline.page.markup import Markup, element
from roofline.page.tables import folded, table
from roofline.record import Record
from roofline.report import changes
from roofline.report import contrast as contrasts
from roofline.report.lines import in_order
from roofline.report.tables import Column, Table
from roofline.report.text import figure, shortened
from roofline.units import percent

NOTHING = "-"
FloorsOf = Callable[[Record], Floors]


def learnt_alone(record: Record) -> Floors:
    """The floors of a record where no repeats of it are at hand."""
    return learn([record])


def sections(cards: Sequence[Card], floors_of: FloorsOf) -> Iterator[Markup]:
    """All that several cards have to say beside one another; nothing of one card."""
    if len(cards) < 2:
        return
    yield table(ceilings_table(cards))
    shares = shares_table(cards)
    if shares.rows:
        yield table(shares)
    for other in cards[1:]:
        yield _against(cards[0], other, floors_of)


def ceilings_table(cards: Sequence[Card]) -> Table:
    """What every card can do at most."""
    every = {resource: ceiling for card in reversed(cards) for resource, ceiling in card.report.ceilings.items()}
    rows = []
    for known in in_order(every.values()):
        found = [card.report.ceilings.get(known.resource) for card in cards]
        rows.append((known.resource, *(figure(c.rate, c.unit) if c else NOTHING for c in found)))
    return Table(
        title="CEILINGS SIDE BY SIDE   the best that each card did; of launches less is better",
        columns=[Column("resource", 20), *(Column(named(card), 20, "right") for card in cards)],
        rows=rows,
    )


def named(card: Card) -> str:
    """A card by letter and label."""
    return f"{card.letter}: {card.label}"


def shares_table(cards: Sequence[Card]) -> Table:
    """Each kernel's share of the roof above its own point, card by card: how well it uses what the card has."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for order, card in enumerate(cards):
        for measurement in card.report.measurements:
            said = _share(card, measurement)
            if said:
                cells = rows.setdefault(_sizeless(measurement.key), [NOTHING] * len(cards))
                cells[order] = said
    both = {key: cells for key, cells in rows.items() if cells.count(NOTHING) < len(cards) - 1}
    return Table(
        title="SHARE OF ITS OWN ROOF   how much a kernel reached of what each card could do there, and what binds it",
        columns=[Column("kernel", 30), *(Column(named(card), 20, "right") for card in cards)],
        rows=[(shortened(f"{key[0]}/{key[1]}", 80), *cells) for key, cells in both.items()],
        notes=[f"{len(rows) - len(both)} kernels were measured on one card alone"] if len(rows) > len(both) else [],
    )


def _sizeless(key: RowKey) -> tuple[str, ...]:
    """Cards have sizes of their own, taken from their caches."""
    return key.experiment, key.kernel, key.unit, key.level, key.fill


def _share(card: Card, measurement: Measurement) -> str:
    """A percentage and what binds; of what measures a ceiling the share would be 100 % of itself."""
    point = card.report.points.get(measurement.key)
    if point is None or measurement.measures:
        return ""
    above = " (above)" if point.regime == "above-roof" else ""
    return f"{percent(point.fraction)}{above}, {kind_of(point.bound_by)}"


def _against(first: Card, other: Card, floors_of: FloorsOf) -> Markup:
    one, two = first.source, other.source
    if isinstance(one, Record) and isinstance(two, Record) and one.run.device.key == two.run.device.key:
        return _verdicts(first, other, one, two, floors_of)
    return _contrast(first, other, contrast(Side.of(one), Side.of(two)))


def _verdicts(first: Card, other: Card, before: Record, after: Record, floors_of: FloorsOf) -> Markup:
    """Before and after on one model. Of a run that is not whole, what it lacks is not gone."""
    run = after.run
    measured = None if run.complete else {*(row.key for row in run.measurements), *(row.key for row in run.absent)}
    found = compare(before, run, floors_of(before), measured)
    heading = f"Before and after: {first.label} → {other.label}"
    summary = element("p", f"{changes.counted(found)}. ", _MEANING, class_="about")
    return element(
        "section",
        element("h3", heading),
        summary,
        folded(changes.changes_table(found), unfolded=True),
        class_="against",
    )


_MEANING = (
    "A row is slower only where its samples can be told apart and its time grew by more than this card's own runs "
    "differ by (the floor)."
)


def _contrast(first: Card, other: Card, found: Contrast) -> Markup:
    heading = element("h3", f"{first.label} beside {other.label}: in these tables A and B")
    said = element("ul", [element("li", line) for line in contrasts.heading(found)], class_="notes")
    return element(
        "section", heading, said, [folded(part, unfolded=True) for part in contrasts.tables(found)], class_="against"
    )
