"""Try the verdicts on runs of which the truth is known: nothing changed, or one kernel does 5 or 10 % more work.

    python tools/verdict_trials.py 24 --folder FOLDER --device cuda     measure 24 runs, a process each, then judge
    python tools/verdict_trials.py 0 --folder FOLDER                    judge the runs that lie in FOLDER

The first runs teach the floors, each of the others is held against the run before it. Exits 1 where a bar is missed.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tabulate import tabulate

from roofline.changes import Comparison, compare
from roofline.devices.choose import open_device
from roofline.kernel import Kernel
from roofline.kernels import chains, chains_cuda, dial, dram, dram_cuda
from roofline.model import Measurement, RowKey
from roofline.noise import Floors, learn
from roofline.record import Record, Run, assemble, load
from roofline.report.changes import change_line
from roofline.rooflines import Roofline, ceilings_of
from roofline.schema import text_of
from roofline.session import Session
from roofline.timing import Budget

# A row each, by "experiment/kernel" or the way to launch.
ROWS = {
    "cuda": ("chains/chains-04-full", "dram/copy-plain", "chains/chains-01-full", "dram/read-plain"),
    "cpu": ("chains/chains-08", "dram/copy-nt", "chains/chains-01", "dram/read"),
}
DIAL = {"cuda": ("dial/dial-2048", "dial/dial-0001"), "cpu": ("dial/dial-2048-nt", "dial/dial-0001-nt")}
LAUNCHES = ("launch", "launch_sync")
# How many of the rows, the first ones, are also measured with more work: one bound by arithmetic, one by memory.
PLANTED_ROWS = 2
# The work of a row in twentieths: a launch over 21 of them does 5 % more, in truth and to the byte.
TWENTIETHS, MORE = 20, {"+5": 21, "+10": 22}
# A twentieth of a launch is so many elements, or what the arrays leave room for: it divides every block of a kernel.
GRAIN = {"cuda": 1 << 18, "cpu": 768 * 8}
LEARN = 4
# Bars: at most one run of 20 with a row that is falsely slower; 5 % found in 19 of 20, 10 % in all. A guest of a busy
# machine is promised no more than that it raises no false alarm.
FALSE_ALARMS, FOUND = 1 / 20, {"+5": 19 / 20, "+10": 1.0}


def sized(kernel: Kernel, twentieths: int, grain: int) -> Kernel:
    """A kernel whose launches handle so many twentieths of the usual elements."""

    def size(elements: int) -> int:
        room = elements // max(MORE.values()) // grain * grain
        return twentieths * (room or grain)

    return replace(kernel, size=size)


def planted(kernel: Kernel, name: str, grain: int) -> Kernel:
    """The kernel doing more work; it sets no ceiling, since ceilings are measured with the usual work."""
    return replace(sized(kernel, MORE[name], grain), name=kernel.name + name, measures=())


def kernel_named(name: str) -> Kernel:
    """The kernel "experiment/name"."""
    experiment, _, kernel = name.partition("/")
    offered = [found for module in (chains, chains_cuda, dial, dram, dram_cuda) for found in module.every_kernel()]
    return next(found for found in offered if (found.experiment, found.name) == (experiment, kernel))


def measure(device: str, folder: Path, seconds: float) -> None:
    """Measure one run in a session of its own and keep it, as it was and with each planted row in place of its own."""
    session = Session(open_device(device, None).backend, Budget(seconds=seconds))
    kind = session.device.kind
    grain = GRAIN[kind]
    rows = [sized(kernel_named(name), TWENTIETHS, grain) for name in ROWS[kind]]
    usual = [session.measure(kernel) for kernel in [*rows, *map(kernel_named, DIAL[kind])]]
    usual += [session.measure_launches(mode) for mode in LAUNCHES]
    number = len(list(folder.glob("*_usual.json"))) + 1
    save(session, usual, folder / f"{number:04d}_usual.json")
    for index, more in ((index, more) for index in range(PLANTED_ROWS) for more in MORE):
        row = session.measure(planted(rows[index], more, grain))
        instead = [as_if_usual(row, old) if old is usual[index] else old for old in usual]
        save(session, instead, folder / f"{number:04d}_{index}{more}.json")
    session.close()


def as_if_usual(row: Measurement, usual: Measurement) -> Measurement:
    """A planted row under the key, the counts and the role of the row that it stands for."""
    return replace(usual, samples=row.samples, seconds=row.seconds, binary=row.binary, variant=row.variant)


def save(session: Session, rows: Sequence[Measurement], path: Path) -> None:
    """Write the record of these rows."""
    ceilings = ceilings_of(rows, session.device)
    roofline = Roofline(ceilings)
    run = Run(
        device=session.device,
        environment=session.environment,
        unit=session.backend.unit,
        ceilings=ceilings,
        measurements=tuple(rows),
        points={row.key: roofline.place(row) for row in rows if row.work.traffic["dram"].total},
        complete=False,
        selection="verdict trials",
        missing=("all but the rows of the trials",),
    )
    empty = {"benchmarks": [], "datetime": datetime.now(UTC).isoformat(), "version": "verdict trials"}
    path.write_text(text_of(assemble(empty, run)), encoding="utf-8")


def records(folder: Path, name: str) -> list[Record]:
    """The runs of one kind, in the order they were made."""
    return [load(path) for path in sorted(folder.glob(f"*_{name}.json"))]


@dataclass(frozen=True)
class Trial:
    """What a series of comparisons was about, which row was slower in truth, and what came out."""

    name: str
    truth: RowKey | None
    comparisons: Sequence[Comparison]
    wanted: float

    def holds(self, comparison: Comparison) -> bool:
        """Whether the slower row was found, if there is one, and no other was called slower."""
        slower = {change.key for change in comparison.of("slower")}
        return slower == ({self.truth} if self.truth else set())

    @property
    def right(self) -> int:
        """In how many comparisons that was so."""
        return sum(map(self.holds, self.comparisons))

    @property
    def passed(self) -> bool:
        """Whether that is often enough."""
        return self.right >= self.wanted * len(self.comparisons)

    def row(self) -> tuple[str, ...]:
        """The trial as a row of a table."""
        others = [c for comparison in self.comparisons for c in comparison.changes if c.key != self.truth]
        unsure = sum(change.verdict == "inconclusive" for change in others)
        return (
            self.name,
            f"{self.right} of {len(self.comparisons)}",
            f"{self.wanted * len(self.comparisons):.1f}",
            f"{unsure} of {len(others)}",
            " ".join(f"{size:+.1%}" for size in self._sizes()),
            "" if self.passed else "MISSED",
        )

    def _sizes(self) -> Iterator[float]:
        """Least, middle and greatest change of the row that was slower in truth."""
        found = [
            c.ratio.value - 1
            for comparison in self.comparisons
            for c in comparison.changes
            if c.key == self.truth and c.ratio
        ]
        ordered = sorted(found)
        return iter((ordered[0], ordered[len(ordered) // 2], ordered[-1]) if ordered else ())


def trials(folder: Path, learning: int) -> Iterator[Trial]:
    """Every trial on the runs in a folder."""
    usual = records(folder, "usual")
    floors = learn(usual[:learning])
    before, after = usual[learning - 1 : -1], usual[learning:]
    yield Trial("nothing changed, against the run before", None, against(before, after, floors), 1 - FALSE_ALARMS)
    pairs = list(permutations(after, 2))
    every = against([a for a, _ in pairs], [b for _, b in pairs], floors)
    yield Trial("nothing changed, any two runs", None, every, 1 - FALSE_ALARMS)
    for index in range(PLANTED_ROWS):
        key = usual[0].run.measurements[index].key
        for more in MORE:
            runs = records(folder, f"{index}{more}")[learning:]
            wanted = 0.0 if floors.guest else FOUND[more]
            yield Trial(f"{key.kernel} {more} % work", key, against(before, runs, floors), wanted)


def against(before: Sequence[Record], after: Sequence[Record], floors: Floors) -> list[Comparison]:
    """Each run against its own baseline."""
    return [compare(old, new.run, floors) for old, new in zip(before, after, strict=True)]


def floors_table(usual: Sequence[Record], learning: int) -> str:
    """What each row's floor is, and how far its runs really lie apart."""
    floors = learn(usual[:learning])
    rows = []
    for key in (row.key for row in usual[0].run.measurements):
        seconds = [row.seconds.value for record in usual if (row := record.measurement(key))]
        flags = [flag for record in usual if (row := record.measurement(key)) for flag in row.samples.flags]
        reach = max(seconds) / min(seconds) - 1
        rows.append((str(key), f"{floors.of(key):.2%}", floors.source(key), f"{reach:.2%}", len(flags)))
    return tabulate(rows, headers=("row", "floor", "from", "all runs lie within", "flags"))


