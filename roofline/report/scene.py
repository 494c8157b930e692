"""What a roofline chart shows, decided without drawing: lines, points, ridges, limits, and what is left out and why."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from roofline.model import (
    BYTES_PER_SECOND,
    OP_PER_SECOND,
    SECONDS,
    Absent,
    Ceiling,
    Estimate,
    Measurement,
    Point,
    RowKey,
)
from roofline.report import Report
from roofline.report.experiments import OWN_TABLES, dial_setting
from roofline.report.hierarchy import nearest
from roofline.report.lines import is_lower
from roofline.report.text import row_name, shortened
from roofline.rooflines import unit_of
from roofline.units import percent, scaled

# More lines than these have no room for their names beside one another.
MOST_ROOFS = 32
MOST_RIDGES = 5
NAME_WIDTH = 60
# More rows of one experiment than these are left out by their number: the tables have their names.
MOST_NAMES = 2
# Room around the outermost points, as factors: on the left for the names of the slopes.
LEFT, RIGHT, BELOW, ABOVE = 12.0, 2.0, 1.6, 1.7
LEAST_DECADES = 3.0
EMPTY_LIMITS = (0.1, 1000.0)


@dataclass(frozen=True)
class Line:
    """A ceiling that is drawn: a slope (B/s) or a flat roof (FLOP/s, OP/s).

    A primary one judges points; a lower one is what a habit of code leaves of a unit or a level.
    """

    resource: str
    rate: float
    unit: str
    primary: bool
    lower: bool


@dataclass(frozen=True)
class Mark:
    """A point of the chart: `group` shares a marker and a colour, `named` ones carry their own name.

    `elsewhere` holds its intensity at the levels that do not limit it, where it is drawn again, smaller.
    """

    name: str
    group: str
    intensity: float
    flop_per_s: Estimate
    judged_by: Sequence[str]
    named: bool
    above: str = ""
    elsewhere: Sequence[tuple[str, float]] = ()
    nearest: str = ""
    key: RowKey | None = None


@dataclass(frozen=True)
class Corner:
    """A ridge: where a slope meets a roof."""

    name: str
    intensity: float
    flop_per_s: float


@dataclass(frozen=True)
class LeftOut:
    """A row without a point: the reason in full, and in the few words by which a caption groups it."""

    key: RowKey
    reason: str
    group: str

    @property
    def name(self) -> str:
        """The row, as a remark names it."""
        return shortened(row_name(self.key), NAME_WIDTH)


@dataclass(frozen=True)
class Scene:
    """Everything on the chart in data units, with limits that hold all of it, and the remarks below it.

    `above`, `asides` (on units and what lacks), `unmarked` ridges, `roomless` roofs and `left_out` rows are what the
    remarks are made of.
    """

    slopes: Sequence[Line]
    roofs: Sequence[Line]
    marks: Sequence[Mark]
    corners: Sequence[Corner]
    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    remarks: Sequence[str]
    above: Sequence[str] = ()
    asides: Sequence[str] = ()
    unmarked: Sequence[str] = ()
    roomless: Sequence[str] = ()
    left_out: Sequence[LeftOut] = ()


def scene(report: Report) -> Scene:
    """What is drawn of a report."""
    marks, left_out = _marks(report)
    judging = _judging(report, marks)
    slopes = _slopes(report.ceilings, judging)
    roofs, roomless = _roofs(report.ceilings, judging)
    corners, unmarked = _corners(report, slopes, roofs, judging)
    intensities = [intensity for mark in marks for intensity in (mark.intensity, *(i for _, i in mark.elsewhere))]
    x_limits = _limits(intensities + [corner.intensity for corner in corners])
    above, asides = list(_above(marks)), [*_integers(roofs), *_lacking(slopes, roofs)]
    missing = [*_named_rest("roofs not drawn, for want of room", roomless), *_named_rest("ridges not marked", unmarked)]
    return Scene(
        slopes=slopes,
        roofs=roofs,
        marks=marks,
        corners=corners,
        x_limits=x_limits,
        y_limits=_y_limits(marks, corners, slopes, roofs, x_limits),
        remarks=[*above, *_by_level(marks), *_not_drawn(left_out), *missing, *asides],
        above=above,
        asides=asides,
        unmarked=unmarked,
        roomless=roomless,
        left_out=left_out,
    )


def _named_rest(what: str, names: Sequence[str]) -> list[str]:
    return [f"{what}: {', '.join(names)}"] if names else []


def _marks(report: Report) -> tuple[list[Mark], list[LeftOut]]:
    """The points that can be drawn, and the reason of each that cannot."""
    marks, left_out = [], []
    for measurement in report.measurements:
        point = report.points.get(measurement.key)
        reason, group = _why_not(measurement, point)
        if point and not reason:
            marks.append(_mark(measurement, point))
        else:
            left_out.append(LeftOut(measurement.key, reason, group))
    left_out += [LeftOut(row.key, _why_absent(row), "absent") for row in report.absent]
    return marks, left_out


def _why_absent(row: Absent) -> str:
    return f"there is no figure ({row.status}: {shortened(row.reason, 200)})"


def _why_not(measurement: Measurement, point: Point | None) -> tuple[str, str]:
    """Why a measurement has no place on log-log axes, in full and in a few words; empty where it has one."""
    if _measures_a_line(measurement):
        return "they measure ceilings, which are lines", "ceilings"
    if not measurement.work.flops:
        return "0 FLOP are done (intensity 0)", "0 FLOP"
    if not point and measurement.key.fill == "zeros":
        return "on zeros a device clocks higher than the roof of random data", "zeros"
    if not point:
        return "no ceiling above is known", "no ceiling above"
    if measurement.key.experiment in OWN_TABLES and measurement.key.experiment != "dial":
        return "they show how a line is reached: their table has them", "sweeps"
    if math.isinf(point.intensity):
        return "0 bytes are moved (infinite intensity)", "0 bytes"
    if not _drawable(point.intensity) or not _drawable(measurement.flop_per_s.value):
        return "intensity or rate is no positive number", "no positive number"
    return "", ""


def _measures_a_line(measurement: Measurement) -> bool:
    """Whether a measurement is a candidate for a slope, or for a roof without being a point under a slope as well."""
    units = {unit_of(resource) for resource in measurement.measures} - {SECONDS}
    return BYTES_PER_SECOND in units or (bool(units) and not measurement.work.moved("dram"))


def _drawable(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _mark(measurement: Measurement, point: Point) -> Mark:
    setting = dial_setting(measurement.key.kernel) if measurement.key.experiment == "dial" else None
    group = measurement.key.experiment
    if setting and setting[1] != "plain":
        group = f"dial, {setting[1]}"
    above = f"{percent(point.fraction)} of {point.bound_by}" if point.regime == "above-roof" else ""
    return Mark(
        name=shortened(measurement.key.kernel, NAME_WIDTH),
        group=shortened(group, NAME_WIDTH),
        intensity=point.intensity,
        flop_per_s=measurement.flop_per_s,
        judged_by=(point.bound_by, *(name for name, _ in point.nearest)),
        named=setting is None,
        above=above,
        elsewhere=[(level, i) for level, i in point.intensities.items() if level != point.level and _drawable(i)],
        nearest=nearest(point) if len(point.intensities) > 1 else "",
        key=measurement.key,
    )


def _judging(report: Report, marks: Sequence[Mark]) -> set[str]:
    """The ceilings that a drawn point is judged by; of a chart without points, those that meet at a ridge."""
    if not marks:
        return {part for ridge in report.ridges for part in ridge.split("/")}
    return set().union(*(mark.judged_by for mark in marks))


def _slopes(ceilings: Mapping[str, Ceiling], judging: set[str]) -> list[Line]:
    """The bandwidths that points use; of a memory level that none uses, the level's own; and what lies below one."""
    bandwidths = {name: c for name, c in ceilings.items() if c.unit == BYTES_PER_SECOND and _drawable(c.rate)}
    used = {name for name in bandwidths if name in judging}
    levels = {name.split("_")[0] for name in used}
    idle = {name for name in bandwidths if is_lower(name) or ("_" not in name and name not in levels)}
    shown = used | idle or set(bandwidths)
    shown -= {level for level in levels if any(_same_line(ceilings, level, name) for name in shown)}
    lines = [_line(ceiling, name in used) for name, ceiling in bandwidths.items() if name in shown]
    return sorted(lines, key=lambda line: -line.rate)


