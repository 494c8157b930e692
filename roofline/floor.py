"""The floor under small launches: T = t0 + bytes/β, fitted to how long launches of growing size take (C5).

Below the crossing, t0·β bytes, a launch takes as long as launching takes, and more bytes cost next to nothing; beyond,
time is proportional. Every size must come from the same memory: sets that a cache serves are faster than any such line.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from roofline.model import Estimate

FEWEST = 3  # two sizes give a line through both, which says nothing about the rest


@dataclass(frozen=True)
class Timed:
    """A launch that moves `bytes` and takes `seconds`."""

    bytes: float
    seconds: float


@dataclass(frozen=True)
class Floor:
    """What a launch costs whatever is in it, and how fast bytes move beyond that."""

    overhead_s: Estimate
    bytes_per_s: Estimate

    @property
    def crossing_bytes(self) -> Estimate:
        """The bytes that take as long as launching does."""
        t0, rate = self.overhead_s, self.bytes_per_s
        return Estimate(t0.value * rate.value, t0.low * rate.low, t0.high * rate.high)

    def seconds(self, moved: float) -> float:
        """Time that the line gives a launch of so many bytes."""
        return self.overhead_s.value + moved / self.bytes_per_s.value


def fit(launches: Iterable[Timed]) -> Floor:
    """The line with the least sum of |T / (t0 + bytes/β) - 1|, of those through two launches.

    Absolute deviations let the many sizes on either side decide, not the few around the crossing: there launching and
    moving may overlap, and time is less than their sum. Intervals span the lines that leave one launch out.

    Raises:
        ValueError: fewer than three sizes, a time that is none, or sizes that all lie on one side of the crossing.
    """
    sweep = sorted(_checked(launches), key=lambda timed: timed.bytes)
    if len({timed.bytes for timed in sweep}) < FEWEST:
        raise ValueError(f"{len(sweep)} launches: a floor shows from {FEWEST} different sizes on")
    lines = [_line(sweep), *(_line([*sweep[:left], *sweep[left + 1 :]]) for left in range(1, len(sweep) - 1))]
    if not all(line and sweep[0].bytes < line[0] / line[1] < sweep[-1].bytes for line in lines):
        raise ValueError("no floor shows: give sizes that launching decides, and sizes that bytes decide")
    overheads, slopes = zip(*filter(None, lines), strict=True)
    return Floor(
        Estimate(overheads[0], min(overheads), max(overheads)),
        Estimate(1 / slopes[0], 1 / max(slopes), 1 / min(slopes)),
    )


def end_of_flat(launches: Iterable[Timed], overhead_s: float, above: float = 1.5) -> Estimate | None:
    """The bytes at which a launch first takes `above` times the overhead, between the two sizes around that.

    Where launching and moving add up that is `above` - 1 times the crossing, where they overlap `above` times. None
    where no two neighbours lie on either side.
    """
    sweep = sorted(_checked(launches), key=lambda timed: timed.bytes)
    limit = above * overhead_s
    for before, after in pairwise(sweep):
        if before.seconds <= limit < after.seconds:
            share = math.log(limit / before.seconds) / math.log(after.seconds / before.seconds)
            between = before.bytes * (after.bytes / before.bytes) ** share
            return Estimate(between, before.bytes, after.bytes)
    return None


def share_at_the_end_of_flat(launches: Iterable[Timed], fitted: Floor) -> Estimate | None:
    """The bytes where the flat part ends over those of the crossing; None where the sweep does not show it.

    Overlap makes a launch shorter than the sum that the line gives, and nothing in the model makes it longer: the
    interval reaches to where the flat part would end if no launch were.
    """
    sweep = _checked(launches)
    unhindered = [Timed(timed.bytes, min(timed.seconds, fitted.seconds(timed.bytes))) for timed in sweep]
    seen, meant = (end_of_flat(times, fitted.overhead_s.value) for times in (sweep, unhindered))
    if seen is None or meant is None:
        return None
    shares = [end.value / fitted.crossing_bytes.value for end in (seen, meant)]
    return Estimate(shares[0], min(shares), max(shares))


def _checked(launches: Iterable[Timed]) -> list[Timed]:
    kept = list(launches)
    for timed in kept:
        if not (math.isfinite(timed.seconds) and timed.seconds > 0 and timed.bytes > 0):
            raise ValueError(f"{timed}: give bytes and seconds that are greater than 0")
    return kept


def _line(sweep: Sequence[Timed]) -> tuple[float, float] | None:
    """(t0, 1/β) of the line through two launches that is nearest to all of them; None where none rises from above 0."""
    rising = [line for one, two in combinations(sweep, 2) if (line := _through(one, two))]
    return min(rising, key=lambda line: _deviation(sweep, *line), default=None)


def _through(one: Timed, two: Timed) -> tuple[float, float] | None:
    if two.bytes == one.bytes:
        return None
    slope = (two.seconds - one.seconds) / (two.bytes - one.bytes)
    overhead = one.seconds - slope * one.bytes
    return (overhead, slope) if overhead > 0 and slope > 0 else None


def _deviation(sweep: Sequence[Timed], overhead: float, slope: float) -> float:
    return sum(abs(timed.seconds / (overhead + slope * timed.bytes) - 1) for timed in sweep)
