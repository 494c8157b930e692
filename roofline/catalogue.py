"""What a store holds: each file with what it says of itself, and the record that a name means.

Lists read the two ends of a file; what is used is read whole and checked. Names that people type are matched with the
files that there are and never made into a path.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path
from typing import Literal

from roofline.baseline import Store, number_of
from roofline.escaping import one_line
from roofline.headers import Header, header_of, read_header
from roofline.record import Record, RecordError, load

State = Literal["baseline", "complete", "incomplete", "damaged"]


class NoSuchRecord(LookupError):
    """A name that means no record, or several; the message says which there are, and near ones."""


@dataclass(frozen=True)
class Listed:
    """One stored file: what it says of itself, or what is wrong with it.

    The `baseline` of a model is its newest complete record, by which its next run is judged. There is none where a
    newer file of the folder is damaged: until that is put right no run of the card can be judged.
    """

    slug: str
    path: Path
    state: State
    header: Header | None = None
    wrong: str = ""


def listing(store: Store, whole: bool = False) -> list[Listed]:
    """Every stored file, cards by name, newest first. What is to judge runs is read whole, else all if `whole`.

    Raises:
        StoreError: the store cannot be read.
    """
    return [listed for slug in store.slugs() for listed in _of_card(slug, store.files(slug), whole)]


def _of_card(slug: str, newest_first: Sequence[Path], whole: bool) -> Iterator[Listed]:
    """The files of one folder. Two models with one slug have a baseline each; a damaged file stops both."""
    judging: set[tuple[object, ...]] = set()
    stopped = False
    for _, same_number in groupby(newest_first, key=number_of):
        files = [_looked_at(slug, path, whole) for path in same_number]
        stopped = stopped or any(file.state == "damaged" for file in files)
        for file in sorted(files, key=_later_first, reverse=True):
            key = file.header.run.device.key if file.header else ()
            if file.state != "complete" or stopped or key in judging:
                yield file
                continue
            proven = file if whole else _looked_at(slug, file.path, whole=True)
            judging.add(key)
            stopped = proven.state == "damaged"
            yield proven if stopped else Listed(slug, file.path, "baseline", file.header)


def _looked_at(slug: str, path: Path, whole: bool) -> Listed:
    try:
        header = header_of(load(path)) if whole else read_header(path)
    except RecordError as wrong:
        return Listed(slug, path, "damaged", wrong=str(wrong).removeprefix(f"{one_line(path)}: "))
    return Listed(slug, path, "complete" if header.run.complete else "incomplete", header)


def _later_first(file: Listed) -> float:
    return file.header.created.timestamp() if file.header else float("inf")


def find(store: Store, name: str) -> Record:
    """The record that a person means by a file, a card's slug, or a record's number or name (alone or after SLUG/).

    A slug means the newest complete record of that card, a name that several runs of one card have the newest of them.

    Raises:
        NoSuchRecord: it means none, or records of several cards.
        RecordError: what it means is damaged.
        StoreError: the store cannot be read.
    """
    if is_file(name):
        return load(Path(name))
    slugs = store.slugs()
    if name in slugs:
        return _newest(store, name)
    slug, slash, rest = name.rpartition("/")
    wanted = [slug] if slash else slugs
    found = [path for slug in wanted if slug in slugs for path in _named(store, slug, rest)]
    if len({path.parent for path in found}) > 1:
        those = ", ".join(f"{path.parent.name}/{path.stem}" for path in found[:5])
        raise NoSuchRecord(f"{name!r} means records of several cards ({one_line(those)}): write SLUG/{one_line(name)}")
    if not found:
        raise NoSuchRecord(f"{name!r} is no file, card or record in {one_line(store.root)}{_near(store, name)}")
    newest = [path for path in found if number_of(path) == number_of(found[0])]
    return max(map(load, newest), key=lambda record: record.created)  # merged branches may both hold a number


def is_file(name: str) -> bool:
    """Whether a name is that of a file, as what holds a path separator or a suffix may be."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a name, or a zero byte in it
        return False


def _newest(store: Store, slug: str) -> Record:
    found = store.newest(slug)
    if found.record is None:
        raise NoSuchRecord(f"{one_line(store.root / slug)} holds no complete record; name one that is there")
    return found.record


def _named(store: Store, slug: str, name: str) -> list[Path]:
    """The files of a card that a number, a name, or both mean, newest first."""
    return [path for path in store.files(slug) if name in _names_of(path)]


def _names_of(path: Path) -> tuple[str, ...]:
    number, _, name = path.stem.partition("_")
    return path.name, path.stem, number, number.lstrip("0"), name


def _near(store: Store, name: str) -> str:
    """What is called nearly the same, as the end of a sentence; else all cards."""
    slugs = store.slugs()
    names = {*slugs, *(f"{slug}/{path.stem}" for slug in slugs for path in store.files(slug))}
    near = get_close_matches(name, sorted(names)) or slugs[:8]
    return f"; there are: {one_line(', '.join(near))}" if near else ", which holds none yet"
