"""Where baselines are kept, as the command line sees it, and what the names that people type mean."""

import configparser
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roofline.baseline import Store, StoreError, folder_of, user_folder
from roofline.catalogue import NoSuchRecord, find, is_file
from roofline.cli.ending import Refusal, refusing
from roofline.record import Record, RecordError
from roofline.schema import DocumentError
from roofline.specsheets import SUFFIX, NoSuchSheet, SpecSheet, sheet, slugs

OPTION = "roofline_baselines"
# Where pytest looks for its options, in its order; of each kind of file the tables that may hold them.
FILES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "pytest.toml": (("pytest",),),
    ".pytest.toml": (("pytest",),),
    "pytest.ini": (("pytest",),),
    ".pytest.ini": (("pytest",),),
    "pyproject.toml": (("tool", "pytest", "ini_options"), ("tool", "pytest")),
    "tox.ini": (("pytest",),),
    "setup.cfg": (("tool:pytest",),),
}
# Files of pytest alone: they are its configuration even where they say nothing.
ITS_OWN = frozenset({"pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"})


def store_of(given: str | None) -> Store:
    """The store that was given, else the one that pytest would use here.

    Raises:
        Refusal: there is no such folder.
    """
    if given is None:
        with refusing(StoreError):
            return Store(configured(working_folder()) or user_folder())
    folder = folder_of(given)
    if not os.path.isdir(folder):  # noqa: PTH112 - a path that is too long is none, not an error
        raise Refusal(f"--storage {given}: there is no such folder; give the one that holds a folder a card")
    return Store(folder.absolute())


def working_folder() -> Path:
    """Where the command was started.

    Raises:
        Refusal: that folder was deleted since.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise Refusal(f"the working folder cannot be found: {error.strerror}; change to another") from None


def configured(folder: Path) -> Path | None:
    """The folder of baselines that the nearest pytest configuration at or above `folder` names, None where it does not.

    The nearest alone counts, as it does for pytest.
    """
    for parent in (folder, *folder.parents):
        for name in FILES:
            options = _options(parent / name)
            if options is not None:
                named = options.get(OPTION)
                return parent / named if isinstance(named, str) and named else None
    return None


def _options(path: Path) -> Mapping[str, Any] | None:
    """What a file tells pytest; None where it is no configuration of pytest's, or cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
        document: Any = tomllib.loads(text) if path.suffix == ".toml" else _ini(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, configparser.Error):
        return None
    for keys in FILES[path.name]:
        found = document
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, Mapping):
            return found
    return {} if path.name in ITS_OWN else None


def _ini(text: str) -> Mapping[str, Mapping[str, str]]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return {name: dict(section) for name, section in parser.items()}


def meant(store: Store, name: str) -> Record | SpecSheet:
    """The record or spec sheet that a person named.

    Raises:
        Refusal: it is none, or cannot be read.
    """
    with refusing(NoSuchRecord, NoSuchSheet, RecordError, StoreError, DocumentError):
        if name in slugs() or (name.endswith(SUFFIX) and not is_file(name)):
            return sheet(name)
        return find(store, name)
