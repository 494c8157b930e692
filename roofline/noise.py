"""How far two runs of one device lie apart though nothing changed: a floor for each row, learnt from stored repeats.

Samples of one run share its pages, its clock and its neighbours, so however many there are, they do not say what
another run would have shown. Only other runs do. docs/verdicts.md argues the method.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import variance

import scipy

from roofline.layout import MOST
from roofline.model import Measurement, RowKey
from roofline.privacy import unit_hash
from roofline.record import Record, Run

# No smaller change is worth a verdict, however still a card keeps: two allocations on one card differ by as much.
LEAST = 0.01
# What two runs of one device may differ by where nothing was learnt (docs/verdicts.md says what was seen); a guest
# shares memory and the units of each core with neighbours that it cannot see.
DEFAULTS = {"arithmetic": 0.02, "memory": 0.05, "launch": 0.5}
DEFAULTS_OF_A_GUEST = {"arithmetic": 0.15, "memory": 0.4, "launch": 1.0}
INSIDE_A_CORE = ("l1", "shared")
# Two differences say next to nothing of a spread; with three runs a row has a spread of its own.
FEWEST_RUNS = 3
# How many runs, the newest, a floor is learnt from: older ones are of another time.
MOST_RUNS = 20
# The chance that, with nothing changed, any row at all of a run lies beyond its floor.
CHANCE = 0.05
# Rows of one kind share the causes of their noise, so their common spread counts as this many differences more.
LENT = 4
# Facts of the software below a kernel that change times without changing the kernel.
BELOW = ("driver", "cuda_driver", "kernel")


@dataclass(frozen=True)
class Floor:
    """What a row's time may differ by, as a share, with nothing changed; and in words where that was learnt."""

    value: float
    source: str


@dataclass(frozen=True)
class Floors:
    """The floors of the rows of one device: learnt ones, and the defaults of its kind for rows that have none."""

    learnt: Mapping[RowKey, Floor] = field(default_factory=dict)
    guest: bool = False

    def of(self, key: RowKey) -> float:
        """What this row's time may differ by, as a share of it, before that is a change."""
        return self._floor(key).value

    def source(self, key: RowKey) -> str:
        """Where that comes from, in words."""
        return self._floor(key).source

    def between_units(self) -> "Floors":
        """The floors between two cards of one model: what the repeats of one taught undercuts no default.

        Two H200 were seen to read DRAM 1.6 % apart in every run, and each to agree with itself to 0.2 %.
        """
        return Floors({key: floor for key, floor in self.learnt.items() if self._is_wide(key, floor)}, self.guest)

    def without_quiet_launches(self) -> "Floors":
        """The floors but for those of launches that undercut the default.

        What a host does besides comes seldom, lasts, and adds half to a launch: runs that did not see it do not exclude
        it.
        """
        kept = {k: floor for k, floor in self.learnt.items() if kind_of(k) != "launch" or self._is_wide(k, floor)}
        return Floors(kept, self.guest)

    def summary(self, keys: Collection[RowKey]) -> str:
        """Where the floors of these rows come from, in one sentence: "floors: 38 learnt from 5 runs, 2 default …"."""
        counts = Counter(self.source(key) for key in keys)
        return "floors: " + ", ".join(f"{count} {source}" for source, count in counts.most_common())

    def plain(self) -> dict[str, float]:
        """The learnt floors as a record keeps them."""
        return {str(key): floor.value for key, floor in self.learnt.items()}

    def _is_wide(self, key: RowKey, floor: Floor) -> bool:
        return floor.value > default(key, self.guest).value

    def _floor(self, key: RowKey) -> Floor:
        return self.learnt.get(key) or default(key, self.guest)


def default(key: RowKey, guest: bool) -> Floor:
    """The floor of a row of which nothing was learnt."""
    kind = kind_of(key)
    value = (DEFAULTS_OF_A_GUEST if guest else DEFAULTS)[kind]
    return Floor(value, f"default for {kind} of {'a guest' if guest else 'a machine of its own'}, not learnt")


def kind_of(key: RowKey) -> str:
    """What sets a row's noise: "launch", "memory" or "arithmetic" (which what lies inside a core follows)."""
    if key.level == "none":
        return "launch"
    return "arithmetic" if key.level in INSIDE_A_CORE else "memory"


def is_guest(run: Run) -> bool:
    """Whether a run was made inside a virtual machine that says so."""
    return run.environment.state.get("virtualised") is True


