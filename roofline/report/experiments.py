"""One table an experiment: the dial, DRAM, chains, launches, and whatever else was placed under the roofline."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from roofline.kernels.dram import WRITE_ALLOCATE
from roofline.kernels.launch import MODES
from roofline.model import OP_PER_SECOND, Device, Estimate, Measurement, Point
from roofline.report import Report
from roofline.report.counters import counters_table
from roofline.report.dram_patterns import in_flight_table, sectors_table
from roofline.report.hierarchy import hierarchy_table
from roofline.report.independence import independence_table
from roofline.report.launching import fixes_table, floor_table, waves_table
from roofline.report.levels import footprint_table, levels_table
from roofline.report.serving import attention_table, batch_table
from roofline.report.tables import Column, Table
from roofline.report.text import row_name, shortened, spread
from roofline.rooflines import unit_of
from roofline.units import UNKNOWN, percent_number, scaled, si

MEMORY_TABLES = ("dram", "sectors", "in_flight", "levels", "footprint")
SERVING = ("batch", "attention")
OWN_TABLES = ("dial", *MEMORY_TABLES, *SERVING, "chains", "independence", "tensor", "launch", "floor", "fixes", "waves")
NOTHING = "-"
# Three ways to store are what fits beside one another in a terminal.
WAYS_A_TABLE = 3
WAY_WIDTH = 8

_DIAL_NAME = re.compile(r"dial-([0-9]+)(?:-(.+))?")


def dial_setting(name: str) -> tuple[int, str] | None:
    """F and the way to store of a dial kernel: "dial-0016-inplace" is (16, "inplace"), "dial-0016" (16, "plain")."""
    match = _DIAL_NAME.fullmatch(name)
    return (int(match.group(1)), match.group(2) or "plain") if match else None


@dataclass(frozen=True)
class DialPoint:
    """One measured setting of the dial, with its place under the roofline where one is known."""

    steps: int
    stores: str
    measurement: Measurement
    point: Point | None

    @property
    def intensity(self) -> float:
        """FLOP per counted byte of DRAM."""
        return self.measurement.work.intensity("dram")

    @property
    def ridge_name(self) -> str:
        """The ridge that this point lies left or right of."""
        return f"{self.measurement.work.unit}/{self.measurement.work.slope('dram')}"


def dial_points(report: Report) -> list[DialPoint]:
    """The points of the dial that were measured, by way to store and F."""
    found = []
    for measurement in report.of("dial"):
        setting = dial_setting(measurement.key.kernel)
        if setting:
            found.append(DialPoint(*setting, measurement, report.points.get(measurement.key)))
    return sorted(found, key=lambda point: (point.stores, point.steps))


def dial_ridges(report: Report) -> dict[str, Estimate]:
    """The measured ridge of each way to store, where it is known."""
    names = {point.stores: point.ridge_name for point in dial_points(report)}
    return {stores: report.ridges[name] for stores, name in names.items() if name in report.ridges}


def experiment_tables(report: Report) -> Iterator[Table]:
    """Every experiment that measured something."""
    yield from dial_tables(report)
    for build in (
        dram_table,
        sectors_table,
        in_flight_table,
        chains_table,
        independence_table,
        tensor_table,
        levels_table,
        footprint_table,
        launch_table,
        floor_table,
        fixes_table,
        waves_table,
        counters_table,
        batch_table,
        attention_table,
        kernels_table,
        hierarchy_table,
    ):
        table = build(report)
        if table.rows:
            yield table


def dial_tables(report: Report) -> Iterator[Table]:
    """Rows F; for each way to store the rate of bytes, of FLOPs, and the share of the roof above the point."""
    points = dial_points(report)
    ways = sorted({point.stores for point in points})
    for first in range(0, len(ways), WAYS_A_TABLE):
        yield _dial_table(report, points, ways[first : first + WAYS_A_TABLE])


def _dial_table(report: Report, points: Sequence[DialPoint], ways: Sequence[str]) -> Table:
    measured = {(point.steps, point.stores): point for point in points if point.stores in ways}
    past = {stores: _first_past_ridge(report, points, stores) for stores in ways}
    rows = []
    for steps in sorted({steps for steps, _ in measured}):
        row = [str(steps), scaled(steps / 4, "FLOP/B")]
        for stores in ways:
            row += _dial_cells(measured.get((steps, stores)), steps == past[stores])
        rows.append(row)
    heads = [("\nGB/s", f"{shortened(stores, WAY_WIDTH)}\nGFLOP/s", "\n% roof") for stores in ways]
    return Table(
        title="DIAL   F fused multiply-adds a float: intensity F/4 FLOP/B",
        columns=[
            Column("\nF", 4, "right"),
            Column("\nF/4", 5, "right"),
            *(Column(head, 7, "right") for way in heads for head in way),
        ],
        rows=rows,
        notes=[_ridge_note(report, ways), *_above_note(measured.values())],
    )


def _first_past_ridge(report: Report, points: Sequence[DialPoint], stores: str) -> int | None:
    ridge = dial_ridges(report).get(stores)
    if not ridge:
        return None
    past = [point.steps for point in points if point.stores == stores and point.intensity >= ridge.value]
    return min(past, default=None)


def _dial_cells(point: DialPoint | None, at_ridge: bool) -> list[str]:
    if not point:
        return [NOTHING] * 3
    mark = "* " if at_ridge else ""
    share = percent_number(point.point.fraction if point.point else None)
    above = "!" if point.point and point.point.regime == "above-roof" else ""
    return [
        scaled(point.measurement.bytes_per_s().value, "GB/s"),
        scaled(point.measurement.flop_per_s.value, "GFLOP/s"),
        f"{mark}{above}{share}",
    ]


def _ridge_note(report: Report, ways: Sequence[str]) -> str:
    ridges = dial_ridges(report)
    known = [
        f"{stores} {si(ridges[stores].value, 'FLOP/B')} (F={scaled(4 * ridges[stores].value, '')})"
        if stores in ridges
        else f"{stores} unknown"
        for stores in ways
    ]
    return (
        f"ridge, measured peak / measured bandwidth: {', '.join(known)}; * first point past it; "
        "% roof: of slope and roof as they were in turns with the point, which may differ from CEILINGS"
    )


def _above_note(points: Iterable[DialPoint]) -> list[str]:
    marked = any(point.point and point.point.regime == "above-roof" for point in points)
    return ["! above its roof by more than its noise and 2 %: see below"] if marked else []


def dram_table(report: Report) -> Table:
    """What each pattern asks memory for, and what moves where stores first read the line they write."""
    rows = []
    for measurement in report.of("dram"):
        asked = measurement.bytes_per_s()
        factor = WRITE_ALLOCATE.get(measurement.key.kernel)
        rows.append(
            (
                shortened(measurement.key.kernel, 40),
                scaled(asked.value, "GB/s"),
                spread(asked),
                f"{factor:.2f} ×" if factor else NOTHING,
                scaled(asked.value * (factor or 1.0), "GB/s"),
                si(measurement.footprint_bytes or None, "B"),
                measurement.variant,
            )
        )
    return Table(
        title="DRAM   bytes that the program asks for; ordinary stores also read each line before they write it",
        columns=[
            Column("kernel", 20),
            Column("asked\nGB/s", 7, "right"),
            Column("\nspread", 8, "right"),
            Column("write-\nallocate", 8, "right"),
            Column("moved\nGB/s", 7, "right"),
            Column("footprint", 9, "right"),
            Column("variant", 24),
        ],
        rows=rows,
    )


def chains_table(report: Report) -> Table:
    """Independent chains of FMAs on registers, against the best that the arithmetic unit did."""
    rows = []
    for measurement in report.of("chains"):
        roof = report.ceilings.get(measurement.work.unit)
        rate = measurement.flop_per_s
        rows.append(
            (
                shortened(measurement.key.kernel, 40),
                scaled(rate.value, "GFLOP/s"),
                spread(rate),
                percent_number(rate.value / roof.rate if roof else None),
                measurement.variant,
            )
        )
    return Table(
        title="CHAINS   independent chains of fused multiply-adds, no memory: what keeps the units busy",
        columns=[
            Column("kernel", 28),
            Column("GFLOP/s", 9, "right"),
            Column("spread", 9, "right"),
            Column("% of peak", 9, "right"),
            Column("variant", 30),
        ],
        rows=rows,
    )


def tensor_table(report: Report) -> Table:
    """Matrix instructions: what each holds, what it does in bursts, and the share of the limit at the clock it had."""
    rows = [
        (
            shortened(measurement.key.kernel, 40),
            measurement.key.fill,
            scaled(measurement.flop_per_s.value, "TFLOP/s"),
            scaled(_in_bursts(measurement), "TFLOP/s"),
            si(measurement.samples.clock_hz.median if measurement.samples.clock_hz else None, "Hz"),
            percent_number(_of_limit(measurement, report.device)),
            measurement.variant,
        )
        for measurement in report.of("tensor")
    ]
    integers = any(unit_of(measurement.work.unit) == OP_PER_SECOND for measurement in report.of("tensor"))
    unit = "T(FL)OP/s" if integers else "TFLOP/s"
    return Table(
        title="TENSOR   matrix instructions on operands that stay on the chip; random data is the figure of record",
        columns=[
            Column("kernel", 20),
            Column("\nfill", 8),
            Column(f"held\n{unit}", 9, "right"),
            Column(f"bursts\n{unit}", 9, "right"),
            Column("clock\nheld", 9, "right"),
            Column("% of limit\nat that clock", 13, "right"),
            Column("variant", 14),
        ],
        rows=rows,
        notes=[
            "held: for a second without a pause; bursts: a millisecond or so each, after a rest",
            *(["INT8 is in TOP/s: a multiply-add is 2 operations, as an FMA is 2 FLOP"] if integers else []),
        ],
    )


def _in_bursts(measurement: Measurement) -> float | None:
    burst = measurement.samples.burst_s
    return measurement.work.flops / burst if burst else None


def _of_limit(measurement: Measurement, device: Device) -> float | None:
    """The share of the nominal rate, scaled from the rated clock to the one that was measured."""
    nominal, rated = device.nominal.get(measurement.work.unit), device.nominal.get("clock")
    clock = measurement.samples.clock_hz
    if not (nominal and rated and clock):
        return None
    return measurement.flop_per_s.value / (nominal.rate * clock.median / rated.rate)


def launch_table(report: Report) -> Table:
    """What launching nothing costs, by way to launch."""
    rows = [
        (
            shortened(measurement.key.kernel, 40),
            MODES.get(measurement.key.kernel, NOTHING),
            scaled(measurement.seconds.value, "µs"),
            spread(measurement.seconds),
        )
        for measurement in report.of("launch")
    ]
    return Table(
        title="LAUNCH   an empty kernel: the overhead below which no time can fall",
        columns=[
            Column("way", 24),
            Column("what is done", 44),
            Column("µs a launch", 11, "right"),
            Column("spread", 9, "right"),
        ],
        rows=rows,
    )


def kernels_table(report: Report) -> Table:
    """Every kernel of any other experiment: where it lies and what binds it."""
    others = [measurement for measurement in report.measurements if measurement.key.experiment not in OWN_TABLES]
    return Table(
        title="KERNELS   judged by the roof above each point",
        columns=[
            Column("kernel", 20),
            Column("n", 10, "right"),
            Column("rate", 13, "right"),
            Column("FLOP/B", 7, "right"),
            Column("% roof", 8, "right"),
            Column("bound by", 19),
            Column("regime", 10),
        ],
        rows=[_kernel_row(measurement, report.points.get(measurement.key)) for measurement in others],
        notes=["% roof: of slope and roof as they were in turns with the kernel, where it was measured so"],
    )


def _kernel_row(measurement: Measurement, point: Point | None) -> tuple[str, ...]:
    key = measurement.key
    name = shortened(row_name(key), 78)
    if not point:
        return (name, str(key.size), _rate(measurement), UNKNOWN, UNKNOWN, "no ceiling", UNKNOWN)
    placed = (scaled(point.intensity, "FLOP/B"), percent_number(point.fraction), point.bound_by, point.regime)
    return (name, str(key.size), _rate(measurement), *placed)


def _rate(measurement: Measurement) -> str:
    """FLOPs over time; bytes over time of what only moves; the time itself of what does neither."""
    work = measurement.work
    if work.flops:
        return si(measurement.flop_per_s.value, unit_of(work.unit))
    moved = max(work.traffic.values(), key=lambda traffic: traffic.total, default=None)
    if moved and moved.total:
        return si(measurement.seconds.inverse(moved.total).value, "B/s")
    return si(measurement.seconds.value, "s")
