"""The stored runs that repeat one another, from which a device's noise is learnt."""

from collections.abc import Collection
from pathlib import Path

from roofline.baseline import Store
from roofline.headers import read_header
from roofline.noise import MOST_RUNS, made_alike
from roofline.record import Record, RecordError, Run, load


def repeats(store: Store, run: Run) -> list[Record]:
    """The newest complete runs that were made as `run` was, from which its noise can be learnt.

    Damaged files among them are passed over: a floor judges nothing by itself, and `listing` shows them.

    Raises:
        StoreError: the store cannot be read.
    """
    found: list[Record] = []
    for path in store.files(run.device.slug):
        try:
            header = read_header(path)
            if header.run.complete and made_alike(header.run, run):
                found.append(load(path))
        except RecordError:
            continue
        if len(found) == MOST_RUNS:
            break
    return found


def saved_since(store: Store, there: Collection[Path]) -> dict[str, list[Record]]:
    """The records that came to the files that were `there`: by card, newest first.

    Raises:
        RecordError: one of them cannot be read.
        StoreError: the store cannot be read.
    """
    found = {slug: [load(path) for path in store.files(slug) if path not in there] for slug in store.slugs()}
    return {slug: records for slug, records in found.items() if records}
