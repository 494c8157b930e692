"""The first two steps of the routine: where a kernel is on the chart, and where its algorithm would put it (L3).

The ideal point has the bytes that the algorithm needs, once each, whatever the level; the real one those that crossed
the level nearest its slope: counted ones where there are any, else what the program asks for (M11).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from roofline.model import BYTES_PER_SECOND, Ceiling, Device, Estimate, Measurement, Point, Spot, Traffic, Work
from roofline.rooflines import MEMORY_LEVELS, Roofline, unit_of

# A slope of stores that first read each line they write; the same stores past the cache have another.
ORDINARY, PAST_THE_CACHE = "_ordinary", "_nt"
SAME = Estimate(1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Situation:
    """What a kernel is diagnosed by: the roofline of its run, the device, and the same kernel at `other_sizes`.

    `unsteady` names the kernels whose samples were flagged.
    """

    roofline: Roofline
    device: Device
    other_sizes: Sequence[Measurement] = ()
    unsteady: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Sight:
    """A measurement as the routine sees it. `extra` is by how much its bytes lengthen the time that the model gives."""

    measurement: Measurement
    situation: Situation
    point: Point
    fraction: Estimate
    ideal: Spot
    real: Spot
    extra: Estimate

    @property
    def ceiling(self) -> Ceiling:
        """The ceiling that binds."""
        return self.situation.roofline.ceiling(self.point.bound_by)

    @property
    def moves(self) -> bool:
        """Whether it is a slope that binds, rather than the roof of a unit."""
        return unit_of(self.point.bound_by) == BYTES_PER_SECOND

    @property
    def times_the_bytes(self) -> float:
        """Bytes that cross the level over those that the algorithm needs; 1 where it needs none."""
        return self.real.bytes / self.ideal.bytes if self.ideal.bytes else 1.0

    @property
    def gain(self) -> float:
        """How many times faster the kernel would be on the roof at its ideal point."""
        return self.measurement.seconds.value / self.ideal.seconds

    @property
    def stores_ordinarily(self) -> bool:
        """Whether its stores read each line before they write it, as its slope says."""
        return self.measurement.work.slope(self.point.level).endswith(ORDINARY)

    @property
    def launch_share(self) -> Estimate | None:
        """What its launches cost when they are empty over the time that it took, None where that is not known."""
        measurement = self.measurement
        empty = self.situation.roofline.ceilings.get(measurement.launch_mode)
        if empty is None:
            return None
        return Estimate(*(measurement.launches * edge for edge in (empty.rate, empty.low, empty.high))).over(
            measurement.seconds
        )


def sighted(measurement: Measurement, situation: Situation) -> Sight:
    """A measurement with its real and its ideal point.

    Raises:
        MissingCeiling: the roof or every slope above it is not known.
        ValueError: the work has neither FLOPs nor bytes.
    """
    needed = needed_bytes(measurement.work)
    ran = _as_it_ran(measurement, situation)
    point = situation.roofline.place(ran)
    _, _, fraction = situation.roofline.share(ran, point.level)
    moved = _moved(ran.work, point.level)
    extra = _extra(ran.work, needed, point, situation.roofline)
    least = fraction.value * measurement.seconds.value
    return Sight(
        measurement=ran,
        situation=situation,
        point=point,
        fraction=fraction,
        ideal=_spot(measurement.work, needed.total, least / extra.value),
        real=_spot(measurement.work, moved, least),
        extra=extra,
    )


def needed_bytes(work: Work) -> Traffic:
    """What the algorithm needs: said by the work, else what its outermost level moves; nothing where none does."""
    if work.algorithmic is not None:
        return work.algorithmic
    return work.traffic.get(outermost_level(work), Traffic(0.0, 0.0))


def outermost_level(work: Work) -> str:
    """The outermost level that the work moves something through; DRAM where it moves nothing."""
    moving = [level for level in work.traffic if work.moved(level)]
    named = [level for level in MEMORY_LEVELS if level in moving]
    return next(iter([*named, *moving]), "dram")


def least_seconds(work: Work, ceilings: Mapping[str, Ceiling]) -> float:
    """The time that the model gives, by all lines that apply and are known (M1 without overhead); 0 where none is."""
    moving = [
        work.moved(level) / ceilings[work.slope(level)].rate for level in work.traffic if work.slope(level) in ceilings
    ]
    computing = [work.flops / ceilings[work.unit].rate] if work.unit in ceilings else []
    return max([*moving, *computing], default=0.0)


def _as_it_ran(measurement: Measurement, situation: Situation) -> Measurement:
    """The measurement with the bytes that were counted in place of those that the program asks for."""
    work, beside = measurement.work, measurement.beside
    achieved = {
        level: moved
        for level, moved in measurement.achieved.items()
        if not _is_without_its_tail(level, moved.total, work, situation.device)
    }
    if not achieved:
        return measurement
    if beside and "dram" in achieved and work.moved("dram"):
        more = achieved["dram"].total / work.moved("dram")
        beside = Estimate(beside.value * more, beside.low * more, beside.high * more)
    slopes = {level: past_the_cache(slope, situation.roofline.ceilings) for level, slope in work.slopes.items()}
    return replace(measurement, work=replace(work, traffic={**work.traffic, **achieved}, slopes=slopes), beside=beside)


def _is_without_its_tail(level: str, achieved: float, work: Work, device: Device) -> bool:
    """Whether all that is missing can still sit in the last cache (M11): the slopes were measured with such a tail."""
    missing = work.moved(level) - achieved
    return level == outermost_level(work) and 0 <= missing <= (device.cache_bytes or 0)


def past_the_cache(slope: str, ceilings: Mapping[str, Ceiling]) -> str:
    """The slope of the same reads and writes without the reads that ordinary stores add; itself where they add none."""
    if not slope.endswith(ORDINARY):
        return slope
    pattern = slope.removesuffix(ORDINARY)
    known = (name for name in (pattern + PAST_THE_CACHE, pattern, pattern.split("_")[0]) if name in ceilings)
    return next(known, slope)


def _moved(work: Work, level: str) -> float:
    """Bytes that cross a level, with those that ordinary stores read before they write."""
    first_read = work.traffic[level].written if level in work.traffic and work.slope(level).endswith(ORDINARY) else 0.0
    return work.moved(level) + first_read


def _spot(work: Work, moved: float, seconds: float) -> Spot:
    return Spot(moved, work.flops / moved if moved else float("inf"), seconds)


def _extra(work: Work, needed: Traffic, point: Point, roofline: Roofline) -> Estimate:
    """The time that the model gives the real point over that of the ideal one; 1 where the roof of a unit binds.

    Where one ceiling sets both, its noise does not count.
    """
    if unit_of(point.bound_by) != BYTES_PER_SECOND:
        return SAME
    best = past_the_cache(work.slope(outermost_level(work)), roofline.ceilings)
    real, real_by = _least(work, work.moved(point.level), work.slope(point.level), roofline)
    ideal, ideal_by = _least(work, needed.total, best, roofline)
    if not ideal.value:
        return SAME
    ratio = real.over(ideal)
    return Estimate(ratio.value, ratio.value, ratio.value) if real_by == ideal_by else ratio


def _least(work: Work, moved: float, slope: str, roofline: Roofline) -> tuple[Estimate, str]:
    """The longer of moving and computing with its interval, of what is known, and the ceiling that sets it."""
    amounts = {slope: moved, work.unit: work.flops}
    times = {
        name: roofline.ceilings[name].estimate.inverse(amount)
        for name, amount in amounts.items()
        if amount and name in roofline.ceilings
    }
    by = max(times, key=lambda name: times[name].value, default="")
    return times.get(by, Estimate(0.0, 0.0, 0.0)), by
