"""Constructed runs of one card, for the tests of noise and of verdicts: rows, runs and records, and how they change."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from roofline.model import (
    Device,
    Environment,
    Estimate,
    Measurement,
    Point,
    RowKey,
    Samples,
    Spread,
    Timer,
    Traffic,
    Work,
)
from roofline.record import Record, Run
from roofline.stats import interval

CARD = Device("NVIDIA RTX 3060", "cuda", "sm_86", 28, memory_class="12 GiB")
STATE = {"platform": "linux", "power_limit_w": 170.0, "ecc": False}
GUEST = {"platform": "Linux", "virtualised": True, "workers": 2}
TIMER = Timer("cuda events", 5e-7)
LEVELS = {"fp32": "l1", "dram": "dram", "none": "none"}


def row(kernel: str = "copy", seconds: Sequence[float] = (1e-3,) * 12, measures: tuple[str, ...] = (), **samples):
    """A row whose level follows from its name: "chains…" stays in a core, "launch…" is empty, the rest moves DRAM."""
    level = "l1" if kernel.startswith("chains") else "none" if kernel.startswith("launch") else "dram"
    key = RowKey(kernel.partition("-")[0], kernel, 4096, "fp32", level)
    taken = Samples(tuple(seconds), TIMER, **samples)
    work = Work(8192.0, "fp32", {"dram": Traffic(16384.0, 16384.0)})
    return Measurement(key, work, "wide", taken, _estimate(seconds), measures, binary="c0de")


def _estimate(seconds: Sequence[float]) -> Estimate:
    usable = len(seconds) > 0 and all(0 < second < float("inf") for second in seconds)
    return interval(seconds) if usable else Estimate(*[seconds[0] if len(seconds) else float("nan")] * 3)


def slowed(measurement: Measurement, factor: float) -> Measurement:
    """The row with every time multiplied."""
    taken, was = measurement.samples, measurement.seconds
    seconds = tuple(factor * second for second in taken.seconds)
    longer = Estimate(factor * was.value, factor * was.low, factor * was.high)
    return replace(measurement, samples=replace(taken, seconds=seconds), seconds=longer)


def flagged(measurement: Measurement, *flags: str) -> Measurement:
    """The row with something wrong with its series."""
    return replace(measurement, samples=replace(measurement.samples, flags=flags))


def clocked(measurement: Measurement, hertz: float) -> Measurement:
    """The row with the clock that it ran at."""
    return replace(measurement, samples=replace(measurement.samples, clock_hz=Spread(hertz, hertz, hertz)))


def run(rows: Iterable[Measurement], bound_by: dict[str, str] | None = None, state=STATE, **changes) -> Run:
    """A run of the card; `bound_by` places kernels under the ceiling of that name."""
    rows = tuple(rows)
    points = {
        row.key: Point(0.25, 1e9, 2e9, (bound_by or {})[row.key.kernel], 0.5, "memory")
        for row in rows
        if row.key.kernel in (bound_by or {})
    }
    return Run(CARD, Environment(state), "", measurements=rows, points=points, **changes)


def record(of: Run, number: int = 1) -> Record:
    """The run as it was stored that many days into a year."""
    day = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=number)
    return Record(of, day, Path(f"baselines/{of.device.slug}/{number:04d}_run.json"))
