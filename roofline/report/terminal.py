"""The summary at the end of a run, as text of at most 100 columns. Whoever calls prints it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from roofline.model import Measurement
from roofline.report import Report
from roofline.report.diagnosis import diagnosis_table
from roofline.report.experiments import experiment_tables
from roofline.report.paste import paste_lines
from roofline.report.tables import WIDTH, Paint, Table, formatted, unpainted, wrapped
from roofline.report.text import one_line, shortened
from roofline.report.verdicts import above_roof_table, absent_summary, ceilings_table, claims_summary, flagged
from roofline.units import UNKNOWN, percent, si

LABEL_WIDTH = 14


def summary(report: Report, paint: Paint = unpainted) -> str:
    """The whole summary. `paint(text, style)` may colour headings and outcomes; by itself the text has no colour."""
    parts = [*_incomplete(report, paint), _device(report, paint)]
    parts += [formatted(table, paint) for table in _tables(report)]
    parts.append("\n".join([paint("PASTE   one line an experiment", "heading"), *paste_lines(report)]))
    parts += _incomplete(report, paint)
    return "\n\n".join(parts)


def _tables(report: Report) -> Iterator[Table]:
    """Every table that has something to say; ceilings and claims also say that there are none."""
    yield _or_none(ceilings_table(report), "no ceiling was measured")
    yield from experiment_tables(report)
    for table in (diagnosis_table(report), above_roof_table(report), absent_summary(report.absent)):
        if table.rows:
            yield table
    yield _or_none(claims_summary(report), "no claim was judged")


def _or_none(table: Table, remark: str) -> Table:
    return table if table.rows else Table(table.title, (), (), [remark])


def _incomplete(report: Report, paint: Paint) -> list[str]:
    """A loud paragraph for a run that is not whole, nothing for one that is."""
    if report.complete:
        return []
    lines = [paint("INCOMPLETE RUN: what stands here was measured, the rest was not; it is no baseline.", "bad")]
    lines += [wrapped(f"missing: {what}", indent="  ") for what in _grouped(report.missing) or ("nobody knows what",)]
    return ["\n".join(lines)]


def _grouped(missing: Sequence[str]) -> list[str]:
    """What is missing, tests of one module in one line."""
    tests = Counter(what.partition("::")[0] for what in missing if "::" in what)
    others = [what for what in missing if "::" not in what]
    return [*others, *(f"{count} tests of {module}" for module, count in tests.items())]


def _device(report: Report, paint: Paint) -> str:
    lines = [paint("DEVICE", "heading")]
    facts = [*_identity(report), *_state(report), *(("note", note) for note in report.notes)]
    return "\n".join([*lines, *(_labelled(label, text) for label, text in facts)])


def _labelled(label: str, text: str) -> str:
    label = shortened(label, LABEL_WIDTH - 2)
    return wrapped(f"{label:<{LABEL_WIDTH}}{one_line(text)}", WIDTH, " " * LABEL_WIDTH)


def _identity(report: Report) -> Iterator[tuple[str, str]]:
    device = report.device
    yield "name", shortened(device.name, 160)
    yield "slug", shortened(device.slug, 160)
    yield "kind", f"{device.kind}, {device.architecture or UNKNOWN}"
    yield "cores", f"{device.cores} {'SMs' if device.kind == 'cuda' else 'in use'}"
    yield "last cache", si(device.cache_bytes, "B")
    if device.kind == "cuda":
        yield "memory", f"{device.memory_class or UNKNOWN}, bus {device.bus_bits or UNKNOWN} bit"
    if device.mig_profile:
        yield "MIG profile", device.mig_profile


def _state(report: Report) -> Iterator[tuple[str, str]]:
    yield "clock", _clock(report)
    yield "other load", _disturbance(report)
    yield from flagged(report.measurements)
    yield "state", _facts(report.environment.state)
    yield "environment", _facts(report.environment.facts)
    yield "judged by", report.baseline or "family and formula: no baseline of this model"


def _clock(report: Report) -> str:
    clocks = [measurement.samples.clock_hz for measurement in report.measurements if measurement.samples.clock_hz]
    if not clocks:
        return f"{UNKNOWN} during the run"
    middle = median(clock.median for clock in clocks)
    least, greatest = min(clock.min for clock in clocks), max(clock.max for clock in clocks)
    return f"{si(middle, 'Hz')} during the run ({si(least, 'Hz')} … {si(greatest, 'Hz')})"


def _disturbance(report: Report) -> str:
    known = [m for m in report.measurements if m.samples.disturbed is not None]
    if not known:
        return UNKNOWN
    worst = max(known, key=_disturbed)
    if not _disturbed(worst):
        return "none"
    middle = median(_disturbed(measurement) for measurement in known)
    name = shortened(worst.key.kernel, 40)
    return f"{percent(middle, 2)} of the machine (median), at most {percent(_disturbed(worst), 2)} (during {name})"


def _disturbed(measurement: Measurement) -> float:
    return measurement.samples.disturbed or 0.0


def _facts(facts: Mapping[str, str | float | int | bool | None]) -> str:
    """Facts in one line; a missing one says so."""
    return ", ".join(f"{name} {_fact(value)}" for name, value in facts.items()) or UNKNOWN


def _fact(value: str | float | int | bool | None) -> str:
    if value is None or value == "":
        return UNKNOWN if value is None else "none"
    return f"{value:.6g}" if isinstance(value, float) else shortened(str(value), 80)