def _line(ceiling: Ceiling, primary: bool) -> Line:
    return Line(ceiling.resource, ceiling.rate, ceiling.unit, primary, is_lower(ceiling.resource))


def _same_line(ceilings: Mapping[str, Ceiling], level: str, name: str) -> bool:
    """Whether a level's own ceiling is that of one of its mixes under another name ("dram" and "dram_update")."""
    return level in ceilings and name.startswith(f"{level}_") and ceilings[name].rate == ceilings[level].rate


def _roofs(ceilings: Mapping[str, Ceiling], judging: set[str]) -> tuple[list[Line], list[str]]:
    """The compute ceilings, those that judge points first where there are too many, and the names of the rest."""
    lines = [
        _line(ceiling, name in judging)
        for name, ceiling in ceilings.items()
        if ceiling.unit not in (BYTES_PER_SECOND, SECONDS) and _drawable(ceiling.rate)
    ]
    lines.sort(key=lambda line: (not line.primary, line.lower, -line.rate))
    rest = [line.resource for line in lines[MOST_ROOFS:]]
    return sorted(lines[:MOST_ROOFS], key=lambda line: -line.rate), rest


def _corners(
    report: Report, slopes: Sequence[Line], roofs: Sequence[Line], judging: set[str]
) -> tuple[list[Corner], list[str]]:
    """The ridges whose slope and roof are both drawn, from the left, and the names of the rest.

    Where there are too many, those between lines that judge points come first.
    """
    drawn, rates = {line.resource for line in slopes}, {line.resource: line.rate for line in roofs}
    corners = []
    for name, ridge in report.ridges.items():
        unit, _, slope = name.partition("/")
        if unit in rates and slope in drawn and _drawable(ridge.value):
            corners.append(Corner(name, ridge.value, rates[unit]))
    corners.sort(key=lambda corner: (not judging.issuperset(corner.name.split("/")), corner.intensity))
    shown = sorted(corners[:MOST_RIDGES], key=lambda corner: corner.intensity)
    marked = {corner.name for corner in shown}
    twins = {name for name in report.ridges if name.partition("/")[2] not in drawn}
    return shown, [name for name in report.ridges if name not in marked | twins]


