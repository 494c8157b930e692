"""What a diagnosis says to people: one sentence or two of what was found, and what to try next.

The order of the advice is that of the routine: bytes first, then how they are asked for, then what computes (L3).
"""

from itertools import islice

from roofline import symptoms
from roofline.model import BYTES_PER_SECOND, Case, Estimate
from roofline.sighting import Sight
from roofline.units import percent, percent_number, scaled, si

CLAUSES = 3

# What the noise of a measurement leaves open besides the case that its figures give.
OPEN = {
    "impossible": "above its roof",
    "overhead": "bound by a fixed cost",
    "extra-bytes": "left of its ideal point",
    "below-roof": "below its roof",
    "at-roof": "on its roof",
}

REUSE = {
    "dram": "Use again what was read (tiles, caches) or fuse passes over the same data",
    "l3": "Work in tiles that fit the cache of one core",
    "l2": "Work in larger tiles in shared memory (on a CPU: in the first-level cache)",
    "l1": "Keep more values in registers, a tile for each thread",
    "shared": "Keep more values in registers, a tile for each thread",
}
ACCESS = {
    "dram": "Look at the access pattern (whole sectors or lines?), then at bytes in flight (wider or more loads, more "
    "threads)",
    "l3": "Look at strides and at how many loads are in flight",
    "l2": "Look at the access pattern (whole sectors?), then at bytes in flight (wider or more loads, more threads)",
    "l1": "Look at the width and alignment of loads and at how many are in flight",
    "shared": "Look at bank conflicts and at the width of reads, then at occupancy",
}
COMPUTE = {
    "cuda": "Look at the instruction mix (all of it FMAs?), then at independent work: chains, warps, waves, idle lanes",
    "cpu": "Look at the instruction mix (all of it FMAs?), then at independent work: chains, vector width, idle cores",
}
OVERLAP = "Overlap the two: ask for the next data while the last are computed with"
TENSOR = "Look at what feeds the matrix instructions (tiles on their way while others are used) and at which are used"
OVERHEAD = {
    "cuda": "Fewer, larger launches: fuse, batch, or replay them from a graph. Nothing inside the kernel helps",
    "cpu": "More work a call: fuse or batch. Nothing inside the kernel helps",
}
FIXED = (
    "Find what does not shrink with the work (set-up, one long chain, less than a wave of blocks), or do more at once"
)
MISTRUST = "until then trust no rate of it"
STOP = {
    "memory": "Stop here: only fusing it with a neighbour, a smaller type or another algorithm is left",
    "compute": "Stop here: only fewer operations, a smaller type or a faster unit is left",
}


def finding(sight: Sight, case: Case, perhaps: Case | None, fixed: Estimate | None) -> str:
    """What was found. `fixed` is the share of the time that other sizes say does not shrink with the work."""
    says = {
        "impossible": _impossible,
        "extra-bytes": _extra_bytes,
        "below-roof": _below_roof,
        "at-roof": _at_roof,
    }
    text = _overhead(sight, fixed) if case == "overhead" else says[case](sight)
    if not perhaps:
        return text
    reach = f" ({percent_number(sight.fraction.low)} … {percent(sight.fraction.high)})"
    by_share = not {"overhead", "extra-bytes"} & {case, perhaps}
    return f"{text} Noise{reach if by_share else ''} leaves open that it is {OPEN[perhaps]}."


def advice(sight: Sight, case: Case) -> str:
    """What to try next."""
    if case == "impossible":
        return _mistrust(sight)
    if case == "overhead":
        return (FIXED if symptoms.costs_more_than_launches(sight) else _for_kind(OVERHEAD, sight)) + "."
    if case == "extra-bytes":
        return f"{_reuse(sight)} (at most {_times(sight.gain)} as fast)."
    if case == "below-roof":
        return f"{_harder(sight)} (at most {_times(sight.gain)} as fast)."
    if is_the_ceiling(sight):
        return "Hold it against the nominal rate or another run: a roof says nothing of its own height."
    return STOP["memory" if sight.moves else "compute"] + "."


def is_the_ceiling(sight: Sight) -> bool:
    """Whether the kernel itself set the ceiling that binds it."""
    key, bound_by = sight.measurement.key, sight.point.bound_by
    return bound_by in sight.measurement.measures and sight.ceiling.kernel == key.kernel


def _roof(sight: Sight) -> str:
    """The ceiling that binds with its rate: "dram (4.27 TB/s)", or what it was while the kernel took turns with it."""
    then, measurement, level = sight.ceiling.rate, sight.measurement, sight.point.level
    in_turns, own = measurement.beside_roof, measurement.flop_per_s
    if sight.ceiling.unit == BYTES_PER_SECOND:
        in_turns, own = measurement.beside if level == "dram" else None, measurement.bytes_per_s(level)
    if in_turns:
        then = own.value / in_turns.value
    return f"{sight.point.bound_by} ({si(then, sight.ceiling.unit)}{' at that moment' if in_turns else ''})"


