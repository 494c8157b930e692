"""One line an experiment to paste into a chat or an issue: `PASTE <experiment> <device slug> | field | field …`.

The form is stable, since people and scripts search for it: fields are parted by " | ", figures have units, and a line
stays below 200 characters.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from roofline.model import Measurement
from roofline.report import Report
from roofline.report.experiments import DialPoint, dial_points, dial_ridges
from roofline.report.hierarchy import nearest
from roofline.report.levels import footprint_fields, levels_fields
from roofline.report.text import shortened
from roofline.rooflines import unit_of
from roofline.units import percent, si

LONGEST = 199
SLUG_WIDTH = 60
FIELD_WIDTH = 60


def paste_lines(report: Report) -> list[str]:
    """A line for each experiment that measured something, and one for the claims."""
    experiments = {measurement.key.experiment: None for measurement in report.measurements}
    fields = {name: list(_fields(report, name)) for name in experiments}
    if report.claims:
        fields["claims"] = _claims(report)
    warning = [] if report.complete else ["INCOMPLETE"]
    return [paste(name, report.device.slug, [*warning, *shown]) for name, shown in fields.items()]


def paste(experiment: str, slug: str, fields: Sequence[str]) -> str:
    """The line of one experiment; fields that do not fit are counted."""
    line = f"PASTE {shortened(experiment, 30)} {shortened(slug, SLUG_WIDTH)}"
    for done, field in enumerate(fields):
        longer = f"{line} | {shortened(field, FIELD_WIDTH)}"
        rest = f" | and {len(fields) - done} more"
        if len(longer) + len(rest) > LONGEST:
            return line + rest
        line = longer
    return line


def _fields(report: Report, experiment: str) -> Iterator[str]:
    own = {"dial": _dial, "dram": _dram, "chains": _chains, "launch": _launch}
    own |= {"levels": levels_fields, "footprint": footprint_fields}
    return own[experiment](report) if experiment in own else _others(report, experiment)


def _dial(report: Report) -> Iterator[str]:
    points, ridges = dial_points(report), dial_ridges(report)
    for unit in sorted({point.measurement.work.unit for point in points}):
        best = max(_flops(point.measurement) for point in points if point.measurement.work.unit == unit)
        yield f"{unit} best {si(best, 'FLOP/s')}"
    for stores in sorted({point.stores for point in points}):
        own = [point for point in points if point.stores == stores]
        ridge = f"ridge {si(ridges[stores].value, 'FLOP/B')}" if stores in ridges else "ridge unknown"
        yield f"{stores} {_best_bytes(own)} {ridge}"


def _best_bytes(points: Sequence[DialPoint]) -> str:
    return si(max(point.measurement.bytes_per_s().value for point in points), "B/s")


def _dram(report: Report) -> Iterator[str]:
    for measurement in report.of("dram"):
        yield f"{measurement.key.kernel} {si(measurement.bytes_per_s().value, 'B/s')}"


def _chains(report: Report) -> Iterator[str]:
    for measurement in sorted(report.of("chains"), key=_flops, reverse=True):
        yield f"{measurement.key.kernel} {si(_flops(measurement), 'FLOP/s')}"


def _flops(measurement: Measurement) -> float:
    return measurement.flop_per_s.value


def _launch(report: Report) -> Iterator[str]:
    for measurement in report.of("launch"):
        yield f"{measurement.key.kernel} {si(measurement.seconds.value, 's')}"


def _others(report: Report, experiment: str) -> Iterator[str]:
    for measurement in report.of(experiment):
        point = report.points.get(measurement.key)
        work = measurement.work
        moved = si(measurement.bytes_per_s().value, "B/s") if work.moved("dram") else si(measurement.seconds.value, "s")
        rate = si(_flops(measurement), unit_of(work.unit)) if work.flops else moved
        name = measurement.key.kernel + (f" {measurement.key.fill}" if measurement.key.fill == "zeros" else "")
        if point and len(point.intensities) > 1:
            yield f"{name} {rate}, nearest {nearest(point, most=2)}"
        else:
            yield f"{name} {rate}" + (f" ({percent(point.fraction)} of roof)" if point else "")


def _claims(report: Report) -> list[str]:
    counts = Counter(claim.outcome for claim in report.claims)
    totals = [f"{count} {outcome}" for outcome, count in sorted(counts.items())]
    return [*totals, *(f"refuted {claim.id}" for claim in report.claims if claim.outcome == "refuted")]
