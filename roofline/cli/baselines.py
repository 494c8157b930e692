"""`roofline baselines`: every stored run, with what it says of itself or what is wrong with it."""

import argparse

from roofline.cli.ending import FINE, refusing
from roofline.cli.options import add_storage

SUMMARY = "list what is stored: card, date, driver, state, rows, failed claims"


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--check",
        action="store_true",
        help="read every file whole; without it, all but the baselines at both ends only",
    )
    add_storage(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the list."""
    from roofline import catalogue, specsheets
    from roofline.baseline import StoreError
    from roofline.cli.places import store_of
    from roofline.cli.screen import paint, show
    from roofline.report.listing import text

    store = store_of(arguments.storage)
    with refusing(StoreError):
        listed = catalogue.listing(store, whole=arguments.check)
    show(text(store.root, listed, specsheets.slugs(), paint()))
    return FINE
