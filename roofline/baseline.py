"""The store of records: one folder a device model, numbered files; runs compare with the newest complete one."""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from itertools import count, groupby
from pathlib import Path
from typing import Any

from roofline.model import Device
from roofline.record import Record, load, parse
from roofline.schema import text_of

NUMBERED = re.compile(r"[0-9]{4,}_.+\.json")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# File systems allow 255 bytes; the number, the suffix and room for a copy's "(1)" come on top.
LONGEST_NAME = 100
# Windows opens a device instead of a file of such a name, whatever its suffix.
RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"com{digit}" for digit in range(10)), *(f"lpt{digit}" for digit in range(10))}
)
REMEDY = "choose another folder with --benchmark-storage=FOLDER"
KEY_FIELDS = ("name", "kind", "architecture", "cores", "cache_bytes", "memory_class", "bus_bits", "mig_profile")


class StoreError(Exception):
    """Baselines cannot be kept or found where they should be. One line: the folder, the cause, the remedy."""


@dataclass(frozen=True)
class Found:
    """The newest baseline of a model, None where there is none, and what a person should know of how it was chosen."""

    record: Record | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Store:
    """Records below `root`, as `<root>/<device slug>/NNNN_<name>.json`."""

    root: Path

    def folder(self, device: Device) -> Path:
        """Where the records of this model are kept."""
        return self.root / device.slug

    def save(self, record_json: Mapping[str, Any], device: Device, name: str) -> Path:
        """Write a record under the next free number and return its path; nothing is ever overwritten.

        Raises:
            ValueError: the name, or the record, is not one that could be read again.
            StoreError: it cannot be written there.
        """
        wrong = _wrong_name(name)
        if wrong:
            raise ValueError(wrong)
        folder = self.folder(device)
        if parse(record_json, folder).run.device.key != device.key:
            raise ValueError(f"the record is of another model than {device.name}: {device.key}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return _write_numbered(folder, name, text_of(record_json))
        except OSError as error:
            raise StoreError(f"{folder}: the record cannot be written: {error.strerror}; {REMEDY}") from error

    def latest(self, device: Device) -> Record | None:
        """The newest complete record of this model, None where there is none.

        Raises:
            RecordError: a file that is newer than it is damaged or no record; an older one never takes its place.
        """
        return self.find(device).record

    def find(self, device: Device) -> Found:
        """`latest`, and in words what was passed over on the way to it, or what comes near where there is none."""
        found = self._newest(device.slug, lambda record: _unfit(record, device))
        if found.record:
            return found
        nothing = f"no baseline of {device.name} in {self.folder(device)}{self._near(device)}"
        return Found(None, (*found.notes, nothing))

    def newest(self, slug: str) -> Found:
        """The newest complete record in the folder of that name, whichever model with this slug it is of.

        Raises:
            RecordError: a file that is newer than it is damaged or no record.
        """
        return self._newest(slug, _incomplete)

    def slugs(self) -> list[str]:
        """The folders of models that there are.

        Raises:
            StoreError: the store cannot be read.
        """
        if not self.root.is_dir():
            return []
        try:
            return sorted(path.name for path in self.root.iterdir() if path.is_dir() and any(_numbered(path)))
        except OSError as error:
            raise StoreError(f"{self.root}: baselines cannot be listed: {error.strerror}; {REMEDY}") from error

    def files(self, slug: str) -> list[Path]:
        """The numbered files of a model's folder, newest first.

        Raises:
            StoreError: it is no folder, or cannot be read.
        """
        folder = self.root / slug
        if folder.exists() and not folder.is_dir():
            raise StoreError(f"{folder} is a file where a folder of baselines should be; move it away, or {REMEDY}")
        try:
            return sorted(_numbered(folder), key=lambda path: (number_of(path), path.name), reverse=True)
        except OSError as error:
            raise StoreError(f"{folder}: baselines cannot be listed: {error.strerror}; {REMEDY}") from error

    def _newest(self, slug: str, unfit: Callable[[Record], str]) -> Found:
        notes: list[str] = []
        for _, files in groupby(self.files(slug), key=number_of):
            # Two branches that were merged may both hold the number: the later run counts.
            same_number = sorted(map(load, files), key=lambda record: record.created, reverse=True)
            for record in same_number:
                passed_over = unfit(record)
                if not passed_over:
                    return Found(record, tuple(notes))
                notes.append(f"{record.path} was passed over: {passed_over}")
        return Found(None, tuple(notes))

    def _near(self, device: Device) -> str:
        """The folders of models that are called nearly the same, as the end of a sentence."""
        near = [name for name in get_close_matches(device.slug, self.slugs()) if name != device.slug]
        return f"; similar names there: {', '.join(near)}" if near else ""


def _numbered(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in folder.iterdir() if NUMBERED.fullmatch(path.name))


def number_of(path: Path) -> int:
    """The number of a stored file."""
    return int(path.name.partition("_")[0])


def _unfit(record: Record, device: Device) -> str:
    """Why a record is no baseline of `device`; empty when it is one."""
    stored = record.run.device
    if stored.key != device.key:
        differ = zip(KEY_FIELDS, stored.key, device.key, strict=True)
        shown = ", ".join(f"{field} {theirs!r} (here {ours!r})" for field, theirs, ours in differ if theirs != ours)
        return f"it is of another model with the same folder name: {shown}"
    return _incomplete(record)


def _incomplete(record: Record) -> str:
    return "" if record.run.complete else "the run was not complete"


def _write_numbered(folder: Path, name: str, text: str) -> Path:
    """Write under the first number that neither a record nor a run that is writing right now has taken."""
    highest = max(map(number_of, _numbered(folder)), default=0)
    for number in count(highest + 1):
        with suppress(FileExistsError):
            return _write_as(number, name, folder, text)
    raise AssertionError("numbers do not end")


def _write_as(number: int, name: str, folder: Path, text: str) -> Path:
    """Write a record whole and under this number, or not at all.

    Raises:
        FileExistsError: another run has the number, or is writing under it.
    """
    claim = folder / f".{number:04d}.partial"
    file = claim.open("x", encoding="utf-8")
    try:
        with file:
            if number in map(number_of, _numbered(folder)):
                raise FileExistsError(number)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        path = folder / f"{number:04d}_{name}.json"
        _publish(claim, path)
        return path
    finally:
        claim.unlink(missing_ok=True)


def _publish(claim: Path, path: Path) -> None:
    """Give the written file its name in one step, without replacing a file that has it.

    Raises:
        FileExistsError: there is one.
    """
    try:
        path.hardlink_to(claim)
    except FileExistsError:
        raise
    except OSError:  # no hard links on this file system; the claim alone keeps other runs away
        if path.exists():
            raise FileExistsError(path) from None
        claim.rename(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can."""
    with suppress(OSError):  # some network file systems cannot; the file itself is safe
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def folder_of(storage: str) -> Path:
    """The folder that `--benchmark-storage` names: pytest-benchmark takes "file://" off and decodes nothing."""
    return Path(storage.removeprefix("file://"))


def user_folder() -> Path:
    """Where a user's own baselines are kept outside a checkout of this suite, by the custom of the platform.

    Raises:
        StoreError: this user has no home folder.
    """
    try:
        home = Path.home()
    except RuntimeError:
        raise StoreError(f"this user has no home folder to keep baselines in: set HOME, or {REMEDY}") from None
    if sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        data = home / "Library" / "Application Support"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return data / "pytest-roofline" / "baselines"


def writable(root: Path) -> None:
    """Make sure, before anything is measured, that records can be written below `root`.

    Raises:
        StoreError: they cannot, for the reason in its text.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root) as file:
            file.write(b"roofline")
    except OSError as error:
        raise StoreError(f"{root}: baselines cannot be written there: {error.strerror}; {REMEDY}") from error


def default_name(today: date) -> str:
    """The name of a record that was given none: its day."""
    return today.isoformat()


def check_name(value: str) -> str:
    """The name that a record is to be saved under, as it was given.

    Raises:
        ValueError: it is no name, or an existing path, so perhaps meant as what to test.
    """
    wrong = _wrong_name(value)
    if "\0" not in value and len(value) <= LONGEST_NAME and Path(value).exists():
        wrong = (
            f"--benchmark-save: {value!r} is an existing path, so perhaps what to test and not a name; "
            "name the record with --benchmark-save=NAME (a NAME that no file here has)"
        )
    if wrong:
        raise ValueError(wrong)
    return value


def _wrong_name(value: str) -> str:
    """What is wrong with a name, and what to write instead; empty when nothing is."""
    shown = repr(value if len(value) <= LONGEST_NAME else value[:20] + "…")
    if len(value) > LONGEST_NAME:
        problem = f"is {len(value)} characters long; allowed: up to {LONGEST_NAME}"
    elif value.partition(".")[0].lower() in RESERVED:
        problem = "is a name that Windows keeps for a device; allowed: any other"
    elif not NAME.fullmatch(value):
        problem = "is no name; allowed: letters, digits, '.', '_' and '-', the first a letter or digit (no path)"
    else:
        return ""
    return f"--benchmark-save: {shown} {problem}; write --benchmark-save=NAME"