def alarms(trial: Trial) -> Iterator[str]:
    """What went wrong in a trial, a line each."""
    for number, comparison in enumerate(trial.comparisons):
        if trial.holds(comparison):
            continue
        for change in comparison.by_size:
            if change.key == trial.truth or change.verdict == "slower":
                said = f"{change_line(change)}, floor {change.floor:.1%}; {change.reason}"
                yield f"{trial.name}, {number}: {change.key.kernel} {said}"


def main() -> int:
    """Measure, judge, print; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int, help="how many runs to measure first")
    parser.add_argument("--folder", type=Path, required=True, help="where the runs lie")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=0.1, help="time to sample a row")
    parser.add_argument("--learn", type=int, default=LEARN, help="how many runs teach the floors")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.one:
        measure(options.device, options.folder, options.seconds)
        return 0
    own = ["--one", f"--folder={options.folder}", f"--device={options.device}", f"--seconds={options.seconds}"]
    for _ in range(options.runs):
        subprocess.run([sys.executable, __file__, "1", *own], check=True)
    usual = records(options.folder, "usual")
    if len(usual) < options.learn + 1:
        parser.error(f"{len(usual)} runs in {options.folder}: {options.learn} teach the floors, and one must be judged")
    found = list(trials(options.folder, options.learn))
    print(f"{len(usual)} runs of {usual[0].run.device.name}, the first {options.learn} teach the floors\n")
    print(floors_table(usual, options.learn), end="\n\n")
    heads = ("trial", "right", "wanted", "others inconclusive", "least, median, greatest change", "")
    print(tabulate([trial.row() for trial in found], headers=heads), end="\n\n")
    for line in [line for trial in found for line in alarms(trial)][:20]:
        print(line)
    return 0 if all(trial.passed for trial in found) else 1


if __name__ == "__main__":
    sys.exit(main())
