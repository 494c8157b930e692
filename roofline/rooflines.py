"""The roofline model: ceilings out of measurements, and points under them.

attainable = min(P, I · β), ridge = P / β (Williams, Waterman, Patterson, CACM 52 (4), 2009). Fractions are never
clamped.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from roofline.model import (
    BYTES_PER_SECOND,
    FLOP_PER_SECOND,
    OP_PER_SECOND,
    SECONDS,
    Ceiling,
    Device,
    Estimate,
    Measurement,
    Point,
    Regime,
    Work,
)

# A point counts as above its roof when even the low end of its interval passes the high end of the roof's by more than
# this: the medians of a roof and of a kernel on it differ by about as much in one run.
ABOVE_ROOF = 0.02
# From the outermost level to the innermost.
MEMORY_LEVELS = ("dram", "l3", "l2", "l1", "shared")
ARITHMETIC = (FLOP_PER_SECOND, OP_PER_SECOND)


class MissingCeiling(LookupError):
    """A ceiling that a question needs is not among those of this roofline; the message names it and those there are."""


def unit_of(resource: str) -> str:
    """In what a ceiling is given: launches in seconds, memory levels in B/s, arithmetic in FLOP/s or OP/s."""
    words = resource.split("_")
    if words[0] == "launch":
        return SECONDS
    if words[0] in MEMORY_LEVELS:
        return BYTES_PER_SECOND
    return OP_PER_SECOND if {"int32", "int8"} & set(words) else FLOP_PER_SECOND


def of_the_cores(resource: str) -> bool:
    """Whether a rate follows the clock of the cores: arithmetic does, and what lies inside an SM or a core."""
    return unit_of(resource) in ARITHMETIC or resource.split("_")[0] in ("l1", "shared")


def rate_of(measurement: Measurement, resource: str) -> Estimate:
    """What a measurement says about one of the resources it is a candidate for."""
    unit = unit_of(resource)
    if unit == SECONDS:
        return measurement.seconds
    if unit in ARITHMETIC:
        return measurement.flop_per_s
    level = resource.split("_")[0]
    return measurement.bytes_per_s(level)


def ceiling_from(measurement: Measurement, resource: str, device: Device) -> Ceiling:
    """The ceiling that one measurement alone would set."""
    rate = rate_of(measurement, resource)
    clock = measurement.samples.clock_hz
    rated = device.nominal.get("clock")
    at_rated = None
    if clock and rated and of_the_cores(resource):
        at_rated = rate.value * rated.rate / clock.median
    return Ceiling(
        resource=resource,
        rate=rate.value,
        low=rate.low,
        high=rate.high,
        unit=unit_of(resource),
        kernel=measurement.key.kernel,
        variant=measurement.variant,
        clock_hz=clock.median if clock else None,
        nominal=device.nominal.get(resource),
        at_rated_clock=at_rated,
        footprint_bytes=measurement.footprint_bytes,
    )


def ceilings_of(measurements: Iterable[Measurement], device: Device) -> dict[str, Ceiling]:
    """The envelope: for each resource the best of the measurements that are candidates for it."""
    best: dict[str, Ceiling] = {}
    for measurement in measurements:
        for resource in measurement.measures:
            candidate = ceiling_from(measurement, resource, device)
            if resource not in best or _better(candidate, best[resource]):
                best[resource] = candidate
    return best


def _better(candidate: Ceiling, holder: Ceiling) -> bool:
    return candidate.rate < holder.rate if candidate.unit == SECONDS else candidate.rate > holder.rate


@dataclass(frozen=True)
class Roofline:
    """The ceilings of one device, and the questions one asks of them."""

    ceilings: Mapping[str, Ceiling]

    def ceiling(self, resource: str) -> Ceiling:
        """The ceiling of a resource.

        Raises:
            MissingCeiling: it was not measured, nor read from anywhere.
        """
        try:
            return self.ceilings[resource]
        except KeyError:
            known = ", ".join(sorted(self.ceilings)) or "none"
            raise MissingCeiling(f"no ceiling {resource!r} (there are: {known}); measure it first") from None

    def attainable(self, intensity: float, unit: str = "fp32", slope: str = "dram") -> tuple[Estimate, str]:
        """min(P, I · β) in FLOP/s with its interval, and the resource that sets it (M2)."""
        roof = self.ceiling(unit)
        feed = self.ceiling(slope)
        if intensity * feed.rate < roof.rate:
            return Estimate(intensity * feed.rate, intensity * feed.low, intensity * feed.high), slope
        return roof.estimate, unit

    def ridge(self, unit: str = "fp32", slope: str = "dram") -> Estimate:
        """P / β in FLOP per byte: memory-bound left of it, compute-bound right (M3)."""
        return self.ceiling(unit).estimate.over(self.ceiling(slope).estimate)

    def seconds(self, work: Work, level: str = "dram", overhead_s: float = 0.0) -> float:
        """Time that the model gives `work`: max(FLOPs / P, bytes / β) + overhead (M1)."""
        computing = work.flops / self.ceiling(work.unit).rate if work.flops else 0.0
        moved = work.moved(level)
        moving = moved / self.ceiling(work.slope(level)).rate if moved else 0.0
        return max(computing, moving) + overhead_s

    def place(self, measurement: Measurement) -> Point:
        """Where a measurement lies, judged by the roof above its own point (M4), never clamped (M5).

        Of the levels at which it has a point (H2), the one whose share is largest judges it (H4); of equal ones, the
        outermost. Work without FLOPs is judged by its slopes: bytes over time against β.

        Raises:
            MissingCeiling: the roof or every slope above it is not known.
            ValueError: the work has neither FLOPs nor bytes.
        """
        points = self.place_by_level(measurement)
        limiter = max(points.values(), key=lambda point: point.fraction)
        shares = dict(pair for point in points.values() for pair in point.nearest)
        return replace(
            limiter,
            nearest=tuple(sorted(shares.items(), key=lambda pair: -pair[1])),
            intensities={level: point.intensity for level, point in points.items() if point.intensities},
        )

    def place_by_level(self, measurement: Measurement) -> dict[str, Point]:
        """The point of a measurement at each level whose bytes it counts and whose slope is known, outermost first.

        Work with FLOPs that moves nothing, or nothing through DRAM and the rest at unknown slopes, has one point, under
        its roof alone. Raises as `place` does.
        """
        work = measurement.work
        moving = sorted((level for level in work.traffic if work.moved(level)), key=_depth)
        if not work.flops and not moving:
            raise ValueError(f"{measurement.key} computes and moves nothing: it has no point under a roofline")
        known = [level for level in moving if work.slope(level) in self.ceilings]
        if not known:
            kept_inside = work.flops and "dram" in work.traffic and not work.moved("dram")
            known = ["dram"] if kept_inside or not moving else moving[:1]
        return {level: self._place_at(measurement, level) for level in known}

    def _place_at(self, measurement: Measurement, level: str) -> Point:
        attainable, bound_by, fraction = self.share(measurement, level)
        moved = measurement.work.moved(level)
        intensity = measurement.work.flops / moved if moved else float("inf")
        return Point(
            intensity=intensity,
            flop_per_s=measurement.flop_per_s.value,
            roof=attainable.value,
            bound_by=bound_by,
            fraction=fraction.value,
            regime=self._regime(measurement, bound_by, fraction, level),
            nearest=self._nearest(measurement, level),
            level=level,
            intensities={level: intensity} if moved else {},
        )

    def share(self, measurement: Measurement, level: str = "dram") -> tuple[Estimate, str, Estimate]:
        """The FLOP/s attainable at a measurement's intensity, the resource that sets it, and the share reached."""
        work, slope = measurement.work, measurement.work.slope(level)
        if work.moved(level):
            feed, intensity = self._feed(measurement, level), work.intensity(level)
            if not work.flops or intensity * feed.value < self._roof(measurement).value:
                attainable = Estimate(intensity * feed.value, intensity * feed.low, intensity * feed.high)
                return attainable, slope, _beside(measurement, level) or measurement.bytes_per_s(level).over(feed)
        roof = self._roof(measurement)
        return roof, work.unit, measurement.beside_roof or measurement.flop_per_s.over(roof)

    def _roof(self, measurement: Measurement) -> Estimate:
        """The roof as it was while a measurement took turns with the kernel that set it, else its ceiling."""
        if measurement.beside_roof is None:
            return self.ceiling(measurement.work.unit).estimate
        then = measurement.flop_per_s.value / measurement.beside_roof.value
        return Estimate(then, then, then)

    def _feed(self, measurement: Measurement, level: str) -> Estimate:
        """The slope as it was while a measurement took turns with the kernel that set it, else its ceiling."""
        beside = _beside(measurement, level)
        if beside is None:
            return self.ceiling(measurement.work.slope(level)).estimate
        then = measurement.bytes_per_s(level).value / beside.value
        return Estimate(then, then, then)

    def _nearest(self, measurement: Measurement, level: str) -> tuple[tuple[str, float], ...]:
        """The slope and the roof of a measurement, each with the share of it that was used, nearest first."""
        work, shares = measurement.work, {}
        if work.flops:
            shares[work.unit] = measurement.flop_per_s.value / self._roof(measurement).value
        if work.moved(level):
            shares[work.slope(level)] = measurement.bytes_per_s(level).value / self._feed(measurement, level).value
        return tuple(sorted(shares.items(), key=lambda pair: -pair[1]))

    def _regime(self, measurement: Measurement, bound_by: str, fraction: Estimate, level: str) -> Regime:
        if fraction.low > 1 + ABOVE_ROOF:
            return "above-roof"
        launch = self.ceilings.get("launch")
        if launch and fraction.value < 0.5 and self.seconds(measurement.work, level) < launch.rate:
            return "overhead"
        return "memory" if unit_of(bound_by) == BYTES_PER_SECOND else "compute"


def _beside(measurement: Measurement, level: str) -> Estimate | None:
    """The share of a slope that was taken in turns with the kernel that set it: so far only DRAM's ever is."""
    return measurement.beside if level == "dram" else None


def _depth(level: str) -> int:
    """How far inside a level lies; one that is not of `MEMORY_LEVELS`, innermost."""
    return MEMORY_LEVELS.index(level) if level in MEMORY_LEVELS else len(MEMORY_LEVELS)
