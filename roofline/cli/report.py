"""`roofline report`: stored runs and spec sheets as one HTML page that needs no network."""

import argparse
from pathlib import Path

from roofline.cli.ending import FINE, Refusal, refusing
from roofline.cli.options import WHAT_A_NAME_MEANS, add_storage

SUMMARY = "write an interactive HTML page of stored runs: roofline, explorer, tables; offline, in one file"
DEFAULT = "report.html"


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = (
        "The first record is what the others are held against: verdicts where they are of one model, else a contrast."
    )
    parser.add_argument(
        "names",
        metavar="RECORD",
        nargs="*",
        help=f"{WHAT_A_NAME_MEANS}; none: the newest complete record of every card",
    )
    parser.add_argument("-o", "--output", metavar="FILE", default=DEFAULT, help=f"default: {DEFAULT}")
    add_storage(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the page."""
    from roofline import page
    from roofline.baseline import StoreError
    from roofline.cli.places import meant, store_of
    from roofline.cli.screen import show
    from roofline.noise import Floors, learn
    from roofline.record import Record, RecordError
    from roofline.repeats import repeats

    store = store_of(arguments.storage)

    def floors_of(record: Record) -> Floors:
        return learn(repeats(store, record.run) or [record])

    with refusing(ValueError):
        page.check(arguments.output)
    with refusing(StoreError, RecordError, OSError):
        names = arguments.names or [slug for slug in store.slugs() if store.newest(slug).record]
        if not names:
            raise Refusal(f"{store.root} holds no complete record: pytest -m bench --benchmark-save makes one")
        page.write([meant(store, name) for name in names], arguments.output, floors_of)
    show(f"roofline: page in {Path(arguments.output)}")
    return FINE
