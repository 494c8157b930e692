"""What a point's place may come from: causes with evidence in the run itself, for points below their roof and above it.

Nothing here decides a case; a cause is a suspicion with the figures that raise it.
"""

import re
from collections.abc import Iterator
from math import isclose

from roofline.model import BYTES_PER_SECOND, FLOP_PER_SECOND, Ceiling, Measurement
from roofline.rooflines import of_the_cores, unit_of
from roofline.sighting import Sight, Situation
from roofline.units import percent, si

# Buffers count as larger than a cache from this many times its size on: below it a share of each pass stays cached.
LARGER_THAN_CACHE = 4
# Clocks that differ by less are the same clock read twice.
SAME_CLOCK = 0.02
# A kernel that something holds at a line reaches 95 to 100 % of it, as those do that measure the line; 2 % is noise.
LIKE_A_LINE = (0.95, 1.02)
# How near 2 or 1/2 of a roof must be to be suspected of a count: an FMA is two FLOPs (M7).
TWICE = 0.06
# From this share on a launch is worth a word.
NOTABLE_LAUNCH = 0.1
# Beyond this share of the time a fixed cost is more than the work: half the work takes three quarters of the time.
MOSTLY_FIXED = 0.5
# Near the ridge both lines are this near; there neither moving nor computing hides behind the other wholly.
NEAR_RIDGE = 0.6
# Practical DRAM stays 10 to 20 % under what is promised (M12).
PRACTICAL = 0.8
MOST_LINES = 3

# What keeps code at a line that falls short of its unit or level, by the name of the line.
HABITS = (
    (re.compile(r"^(?P<of>.+)_no_fma$"), "multiplies and adds that no FMA joins"),
    (re.compile(r"^(?P<of>.+)_one_chain$"), "one chain of dependent FMAs"),
    (re.compile(r"^(?P<of>.+)_divergent_(?P<count>\d+)$"), "{count} of 32 lanes active"),
    (re.compile(r"^(?P<of>dram)_stride_(?P<count>\d+)$"), "one float of every {count} used"),
    (re.compile(r"^sfu_(?P<count>.+)$"), "special functions ({count})"),
)


def below(sight: Sight) -> Iterator[str]:
    """Why a kernel may be below its roof, as far as the run tells."""
    yield from _promised(sight)
    yield from _slower_clock(sight)
    yield from _flags(sight.measurement)
    yield from _like_a_line(sight)
    yield from _half(sight)
    yield from _near_the_ridge(sight)
    yield from _launching(sight)
    if sight.point.bound_by.startswith("dram"):
        for where in small_buffers(sight.measurement, sight.situation):
            yield f"its buffers may be cached in part ({where})"


def above(measurement: Measurement, bound_by: str, situation: Situation) -> list[str]:
    """Why a point can lie above its roof, the causes that have evidence first; a wrong count is always possible."""
    ceiling = situation.roofline.ceilings.get(bound_by)
    causes = [*_unsteady(measurement, ceiling, situation), *_served_again(measurement, bound_by)]
    causes += [f"cache-resident ({where})" for where in small_buffers(measurement, situation)]
    causes += _faster_clock(measurement, bound_by, ceiling, situation)
    if bound_by.endswith("_ordinary"):
        causes.append("ordinary stores gain from arithmetic between them, so their copy is no envelope")
    causes += _other_unit(measurement, bound_by, situation)
    causes += _twice(measurement, ceiling)
    return [*causes, f"wrong count ({measurement.work.convention})"]


def small_buffers(measurement: Measurement, situation: Situation) -> Iterator[str]:
    """How small the buffers are beside the last cache; nothing where they exceed it often enough."""
    cache, footprint = situation.device.cache_bytes, measurement.footprint_bytes
    if not cache or not footprint:
        yield "footprint or cache size unknown"
    elif footprint < LARGER_THAN_CACHE * cache:
        yield f"footprint {si(footprint, 'B')}, last cache {si(cache, 'B')}"


def _promised(sight: Sight) -> Iterator[str]:
    if sight.ceiling.source == "specification":
        yield "the roof is what its maker promises, not what was measured"


def _slower_clock(sight: Sight) -> Iterator[str]:
    """A clock that was lower than the roof's, where that is the whole difference."""
    clock, roof = sight.measurement.samples.clock_hz, sight.ceiling.clock_hz
    if clock and roof and of_the_cores(sight.point.bound_by) and clock.median < roof * (1 - SAME_CLOCK):
        share = percent(sight.fraction.value * roof / clock.median, 2)
        yield f"its clock was {si(clock.median, 'Hz')}, the roof's {si(roof, 'Hz')}: at one clock it is at {share}"


def _flags(measurement: Measurement) -> Iterator[str]:
    flags = [flag for flag in measurement.samples.flags if flag != "throttled"]  # that shows in the clock
    if flags:
        yield f"its times were not steady ({', '.join(flags)})"


def _like_a_line(sight: Sight) -> Iterator[str]:
    """Lines below the roof that the kernel is just as fast as: a habit of code, or another unit's arithmetic (M13)."""
    found = [words for name, words in _lower_lines(sight) if _is_like(sight, name)]
    if found:
        yield f"it is as fast as {', '.join(found[:MOST_LINES])}"


