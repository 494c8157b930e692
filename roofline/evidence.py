"""What two series of samples of one row say: how their times compare, and whether chance explains the difference."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import scipy

from roofline.model import Estimate, Measurement, RowKey
from roofline.noise import Floors
from roofline.record import Run

# The chance, over all rows of a run together, of telling samples apart that do not differ.
ALPHA = 0.05
# What was wrong with a series so that its median stands for no one time.
UNSTEADY = ("drifting", "two-peaked", "disturbed")


@dataclass(frozen=True)
class Pair:
    """One row in both runs, None where a run has no figure of it."""

    key: RowKey
    before: Measurement | None
    after: Measurement | None


@dataclass(frozen=True)
class Evidence:
    """Two figures of one row: the `ratio` of the times, after over before, its `floor` and its chance `p`.

    `p` is corrected for the number of rows. `unsteady` says what was wrong with either series.
    """

    before: Measurement
    after: Measurement
    ratio: Estimate
    floor: float
    p: float
    unsteady: tuple[str, ...]

    @property
    def beyond_floor(self) -> bool:
        """Whether the times differ by more than they do with nothing changed; the same for twice and half."""
        return abs(math.log(self.ratio.value)) > math.log1p(self.floor)

    @property
    def told_apart(self) -> bool:
        """Whether neither chance nor where the arrays happened to lie explains the difference."""
        apart = self.ratio.low > 1 or self.ratio.high < 1
        return apart and self.p < ALPHA

    @property
    def could_hide(self) -> float:
        """The greatest difference that the intervals of both medians leave open, as a share."""
        return max(self.ratio.high, 1 / self.ratio.low) - 1


def pairs_of(before: Run, after: Run, selected: Collection[RowKey] | None) -> list[Pair]:
    """The rows of both runs in the order of the first; without those that only the first has and nobody selected."""
    old = {row.key: row for row in before.measurements}
    new = {row.key: row for row in after.measurements}
    keys = [key for key in old if key in new or selected is None or key in selected]
    keys += [key for key in new if key not in old]
    return [Pair(key, old.get(key), new.get(key)) for key in keys]


def evidence_on(pairs: Sequence[Pair], floors: Floors) -> dict[RowKey, Evidence]:
    """What the samples say of every row whose two figures can be compared."""
    rows = [(pair.before, pair.after) for pair in pairs if pair.before and pair.after and not obstacle(pair)]
    chances = holm([chance(before, after) for before, after in rows])
    return {
        before.key: Evidence(
            before,
            after,
            ratio=after.seconds.over(before.seconds),
            floor=floors.of(before.key),
            p=p,
            unsteady=tuple(unsteady(before, after)),
        )
        for (before, after), p in zip(rows, chances, strict=True)
    }


def chance(before: Measurement, after: Measurement) -> float:
    """The chance that samples of one distribution lie as far apart, by the two-sided Mann-Whitney test.

    H. B. Mann, D. R. Whitney, Ann. Math. Stat. 18, 1947, 50. Its distribution is exact for few samples without ties.
    """
    old, new = before.samples.seconds, after.samples.seconds
    return float(scipy.stats.mannwhitneyu(old, new, alternative="two-sided").pvalue)


def holm(chances: Sequence[float]) -> list[float]:
    """Chances corrected for how many there are, in the order given (S. Holm, Scand. J. Stat. 6, 1979, 65)."""
    corrected, worst = [0.0] * len(chances), 0.0
    for rank, index in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        worst = max(worst, min(1.0, (len(chances) - rank) * chances[index]))
        corrected[index] = worst
    return corrected


def has_number(row: Measurement) -> bool:
    """Whether a row's times are positive and finite, as those of a record are."""
    figures = (row.seconds.value, row.seconds.low, row.seconds.high, *row.samples.seconds)
    return bool(row.samples.seconds) and all(math.isfinite(figure) and figure > 0 for figure in figures)


def obstacle(pair: Pair) -> str:
    """Why the two figures of a row cannot be compared; empty where they can, or where there are no two."""
    if not (pair.before and pair.after):
        return ""
    for name, row in (("before", pair.before), ("after", pair.after)):
        if not has_number(row):
            return f"its time {name} is no positive number"
    old, new = _measured_how(pair.before), _measured_how(pair.after)
    differing = (f"its {what} was {old[what]} before and is {new[what]} now" for what in old if old[what] != new[what])
    return "; ".join(differing)


def _measured_how(row: Measurement) -> dict[str, str]:
    """What of its measuring makes a row's time another quantity when it differs."""
    return {
        "timer": row.samples.timer.name,
        "cache": "cold" if row.samples.cold else "warm",
        "arithmetic": row.math_mode or "none",
    }


def unsteady(before: Measurement, after: Measurement) -> list[str]:
    """What was wrong with either series. A clock held down on both sides belongs to a kernel that draws the power."""
    old, new = before.samples.flags, after.samples.flags
    said = [f"{flag} {side}" for side, flags in (("before", old), ("after", new)) for flag in flags if flag in UNSTEADY]
    if ("throttled" in old) != ("throttled" in new):
        said.append(f"throttled {'before' if 'throttled' in old else 'after'} only")
    return said
