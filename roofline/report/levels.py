"""What each memory level hands out, and how reads fall off as sets outgrow one cache after the other."""

from collections.abc import Iterator, Mapping, Sequence

from roofline.capacity import Edge, Reading, edges
from roofline.kernels.footprint import order_of, set_bytes
from roofline.model import Measurement
from roofline.report import Report
from roofline.report.tables import Column, Table
from roofline.report.text import spread
from roofline.units import percent_number, scaled, si

NOTHING = "-"
BAR_WIDTH = 30
# The order in which a GPU's blocks read a set; a CPU has but one.
ORDERS = {"scattered": "scattered"}


def levels_table(report: Report) -> Table:
    """One row a level: its slope, bytes for each core and clock, and the share of nominal at the clock it had."""
    return Table(
        title="LEVELS   reads that one memory level serves, pass after pass over one set",
        columns=[
            Column("level", 8),
            Column("GB/s", 8, "right"),
            Column("spread", 8, "right"),
            Column(f"B a clock,\n{'SM' if report.device.kind == 'cuda' else 'core'}", 10, "right"),
            Column("% of nominal\nat its clock", 12, "right"),
            Column("set", 9, "right"),
            Column("variant", 24),
        ],
        rows=[_level_row(report, measurement) for measurement in report.of("levels")],
    )


def _level_row(report: Report, measurement: Measurement) -> tuple[str, ...]:
    rate = measurement.bytes_per_s(measurement.key.level)
    clock = measurement.samples.clock_hz
    a_clock = rate.value / clock.median / report.device.cores if clock else None
    return (
        measurement.key.level,
        scaled(rate.value, "GB/s"),
        spread(rate),
        scaled(a_clock, ""),
        percent_number(_of_nominal(report, measurement)),
        si(measurement.key.size * 4, "B"),
        measurement.variant,
    )


def _of_nominal(report: Report, measurement: Measurement) -> float | None:
    nominal, rated = report.device.nominal.get(measurement.key.level), report.device.nominal.get("clock")
    clock = measurement.samples.clock_hz
    if not (nominal and rated and clock):
        return None
    return measurement.bytes_per_s(measurement.key.level).value / (nominal.rate * clock.median / rated.rate)


def levels_fields(report: Report) -> Iterator[str]:
    """Each level's slope, for a line to paste."""
    for measurement in report.of("levels"):
        yield f"{measurement.key.level} {si(measurement.bytes_per_s(measurement.key.level).value, 'B/s')}"


def footprint_fields(report: Report) -> Iterator[str]:
    """What was found of each cache and in which order, for a line to paste."""
    for order, readings in _by_order(report.of("footprint")).items():
        for edge in edges(readings.values()):
            yield f"{_capacity(edge, order)} at {si(edge.rate, 'B/s')}"


def footprint_table(report: Report) -> Table:
    """A row a set, with a bar as long as its rate; where a cache ends, a remark between the two sets."""
    by_order = _by_order(report.of("footprint"))
    main = by_order.get("plain", by_order.get("", {}))
    ends = {order: edges(rates.values()) for order, rates in by_order.items()}
    others = [order for order in ORDERS if order in by_order]
    best = max((reading.rate for reading in main.values()), default=1.0)
    sets = sorted({size for rates in by_order.values() for size in rates})
    rows = [
        (
            si(size, "B"),
            *_bar(main.get(size), best),
            *(_rate(by_order[order].get(size)) for order in others),
            _ends_after(size, ends),
        )
        for size in sets
    ]
    return Table(
        title="FOOTPRINT   reads of sets of growing size by all cores together: where they fall off, a cache is full",
        columns=[
            Column("set", 8, "right"),
            Column("GB/s", 7, "right"),
            Column("", BAR_WIDTH),
            *(Column(f"{ORDERS[order]}\nGB/s", 11, "right") for order in others),
            Column("held up to", 24),
        ],
        rows=rows,
        notes=["held up to: where reads fall to 90 % of what the smaller sets before them had"] if rows else [],
    )


def _by_order(measurements: Sequence[Measurement]) -> dict[str, dict[float, Reading]]:
    """The readings by order and set."""
    found: dict[str, dict[float, Reading]] = {}
    for measurement in measurements:
        name, size = measurement.key.kernel, set_bytes(measurement.key.kernel)
        if size:
            reading = Reading(size, measurement.bytes_per_s(measurement.key.level).value)
            found.setdefault(order_of(name), {})[size] = reading
    return found


def _rate(reading: Reading | None) -> str:
    return scaled(reading.rate, "GB/s") if reading else NOTHING


def _bar(reading: Reading | None, best: float) -> tuple[str, str]:
    """A rate, and a bar of that share of the best."""
    return _rate(reading), "#" * round(BAR_WIDTH * reading.rate / best) if reading else ""


def _ends_after(size: float, ends: Mapping[str, Sequence[Edge]]) -> str:
    """The capacities between this set and the next, with the order in which they were found."""
    return ", ".join(
        _capacity(edge, order) for order, found in ends.items() for edge in found if edge.capacity.low == size
    )


def _capacity(edge: Edge, order: str) -> str:
    return si(edge.capacity.value, "B") + (f" ({ORDERS[order]})" if order in ORDERS else "")