def _lower_lines(sight: Sight) -> Iterator[tuple[str, str]]:
    bound_by, ceilings = sight.point.bound_by, sight.situation.roofline.ceilings
    own = sight.point.level if sight.moves else bound_by
    for name, ceiling in ceilings.items():
        habit = _habit(name, own)
        if habit:
            yield name, f"{name} ({habit})"
        elif not (sight.moves or name == bound_by) and ceiling.unit == FLOP_PER_SECOND and _is_best(name):
            yield name, f"{name} (another unit's roof)"


def _is_best(name: str) -> bool:
    """Whether a roof is the best of a unit, rather than what a habit of code leaves of one."""
    return not any(pattern.match(name) for pattern, _ in HABITS)


def _habit(name: str, own: str) -> str:
    """In words what a line below `own` stands for; empty where it is no such line. FP32 code has special functions."""
    for pattern, words in HABITS:
        match = pattern.match(name)
        if match and match.groupdict().get("of", "fp32") == own:
            return words.format(**match.groupdict())
    return ""


def _is_like(sight: Sight, name: str) -> bool:
    """Whether the kernel reaches as much as another line allows, by its share of its own: both may have drifted."""
    ceilings = sight.situation.roofline.ceilings
    share = sight.fraction.value * sight.ceiling.rate / ceilings[name].rate
    return LIKE_A_LINE[0] <= share <= LIKE_A_LINE[1]


def _half(sight: Sight) -> Iterator[str]:
    if not sight.moves and isclose(sight.fraction.value, 0.5, rel_tol=TWICE):
        yield "half of a roof is what an FMA counted as one FLOP gives (it is two)"


def other_side(sight: Sight) -> tuple[str, float] | None:
    """The line of the other kind that is near as well, a slope beside a roof: the point is at the ridge."""
    other = (line for line in sight.point.nearest if (unit_of(line[0]) == BYTES_PER_SECOND) != sight.moves)
    return next((line for line in other if line[1] >= NEAR_RIDGE), None)


def _near_the_ridge(sight: Sight) -> Iterator[str]:
    other = other_side(sight)
    if other:
        yield f"near the ridge, {percent(other[1], 2)} of {other[0]} too: neither hides behind the other"


def costs_more_than_launches(sight: Sight) -> bool:
    """Whether an empty launch is known to be the lesser part of the time."""
    share = sight.launch_share
    return share is not None and share.value < MOSTLY_FIXED


def _launching(sight: Sight) -> Iterator[str]:
    share = sight.launch_share
    if share and share.value >= NOTABLE_LAUNCH:
        empty = "an empty launch takes" if sight.measurement.launches == 1 else "empty launches take"
        yield f"{empty} {percent(share.value, 2)} of its time"


def _unsteady(measurement: Measurement, ceiling: Ceiling | None, situation: Situation) -> Iterator[str]:
    if ceiling and ceiling.kernel in situation.unsteady:
        yield f"the roof is too low: {ceiling.kernel} was disturbed or drifted while it was measured"
    elif measurement.samples.flags:
        yield f"not steady while it was measured ({', '.join(measurement.samples.flags)})"


def _served_again(measurement: Measurement, bound_by: str) -> Iterator[str]:
    """Reads counted as often as the program asks for them, of which only the first need cross the level (K1)."""
    needed, moved = measurement.work.algorithmic, measurement.work.moved("dram")
    if bound_by.startswith("dram") and needed and needed.total < moved:
        yield f"a cache served what is asked for again ({si(moved, 'B')} asked for, {si(needed.total, 'B')} needed)"


def _faster_clock(
    measurement: Measurement, bound_by: str, ceiling: Ceiling | None, situation: Situation
) -> Iterator[str]:
    """A clock that was higher than the roof's, of what follows the clock; than the rated one, where that is not known.

    A roof that was measured at the same boosted clock is no lower for it.
    """
    clock, then = measurement.samples.clock_hz, ceiling.clock_hz if ceiling else None
    rated = situation.device.nominal.get("clock")
    if not of_the_cores(bound_by):
        return
    if not clock:
        yield "clock above rated (clock unknown)"
    elif then:
        if clock.median > then * (1 + SAME_CLOCK):
            yield f"clock above the roof's ({si(clock.median, 'Hz')}, then {si(then, 'Hz')})"
    elif not rated:
        yield f"clock above rated ({si(clock.median, 'Hz')}, rated unknown)"
    elif clock.median > rated.rate * (1 + SAME_CLOCK):
        yield f"clock above rated ({si(clock.median, 'Hz')}, rated {si(rated.rate, 'Hz')})"


def _other_unit(measurement: Measurement, bound_by: str, situation: Situation) -> Iterator[str]:
    """The slowest unit that could do this rate, where the kernel's own cannot: TF32 under the name of FP32."""
    ceilings, rate = situation.roofline.ceilings, measurement.flop_per_s.value
    if unit_of(bound_by) != FLOP_PER_SECOND:
        return
    able = [c for name, c in ceilings.items() if c.unit == FLOP_PER_SECOND and _is_best(name) and c.rate >= rate]
    if able:
        unit = min(able, key=lambda ceiling: ceiling.rate)
        yield f"another unit's arithmetic ({percent(rate / unit.rate, 2)} of {unit.resource})"


def _twice(measurement: Measurement, ceiling: Ceiling | None) -> Iterator[str]:
    if ceiling and ceiling.unit == FLOP_PER_SECOND:
        times = measurement.flop_per_s.value / ceiling.rate
        if isclose(times, 2.0, rel_tol=TWICE):
            yield "twice its roof: FLOPs counted twice, or a roof that counts an FMA as one"
