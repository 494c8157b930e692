"""`--roofline-compare` and `--roofline-fail`: this run against a stored one, chosen before this one is stored."""

import os
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path

import pytest

from roofline import noise
from roofline.baseline import Found, Store, StoreError
from roofline.catalogue import NoSuchRecord, find
from roofline.changes import Comparison, NotOneModel, compare
from roofline.model import Measurement, RowKey
from roofline.plugin.selection import kernel_of, suite_modules
from roofline.record import ROW_MARKS, Record, Run
from roofline.repeats import repeats
from roofline.report import changes
from roofline.schema import DocumentError, read
from roofline.session import Session

OPTION, GATE = "--roofline-compare", "--roofline-fail"
NEWEST = ""  # the value of the bare option


def refuse(config: pytest.Config) -> None:
    """Refuse what would compare with something else than was meant, or nothing at all.

    Raises:
        pytest.UsageError: it would.
    """
    value: str | None = config.option.roofline_compare
    if config.option.roofline_fail and value is None:
        raise pytest.UsageError(f"{GATE} closes on what a comparison finds: add {OPTION}")
    folder = os.path.isdir(value or "")  # noqa: PTH112 - a path that is too long is none, not an error
    if value and ("::" in value or value.endswith(".py") or folder):
        raise pytest.UsageError(f"{OPTION} {value}: that is what to test, not a record: write {OPTION}= before it")


class Comparing:
    """What this run is compared with, and how that came out."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.record: Record | None = None
        self.result: Comparison | None = None
        self._store: Store | None = None
        self._like: Run | None = None
        self._places: dict[RowKey, str] = {}

    @property
    def wanted(self) -> bool:
        """Whether a comparison was asked for."""
        return self.config.option.roofline_compare is not None

    def choose(self, store: Store, session: Session, newest: Found) -> None:
        """Find the record to compare with, now, before this run may become the newest itself.

        Raises:
            StoreError: there is none, it is of another model, or the store cannot be read.
            RecordError: it is damaged.
        """
        self._store, self._like = store, Run(session.device, session.environment, session.backend.unit)
        if not self.wanted:
            return
        value = self.config.option.roofline_compare
        try:
            self.record = newest.record if value == NEWEST else find(store, value)
        except NoSuchRecord as unknown:
            raise StoreError(f"{OPTION}: {unknown}") from None
        if self.record is None:
            raise StoreError(f"{OPTION}: {newest.notes[-1]}; make one first: pytest -m bench --benchmark-save=NAME")
        try:
            compare(self.record, self._like, noise.Floors(), selected=())
        except NotOneModel as another:
            raise StoreError(f"{OPTION}: {another}") from None
        try:  # now: when the run ends the file may be gone
            self._places = places_of(self.record.path)
        except DocumentError as damaged:
            raise StoreError(f"{OPTION}: {self.record.path}: {damaged}") from None

    @cached_property
    def floors(self) -> noise.Floors:
        """How far this device's runs lie apart with nothing changed, learnt from those that are stored."""
        if self._store is None or self._like is None:
            return noise.Floors()
        stored = repeats(self._store, self._like)
        return noise.learn(stored or ([self.record] if self.record else []))

    def remark(self, measurement: Measurement) -> str:
        """How a row's time compares with the stored one, for its line; the verdict needs all rows and comes last."""
        before = self.record.measurement(measurement.key) if self.record else None
        if before is None:
            return "  (not in that run)" if self.record else ""
        return f"  ({changes.time_change(measurement.seconds.over(before.seconds))} time)"

    def judge(self, run: Run, selected: Collection[RowKey] | None) -> None:
        """Compare the whole of this run."""
        if self.record is not None and run.measurements:
            self.result = compare(self.record, run, self.floors, selected)

    def failing(self) -> str:
        """Why the gate closes; empty where it does not, or was not asked for."""
        if not self.config.option.roofline_fail:
            return ""
        if self.result is None:
            return "nothing was compared, which is no success"
        return changes.counted(self.result) if self.result.failed else ""

    def text(self) -> str:
        """The changes as the summary shows them, and whether the gate closed; empty without a comparison."""
        if self.result is None:
            return ""
        closed = self.failing()
        said = f"\n\n{GATE}: the run fails: {closed}" if closed else ""
        return f"\n{changes.text(self.result)}{said}"

    def selected(self, session: Session, left_out: Sequence[str], unasked: Sequence[pytest.Item]) -> set[RowKey]:
        """The rows of the record that this run was to measure, so that those it did not are gone.

        Where tests were deselected or not reached (`left_out`), nobody knows which rows a test that vanished had: then
        those count that were attempted. `unasked` are the long experiments, left out unless they are asked for.
        """
        attempted = {*session.measurements, *session.absent}
        if left_out or self.record is None:
            return attempted
        long = {session.row_key(kernel) for kernel in map(kernel_of, unasked) if kernel}
        return attempted | (self._covered(self.record) - long)

    def _covered(self, stored: Record) -> set[RowKey]:
        """The rows of a record whose tests lie where this run looked for tests."""
        places = self._places
        everywhere = self.config.args_source is not pytest.Config.ArgsSource.ARGS
        return {row.key for row in stored.run.measurements if everywhere or self._looked_at(places[row.key])}

    def _looked_at(self, nodeid: str) -> bool:
        """Whether a test lies within one of the arguments of this run; those of the suite, which are whole, do."""
        file, _, name = nodeid.partition("::")
        path = self.config.rootpath / file
        if path.name in suite_modules() and path.parent.name == "bench":
            return True
        for argument in self.config.args:
            place, _, wanted = argument.partition("::")
            root = self.config.invocation_params.dir / place
            if (root == path or root in path.parents) and name.startswith(wanted):
                return True
        return False


def places_of(path: Path) -> dict[RowKey, str]:
    """The test that measured each row of a record: "tests/test_mine.py::test_copy[nt]", empty where none is known.

    Raises:
        DocumentError: the file is damaged.
    """
    fields = ("experiment", "kernel", "size", "unit", "level", "fill")
    benchmarks = read(path)["benchmarks"]
    infos = [(benchmark, benchmark.get("extra_info")) for benchmark in benchmarks]
    rows = [(benchmark, info) for benchmark, info in infos if isinstance(info, dict) and info.keys() >= ROW_MARKS]
    return {RowKey(*(info[name] for name in fields)): str(benchmark.get("fullname", "")) for benchmark, info in rows}
