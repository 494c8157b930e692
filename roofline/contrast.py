"""Two cards side by side: what each can do, and how near a kernel comes to what binds it on either.

Two models differ by nature, so nothing here is slower or a regression. One side, or both, may be a spec sheet: then
its figures are promises, and what binds a kernel there is what the model says of them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from roofline.baseline import KEY_FIELDS
from roofline.model import SECONDS, Ceiling, Device, Estimate, Measurement, Point, RowKey, Work
from roofline.record import Record
from roofline.rooflines import ARITHMETIC, MEMORY_LEVELS, Roofline, unit_of
from roofline.specsheets import SpecSheet

# Roofs that are a unit's own with something taken away (no FMA, one chain, some lanes) have no ridge of their own.
LESSER_ROOFS = ("fp32_", "sfu_")


@dataclass(frozen=True)
class Side:
    """One card of a contrast: what it can do at most and, where it was measured, where its kernels lie.

    `label` says where the figures are from: a file, or a spec sheet, which is a `specification`.
    """

    label: str
    name: str
    specification: bool
    roofline: Roofline
    device: Device | None = None
    measurements: Sequence[Measurement] = ()
    points: Mapping[RowKey, Point] = field(default_factory=dict)
    dated: str = ""

    @classmethod
    def of(cls, source: Record | SpecSheet) -> "Side":
        """The side that a record or a sheet is."""
        if isinstance(source, SpecSheet):
            return cls(source.slug, source.name, True, source.roofline)
        run = source.run
        day = source.created.date().isoformat()
        return cls(
            source.name, run.device.name, False, Roofline(run.ceilings), run.device, run.measurements, run.points, day
        )


@dataclass(frozen=True)
class CeilingPair:
    """A resource that both cards have; `ratio` says how many times as fast the second is."""

    resource: str
    first: Ceiling
    second: Ceiling
    ratio: Estimate


@dataclass(frozen=True)
class RidgePair:
    """The intensity from which a unit, not DRAM, binds on each card; a `shift` above 1 is to the right."""

    name: str
    first: Estimate
    second: Estimate
    shift: Estimate


@dataclass(frozen=True)
class Standing:
    """How a kernel stands on one card: what binds it and, where it was measured there, its rate and share of its roof.

    `bound_by` is a memory level ("dram"), an arithmetic unit ("fp32") or "launch".
    """

    bound_by: str | None
    rate: Estimate | None = None
    unit: str = ""
    fraction: float | None = None

    @property
    def measured(self) -> bool:
        """Whether this is a measurement; else it is what the model says of the card's ceilings."""
        return self.rate is not None


@dataclass(frozen=True)
class KernelPair:
    """A kernel on both cards; `ratio` says how many times as fast the second ran it, None where unknown (see `why`)."""

    key: RowKey
    intensity: float | None
    first: Standing
    second: Standing
    ratio: Estimate | None = None
    why: str = ""

    @property
    def flips(self) -> bool:
        """Whether something else binds the kernel on the other card."""
        first, second = self.first.bound_by, self.second.bound_by
        return first is not None and second is not None and first != second


@dataclass(frozen=True)
class Contrast:
    """Everything that two cards have in common, and what a person should know of how they were compared."""

    first: Side
    second: Side
    ceilings: tuple[CeilingPair, ...]
    ridges: tuple[RidgePair, ...]
    kernels: tuple[KernelPair, ...]
    notes: tuple[str, ...] = ()

    @property
    def both(self) -> tuple[KernelPair, ...]:
        """The kernels that were measured on both."""
        return tuple(pair for pair in self.kernels if pair.first.measured and pair.second.measured)

    @property
    def flips(self) -> tuple[KernelPair, ...]:
        """The kernels that something else binds on the other card."""
        return tuple(pair for pair in self.kernels if pair.flips)


def contrast(first: Side, second: Side) -> Contrast:
    """The first card beside the second."""
    return Contrast(
        first,
        second,
        tuple(_ceilings(first, second)),
        tuple(_ridges(first, second)),
        tuple(_kernels(first, second)),
        tuple(_notes(first, second)),
    )


def _shared(first: Side, second: Side) -> list[str]:
    return [resource for resource in first.roofline.ceilings if resource in second.roofline.ceilings]


def _ceilings(first: Side, second: Side) -> Iterator[CeilingPair]:
    for resource in _shared(first, second):
        one, other = first.roofline.ceiling(resource), second.roofline.ceiling(resource)
        yield CeilingPair(resource, one, other, _times_as_fast(one.estimate, other.estimate, one.unit))


def _times_as_fast(first: Estimate, second: Estimate, unit: str) -> Estimate:
    """How many times as fast the second figure is: of times the smaller is the faster."""
    return first.over(second) if unit == SECONDS else second.over(first)


def _ridges(first: Side, second: Side) -> Iterator[RidgePair]:
    shared = _shared(first, second)
    for unit in shared if "dram" in shared else ():
        if unit_of(unit) in ARITHMETIC and not unit.startswith(LESSER_ROOFS):
            one, other = first.roofline.ridge(unit), second.roofline.ridge(unit)
            yield RidgePair(f"{unit}/dram", one, other, other.over(one))


