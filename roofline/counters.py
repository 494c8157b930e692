"""Bytes that hardware counters saw cross each memory level: which counters, and what a profiler's table of them says.

Algorithmic bytes are what a kernel needs, achieved bytes what moved (M11). Here is what counts them on a GPU and how a
reading becomes `Traffic`; `roofline.devices.cuda.counters` runs the profiler, `roofline.counted` what it watches.
"""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from roofline.model import Measurement, Traffic

SECTOR = 32  # bytes; caches count in sectors


@dataclass(frozen=True)
class Counters:
    """The counters of what is read and written at one level, and the bytes that a count of one stands for."""

    read: str
    written: str
    unit_bytes: int = 1


# DRAM: what crossed its pins. L2: sectors that SMs asked it for or gave it. L1: what the warps' global loads and stores
# touched there (Nsight Compute documentation, "Metrics Reference").
LEVELS: Mapping[str, Counters] = {
    "dram": Counters("dram__bytes_read.sum", "dram__bytes_write.sum"),
    "l2": Counters("lts__t_sectors_srcunit_tex_op_read.sum", "lts__t_sectors_srcunit_tex_op_write.sum", SECTOR),
    "l1": Counters(
        "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum",
        "l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum",
    ),
}
METRICS = tuple(name for level in LEVELS.values() for name in (level.read, level.written))


class UnreadableCounters(ValueError):
    """A profiler's table is none; the message says what it looks like."""


def readings(text: str) -> list[dict[str, float]]:
    """One mapping from counter to count for each grid that was profiled, in order, from the tool's wide CSV.

    Lines of the tool's own ("==PROF== …") are passed over. The line after the heads holds units, in base units.

    Raises:
        UnreadableCounters: there is no table, or a count in it is no number.
    """
    try:
        table = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    except csv.Error:
        table = []
    if len(table) < 2 or not set(METRICS) <= set(table[0]):
        raise UnreadableCounters(f"the profiler left no table of {', '.join(METRICS)}: {text[-300:].strip()!r}")
    if any(len(row) != len(table[0]) for row in table):
        raise UnreadableCounters(f"the profiler left a table with a broken line: {text[-300:].strip()!r}")
    places = {name: table[0].index(name) for name in METRICS}
    return [{name: _count(row[place], name) for name, place in places.items()} for row in table[2:]]


def _count(cell: str, name: str) -> float:
    try:
        count = float(cell.replace(",", ""))
    except ValueError:
        count = math.nan
    if not 0 <= count < math.inf:
        raise UnreadableCounters(f"{name} is {cell!r}: this card does not count it")
    return count


def traffic(grids: Sequence[Mapping[str, float]]) -> dict[str, Traffic]:
    """What crossed each level in all of these grids together."""
    return {
        level: Traffic(
            sum(grid[names.read] for grid in grids) * float(names.unit_bytes),
            sum(grid[names.written] for grid in grids) * float(names.unit_bytes),
        )
        for level, names in LEVELS.items()
    }


def shared_out(grids: Sequence[Mapping[str, float]], each: Iterable[int]) -> list[dict[str, Traffic]]:
    """The traffic of each launch, where launch after launch took so many of the grids.

    Raises:
        UnreadableCounters: that are not as many grids as were profiled.
    """
    counts = list(each)
    if sum(counts) != len(grids):
        raise UnreadableCounters(f"{len(grids)} grids were profiled, and {sum(counts)} were launched")
    firsts = [sum(counts[:place]) for place in range(len(counts))]
    return [traffic(grids[first : first + count]) for first, count in zip(firsts, counts, strict=True)]


def countable(measurements: Iterable[Measurement]) -> list[Measurement]:
    """The rows that move something at some level: of others there is nothing to compare with."""
    return [row for row in measurements if any(map(row.work.moved, row.work.traffic))]


def request(row: Measurement) -> dict[str, str | int]:
    """By what a process of its own finds the kernel of a row again."""
    key = row.key
    return {
        "experiment": key.experiment,
        "kernel": key.kernel,
        "size": key.size,
        "fill": key.fill,
        "variant": row.variant,
    }


def over_counted(measurement: Measurement, level: str = "dram") -> float | None:
    """Achieved over counted bytes at a level; None where either is unknown."""
    counted, achieved = measurement.work.moved(level), measurement.achieved.get(level)
    return achieved.total / counted if achieved and counted else None


def least_achieved(measurement: Measurement, cache_bytes: int | None) -> float:
    """The least bytes that must have crossed DRAM: what the algorithm needs less what can still sit in the last cache.

    Caches are empty before a launch is profiled, so all that is read must cross; of what is written the last lines may
    still be in the cache when the launch ends.
    """
    work = measurement.work
    needed = work.algorithmic or work.traffic["dram"]
    return needed.read + max(0.0, needed.written - (cache_bytes or 0))


def achieved_intensity(measurement: Measurement, level: str = "dram") -> float | None:
    """FLOP per byte that crossed a level; None where nothing counted them."""
    achieved = measurement.achieved.get(level)
    return measurement.work.flops / achieved.total if achieved and achieved.total else None
