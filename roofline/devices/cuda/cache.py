"""Cubins on disk, so that a second run compiles nothing. Safe for many processes at once on one folder.

A file is named by the hash of its content and never rewritten; an index entry, named by the hash of everything that the
content depends on, says which. Both appear by renaming, so no process ever sees half of one.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "ROOFLINE_CACHE_DIR"


@dataclass(frozen=True)
class Cubin:
    """Compiled code in a file, and the mangled name of each entry that was asked for."""

    path: Path
    code: bytes
    symbols: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The hash that names the content."""
        return digest(self.code)


def digest(content: bytes) -> str:
    """The hash by which content is named."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class CubinCache:
    """The cubins under one folder; `note` says why it is not the usual one, if so."""

    folder: Path
    note: str = ""

    def load(self, key: str) -> Cubin | None:
        """What was stored under `key`; None where it is missing or damaged, which only costs a compilation."""
        try:
            entry = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            path = self.folder / f"{entry['cubin']}.cubin"
            code = path.read_bytes()
            found = Cubin(path, code, dict(entry["symbols"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if found.digest == entry["cubin"] else None

    def store(self, key: str, code: bytes, symbols: Mapping[str, str]) -> Cubin:
        """Keep `code` under `key`."""
        name = digest(code)
        path = self.folder / f"{name}.cubin"
        self._write(path, code)
        entry = json.dumps({"cubin": name, "symbols": dict(symbols)}).encode()
        self._write(self.folder / f"{key}.json", entry)
        return Cubin(path, code, dict(symbols))

    def _write(self, path: Path, content: bytes) -> None:
        handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def usual_folder() -> Path:
    """`$ROOFLINE_CACHE_DIR`, else a folder in the user's cache."""
    if VARIABLE in os.environ:
        return Path(os.environ[VARIABLE])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytest-roofline" / "cubins"


def writable(folder: Path) -> bool:
    """Whether files can be made in `folder`, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def open_cache(folder: Path | None = None) -> CubinCache:
    """The usual cache, or where that cannot be written one for this run, with a note that says so."""
    try:
        wanted = folder or usual_folder()
    except RuntimeError:  # Path.home() of a user without one
        wanted = Path("~/.cache/pytest-roofline")
    else:
        if writable(wanted):
            return CubinCache(wanted)
    temporary = Path(tempfile.mkdtemp(prefix="pytest-roofline-"))
    return CubinCache(
        temporary,
        f"cannot write to {wanted}: kernels are compiled anew in each run; set {VARIABLE} to a writable folder",
    )
