"""What a record says of itself, read from the two ends of its file: a list of a thousand runs needs no sample.

`schema.text_of` writes each top-level key on a line of its own, indented by one space: what describes the run stands
before the benchmarks and after them. A file that is laid out otherwise is read whole.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from roofline.escaping import one_line
from roofline.layout import RULES, MachineInfo
from roofline.model import Outcome
from roofline.record import Record, RecordError, Run, check_kind, created_of, load
from roofline.schema import DocumentError, check_file, decode, json_of

# Of each end first this much is read, then ever more; both ends of a run of every experiment fit.
END_BYTES = 1 << 16
BENCHMARKS = b'\n "benchmarks": ['
# What `record.assemble` puts behind the benchmarks.
AFTER = b'\n ],\n "datetime": '


@dataclass(frozen=True)
class ClaimHead:
    """Of a claim, what it is called and how it came out."""

    id: str
    outcome: Outcome


@dataclass(frozen=True)
class SectionHead:
    """Of `roofline`, what a list shows."""

    complete: bool
    rows: int
    missing: tuple[str, ...] = ()
    claims: tuple[ClaimHead, ...] = ()


@dataclass(frozen=True)
class Header:
    """A record without its rows: `run` holds none, nor ceilings; `rows` says how many there are."""

    path: Path
    run: Run
    created: datetime
    rows: int
    refuted: tuple[str, ...]

    @property
    def driver(self) -> str | None:
        """The driver of that day, None where there is none or it is unknown."""
        driver = self.run.environment.facts.get("driver")
        return None if driver is None else str(driver)


def header_of(record: Record) -> Header:
    """The header of a record that was read whole."""
    whole = record.run
    run = Run(whole.device, whole.environment, whole.unit, complete=whole.complete, missing=whole.missing)
    refuted = tuple(claim.id for claim in whole.claims if claim.outcome == "refuted")
    return Header(record.path, run, record.created, len(whole.measurements), refuted)


def read_header(path: Path) -> Header:
    """The header of a file. What lies between its ends is not looked at: only `record.load` proves a file sound.

    Raises:
        RecordError: the file is damaged, or no record.
    """
    document = _ends(path)
    if document is None:
        return header_of(load(path))
    try:
        return _header(document, path)
    except DocumentError as wrong:
        raise RecordError(f"{one_line(path)}: {wrong}") from None


def _header(document: Mapping[str, Any], path: Path) -> Header:
    check_kind(document)
    machine = decode(MachineInfo, document["machine_info"], "machine_info", RULES)
    section = decode(SectionHead, document["roofline"], "roofline", {})
    run = Run(machine.device, machine.environment, machine.unit, complete=section.complete, missing=section.missing)
    refuted = tuple(claim.id for claim in section.claims if claim.outcome == "refuted")
    return Header(path, run, created_of(document.get("datetime")), section.rows, refuted)


def _ends(path: Path) -> Mapping[str, Any] | None:
    """All of a document but its benchmarks; None where the file is not laid out as records are, or cannot be read."""
    try:
        check_file(path)
        with path.open("rb") as file:
            before, after = _before(file), _after(file)
    except (DocumentError, OSError):
        return None
    if before is None or after is None:
        return None
    try:
        head, tail = json_of(before.decode()), json_of(after.decode())
    except (DocumentError, UnicodeDecodeError):
        return None
    return None if head.keys() & tail.keys() else {**head, **tail, "benchmarks": []}


def _before(file: BinaryIO) -> bytes | None:
    """The object that ends where the benchmarks begin."""
    size, length = os.fstat(file.fileno()).st_size, END_BYTES
    while True:
        file.seek(0)
        begin, found, _ = file.read(length).partition(BENCHMARKS)
        if found:
            return begin.rstrip(b",") + b"\n}"
        if length >= size:
            return None
        length *= 4


def _after(file: BinaryIO) -> bytes | None:
    """The object that begins where the benchmarks end."""
    size, length = os.fstat(file.fileno()).st_size, END_BYTES
    while True:
        file.seek(max(size - length, 0))
        _, found, end = file.read(length).rpartition(AFTER)
        if found:
            return b"{" + AFTER.removeprefix(b"\n ],") + end
        if length >= size:
            return None
        length *= 4