def learn(records: Sequence[Record]) -> Floors:
    """The floors that repeated runs show: of the newest of `records`, and of those that were made as it was.

    A row takes part with the runs of the same machine code. What fewer than three runs say is too little; such a row
    takes the floor that the newest record with one holds, and else the default of its kind.
    """
    newest_first = sorted(records, key=lambda record: record.created, reverse=True)
    if not newest_first:
        return Floors()
    like = newest_first[0].run
    repeats = [record for record in newest_first if made_alike(record.run, like)][:MOST_RUNS]
    learnt = _saved(repeats) | _from_repeats(_times(repeats))
    return Floors(learnt, guest=is_guest(like)).without_quiet_launches()


def same_unit(run: Run, other: Run) -> bool:
    """Whether two runs may be of one card: a unit that is unknown may be any."""
    return not (run.unit and other.unit) or unit_hash(run.unit) == unit_hash(other.unit)


def made_alike(run: Run, other: Run) -> bool:
    """Whether two runs are repeats: one device in one state, the same unit where both know theirs, the same driver."""
    below = all(run.environment.facts.get(fact) == other.environment.facts.get(fact) for fact in BELOW)
    same_state = run.environment.state == other.environment.state
    return run.device.key == other.device.key and same_state and same_unit(run, other) and below


def _times(newest_first: Sequence[Record]) -> dict[RowKey, list[float]]:
    """The logarithms of each row's seconds, a run each; runs of other machine code than the newest's are left out.

    The winner of a search may change from run to run, which is noise too; a variant of one name whose code changed is
    another kernel.
    """
    code: dict[tuple[RowKey, str], str] = {}
    times: dict[RowKey, list[float]] = defaultdict(list)
    for record in newest_first:
        for row in filter(_usable, record.run.measurements):
            if code.setdefault((row.key, row.variant), row.binary) == row.binary:
                times[row.key].append(math.log(row.seconds.value))
    return times


def _usable(row: Measurement) -> bool:
    """Whether a row says something of the device: what others disturbed says more of them, and is never judged."""
    return "disturbed" not in row.samples.flags and math.isfinite(row.seconds.value) and row.seconds.value > 0


def _from_repeats(times: Mapping[RowKey, Sequence[float]]) -> dict[RowKey, Floor]:
    """The floor of every row of which there are enough runs."""
    enough = {key: series for key, series in times.items() if len(series) >= FEWEST_RUNS}
    variances = {key: variance(series) for key, series in enough.items()}
    kinds: dict[str, list[float]] = defaultdict(list)
    for key, own in variances.items():
        kinds[kind_of(key)].append(own)
    chance = CHANCE / max(len(enough), 1)
    return {
        key: _floor(series, _moderated(variances[key], len(series) - 1, kinds[kind_of(key)]), chance)
        for key, series in enough.items()
    }


def _moderated(own: float, freedom: int, kind: Sequence[float]) -> tuple[float, int]:
    """A row's variance and its degrees of freedom, moderated by the variances of all rows of its kind.

    Three runs that happened to agree do not promise that the fourth will (G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 3,
    2004, article 3, who estimates the weight that is fixed here).
    """
    if len(kind) == 1:
        return own, freedom
    common = (sum(kind) - own) / (len(kind) - 1)
    return (freedom * own + LENT * common) / (freedom + LENT), freedom + LENT


def _floor(series: Sequence[float], moderated: tuple[float, int], chance: float) -> Floor:
    """The difference that two runs exceed with that chance, none less than what was seen of them."""
    spread, freedom = math.sqrt(moderated[0]), moderated[1]
    quantile = float(scipy.stats.t.ppf(1 - chance / 2, freedom))
    expected = _share(quantile * math.sqrt(2) * spread)  # each of the two runs has the spread of one
    seen = _share(max(series) - min(series))
    return Floor(max(LEAST, expected, seen), f"learnt from {len(series)} runs")


def _share(logarithm: float) -> float:
    """By what share two times differ whose logarithms lie so far apart; what no record can hold is cut."""
    return math.expm1(min(logarithm, math.log(MOST)))


def _saved(newest_first: Sequence[Record]) -> dict[RowKey, Floor]:
    """The floors that stand in the records, each from the newest that has it."""
    saved: dict[RowKey, Floor] = {}
    for record in newest_first:
        for row in record.run.measurements:
            value = record.run.floors.get(str(row.key))
            if value is not None:
                saved.setdefault(row.key, Floor(value, f"as {record.name} holds it"))
    return saved
