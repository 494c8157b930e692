"""What changed between two runs of one model: a verdict for each row, and what caused it.

A row is slower when its samples can be told apart *and* its time grew by more than this device's own runs differ by
(`roofline.noise`). docs/verdicts.md argues the choice of test and says what each verdict means.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from roofline.causes import Cause, Ratios, cause_of
from roofline.differences import Difference, notes_on, state_differences
from roofline.evidence import ALPHA, Evidence, Pair, evidence_on, has_number, obstacle, pairs_of
from roofline.model import Estimate, Measurement, RowKey
from roofline.noise import Floors, is_guest, same_unit
from roofline.record import Record, Run
from roofline.units import percent

Verdict = Literal["same", "faster", "slower", "inconclusive", "new", "gone", "incomparable"]

NO_NUMBER = "its time is no positive number"
# A guest's neighbours take half of a core's units or of the memory without showing in any of its counters.
NEIGHBOURS = "a guest cannot see its neighbours"
# Rows without a ratio come first: what is gone matters most.
WITHOUT_A_RATIO: tuple[Verdict, ...] = ("gone", "incomparable", "new")


class NotOneModel(ValueError):
    """Two runs are of different models, between which nothing is slower or faster; the message names both."""


@dataclass(frozen=True)
class Change:
    """What became of one row: the `ratio` of its times, after over before (above 1 is slower), and the verdict.

    `floor` is what the times may differ by with nothing changed, `p` the chance, corrected for the number of rows, that
    samples of one distribution lie so far apart. Where the times differ by more than the floor, `cause` says what made
    them. `reason` is a sentence, or empty.
    """

    key: RowKey
    before: Measurement | None
    after: Measurement | None
    ratio: Estimate | None
    floor: float
    p: float | None
    verdict: Verdict
    cause: Cause = ""
    reason: str = ""

    @property
    def size(self) -> float:
        """How far the times lie apart, the same for twice and half; infinite where there is no ratio."""
        return abs(math.log(self.ratio.value)) if self.ratio else math.inf


@dataclass(frozen=True)
class Comparison:
    """All changes between a stored run and another, what of the state `differs`, and what a person should know."""

    before: Record
    after: Run
    changes: tuple[Change, ...]
    differs: Mapping[str, Difference] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def of(self, *verdicts: Verdict) -> tuple[Change, ...]:
        """The changes with one of these verdicts."""
        return tuple(change for change in self.changes if change.verdict in verdicts)

    @cached_property
    def slower(self) -> tuple[Change, ...]:
        """Kernels that regressed: slower, and neither the machine nor its clock was."""
        return tuple(change for change in self.of("slower") if change.cause == "kernel")

    @cached_property
    def drifted(self) -> tuple[Change, ...]:
        """Rows that the machine or its clock made slower or faster."""
        return tuple(change for change in self.of("slower", "faster") if change.cause in ("machine", "clock"))

    @cached_property
    def gone(self) -> tuple[Change, ...]:
        """Rows that had a figure and have none now."""
        return self.of("gone")

    @cached_property
    def judged(self) -> tuple[Change, ...]:
        """Rows of which two figures were compared."""
        return self.of("same", "faster", "slower", "inconclusive")

    @cached_property
    def unusable(self) -> tuple[Change, ...]:
        """Rows with a figure that is no number; records hold none, a run in progress may."""
        return tuple(c for c in self.changes if not all(has_number(row) for row in (c.before, c.after) if row))

    @property
    def failed(self) -> bool:
        """Whether a gate closes: a row is slower, gone or no number, or there was nothing to compare."""
        return bool(self.slower or self.gone or self.unusable or not self.judged)

    @cached_property
    def by_size(self) -> tuple[Change, ...]:
        """The changes, the largest first; before all those without a ratio."""
        return tuple(sorted(self.changes, key=lambda change: (-change.size, _rank(change.verdict), change.key)))


def _rank(verdict: Verdict) -> int:
    return WITHOUT_A_RATIO.index(verdict) if verdict in WITHOUT_A_RATIO else len(WITHOUT_A_RATIO)


def compare(before: Record, after: Run, floors: Floors, selected: Collection[RowKey] | None = None) -> Comparison:
    """The verdict on every row of two runs of one model. Rows that are not among the `selected` ones are not gone.

    Raises:
        NotOneModel: the runs are of different models.
    """
    if before.run.device.key != after.device.key:
        raise NotOneModel(
            f"{before.name} is of {before.run.device.name} ({before.run.device.slug}) and this is {after.device.name} "
            f"({after.device.slug}): verdicts are for one model; hold two against each other with `roofline diff`"
        )
    floors = floors if same_unit(before.run, after) else floors.between_units()
    differs = state_differences(before.run, after)
    pairs = pairs_of(before.run, after, selected)
    evidence = {} if differs else evidence_on(pairs, floors)
    ratios = Ratios({key: found.ratio.value for key, found in evidence.items()}, before.run, after)
    judged = {key: _judged(found, ratios) for key, found in evidence.items()}
    changes = [judged.get(pair.key) or _unjudged(pair, pairs, after, differs, floors) for pair in pairs]
    notes = [*notes_on(before, after), *([floors.summary(judged)] if judged else [])]
    return Comparison(before, after, tuple(changes), differs, tuple(notes))


def _judged(evidence: Evidence, ratios: Ratios) -> Change:
    """The verdict on a row with two figures."""
    verdict = _verdict(evidence)
    cause: Cause = ""
    reasons = _doubts(evidence) if verdict in ("same", "inconclusive") else []
    if evidence.beyond_floor:
        finding = cause_of(evidence.before, evidence.after, evidence.floor, ratios)
        cause = finding.cause
        reasons.append(finding.why)
        if verdict != "inconclusive" and is_guest(ratios.after) and not finding.proven:
            verdict = "inconclusive"
            reasons.insert(0, NEIGHBOURS)
    return Change(
        key=evidence.before.key,
        before=evidence.before,
        after=evidence.after,
        ratio=evidence.ratio,
        floor=evidence.floor,
        p=evidence.p,
        verdict=verdict,
        cause=cause,
        reason="; ".join(reasons),
    )


def _verdict(evidence: Evidence) -> Verdict:
    """What the samples alone say."""
    if not evidence.beyond_floor:
        return "same"
    if evidence.unsteady or not evidence.told_apart:
        return "inconclusive"
    return "slower" if evidence.ratio.value > 1 else "faster"


def _doubts(evidence: Evidence) -> list[str]:
    """What keeps a median from saying more: that noise could explain a difference, or hide one."""
    said = list(evidence.unsteady)
    if not evidence.beyond_floor:
        if evidence.could_hide > evidence.floor:
            said.append(f"its noise could hide {percent(evidence.could_hide, 2)}")
    elif evidence.p >= ALPHA:
        said.append(f"chance explains it (p = {evidence.p:.2g})")
    elif not evidence.told_apart:
        said.append("the intervals overlap")
    return said


def _unjudged(
    pair: Pair, pairs: Sequence[Pair], after: Run, differs: Mapping[str, Difference], floors: Floors
) -> Change:
    """The verdict on a row that lacks a figure, or whose figures are not of one quantity."""
    verdict: Verdict
    if pair.after is None:
        verdict, reason = "gone", _why_gone(pair.key, pairs, after)
    elif not has_number(pair.after):
        verdict, reason = "gone", NO_NUMBER
    elif pair.before is None:
        verdict, reason = "new", ""
    else:
        verdict, reason = "incomparable", obstacle(pair) or f"the state differs: {', '.join(differs)}"
    return Change(pair.key, pair.before, pair.after, None, floors.of(pair.key), None, verdict, "", reason)


def _why_gone(key: RowKey, pairs: Sequence[Pair], after: Run) -> str:
    """Why a row has no figure any more, as far as the run itself tells."""
    for absent in after.absent:
        if absent.key == key:
            return f"{absent.status}: {absent.reason}"
    for pair in pairs:
        if pair.before is None and (pair.key.experiment, pair.key.kernel) == (key.experiment, key.kernel):
            return f"measured otherwise now: {pair.key}"
    return "not measured any more"
