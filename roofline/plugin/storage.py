"""Saving: our rows become a record in the device's own folder, everybody else's go where they always went."""

import tempfile
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from roofline.baseline import Store, StoreError
from roofline.escaping import one_line
from roofline.model import Device
from roofline.record import Run, assemble


class RecordStorage:
    """Stands before pytest-benchmark's storage and answers for it in all but saving."""

    def __init__(
        self, theirs: Any, store: Store, device: Device, outcome: Callable[[], Run], say: Callable[[str], None]
    ) -> None:
        self.theirs = theirs
        self.store = store
        self.device = device
        self.outcome = outcome
        self.say = say
        self.saved: Path | None = None
        self.elsewhere = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.theirs, name)

    def save(self, output_json: dict[str, Any], save: str) -> None:
        """Save our rows as a record and hand the rest on."""
        ours = [row for row in output_json["benchmarks"] if is_row(row)]
        others = [row for row in output_json["benchmarks"] if not is_row(row)]
        if others:
            self.theirs.save({**output_json, "benchmarks": others}, save)
        if ours:
            self.saved = self._store(assemble({**output_json, "benchmarks": ours}, self.outcome()), save)

    def _store(self, record: dict[str, Any], name: str) -> Path | None:
        """Save a record, elsewhere where its own folder does not take it; None where no folder does."""
        try:
            return self.store.save(record, self.device, name)
        except StoreError as fault:
            self.elsewhere, refused = True, fault
        try:
            saved = Store(Path(tempfile.mkdtemp(prefix="roofline-"))).save(record, self.device, name)
        except (StoreError, OSError) as fault:
            self.say(f"roofline: {refused}; nor elsewhere ({fault}): this run is not stored")
            return None
        self.say(f"roofline: {refused}; saved as {saved} instead")
        return saved


def is_row(row: dict[str, Any]) -> bool:
    """Whether a benchmark of pytest-benchmark's JSON is one of ours."""
    return "experiment" in row["extra_info"] and "samples_s" in row["extra_info"]


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_benchmark_compare_machine_info(
    benchmarksession: Any, compared_benchmark: Mapping[str, Any]
) -> Generator[None, object, object]:
    """Let `--benchmark-compare` read our records from anywhere.

    Where machine_info differs, as ours from pytest-benchmark's own always does, pytest-benchmark names the store
    relative to the working folder, which fails for one that lies outside it.
    """
    try:
        return (yield)
    except ValueError:
        device = compared_benchmark["machine_info"].get("device")
        if "roofline" not in compared_benchmark or not isinstance(device, dict):
            raise
        benchmarksession.logger.warning(
            f"--benchmark-compare reads a record of {one_line(device.get('name'))} in {benchmarksession.storage} and "
            "compares times test by test, whatever the device; --roofline-compare gives verdicts"
        )
        return None
