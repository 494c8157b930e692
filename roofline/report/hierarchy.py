"""Kernels that are placed once a level: how near each is to every line, and which of them limits it (H2 to H4)."""

from collections.abc import Iterator

from roofline.model import Measurement, Point
from roofline.report import Report
from roofline.report.tables import Column, Table
from roofline.report.text import row_name, shortened
from roofline.rooflines import unit_of
from roofline.units import percent, scaled, si

NOTHING = "-"
LIMITS = "limits"


def nearest(point: Point, most: int | None = None) -> str:
    """How near a point is to each line that applies to it, nearest first: "shared 93 %, fp32 41 %, dram 4.0 %"."""
    return ", ".join(f"{line} {percent(share, 2)}" for line, share in point.nearest[:most])


def by_level(report: Report) -> Iterator[tuple[Measurement, Point]]:
    """The measurements that have a point at more than one level."""
    for measurement in report.measurements:
        point = report.points.get(measurement.key)
        if point and len(point.intensities) > 1:
            yield measurement, point


def hierarchy_table(report: Report) -> Table:
    """For each such kernel a row for every level and for its unit: what it asks, at what rate, and of what share."""
    rows = [row for measurement, point in by_level(report) for row in _rows(measurement, point)]
    return Table(
        title="HIERARCHY   each kernel once a level: the line that it is nearest to limits it",
        columns=[
            Column("kernel", 26),
            Column("line", 20),
            Column("a launch", 10, "right"),
            Column("FLOP/B", 8, "right"),
            Column("rate", 13, "right"),
            Column("% of line", 9, "right"),
            Column("", 6),
        ],
        rows=rows,
    )


def _rows(measurement: Measurement, point: Point) -> Iterator[tuple[str, ...]]:
    work, shares = measurement.work, dict(point.nearest)
    name = shortened(row_name(measurement.key), 26)
    for level, intensity in point.intensities.items():
        slope = work.slope(level)
        told = (si(work.moved(level), "B"), scaled(intensity, "FLOP/B"))
        rate = si(measurement.bytes_per_s(level).value, "B/s")
        yield name, slope, *told, rate, percent(shares[slope]), LIMITS if slope == point.bound_by else ""
        name = ""
    if work.unit in shares:
        unit = unit_of(work.unit)
        told = (si(work.flops, unit.removesuffix("/s")), NOTHING)
        rate = si(measurement.flop_per_s.value, unit)
        yield "", work.unit, *told, rate, percent(shares[work.unit]), LIMITS if work.unit == point.bound_by else ""
