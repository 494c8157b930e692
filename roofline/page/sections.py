"""The parts of the page that stand without a script: what binds vecadd, each card's tables, its state, and the rest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from roofline.contrast import binding
from roofline.counting import vecadd
from roofline.model import Ceiling
from roofline.page.card import Card
from roofline.page.embedding import LIBRARY_LICENSE, asset
from roofline.page.markup import Child, Markup, element, joined
from roofline.page.presets import TWO_READS_A_WRITE, mixed
from roofline.page.tables import folded, table
from roofline.record import Record
from roofline.report.diagnosis import diagnosis_table
from roofline.report.experiments import experiment_tables
from roofline.report.paste import paste_lines
from roofline.report.scene import scene
from roofline.report.tables import Table
from roofline.report.text import figure, listed, shortened
from roofline.report.verdicts import above_roof_table, absent_table, ceilings_table, claims_table, flagged
from roofline.specsheets import SpecSheet
from roofline.units import UNKNOWN, percent, si

# What a visitor wants to see of a card at once, where it has it.
HEADLINES = {
    "dram": "memory (DRAM)",
    "fp32": "FP32 arithmetic",
    "tensor_fp16_fp32acc": "FP16 tensor cores",
    "launch": "one launch",
}
Facts = Mapping[str, str | float | int | bool | None]


def glance(card: Card) -> Markup:
    """A card in one look: its headline figures, and what binds the simplest kernel there is, with the reason."""
    tiles = [_tile(name, card.report.ceilings[r]) for r, name in HEADLINES.items() if r in card.report.ceilings]
    ridge = card.report.ridges.get("fp32/dram")
    if ridge:
        tiles.append(_figure("ridge, FP32", si(ridge.value, "FLOP/B"), "left of it memory binds, right arithmetic"))
    parts = [
        element("h3", card.label),
        element("div", tiles, class_="tiles"),
        element("p", simplest(card), class_="lead"),
    ]
    if not card.report.complete:
        lacking = listed([shortened(what, 100) for what in card.report.missing], 4) or "nobody knows what"
        parts.insert(1, element("p", f"Incomplete run, no baseline. It lacks: {lacking}.", class_="warning"))
    return element("article", parts, class_="glance")


def _tile(name: str, ceiling: Ceiling) -> Markup:
    if ceiling.source == "specification":
        return _figure(name, figure(ceiling.rate, ceiling.unit), "promised, not measured")
    nominal = ceiling.nominal
    below = f"{percent(ceiling.rate / nominal.rate)} of nominal" if nominal else "nominal unknown"
    return _figure(name, figure(ceiling.rate, ceiling.unit), "empty kernel" if ceiling.unit == "s" else below)


def _figure(name: str, value: str, below: str) -> Markup:
    parts = (element("dt", name), element("dd", value, class_="value"), element("dd", below, class_="below"))
    return element("dl", parts, class_="tile")


def simplest(card: Card) -> str:
    """Which ceiling binds vecadd on a card, and why, in plain words."""
    roofline = card.roofline
    slope = next((name for name in (TWO_READS_A_WRITE, "dram") if name in roofline.ceilings), "dram")
    work = mixed(vecadd(1), slope)
    if binding(roofline, work) is None:
        lacking = [name for name in (slope, work.unit) if name not in roofline.ceilings]
        return f"What binds vecadd here is unknown: no ceiling of {' or '.join(lacking)} is known."
    attainable, bound = roofline.attainable(work.intensity("dram"), work.unit, slope)
    memory, unit = roofline.ceiling(slope), roofline.ceiling(work.unit)
    mix = "" if slope == "dram" else " (two reads for each write)"
    begin = (
        f"Adding two vectors (vecadd) does 1 FLOP for every {work.moved('dram'):.0f} bytes. Memory moves "
        f"{si(memory.rate, memory.unit)}{mix} and the FP32 units do {si(unit.rate, unit.unit)}, so "
    )
    if bound != slope:
        return f"{begin}arithmetic ({bound}) binds it: at most {si(attainable.value, unit.unit)}."
    return (
        f"{begin}memory binds it: at most {si(attainable.value, unit.unit)}, {percent(attainable.value / unit.rate)} "
        "of what the units could do. They wait for bytes; only moving fewer bytes, or faster memory, helps."
    )


def remarks(cards: Sequence[Card]) -> Markup:
    """What the chart does not show of each card, and why."""
    named = len(cards) > 1
    lines = [f"{card.letter}: {said}" if named else said for card in cards for said in scene(card.report).remarks]
    return element("ul", [element("li", line) for line in lines], class_="notes")


def details(card: Card) -> Markup:
    """Everything that a card's run says of itself."""
    parts: list[Child] = [element("h2", card.label)]
    if isinstance(card.source, SpecSheet):
        return element("section", parts, _sheet(card.source), class_="card")
    report = card.report
    parts.append(folded(ceilings_table(report), unfolded=True))
    parts.append(_folded_claims(claims_table(report)))
    parts += [folded(found) for found in experiment_tables(report)]
    diagnosis = diagnosis_table(report)
    parts += [folded(diagnosis, unfolded=True)] if diagnosis.rows else []
    parts += [table(found) for found in (above_roof_table(report), absent_table(report.absent)) if found.rows]
    parts += [_state(card), _provenance(card), _paste(card)]
    return element("section", parts, class_="card")


