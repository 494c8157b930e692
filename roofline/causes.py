"""What made a row slower or faster: its kernel, the machine below it, or the clock.

The measured ceilings are the control. A kernel that fell together with the ceiling above it did not regress.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal

from roofline.model import BYTES_PER_SECOND, Measurement, RowKey
from roofline.record import Run
from roofline.rooflines import unit_of

Cause = Literal["", "kernel", "machine", "clock"]


@dataclass(frozen=True)
class Ratios:
    """The times of all rows, after over before, with the runs that they are of."""

    of: Mapping[RowKey, float]
    before: Run
    after: Run

    def bound_by(self, key: RowKey) -> str:
        """The resource that bounds a row, empty where nothing says so."""
        point = self.after.points.get(key) or self.before.points.get(key)
        return point.bound_by if point else ""


@dataclass(frozen=True)
class Finding:
    """A cause, and a sentence that says why it is that one.

    `proven`: unseen neighbours cannot be behind it, for the control took turns with the row, or the row's code changed.
    """

    cause: Cause
    why: str
    proven: bool


def cause_of(before: Measurement, after: Measurement, floor: float, ratios: Ratios) -> Finding:
    """What caused a change that exceeds its floor."""
    ratio = ratios.of[before.key]
    cycles = _in_cycles(before, after, ratio)
    if cycles is not None and _within(cycles, floor):
        return Finding("clock", "in cycles it is the same", proven=False)
    control = _control(before, after, ratios)
    if control and _within(ratio / control.ratio, floor):
        return Finding("machine", f"{control.name} changed with it ({_signed(control.ratio)} time)", proven=False)
    known = f"{control.name} did not" if control else "nothing else here uses the same resource"
    code, changed = _code(before, after)
    return Finding("kernel", f"{known}; {code}", proven=changed or bool(control and control.in_turns))


def _within(ratio: float, floor: float) -> bool:
    return abs(math.log(ratio)) <= math.log1p(floor)


def _in_cycles(before: Measurement, after: Measurement, ratio: float) -> float | None:
    """The ratio of core cycles instead of seconds, None where a clock is unknown."""
    old, new = before.samples.clock_hz, after.samples.clock_hz
    return ratio * new.median / old.median if old and new else None


@dataclass(frozen=True)
class Control:
    """What a row is held against, and how its time changed; `in_turns` with the row, or some other time of the run."""

    name: str
    ratio: float
    in_turns: bool = False


def _control(before: Measurement, after: Measurement, ratios: Ratios) -> Control | None:
    """The closest control that there is: the ceiling in turns, else what measures it, else what uses its resource."""
    share = _share_in_turns(before, after, ratios)
    if share is not None:
        return Control("the ceiling that it took turns with", ratios.of[before.key] / share, in_turns=True)
    ceilings = {ratios.bound_by(before.key), *before.measures} - {""}
    families = {_family(ceiling) for ceiling in ceilings}
    for names, others in (
        (ceilings, _others(before.key, ratios, lambda resource: resource in ceilings)),
        (families, _others(before.key, ratios, lambda resource: _family(resource) in families)),
    ):
        if others:
            return Control(f"what else measures {', '.join(sorted(names))}", median(others))
    return None


def _share_in_turns(before: Measurement, after: Measurement, ratios: Ratios) -> float | None:
    """By how much the share of its ceiling fell that a row reached in turns with the ceiling's own kernel."""
    resource = ratios.bound_by(before.key)
    if not resource:
        return None
    moves = unit_of(resource) == BYTES_PER_SECOND
    old, new = (before.beside, after.beside) if moves else (before.beside_roof, after.beside_roof)
    return old.value / new.value if old and new else None


def _others(key: RowKey, ratios: Ratios, wanted: Callable[[str], bool]) -> list[float]:
    """The ratios of the other rows that are candidates for a wanted ceiling."""
    rows = [row for row in ratios.before.measurements if row.key != key and any(map(wanted, row.measures))]
    return [ratios.of[row.key] for row in rows if row.key in ratios.of]


def _family(resource: str) -> str:
    return resource.split("_")[0]


def _signed(ratio: float) -> str:
    return f"{ratio - 1:+.1%}".replace("%", " %")


def _code(before: Measurement, after: Measurement) -> tuple[str, bool]:
    """What became of a kernel's code, which its author can act on, and whether it is known to have changed."""
    if before.variant != after.variant:
        return f"variant {after.variant} won, {before.variant} before", False
    if not (before.binary and after.binary):
        return "its machine code is not known", False
    changed = before.binary != after.binary
    return ("its machine code changed" if changed else "the same machine code"), changed
