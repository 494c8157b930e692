"""`roofline show`: a stored run as a small roofline and as it was printed when it ended, or a spec sheet."""

import argparse

from roofline.cli.ending import FINE
from roofline.cli.options import WHAT_A_NAME_MEANS, add_storage

SUMMARY = "print a stored run: a small roofline, then what was printed when it ended; or a spec sheet"


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("name", metavar="RECORD", help=WHAT_A_NAME_MEANS)
    add_storage(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    from roofline.cli.places import meant, store_of
    from roofline.cli.screen import can_show, paint, show
    from roofline.record import Record
    from roofline.report.plot_text import ASCII, BOX
    from roofline.report.stored import record_text, sheet_text

    found = meant(store_of(arguments.storage), arguments.name)
    if isinstance(found, Record):
        show(record_text(found, paint(), BOX if can_show(BOX.all) else ASCII))
    else:
        show(sheet_text(found, paint()))
    return FINE