def _kernels(first: Side, second: Side) -> Iterator[KernelPair]:
    """Every kernel that was measured on either card, those of the first in its order."""
    for one, other in _pairs(first.measurements, second.measurements):
        known = one or other
        assert known
        ratio, why = _ratio(one, other) if one and other else (None, "")
        standings = _standing(first, one, known.work), _standing(second, other, known.work)
        yield KernelPair(known.key, _intensity(known.work), *standings, ratio, why)


def _pairs(
    first: Sequence[Measurement], second: Sequence[Measurement]
) -> Iterator[tuple[Measurement | None, Measurement | None]]:
    """Rows of one kernel: of one size where both cards have that size, else of whatever size where each has one."""
    there: dict[tuple[str, ...], list[Measurement]] = defaultdict(list)
    here: dict[tuple[str, ...], int] = defaultdict(int)
    for row in second:
        there[_sizeless(row.key)].append(row)
    for row in first:
        here[_sizeless(row.key)] += 1
    paired: set[RowKey] = set()
    for row in first:
        others = there[_sizeless(row.key)]
        same = next((other for other in others if other.key.size == row.key.size), None)
        alone = len(others) == here[_sizeless(row.key)] == 1
        partner = same or (others[0] if alone else None)
        if partner:
            paired.add(partner.key)
        yield row, partner
    yield from ((None, row) for row in second if row.key not in paired)


def _sizeless(key: RowKey) -> tuple[str, ...]:
    return key.experiment, key.kernel, key.unit, key.level, key.fill


def _ratio(one: Measurement, other: Measurement) -> tuple[Estimate | None, str]:
    """How many times as fast the second card ran a kernel; None, and why, where that would compare two things."""
    if one.work.convention != other.work.convention:
        return None, f"counted otherwise: {one.work.convention} / {other.work.convention}"
    if one.key.size == other.key.size:
        return one.seconds.over(other.seconds), ""
    (first, unit), (second, _) = _rate(one), _rate(other)
    return _times_as_fast(first, second, unit), ""


def _rate(row: Measurement) -> tuple[Estimate, str]:
    """What a kernel did a second: arithmetic where it does any, else bytes; its time where it does neither."""
    if row.work.flops:
        return row.flop_per_s, unit_of(row.work.unit)
    moved = max(row.work.traffic.values(), key=lambda traffic: traffic.total, default=None)
    if moved and moved.total:
        return row.seconds.inverse(moved.total), "B/s"
    return row.seconds, SECONDS


def _standing(side: Side, row: Measurement | None, work: Work) -> Standing:
    if row is None:
        return Standing(binding(side.roofline, work))
    rate, unit = _rate(row)
    point = side.points.get(row.key)
    if point is None:
        return Standing(None, rate, unit)
    return Standing("launch" if point.regime == "overhead" else kind_of(point.bound_by), rate, unit, point.fraction)


def binding(roofline: Roofline, work: Work) -> str | None:
    """What the model says binds some work on a card: what takes longest. None where a ceiling that it needs is unknown.

    A level's own bandwidth stands in for that of a mix of reads and writes that this card knows nothing of.
    """
    times: dict[str, float] = {}
    if work.flops:
        if work.unit not in roofline.ceilings:
            return None
        times[work.unit] = work.flops / roofline.ceiling(work.unit).rate
    for level, traffic in work.traffic.items():
        slope = work.slope(level) if work.slope(level) in roofline.ceilings else level
        if traffic.total and slope in roofline.ceilings:
            times[level] = traffic.total / roofline.ceiling(slope).rate
        elif traffic.total and level == "dram":
            return None
    return max(times, key=times.__getitem__, default=None)


def kind_of(resource: str) -> str:
    """A resource by what it is a part of: a mix of reads and writes by its level, arithmetic by its unit."""
    level = resource.split("_")[0]
    return level if level in MEMORY_LEVELS else resource


def _intensity(work: Work) -> float | None:
    """FLOP per byte of DRAM; None where nothing is counted there."""
    return work.intensity("dram") if work.flops and work.moved("dram") else None


def _notes(first: Side, second: Side) -> Iterator[str]:
    for name, side in (("A", first), ("B", second)):
        if side.specification:
            yield f"{name} is a specification: what its maker promises, dense, and not a measurement"
    if first.device and second.device and first.name == second.name:
        differ = zip(KEY_FIELDS, first.device.key, second.device.key, strict=True)
        shown = ", ".join(f"{what} {one!r} and {other!r}" for what, one, other in differ if one != other)
        yield f"two models of one name: {shown}"
    for name, side, other in (("A", first, second), ("B", second, first)):
        alone = [resource for resource in side.roofline.ceilings if resource not in other.roofline.ceilings]
        if alone:
            yield f"only {name} has {', '.join(alone)}"
