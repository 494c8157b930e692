"""What of state and environment differs between two runs, and what a reader of verdicts should know of it."""

from collections.abc import Iterator, Mapping

from roofline.noise import same_unit
from roofline.record import Record, Run

Value = str | float | int | bool | None
Difference = tuple[Value, Value]

# Not part of a device's state, and still more than a fact: somebody else's kernels run between ours.
OTHERS = "other_processes"
# Facts of the moment, which no two runs share.
OF_THE_MOMENT = frozenset(
    {
        "date",
        "temperature_c",
        "clock_hz",
        "memory_clock_hz",
        "power_w",
        "throttle",
        "load_average",
        "others_busy",
        OTHERS,
    }
)


def state_differences(before: Run, after: Run) -> dict[str, Difference]:
    """What makes the figures of two runs incomparable: known on both sides, and not the same."""
    old, new = before.environment.state, after.environment.state
    differs = {name: (old[name], new[name]) for name in old if name in new and _differ(old[name], new[name])}
    others = before.environment.facts.get(OTHERS), after.environment.facts.get(OTHERS)
    if None not in others and bool(others[0]) != bool(others[1]):
        differs[OTHERS] = others
    return differs


def _differ(old: Value, new: Value) -> bool:
    return old is not None and new is not None and old != new


def notes_on(before: Record, after: Run) -> tuple[str, ...]:
    """What does not forbid a comparison and may explain its verdicts, a sentence each."""
    notes = [] if before.run.complete else [f"{before.name} is of an incomplete run"]
    if not after.complete:
        notes.append("this run is not complete: rows that it did not attempt are not gone")
    elif before.run.selection != after.selection:
        chosen = f"{before.run.selection or 'everything'} before, {after.selection or 'everything'} after"
        notes.append(f"selected otherwise ({chosen})")
    if not same_unit(before.run, after):
        notes.append("another unit of this model: two cards of one name differ by a few percent")
    notes += [f"{name} is known to one run only" for name in _one_sided(before.run, after)]
    notes += [f"{name}: {old} before, {new} after" for name, (old, new) in _changed_facts(before.run, after).items()]
    return tuple(notes)


def _one_sided(before: Run, after: Run) -> Iterator[str]:
    """What of the state only one of the runs knew, so that nobody can say whether it differs."""
    old, new = before.environment.state, after.environment.state
    for name in dict.fromkeys((*old, *new)):
        if (old.get(name) is None) != (new.get(name) is None):
            yield name


def _changed_facts(before: Run, after: Run) -> Mapping[str, Difference]:
    """Drivers, compilers, libraries and settings that changed."""
    old, new = before.environment.facts, after.environment.facts
    shared = (name for name in old if name in new and name not in OF_THE_MOMENT)
    return {name: (old[name], new[name]) for name in shared if old[name] != new[name]}
