"""How much a cache holds, found from how fast sets of growing size are read: where reads fall off, and how far.

The rule. A level holds a set as long as reading it is at least `HELD` as fast as the median of the level's sets of half
its size and more: so what falls by a tenth over several octaves is no edge. The first set that is slower, with the next
one, lies beyond; a single slow one between is noise. The capacity is where the line between the two sets at the edge,
both axes logarithmic, passes `HELD` of that median, and lies between those two sets. The next level begins where rates
have stopped falling: no set up to twice as large is slower by as much again.

`HELD` is near 1 because a cache that keeps a random part of a set too large for it falls off gradually: with a level
beyond that is half as fast, reads are at 0.9 of the rate once the set exceeds the cache by 12 %, and at 0.7 only once
it is 1.7 times as large.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from roofline.model import Estimate

HELD = 0.9
OCTAVE = 2.0


@dataclass(frozen=True)
class Reading:
    """A set of `set_bytes` that was read at `rate` bytes a second."""

    set_bytes: float
    rate: float


@dataclass(frozen=True)
class Edge:
    """Where a level ends: its capacity in bytes, between the largest set it held and the next, and the level's rate."""

    capacity: Estimate
    rate: float


def edges(readings: Iterable[Reading], held: float = HELD) -> list[Edge]:
    """The end of every level that shows in the readings, nearest first; none where nothing falls off.

    Raises:
        ValueError: `held` is no share, or a reading has no size or no rate.
    """
    sweep = _checked(readings, held)
    found, start = [], 0
    while (fall := _next_fall(sweep, start, held)) is not None:
        found.append(Edge(_crossing(sweep, fall), _rate(sweep[start : fall.beyond])))
        start = _flat_from(sweep, fall.beyond, held)
    return found


@dataclass(frozen=True)
class _Fall:
    """The index of the first set beyond a level, and the rate that it stays below."""

    beyond: int
    least: float


def _checked(readings: Iterable[Reading], held: float) -> Sequence[Reading]:
    """The readings by size."""
    if not 0 < held < 1:
        raise ValueError(f"held = {held:g}: give a share of the level's rate, above 0 and below 1")
    sweep = sorted(readings, key=lambda reading: reading.set_bytes)
    for reading in sweep:
        if not (0 < reading.set_bytes < math.inf and 0 < reading.rate < math.inf):
            raise ValueError(f"{reading}: a set has a size and a rate, both above 0 and finite")
    return sweep


def _rate(level: Sequence[Reading]) -> float:
    return median(reading.rate for reading in level)


def _next_fall(sweep: Sequence[Reading], start: int, held: float) -> _Fall | None:
    """Where the level that begins at `start` ends; None where it holds all sets, or all but the last one."""
    for at in range(start + 1, len(sweep) - 1):
        before = [reading for reading in sweep[start:at] if OCTAVE * reading.set_bytes >= sweep[at].set_bytes]
        if before and max(sweep[at].rate, sweep[at + 1].rate) < (least := held * _rate(before)):
            return _Fall(next(i for i in range(at, start, -1) if sweep[i - 1].rate >= least), least)
    return None


def _crossing(sweep: Sequence[Reading], fall: _Fall) -> Estimate:
    """Where the line between the two sets at an edge passes the rate that is the least of the level."""
    inside, beyond = sweep[fall.beyond - 1 : fall.beyond + 1]
    part = math.log(inside.rate / fall.least) / math.log(inside.rate / beyond.rate)
    capacity = inside.set_bytes * (beyond.set_bytes / inside.set_bytes) ** part
    return Estimate(capacity, inside.set_bytes, beyond.set_bytes)


def _flat_from(sweep: Sequence[Reading], beyond: int, held: float) -> int:
    """The first set from `beyond` on after which rates have stopped falling; the last one where they never do."""
    for at in range(beyond, len(sweep) - 1):
        octave = [r.rate for r in sweep[at + 1 :] if r.set_bytes <= OCTAVE * sweep[at].set_bytes]
        if min(octave, default=sweep[at + 1].rate) >= held * sweep[at].rate:
            return at
    return len(sweep) - 1
