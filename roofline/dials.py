"""What the rows of an intensity dial say together: is it flat, where does it turn, how near is each to its roof."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import exp, log
from statistics import median

from roofline.model import BYTES_PER_SECOND, Estimate, Measurement
from roofline.rooflines import Roofline, unit_of

Dial = list[Measurement]


def dials(rows: Iterable[Measurement]) -> dict[str, Dial]:
    """The rows of each dial by the slope that bounds it (each way to store has one), in order of intensity."""
    found: dict[str, Dial] = {}
    for row in rows:
        found.setdefault(row.work.slope(), []).append(row)
    return {slope: sorted(dial, key=lambda row: row.work.intensity()) for slope, dial in found.items()}


def bandwidth_spread(dial: Dial, ridge: float) -> Estimate | None:
    """Greatest over least B/s among the points left of half the ridge; None with fewer than two (A2)."""
    left = [row.bytes_per_s() for row in dial if row.work.intensity() <= ridge / 2]
    if len(left) < 2:
        return None
    most, least = max(left, key=lambda rate: rate.value), min(left, key=lambda rate: rate.value)
    return Estimate(most.value / least.value, max(1.0, most.low / least.high), most.high / least.low)


def plateau(dial: Dial, ridge: float, roof: Estimate) -> Estimate | None:
    """Least FLOP/s among the points right of twice the ridge, over the roof; None where there is no such point (A3)."""
    right = [row.flop_per_s for row in dial if row.work.intensity() >= 2 * ridge]
    return min(right, key=lambda rate: rate.value).over(roof) if right else None


def knee(dial: Dial) -> float | None:
    """The intensity where the dial turns, from its times alone: half of that at which time is twice the flat time.

    With T(I) = max(T0, I · c) the time doubles at twice the ridge, however soft the knee itself is. Between points it
    is interpolated on log-log axes. None when the time never doubles.
    """
    per_byte = [(row.work.intensity(), row.seconds.value / row.work.traffic["dram"].total) for row in dial]
    flat = median(seconds for _, seconds in per_byte[:3])
    for (left, before), (right, after) in pairwise(per_byte):
        if before < 2 * flat <= after:
            share = log(2 * flat / before) / log(after / before)
            return exp(log(left) + share * log(right / left)) / 2
    return None


def worst_fraction(dial: Dial, roofline: Roofline, feeds: Sequence[Measurement]) -> tuple[Estimate, Measurement]:
    """The point that is furthest below min(P, I · β), as a share of it, and which it is (M2).

    Left of the ridge the share is taken placement by placement against the row that measured the slope (one of
    `feeds`), since both ran on the same allocations.
    """
    shares = [(_fraction(row, roofline, feeds), row) for row in dial]
    return min(shares, key=lambda pair: pair[0].value)


def _fraction(row: Measurement, roofline: Roofline, feeds: Sequence[Measurement]) -> Estimate:
    slope = row.work.slope()
    roof, bound_by = roofline.attainable(row.work.intensity(), row.work.unit, slope)
    feed = next((feed for feed in feeds if slope in feed.measures), None)
    if unit_of(bound_by) == BYTES_PER_SECOND and feed:
        paired = paired_rates(row, feed)
        if paired:
            return paired
    return row.flop_per_s.over(roof)


def paired_rates(row: Measurement, other: Measurement) -> Estimate | None:
    """B/s of one row over another's, placement by placement; None unless both ran on the same several placements."""
    ours, theirs = _by_placement(row), _by_placement(other)
    if len(ours) < 2 or ours.keys() != theirs.keys():
        return None
    scale = row.work.traffic["dram"].total / other.work.traffic["dram"].total
    ratios = sorted(scale * theirs[placement] / ours[placement] for placement in ours)
    return Estimate(median(ratios), ratios[0], ratios[-1])


def _by_placement(row: Measurement) -> dict[int, float]:
    samples = row.samples
    return {
        placement: median(s for s, p in zip(samples.seconds, samples.placements, strict=True) if p == placement)
        for placement in set(samples.placements)
    }
