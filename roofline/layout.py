"""The record's layout, key by key as it stands in the file, and the way from the nouns to it and back.

`docs/record.md` explains it to whoever reads the files with a tool of their own.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isclose
from typing import Literal

from roofline.model import (
    BYTES_PER_SECOND,
    FLOP_PER_SECOND,
    OP_PER_SECOND,
    SECONDS,
    Absent,
    Ceiling,
    Claim,
    Device,
    Diagnosis,
    Environment,
    Estimate,
    Expectation,
    Measurement,
    Nominal,
    Outcome,
    Point,
    Regime,
    RowKey,
    Samples,
    Spot,
    Spread,
    Timer,
    Traffic,
    Work,
)
from roofline.privacy import HASH_DIGITS, UNIT_HASH
from roofline.schema import Rule, Rules

CEILING_UNITS = (BYTES_PER_SECOND, FLOP_PER_SECOND, OP_PER_SECOND, SECONDS)
NOMINAL_UNITS = (*CEILING_UNITS, "Hz")
PREFIXED = re.compile(r"[pnuµmkKMGTPE]i?(B|FLOP|s|Hz|W)(/|$)")
# A stored rate and the one that follows from its time agree to the last digits; 1024-based prefixes differ by 2.4 %.
SAME_RATE = 1e-6


@dataclass(frozen=True)
class MachineInfo:
    """`machine_info`: what the device is, which unit of it this was, and how it was that day."""

    schema: int
    device: Device
    unit: str
    environment: Environment


@dataclass(frozen=True)
class TimerEntry:
    """`timer` of a row."""

    name: str
    tick_s: float
    launches_per_sample: int


@dataclass(frozen=True)
class Interval:
    """`interval` of a row: what the noise leaves open of its seconds."""

    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """`extra_info` of a benchmark: one measurement, and the point it makes."""

    experiment: str
    kernel: str
    size: int
    unit: str
    level: str
    fill: str
    variant: str
    flops: float
    counting: str
    bytes: Mapping[str, Traffic]
    slopes: Mapping[str, str]
    samples_s: tuple[float, ...]
    seconds: float
    interval: Interval
    flop_per_s: float
    bytes_per_s: float | None
    intensity: float | None
    timer: TimerEntry
    ceiling: str | None = None
    measures: tuple[str, ...] = ()
    roof: float | None = None
    bound_by: str | None = None
    fraction: float | None = None
    regime: Regime | None = None
    nearest: tuple[tuple[str, float], ...] = ()
    point_level: str | None = None
    intensities: Mapping[str, float] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    clock_hz: Spread | None = None
    power_w: float | None = None
    throttle: str | None = None
    burst_s: float | None = None
    sustained_s: float | None = None
    flags: tuple[str, ...] = ()
    disturbed: float | None = None
    placements: tuple[int, ...] = ()
    cold: bool = True
    footprint_bytes: int = 0
    math_mode: str = ""
    binary: str = ""
    compile_s: float = 0.0
    searched: Mapping[str, float] = field(default_factory=dict)
    beside: Estimate | None = None
    beside_roof: Estimate | None = None
    algorithmic: Traffic | None = None
    achieved_bytes: Mapping[str, Traffic] = field(default_factory=dict)
    launches: int = 1
    launch_mode: str = "launch"

    @property
    def key(self) -> RowKey:
        """By what this row is found in another record."""
        return RowKey(self.experiment, self.kernel, self.size, self.unit, self.level, self.fill)

    def bytes_at(self, level: str) -> float:
        """Bytes counted at a level, 0 where none are."""
        return self.bytes[level].total if level in self.bytes else 0.0


@dataclass(frozen=True)
class Bounds:
    """`expected` of a claim; an open side is null, with its reason."""

    low: float
    high: float
    unit: str = ""


@dataclass(frozen=True)
class ClaimEntry:
    """One of `roofline.claims`."""

    id: str
    statement: str
    expected: Bounds | None
    expected_from: str | None
    measured: Estimate | None
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True)
class AbsentEntry:
    """One of `roofline.absent`: a row key, and why the row has no figure."""

    experiment: str
    kernel: str
    size: int
    unit: str
    level: str
    fill: str
    status: Literal["unsupported", "skipped", "error"]
    reason: str


@dataclass(frozen=True)
class Section:
    """`roofline`: what a whole session found. `rows` counts the benchmarks that hold one: a lost one is seen."""

    complete: bool
    selection: str
    rows: int
    ceilings: Mapping[str, Ceiling]
    missing: tuple[str, ...] = ()
    ridges: Mapping[str, Estimate] = field(default_factory=dict)
    claims: tuple[ClaimEntry, ...] = ()
    absent: tuple[AbsentEntry, ...] = ()
    floors: Mapping[str, float] = field(default_factory=dict)


def row_of(measurement: Measurement, point: Point | None) -> Row:
    """The row of a measurement, placed at `point` where it has one.

    Raises:
        ValueError: the measurement and its parts do not belong together.
    """
    key, work, samples = measurement.key, measurement.work, measurement.samples
    _check_together(measurement, point)
    counted = key.level in work.traffic
    intensity = work.intensity(key.level) if counted else None
    return Row(
        key.experiment,
        key.kernel,
        key.size,
        key.unit,
        key.level,
        key.fill,
        variant=measurement.variant,
        flops=work.flops,
        counting=work.convention,
        bytes=work.traffic,
        slopes=work.slopes,
        samples_s=samples.seconds,
        seconds=measurement.seconds.value,
        interval=Interval(measurement.seconds.low, measurement.seconds.high),
        flop_per_s=work.flops / measurement.seconds.value,
        bytes_per_s=work.traffic[key.level].total / measurement.seconds.value if counted else None,
        intensity=point.intensity if point else intensity,
        timer=TimerEntry(samples.timer.name, samples.timer.tick_s, samples.launches),
        ceiling=measurement.measures[0] if measurement.measures else None,
        measures=measurement.measures,
        roof=point.roof if point else None,
        bound_by=point.bound_by if point else None,
        fraction=point.fraction if point else None,
        regime=point.regime if point else None,
        nearest=point.nearest if point else (),
        point_level=point.level if point else None,
        intensities=point.intensities if point else {},
        clock_hz=samples.clock_hz,
        power_w=samples.power_w,
        throttle=samples.throttle,
        burst_s=samples.burst_s,
        sustained_s=samples.sustained_s,
        flags=samples.flags,
        disturbed=samples.disturbed,
        placements=samples.placements,
        cold=samples.cold,
        footprint_bytes=measurement.footprint_bytes,
        math_mode=measurement.math_mode,
        binary=measurement.binary,
        compile_s=measurement.compile_s,
        searched=measurement.searched,
        beside=measurement.beside,
        beside_roof=measurement.beside_roof,
        algorithmic=work.algorithmic,
        achieved_bytes=measurement.achieved,
        launches=measurement.launches,
        launch_mode=measurement.launch_mode,
    )


def _check_together(measurement: Measurement, point: Point | None) -> None:
    key, seconds = measurement.key, measurement.seconds.value
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{key} took {seconds} s: a row without a figure is Absent, with a status and a reason")
    if measurement.work.unit != key.unit:
        raise ValueError(f"{key} is a row of {key.unit} but its work is counted in {measurement.work.unit}")
    if point and not isclose(point.flop_per_s, measurement.work.flops / seconds, rel_tol=SAME_RATE):
        raise ValueError(
            f"{key} ran at {measurement.work.flops / seconds} FLOP/s but its point is at {point.flop_per_s}"
        )


def measurement_of(row: Row) -> Measurement:
    """The measurement that a row holds."""
    samples = Samples(
        seconds=row.samples_s,
        timer=Timer(row.timer.name, row.timer.tick_s),
        launches=row.timer.launches_per_sample,
        cold=row.cold,
        placements=row.placements,
        clock_hz=row.clock_hz,
        power_w=row.power_w,
        throttle=row.throttle,
        disturbed=row.disturbed,
        flags=row.flags,
        burst_s=row.burst_s,
        sustained_s=row.sustained_s,
    )
    return Measurement(
        key=row.key,
        work=Work(row.flops, row.unit, row.bytes, row.slopes, row.counting, row.algorithmic),
        variant=row.variant,
        samples=samples,
        seconds=Estimate(row.seconds, row.interval.low, row.interval.high),
        measures=row.measures or ((row.ceiling,) if row.ceiling else ()),
        footprint_bytes=row.footprint_bytes,
        math_mode=row.math_mode,
        binary=row.binary,
        compile_s=row.compile_s,
        searched=row.searched,
        beside=row.beside,
        beside_roof=row.beside_roof,
        achieved=row.achieved_bytes,
        launches=row.launches,
        launch_mode=row.launch_mode,
    )


def point_of(row: Row) -> Point | None:
    """Where a row was placed, None where it was not."""
    if row.intensity is None or row.roof is None or row.bound_by is None or row.fraction is None or row.regime is None:
        return None
    old = {"dram": row.intensity} if row.bytes_at("dram") else {}  # records from when DRAM was the only level
    return Point(
        intensity=row.intensity,
        flop_per_s=row.flop_per_s,
        roof=row.roof,
        bound_by=row.bound_by,
        fraction=row.fraction,
        regime=row.regime,
        nearest=row.nearest,
        level=row.point_level or "dram",
        intensities=row.intensities if row.point_level else old,
    )


def claim_entry(claim: Claim) -> ClaimEntry:
    """The entry of a claim."""
    expected = claim.expected
    bounds = Bounds(expected.low, expected.high, expected.unit) if expected else None
    source = expected.source if expected else None
    return ClaimEntry(claim.id, claim.statement, bounds, source, claim.measured, claim.outcome, claim.reason)


def claim_of(entry: ClaimEntry) -> Claim:
    """The claim of an entry."""
    bounds = entry.expected
    expected = Expectation(bounds.low, bounds.high, entry.expected_from or "", bounds.unit) if bounds else None
    return Claim(entry.id, entry.statement, expected, entry.measured, entry.outcome, entry.reason)


def absent_entry(absent: Absent) -> AbsentEntry:
    """The entry of a row without a figure."""
    key = absent.key
    return AbsentEntry(
        key.experiment, key.kernel, key.size, key.unit, key.level, key.fill, absent.status, absent.reason
    )


def absent_of(entry: AbsentEntry) -> Absent:
    """The row without a figure of an entry."""
    key = RowKey(entry.experiment, entry.kernel, entry.size, entry.unit, entry.level, entry.fill)
    return Absent(key, entry.status, entry.reason)


def _one_of(options: tuple[str, ...]) -> Rule:
    return Rule(" or ".join(f'"{option}"' for option in options) + " (base units, no prefix)", options.__contains__)


# Quotients and products of figures within these stay numbers.
LEAST, MOST = 1e-100, 1e100


def _above_0(estimate: Estimate) -> bool:
    return LEAST <= estimate.value <= MOST


POSITIVE = Rule(f"a number above 0 ({LEAST:g} to {MOST:g})", lambda value: LEAST <= value <= MOST)
NOT_NEGATIVE = Rule(f"a number of at least 0 (at most {MOST:g})", lambda value: 0 <= value <= MOST)
ANY_NUMBER = Rule("a number, or null with a reason", lambda value: isinstance(value, float), open=True)
OPEN_ABOVE = Rule("a number above 0, or null where it is infinite", lambda value: value >= LEAST, open=True)
NAMED = Rule("text that is not empty", bool)
COUNT = Rule("an integer of at least 1", lambda value: value >= 1)
HASH = Rule(
    f'"sha256:" and {HASH_DIGITS} hexadecimal digits, or "" for unknown',
    lambda unit: not unit or UNIT_HASH.fullmatch(unit) is not None,
)
SHARES = Rule("shares of at least 0 by row", lambda floors: all(0 <= floor <= MOST for floor in floors.values()))
RIDGES = Rule("estimates of numbers above 0", lambda ridges: all(map(_above_0, ridges.values())))
BESIDE = Rule("an estimate of a number above 0", _above_0)
TIMES = Rule("a list of one number or more, each at least 0", lambda value: value and min(value) >= 0)

# What holds beyond the types: the one table by which a file is judged.
RULES: Rules = {
    (MachineInfo, "unit"): HASH,
    (Device, "name"): NAMED,
    (Device, "cores"): COUNT,
    (Nominal, "unit"): _one_of(NOMINAL_UNITS),
    (Nominal, "rate"): POSITIVE,
    (Traffic, "read"): NOT_NEGATIVE,
    (Traffic, "written"): NOT_NEGATIVE,
    (Row, "experiment"): NAMED,
    (Row, "kernel"): NAMED,
    (Row, "size"): NOT_NEGATIVE,
    (Row, "flops"): NOT_NEGATIVE,
    (Row, "samples_s"): TIMES,
    (Row, "seconds"): POSITIVE,
    (Row, "intensity"): ANY_NUMBER,
    (Row, "roof"): ANY_NUMBER,
    (Row, "fraction"): ANY_NUMBER,
    (Spot, "bytes"): NOT_NEGATIVE,
    (Spot, "intensity"): ANY_NUMBER,
    (Spot, "seconds"): NOT_NEGATIVE,
    (Row, "beside"): BESIDE,
    (Row, "beside_roof"): BESIDE,
    (Interval, "low"): POSITIVE,
    (Interval, "high"): POSITIVE,
    (Spread, "min"): POSITIVE,
    (Spread, "median"): POSITIVE,
    (Spread, "max"): POSITIVE,
    (TimerEntry, "tick_s"): NOT_NEGATIVE,
    (TimerEntry, "launches_per_sample"): COUNT,
    (Ceiling, "unit"): _one_of(CEILING_UNITS),
    (Ceiling, "rate"): POSITIVE,
    (Ceiling, "low"): NOT_NEGATIVE,
    (Ceiling, "high"): OPEN_ABOVE,
    (Estimate, "value"): ANY_NUMBER,
    (Estimate, "low"): ANY_NUMBER,
    (Estimate, "high"): ANY_NUMBER,
    (Bounds, "low"): ANY_NUMBER,
    (Bounds, "high"): ANY_NUMBER,
    (Bounds, "unit"): Rule("a base unit, without a prefix", lambda unit: not PREFIXED.match(unit)),
    (Section, "rows"): NOT_NEGATIVE,
    (Section, "ridges"): RIDGES,
    (Section, "floors"): SHARES,
}