def _share(sight: Sight) -> str:
    return percent(sight.fraction.value)


def _intensity(sight: Sight) -> str:
    """Where the real point lies below a slope, of work that also computes."""
    return f" at {si(sight.real.intensity, 'FLOP/B')}" if sight.moves and sight.measurement.work.flops else ""


def _times(factor: float) -> str:
    return f"{scaled(factor, '')} ×"


def _at_roof(sight: Sight) -> str:
    if is_the_ceiling(sight):
        return f"It is the ceiling itself: the best that {_roof(sight)} did in this run."
    if sight.ceiling.source == "specification":
        return (
            f"At {_share(sight)} of {_roof(sight)} as promised, of which memory gives 80 to 90 %: near its roof, as "
            "far as a data sheet tells."
        )
    return f"On its roof: {_share(sight)} of {_roof(sight)}{_bytes_are_well(sight)}."


def _bytes_are_well(sight: Sight) -> str:
    """What is to be said of the bytes where they are as few as needed, or too many and hidden behind arithmetic."""
    more = sight.times_the_bytes
    if not sight.moves:
        return f", and {_times(more)} the bytes it needs cost it no time" if more > 1 else ""
    if not sight.measurement.work.flops:
        return ", no byte moved twice"
    return f" at its ideal intensity, {si(sight.ideal.intensity, 'FLOP/B')}"


def _extra_bytes(sight: Sight) -> str:
    level, real, ideal = sight.point.level, sight.real, sight.ideal
    crossing = f"{si(real.bytes, 'B')} cross {level}, {_times(sight.times_the_bytes)} the {si(ideal.bytes, 'B')}"
    why = " (ordinary stores read each line first)" if sight.stores_ordinarily else ""
    return f"Left of its ideal point: {crossing} that it needs{why}; at {_share(sight)} of {_roof(sight)}."


def _below_roof(sight: Sight) -> str:
    hints = "".join(f"; {hint}" for hint in islice(symptoms.below(sight), CLAUSES))
    return f"Below its roof: {_share(sight)} of {_roof(sight)}{_intensity(sight)}{hints}."


def _overhead(sight: Sight, fixed: Estimate | None) -> str:
    took = si(sight.measurement.seconds.value, "s")
    launches = sight.measurement.launches
    empty = sight.situation.roofline.ceilings.get(sight.measurement.launch_mode)
    by = "a fixed cost" if symptoms.costs_more_than_launches(sight) else "launches"
    each = "a launch" if launches == 1 else f"a chain of {launches} launches"
    parts = [f"Bound by {by}: {took} {each}, of which its work explains {si(sight.real.seconds, 's')}"]
    if empty:
        parts.append(f"an empty launch takes {si(empty.rate, 's')}")
    if fixed:
        parts.append(f"half the work takes {percent((1 + fixed.value) / 2)} of the time")
    return "; ".join(parts) + "."


def _impossible(sight: Sight) -> str:
    measurement, bound_by = sight.measurement, sight.point.bound_by
    causes = symptoms.above(measurement, bound_by, sight.situation)
    likely = "; ".join(islice(causes, CLAUSES))
    if sight.fraction.value > 1:
        return f"Above its roof: {_share(sight)} of {_roof(sight)}, which cannot be. Likely: {likely}."
    missing = f"{si(sight.real.bytes, 'B')} crossed {sight.point.level}, fewer than the {si(sight.ideal.bytes, 'B')}"
    return f"Right of its ideal point, which cannot be: {missing} that it needs. Likely: {likely}."


def _mistrust(sight: Sight) -> str:
    """What to put right first, by the kind of roof that was passed."""
    cache = sight.situation.device.cache_bytes
    small = any(symptoms.small_buffers(sight.measurement, sight.situation))
    if sight.moves and sight.point.level == "dram" and small and cache:
        least = si(symptoms.LARGER_THAN_CACHE * cache, "B")
        return f"Use buffers of {least} or more, or judge it by the cache that serves it; {MISTRUST}."
    if sight.moves:
        return f"Count the bytes again and measure the slope again beside it; {MISTRUST}."
    return f"Count the FLOPs again (an FMA is two) and name the unit that does them; {MISTRUST}."


def _reuse(sight: Sight) -> str:
    if sight.stores_ordinarily:
        return "Store past the cache (non-temporal) or in place"
    return REUSE.get(sight.point.level, REUSE["dram"])


def _harder(sight: Sight) -> str:
    if symptoms.other_side(sight):
        return OVERLAP
    if sight.moves:
        return ACCESS.get(sight.point.level, ACCESS["dram"])
    return TENSOR if sight.point.bound_by.startswith("tensor") else _for_kind(COMPUTE, sight)


def _for_kind(table: dict[str, str], sight: Sight) -> str:
    return table.get(sight.situation.device.kind, table["cpu"])