def _folded_claims(found: Table) -> Markup:
    if not found.rows:
        return element("p", "No claim was judged in this run.", class_="about")
    return folded(
        replace(found, notes=["stated before the run, and judged after it with the noise of both"]), unfolded=True
    )


def _state(card: Card) -> Markup:
    report = card.report
    device = report.device
    identity = {
        "device": device.name,
        "kind": f"{device.kind}, {device.architecture or UNKNOWN}",
        "cores": f"{device.cores} {'SMs' if device.kind == 'cuda' else 'in use'}",
        "last cache before DRAM": si(device.cache_bytes, "B"),
        "memory": device.memory_class,
        "MIG profile": device.mig_profile,
    }
    series = dict(flagged(report.measurements))
    return element(
        "details",
        element("summary", element("span", "State of the machine", class_="name"), " — how it was that day"),
        _facts("What it is", identity),
        _facts("What must be the same for two runs to be compared", report.environment.state),
        _facts("What was the case besides", report.environment.facts),
        _facts("Series that were not steady", series) if series else "",
    )


def _facts(title: str, facts: Facts) -> Markup:
    pairs = [(element("dt", shortened(name, 60)), element("dd", _fact(value))) for name, value in facts.items()]
    return joined([element("h3", title), element("dl", pairs, class_="facts") if pairs else element("p", UNKNOWN)])


def _fact(value: str | float | int | bool | None) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else shortened(str(value), 200) or "none"


def _provenance(card: Card) -> Markup:
    source = card.source
    assert isinstance(source, Record)
    run = source.run
    facts: Facts = {
        "record": source.name,
        "made": f"{source.created:%Y-%m-%d %H:%M} {source.created.tzname() or ''}".strip(),
        "whole": "yes" if run.complete else f"no: {listed([shortened(what, 100) for what in run.missing], 6)}",
        "this very unit (hash)": run.unit or UNKNOWN,
        "judged by": card.report.baseline or "family and formula: no baseline of this model",
        "rows": len(run.measurements),
    }
    commands = "\n".join(
        [
            f"pytest {run.selection}".strip(),
            "pytest -m bench --benchmark-save       # store it",
            "pytest -m bench --roofline-compare     # later: is anything slower?",
        ]
    )
    return element(
        "details",
        element("summary", element("span", "Where this is from, and how to do it again", class_="name")),
        _facts("Provenance", facts),
        element("h3", "How to reproduce it"),
        element("p", "On the same card, in a checkout of the suite (selection as it was in this run):"),
        _lines(commands),
    )


def _lines(text: str) -> Markup:
    lines = [joined([line, Markup("\n")]) for line in text.split("\n")]
    return element("pre", element("code", lines), class_="frame", tabindex="0", role="group", aria_label="commands")


def _paste(card: Card) -> Markup:
    lines = "\n".join(paste_lines(card.report))
    summary = element("summary", element("span", "Lines to paste", class_="name"), " — one an experiment")
    return element("details", summary, _lines(lines))


def _sheet(sheet: SpecSheet) -> Iterator[Markup]:
    yield element("p", "A specification: what the maker promises, dense, and not a measurement.", class_="about")
    promised = {**sheet.rates, **sheet.facts}
    yield _facts("Sources", {name: sheet.cited(value) for name, value in promised.items()})


def absent_note(cards: Sequence[Card]) -> Markup:
    """Whether anything that was meant has no figure; the tables below name it."""
    count = sum(len(card.report.absent) for card in cards)
    said = f"{count} rows have no figure; each is listed with its reason below." if count else "Every row has a figure."
    return element("p", said, class_="about")


def licences() -> Markup:
    """The licence of the library that draws, as its terms ask."""
    lines = asset(LIBRARY_LICENSE).strip().split("\n")
    text = element("pre", [joined([line, Markup("\n")]) for line in lines], class_="frame", tabindex="0")
    summary = element("summary", element("span", "Licences", class_="name"))
    return element(
        "details", summary, element("p", "Drawn with D3, which is part of this file under these terms:"), text
    )