def _limits(intensities: Sequence[float]) -> tuple[float, float]:
    """From left of the least to right of the greatest, and no less than three decades."""
    if not intensities:
        return EMPTY_LIMITS
    low, high = min(intensities) / LEFT, max(intensities) * RIGHT
    return low, max(high, low * 10**LEAST_DECADES)


def _y_limits(
    marks: Sequence[Mark],
    corners: Sequence[Corner],
    slopes: Sequence[Line],
    roofs: Sequence[Line],
    x_limits: tuple[float, float],
) -> tuple[float, float]:
    """Around every roof, ridge and point with its interval, and low enough that the slopes show their names."""
    values = [line.rate for line in roofs] + [corner.flop_per_s for corner in corners]
    values += [bound for mark in marks for bound in (mark.flop_per_s.low, mark.flop_per_s.high) if _drawable(bound)]
    values += [mark.flop_per_s.value for mark in marks]
    values += [line.rate * x_limits[0] * 2 for line in slopes if not line.lower]
    if not values:
        return 1e9, 1e12
    low, high = min(values) / BELOW, max(values) * ABOVE
    return low, max(high, low * 10)


def _above(marks: Iterable[Mark]) -> Iterator[str]:
    found = [f"{mark.name} {mark.above}" for mark in marks if mark.above]
    if found:
        yield f"above its roof (ringed): {', '.join(found)}"


def _by_level(marks: Iterable[Mark]) -> Iterator[str]:
    """What limits each point that is drawn once a level, and where it lies at each."""
    for mark in marks:
        if mark.nearest:
            places = ", ".join(f"{level} {scaled(intensity, 'FLOP/B')}" for level, intensity in mark.elsewhere)
            yield f"{mark.name}, nearest: {mark.nearest}; small markers: {places} FLOP/B"


def _integers(roofs: Sequence[Line]) -> Iterator[str]:
    if any(roof.unit == OP_PER_SECOND for roof in roofs):
        yield "integer roofs are in OP/s, a multiply-add counting as 2, on the scale of FLOP/s"


def _not_drawn(left_out: Sequence[LeftOut]) -> Iterator[str]:
    """One remark for each reason, with every name, or the number of an experiment's where they are many."""
    for reason in dict.fromkeys(each.reason for each in left_out):
        experiments: dict[str, list[str]] = {}
        for each in left_out:
            if each.reason == reason:
                experiments.setdefault(each.key.experiment, []).append(each.name)
        listed = (_listed(experiment, names) for experiment, names in experiments.items())
        yield f"not drawn: {', '.join(listed)} because {reason}"


def _listed(experiment: str, names: Sequence[str]) -> str:
    return f"{len(names)} rows of {experiment}" if len(names) > MOST_NAMES else ", ".join(names)


def _lacking(slopes: Sequence[Line], roofs: Sequence[Line]) -> Iterator[str]:
    if not slopes:
        yield "no bandwidth ceiling is known, so there is no slope"
    if not roofs:
        yield "no compute ceiling is known, so there is no roof"
