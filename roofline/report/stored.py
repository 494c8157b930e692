"""A record as the run that made it printed it, and a spec sheet as what it is."""

from collections.abc import Iterator, Sequence

from roofline.record import Record, Run
from roofline.report import Report
from roofline.report.plot_text import BOX, Signs, plot
from roofline.report.tables import Column, Paint, Table, formatted, unpainted, wrapped
from roofline.report.terminal import summary
from roofline.report.text import figure, one_line
from roofline.rooflines import unit_of
from roofline.specsheets import SpecSheet
from roofline.units import si

# How a claim names the stored baseline that it was judged by.
BASELINE = "baseline "
FACTS = {
    "sms": ("SMs", ""),
    "clock_hz": ("boost clock", "Hz"),
    "tensor_clock_hz": ("boost clock, tensor", "Hz"),
    "l2_bytes": ("L2", "B"),
    "bus_bits": ("memory bus in bit", ""),
}


def record_text(record: Record, paint: Paint = unpainted, signs: Signs = BOX) -> str:
    """Where a run is kept and when it was made, a small roofline, and the summary that it ended with."""
    dated = f"{record.created:%Y-%m-%d %H:%M} {record.created.tzname() or ''}".strip()
    report = report_of(record)
    head = wrapped(f"RECORD {record.name}, made {dated}")
    return "\n\n".join(filter(None, (head, plot(report, paint, signs), summary(report, paint))))


def report_of(record: Record) -> Report:
    """Everything that a report shows of a run, out of its record."""
    sources = (claim.expected.source for claim in record.run.claims if claim.expected)
    baseline = next((source.removeprefix(BASELINE) for source in sources if source.startswith(BASELINE)), None)
    return report_on(record.run, baseline)


def report_on(run: Run, baseline: str | None, notes: Sequence[str] = ()) -> Report:
    """Everything that a report shows of a run that was judged by `baseline`."""
    return Report(
        device=run.device,
        environment=run.environment,
        ceilings=run.ceilings,
        measurements=run.measurements,
        points=run.points,
        ridges=run.ridges,
        claims=run.claims,
        absent=run.absent,
        complete=run.complete,
        missing=run.missing,
        notes=notes,
        baseline=baseline,
    )


def sheet_text(sheet: SpecSheet, paint: Paint = unpainted) -> str:
    """A spec sheet, figure by figure with its source."""
    table = Table(
        title=f"SPECIFICATION   {one_line(sheet.name)} ({sheet.slug}): what its maker promises, not a measurement",
        columns=[Column("what", 28), Column("promised", 14, "right"), Column("source", 50)],
        rows=list(_rows(sheet)),
        notes=["tensor rates are dense", *_addresses(sheet)],
    )
    return formatted(table, paint)


def _rows(sheet: SpecSheet) -> Iterator[tuple[str, str, str]]:
    for resource, promised in sheet.rates.items():
        yield resource, figure(promised.value, unit_of(resource)), _short(sheet, resource)
    for fact, promised in sheet.facts.items():
        name, unit = FACTS.get(fact, (fact, ""))
        yield name, si(promised.value, unit, 4) if unit else f"{promised.value:g}", _short(sheet, fact)


def _short(sheet: SpecSheet, name: str) -> str:
    promised = {**sheet.rates, **sheet.facts}[name]
    return f"{promised.formula} ({promised.source})" if promised.formula else promised.source


def _addresses(sheet: SpecSheet) -> Iterator[str]:
    for name, source in sheet.sources.items():
        yield f"{name}: {source.title}{f', {source.url}' if source.url else ''}"
