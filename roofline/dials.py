"""What the rows of an intensity dial say together: is it flat, where does it turn, how near is each to its roof."""

from collections.abc import Iterable
from itertools import pairwise
from math import exp, log
from statistics import median

from roofline.model import Estimate, Measurement
from roofline.rooflines import Roofline

Dial = list[Measurement]


def dials(rows: Iterable[Measurement]) -> dict[str, Dial]:
    """The rows of each dial by the slope that bounds it (each way to store has one), in order of intensity."""
    found: dict[str, Dial] = {}
    for row in rows:
        found.setdefault(row.work.slope(), []).append(row)
    return {slope: sorted(dial, key=lambda row: row.work.intensity()) for slope, dial in found.items()}


def bandwidth_spread(dial: Dial, ridge: float) -> Estimate | None:
    """Greatest over least bandwidth among the points left of half the ridge; None with fewer than two (A2).

    Where every one of them was measured beside the kernel that set the slope, their shares of it are compared: a slope
    that drifts while the dial turns is not what the claim is about.
    """
    points = [row for row in dial if row.work.intensity() <= ridge / 2]
    shares = [row.beside for row in points if row.beside]
    left = shares if len(shares) == len(points) else [row.bytes_per_s() for row in points]
    if len(left) < 2:
        return None
    most, least = max(left, key=lambda rate: rate.value), min(left, key=lambda rate: rate.value)
    return Estimate(most.value / least.value, max(1.0, most.low / least.high), most.high / least.low)


def plateau(dial: Dial, ridge: float, roof: Estimate) -> Estimate | None:
    """Least FLOP/s among the points right of twice the ridge, over the roof; None where there is no such point (A3)."""
    right = [row.beside_roof or row.flop_per_s.over(roof) for row in dial if row.work.intensity() >= 2 * ridge]
    return min(right, key=lambda share: share.value) if right else None


def knee(dial: Dial, bandwidth: float, peak: float) -> Estimate | None:
    """The intensity where the dial turns, from its times alone: half of that at which time is twice the flat time.

    With T(I) = max(T0, I · c) the time doubles at twice the ridge, however soft the knee itself is. Between points it
    is interpolated on log-log axes. Rows measured beside their slope or their roof count by the larger share of
    `bandwidth` or `peak` that they had, which takes what neighbours did meanwhile out. Its interval is as wide,
    relatively, as the widest of the rows that it was read off. None when the time never doubles.
    """
    per_byte = [(row.work.intensity(), _seconds_per_byte(row, bandwidth, peak)) for row in dial]
    flat = median(seconds for _, seconds in per_byte[:3])
    for number, ((left, before), (right, after)) in enumerate(pairwise(per_byte)):
        if before < 2 * flat <= after:
            share = log(2 * flat / before) / log(after / before)
            turn = exp(log(left) + share * log(right / left)) / 2
            noise = max(_noise(row) for row in [*dial[:3], *dial[number : number + 2]])
            return Estimate(turn, turn / (1 + noise), turn * (1 + noise))
    return None


def _noise(row: Measurement) -> float:
    """Half the width of a row's interval, over its figure."""
    known = row.beside or row.beside_roof or row.seconds
    return (known.high - known.low) / 2 / known.value


def _seconds_per_byte(row: Measurement, bandwidth: float, peak: float) -> float:
    fed = row.beside.value if row.beside else 0.0
    busy = row.beside_roof.value if row.beside_roof else 0.0
    if not (fed or busy):
        return 1 / row.bytes_per_s().value
    return 1 / (fed * bandwidth) if fed >= busy else row.work.intensity() / (busy * peak)


def furthest(dial: Dial, roofline: Roofline) -> tuple[Estimate, Measurement]:
    """The point that is furthest from min(P, I · β), below or above it, as a share of it, and which it is (M2)."""
    shares = [(roofline.share(row)[2], row) for row in dial]
    return max(shares, key=lambda pair: abs(log(pair[0].value)))
