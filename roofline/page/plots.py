"""The small plots of the page: sweeps that a record holds, each with the line that it is expected to meet."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from roofline.capacity import Reading, edges
from roofline.kernels import floor, in_flight, waves
from roofline.kernels.footprint import order_of, set_bytes
from roofline.model import Estimate, Measurement
from roofline.report import Report
from roofline.report.independence import cells
from roofline.report.levels import ORDERS
from roofline.report.text import row_name
from roofline.units import si

# Fewer points than these are no sweep.
FEWEST = 3
# Sweeps that have a plot with an axis of their own.
OWN_AXES = ("independence", "in_flight", "footprint", waves.EXPERIMENT)


@dataclass(frozen=True)
class Axis:
    """What a logarithmic axis shows, in a base unit; "" is a plain number."""

    name: str
    unit: str


@dataclass(frozen=True)
class Series:
    """Points that are joined by a line."""

    name: str
    points: Sequence[tuple[float, Estimate]]


@dataclass(frozen=True)
class Rule:
    """A straight line across a plot: a ceiling (at a `y`), or where a cache ends (at an `x`)."""

    name: str
    axis: Literal["x", "y"]
    value: float


@dataclass(frozen=True)
class Plot:
    """One small plot: its title, what to look for, and what is drawn."""

    title: str
    about: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    rules: Sequence[Rule] = ()


def plots(report: Report) -> list[Plot]:
    """A plot of every sweep that was measured."""
    return [plot for build in BUILDERS for plot in build(report)]


def _series(named: dict[str, list[tuple[float, Estimate]]]) -> list[Series]:
    """The series that are sweeps, by x; points that no logarithmic axis can show are left out."""
    found = []
    for name, points in named.items():
        drawable = sorted((p for p in points if _positive(p[0]) and _positive(p[1].value)), key=lambda p: p[0])
        if len(drawable) >= FEWEST:
            found.append(Series(name, drawable))
    return found


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _independence(report: Report) -> Iterator[Plot]:
    runner = "warps on each SM" if report.device.kind == "cuda" else "cores"
    swept = report.of("independence")
    named = defaultdict(list)
    for cell in cells([*swept, *report.of("chains")]) if swept else ():
        name = f"{cell.runners} {runner}" if cell.runners else f"all {runner}"
        named[name].append((float(cell.chains), cell.measurement.flop_per_s))
    series = _series(named)
    if series:
        yield Plot(
            "Independent work",
            "Each multiply-add waits for the one before it in its chain. More chains, or more "
            f"{runner}, keep the units busy until the roof is reached.",
            Axis("independent chains", ""),
            Axis("rate", "FLOP/s"),
            series,
            _roof(report, "fp32"),
        )


def _in_flight(report: Report) -> Iterator[Plot]:
    named = defaultdict(list)
    for row in report.of("in_flight"):
        there = in_flight.bytes_in_flight(row.key.kernel, report.device.cores)
        if there and row.work.moved("dram"):
            named["reads"].append((float(there), row.bytes_per_s()))
    series = _series(named)
    if series:
        yield Plot(
            "Bytes in flight",
            "Memory takes its time to answer, so bandwidth = bytes on their way / latency: too few of them never reach "
            "the ceiling.",
            Axis("bytes in flight", "B"),
            Axis("bandwidth", "B/s"),
            series,
            _roof(report, "dram_read"),
        )


def _footprint(report: Report) -> Iterator[Plot]:
    named = defaultdict(list)
    for row in report.of("footprint"):
        size = set_bytes(row.key.kernel)
        if size:
            order = order_of(row.key.kernel)
            named[ORDERS.get(order, "reads")].append((float(size), row.bytes_per_s(row.key.level)))
    series = _series(named)
    if series:
        yield Plot(
            "Footprint",
            "Sets of growing size are read again and again. Where the rate falls off, the set has outgrown a cache.",
            Axis("bytes read over and over", "B"),
            Axis("bandwidth", "B/s"),
            series,
            _ends(series[0]),
        )


def _ends(series: Series) -> list[Rule]:
    found = edges(Reading(x, y.value) for x, y in series.points)
    return [Rule(f"full at {si(edge.capacity.value, 'B')}", "x", edge.capacity.value) for edge in found]


def _by_size(report: Report) -> Iterator[Plot]:
    """Kernels that were timed at several sizes, an experiment a plot: by bytes, or by size where none are counted."""
    swept: dict[str, dict[str, list[Measurement]]] = defaultdict(lambda: defaultdict(list))
    for row in report.measurements:
        if row.key.experiment not in OWN_AXES:
            name = row.key.experiment if row.key.experiment == floor.EXPERIMENT else row_name(row.key)
            swept[row.key.experiment][f"{name} {row.key.unit} {row.key.fill}"].append(row)
    for experiment, kernels in swept.items():
        by_bytes = all(row.work.moved("dram") for rows in kernels.values() for row in rows)
        named = {
            name: [(row.work.moved("dram") if by_bytes else float(row.key.size), row.seconds) for row in rows]
            for name, rows in kernels.items()
        }
        series = _series(named)
        if series:
            yield _size_plot(report, experiment, by_bytes, series)


def _size_plot(report: Report, experiment: str, by_bytes: bool, series: Sequence[Series]) -> Plot:
    way = floor.WAYS[report.device.kind].mode if experiment == floor.EXPERIMENT else "launch"
    return Plot(
        "Launch overhead" if experiment == floor.EXPERIMENT else f"Time by size: {experiment}",
        "Time that does not fall with the work is not the kernel's: below the launch overhead none can end.",
        Axis("bytes moved", "B") if by_bytes else Axis("size", ""),
        Axis("time of a launch", "s"),
        series,
        _roof(report, way),
    )


def _waves(report: Report) -> Iterator[Plot]:
    block, places = waves.block_of(report.device), waves.places(report.device)
    rows = report.of(waves.EXPERIMENT)
    series = _series({"blocks of fixed work": [(row.key.size / block, row.seconds) for row in rows]})
    if series:
        yield Plot(
            "Waves",
            "A device works on so many blocks at once, a wave. One block more than a whole number of them takes as "
            "long as a whole wave more.",
            Axis("blocks", ""),
            Axis("time of a launch", "s"),
            series,
            [Rule(f"one wave: {places} blocks", "x", places)],
        )


def _roof(report: Report, resource: str) -> list[Rule]:
    ceiling = report.ceilings.get(resource)
    return [Rule(f"{resource} {si(ceiling.rate, ceiling.unit)}", "y", ceiling.rate)] if ceiling else []


BUILDERS: Sequence[Callable[[Report], Iterator[Plot]]] = (_by_size, _waves, _independence, _in_flight, _footprint)
