"""The routine: which of five cases holds for a placed kernel, and what to try next (L3).

In this order, the first that holds: a point where none can be is a mistake of the measurement; time that does not
depend on the work is overhead; bytes beyond what the algorithm needs come before how fast they move; then a point is
below its roof, or on it and done. Each has a boundary, and where the noise reaches across one the diagnosis says so.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import log
from typing import Protocol

from roofline import advice
from roofline.model import (
    Case,
    Ceiling,
    Device,
    Diagnosis,
    Estimate,
    Measurement,
    Point,
    Regime,
    RowKey,
    Samples,
    Traffic,
    Work,
)
from roofline.rooflines import ABOVE_ROOF, MissingCeiling, Roofline
from roofline.sighting import Sight, Situation, least_seconds, outermost_level, sighted
from roofline.symptoms import MOSTLY_FIXED, PRACTICAL

# From this share on a kernel is on its roof: kernels that only stream reach 92 % and more of what a copy does.
ON_ROOF = 0.9
# Ordinary stores gather better with arithmetic between them than in the copy that is their slope: 1.27 times was seen.
ORDINARY_GAINS = 1.3
# Bytes count as extra when without them the model's time would be shorter by more than this.
EXTRA = 1.1
# A sweep over sizes names its rows by bytes: "vecadd-0000012288B".
BYTES_IN_NAME = re.compile(r"-\d+B$")
# Sizes whose work differs by less than this factor say nothing of growth.
APART = 1.4


class Placed(Protocol):
    """What a run or a report holds, as far as it is diagnosed."""

    @property
    def device(self) -> Device:
        """What it ran on."""
        ...

    @property
    def ceilings(self) -> Mapping[str, Ceiling]:
        """By which it is judged."""
        ...

    @property
    def measurements(self) -> Sequence[Measurement]:
        """Its rows."""
        ...

    @property
    def points(self) -> Mapping[RowKey, Point]:
        """Those that were placed."""
        ...


@dataclass(frozen=True)
class Leaning:
    """Whether a case holds, and whether the noise leaves it open."""

    holds: bool
    open: bool = False

    @classmethod
    def beyond(cls, figure: Estimate, boundary: float) -> "Leaning":
        """A case that holds above a boundary."""
        return cls(figure.value > boundary, figure.low <= boundary < figure.high)


NO = Leaning(holds=False)


def diagnoses(run: Placed) -> dict[RowKey, Diagnosis]:
    """Every placed kernel of a run, diagnosed by its ceilings and by its own other sizes."""
    found = {}
    situation = situation_of(run)
    for measurement in run.measurements:
        if measurement.key not in run.points:
            continue
        others = [row for row in run.measurements if _is_other_size(row.key, measurement.key)]
        try:
            found[measurement.key] = diagnose(measurement, replace(situation, other_sizes=others))
        except (MissingCeiling, ValueError):  # a point that these ceilings do not give was made elsewhere
            continue
    return found


def situation_of(run: Placed) -> Situation:
    """The roofline and the device of a run, with the kernels whose samples were flagged."""
    unsteady = frozenset(row.key.kernel for row in run.measurements if row.samples.flags)
    return Situation(Roofline(run.ceilings), run.device, unsteady=unsteady)


def diagnose(measurement: Measurement, situation: Situation) -> Diagnosis:
    """Which case holds for one measurement.

    Raises:
        MissingCeiling: the roof or every slope above it is not known.
        ValueError: the work has neither FLOPs nor bytes.
    """
    sight = sighted(measurement, situation)
    fixed = fixed_share(sight)
    case, perhaps = _decide(sight, fixed)
    return Diagnosis(
        case=case,
        level=sight.point.level,
        bound_by=sight.point.bound_by,
        regime=_regime(case, sight),
        fraction=sight.fraction,
        ideal=sight.ideal,
        real=sight.real,
        gain=sight.gain,
        nearest=sight.point.nearest,
        finding=advice.finding(sight, case, perhaps, fixed),
        advice=advice.advice(sight, case),
        perhaps=perhaps,
    )


def together(parts: Sequence[Measurement], needs: Work, kernel: str) -> Measurement:
    """A program of several kernels as one measurement: its work and time are their sums, `needs` is what it needs.

    Each part may be on its roof and the whole far left of its ideal point (L1).
    """
    seconds = [part.seconds for part in parts]
    whole = Estimate(sum(s.value for s in seconds), sum(s.low for s in seconds), sum(s.high for s in seconds))
    moved = reduce(_added, (part.work.traffic.get("dram", Traffic(0.0, 0.0)) for part in parts))
    first = parts[0]
    return Measurement(
        key=replace(first.key, kernel=kernel, unit=needs.unit),
        work=replace(
            needs,
            flops=sum(part.work.flops for part in parts),
            traffic={"dram": moved},
            algorithmic=needs.traffic["dram"],
        ),
        variant=f"{len(parts)} kernels",
        samples=Samples((whole.value,), first.samples.timer, cold=first.samples.cold),
        seconds=whole,
        footprint_bytes=max(part.footprint_bytes for part in parts),
    )


def fixed_share(sight: Sight) -> Estimate | None:
    """The share of the time that does not shrink with the work, by the nearest other size; None without one (C6).

    Through both sizes goes T = t0 + work / rate (M1), where the work is the time that the model gives it, so that bytes
    and FLOPs count as they matter.
    """
    ceilings, own = sight.situation.roofline.ceilings, sight.measurement
    work = least_seconds(own.work, ceilings)
    others = [(least_seconds(other.work, ceilings), other.seconds) for other in sight.situation.other_sizes]
    apart = [(abs(log(amount / work)), amount, took) for amount, took in others if amount and work]
    usable = [size for size in apart if size[0] >= log(APART)]
    if not usable:
        return None
    _, amount, took = min(usable, key=lambda size: size[0])
    longer = took.over(own.seconds)
    shares = [1 - (times - 1) / (amount / work - 1) for times in (longer.value, longer.low, longer.high)]
    return Estimate(shares[0], min(shares), max(shares))


def _decide(sight: Sight, fixed: Estimate | None) -> tuple[Case, Case | None]:
    """The first case that holds, and the one that would be if the noise leant the other way."""
    found: list[Case] = []
    before: Case | None = None
    for case, leaning in _leanings(sight, fixed):
        if leaning.holds:
            found.append(case)
            if not leaning.open:
                break
        elif leaning.open and not found and before is None:
            before = case
    else:
        found.append("at-roof")
    return found[0], before or (found[1] if len(found) > 1 else None)


def _leanings(sight: Sight, fixed: Estimate | None) -> Iterator[tuple[Case, Leaning]]:
    yield "impossible", _cannot_be(sight)
    yield "overhead", _does_not_scale(sight, fixed)
    yield "extra-bytes", _has_extra_bytes(sight)
    yield "below-roof", _is_below(sight)


def _cannot_be(sight: Sight) -> Leaning:
    """Above the roof beyond its noise, or short of bytes that the algorithm needs and no cache can have kept (M11)."""
    highest = ORDINARY_GAINS if sight.stores_ordinarily else 1 + ABOVE_ROOF
    above = sight.fraction.low > highest
    kept = sight.situation.device.cache_bytes
    outermost = sight.point.level == outermost_level(sight.measurement.work)
    short = outermost and kept is not None and sight.ideal.bytes - sight.real.bytes > kept
    return Leaning(above or short, open=not above and sight.fraction.value > highest)


def _does_not_scale(sight: Sight, fixed: Estimate | None) -> Leaning:
    """Time of which a cost that does not shrink with the work is the most; an empty launch, where no size tells."""
    if sight.fraction.low >= ON_ROOF:
        return NO
    if fixed:
        return Leaning.beyond(fixed, MOSTLY_FIXED)
    share = sight.launch_share
    if share is None or sight.real.seconds > share.value * sight.measurement.seconds.value:
        return NO
    return Leaning.beyond(share, MOSTLY_FIXED)


def _has_extra_bytes(sight: Sight) -> Leaning:
    """Bytes beyond the ideal that cost time: right of the ridge they may not."""
    return Leaning.beyond(sight.extra, EXTRA) if sight.times_the_bytes > EXTRA else NO


def _is_below(sight: Sight) -> Leaning:
    """Less than what kernels on their roof reach. Of a promised bandwidth memory gives 80 to 90 % (M12)."""
    fraction = sight.fraction
    if sight.moves and sight.ceiling.source == "specification" and PRACTICAL <= fraction.value < ON_ROOF:
        return Leaning(holds=False, open=True)
    return Leaning(fraction.value < ON_ROOF, fraction.low < ON_ROOF <= fraction.high)


def _regime(case: Case, sight: Sight) -> Regime:
    if case == "overhead":
        return "overhead"
    if case == "impossible" and sight.fraction.value > 1:
        return "above-roof"
    return "memory" if sight.moves else "compute"


def _added(one: Traffic, other: Traffic) -> Traffic:
    return Traffic(one.read + other.read, one.written + other.written)


def _is_other_size(key: RowKey, of: RowKey) -> bool:
    """Whether two rows are of one kernel at two sizes; its name may end in the bytes that it moves."""
    return key.size != of.size and _whatever_its_size(key) == _whatever_its_size(of)


def _whatever_its_size(key: RowKey) -> RowKey:
    return replace(key, size=0, kernel=BYTES_IN_NAME.sub("", key.kernel))
