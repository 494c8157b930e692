"""Where baselines are kept, as the command line sees it, and what the names that people type mean."""

import configparser
import os
import tomllib
from pathlib import Path
from typing import Any

from roofline.baseline import Store, StoreError, folder_of, user_folder
from roofline.catalogue import NoSuchRecord, find, is_file
from roofline.cli.ending import Refusal, refusing
from roofline.record import Record, RecordError
from roofline.schema import DocumentError
from roofline.specsheets import SUFFIX, NoSuchSheet, SpecSheet, sheet, slugs

OPTION = "roofline_baselines"
# Where pytest looks for its options, in its order; of each kind of file the sections that hold them.
INI_FILES = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
TOML_FILES = {
    "pytest.toml": ("pytest",),
    ".pytest.toml": ("pytest",),
    "pyproject.toml": ("tool", "pytest", "ini_options"),
}


def store_of(given: str | None) -> Store:
    """The store that was given, else the one that pytest would use here.

    Raises:
        Refusal: there is no such folder.
    """
    if given is None:
        with refusing(StoreError):
            return Store(configured(working_folder()) or user_folder())
    folder = folder_of(given)
    if not os.path.isdir(folder):
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
    """The folder of baselines that the nearest pytest configuration at or above `folder` names."""
    for parent in (folder, *folder.parents):
        for name in (*INI_FILES, *TOML_FILES):
            named = _option(parent / name)
            if named:
                return parent / named
    return None


def _option(path: Path) -> str | None:
    """Our option in a configuration; None where there is none, or the file is not one that can be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    value = _of_ini(text, INI_FILES[path.name]) if path.name in INI_FILES else _of_toml(text, TOML_FILES[path.name])
    return value if isinstance(value, str) and value else None


def _of_ini(text: str, section: str) -> Any:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return parser.get(section, OPTION, fallback=None)


def _of_toml(text: str, sections: tuple[str, ...]) -> Any:
    try:
        found: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    for section in (*sections, OPTION):
        found = found.get(section) if isinstance(found, dict) else None
    return found


def meant(store: Store, name: str) -> Record | SpecSheet:
    """The record or spec sheet that a person named.

    Raises:
        Refusal: it is none, or cannot be read.
    """
    with refusing(NoSuchRecord, NoSuchSheet, RecordError, StoreError, DocumentError):
        if name in slugs() or (name.endswith(SUFFIX) and not is_file(name)):
            return sheet(name)
        return find(store, name)
