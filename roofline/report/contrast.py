"""Two cards side by side as tables: ceilings, ridges, kernels, and the flip table of what binds them."""

from collections.abc import Sequence

from roofline.contrast import CeilingPair, Contrast, KernelPair, RidgePair, Side, Standing
from roofline.model import Estimate
from roofline.report.markdown import escaped
from roofline.report.markdown import markdown as as_markdown
from roofline.report.tables import Column, Paint, Table, formatted, unpainted, wrapped
from roofline.report.text import between, figure, one_line, shortened
from roofline.units import UNKNOWN, percent, scaled, si

NAME_WIDTH = 60
NOTHING = "-"
# What the model says of a card where a kernel was not measured there.
BY_THE_MODEL = "* by the model, from that card's ceilings: the kernel was not measured there"


def text(found: Contrast, paint: Paint = unpainted) -> str:
    """The whole contrast in at most 100 columns."""
    parts = ["\n".join([paint("TWO CARDS", "heading"), *map(wrapped, heading(found))])]
    parts += [formatted(table, paint) for table in tables(found)]
    return "\n\n".join(parts)


def markdown(found: Contrast) -> str:
    """The whole contrast as Markdown."""
    parts = ["**TWO CARDS**", *map(escaped, heading(found)), *map(as_markdown, tables(found))]
    return "\n\n".join(parts)


def heading(found: Contrast) -> list[str]:
    """Which card is A and which B, and what a person should know before reading figures."""
    return [f"A: {described(found.first)}", f"B: {described(found.second)}", *map(one_line, found.notes)]


def described(side: Side) -> str:
    """A card, and where its figures are from."""
    kind = "specification" if side.specification else f"measured {side.dated}"
    return f"{shortened(side.name, NAME_WIDTH)} ({shortened(side.label, NAME_WIDTH)}, {kind})"


def tables(found: Contrast) -> list[Table]:
    """Every table that has something to say; the flip table also says that nothing flips."""
    built = [_ceilings(found.ceilings), _ridges(found.ridges), _kernels(found), _flips(found)]
    return [table for table in built if table.rows or table.notes]


def _ceilings(pairs: Sequence[CeilingPair]) -> Table:
    rows = [
        (
            pair.resource,
            figure(pair.first.rate, pair.first.unit),
            figure(pair.second.rate, pair.second.unit),
            times(pair.ratio),
        )
        for pair in pairs
    ]
    return Table(
        title="CEILINGS   what both cards have; B / A says how many times as fast B is, of launches too",
        columns=[
            Column("resource", 28),
            Column("A", 16, "right"),
            Column("B", 16, "right"),
            Column("B / A", 24, "right"),
        ],
        rows=rows,
        notes=[] if rows else ["no resource was measured or promised on both"],
    )


def _ridges(pairs: Sequence[RidgePair]) -> Table:
    return Table(
        title="RIDGES   the intensity from which the unit binds and no longer DRAM",
        columns=[
            Column("unit / slope", 32),
            Column("A", 14, "right"),
            Column("B", 14, "right"),
            Column("B / A", 24, "right"),
        ],
        rows=[
            (pair.name, si(pair.first.value, "FLOP/B"), si(pair.second.value, "FLOP/B"), times(pair.shift))
            for pair in pairs
        ],
    )


def _kernels(found: Contrast) -> Table:
    rows = [
        (
            _name(pair),
            *_reached(pair.first),
            *_reached(pair.second),
            times(pair.ratio) if pair.ratio else f"unknown: {pair.why}",
        )
        for pair in found.both
    ]
    return Table(
        title="KERNELS   measured on both cards; % roof is of each card's own roof above the point",
        columns=[
            Column("\nkernel", 26),
            Column("\nA", 14, "right"),
            Column("\n% roof", 8, "right"),
            Column("\nB", 14, "right"),
            Column("\n% roof", 8, "right"),
            Column("\nB / A", 20, "right"),
        ],
        rows=rows,
        notes=_alone(found),
    )


def _alone(found: Contrast) -> list[str]:
    """How many kernels only one card measured."""
    counts = {
        "A": sum(pair.first.measured and not pair.second.measured for pair in found.kernels),
        "B": sum(pair.second.measured and not pair.first.measured for pair in found.kernels),
    }
    return [f"{count} kernels were measured on {name} alone" for name, count in counts.items() if count]


def _flips(found: Contrast) -> Table:
    rows = [
        (
            _name(pair),
            scaled(pair.intensity, "FLOP/B") if pair.intensity is not None else NOTHING,
            _bound(pair.first),
            _bound(pair.second),
        )
        for pair in found.flips
    ]
    if not found.kernels:
        notes = ["no kernel was measured on either"]
    elif not rows:
        notes = [f"nothing: the same binds each of {len(found.kernels)} kernels on both cards, where it is known"]
    else:
        notes = [BY_THE_MODEL] if any("*" in cell for row in rows for cell in row[2:]) else []
    return Table(
        title="FLIPS   kernels that something else binds on the other card",
        columns=[
            Column("kernel", 36),
            Column("FLOP/B", 8, "right"),
            Column("bound on A by", 22),
            Column("on B by", 22),
        ],
        rows=rows,
        notes=notes,
    )


def _name(pair: KernelPair) -> str:
    fill = f" {pair.key.fill}" if pair.key.fill == "zeros" else ""
    return shortened(f"{pair.key.experiment}/{pair.key.kernel}{fill}", NAME_WIDTH)


def _reached(standing: Standing) -> tuple[str, str]:
    rate = figure(standing.rate.value if standing.rate else None, standing.unit)
    return rate, percent(standing.fraction) if standing.fraction is not None else NOTHING


def _bound(standing: Standing) -> str:
    return f"{standing.bound_by or UNKNOWN}{'' if standing.measured else ' *'}"


def times(ratio: Estimate) -> str:
    """How many times as fast, with the interval that noise leaves open."""
    value, interval = si(ratio.value, ""), between(ratio.low, ratio.high, "")
    return f"{value} ×" if interval == value else f"{value} × ({interval})"
