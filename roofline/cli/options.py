"""Arguments that several commands take."""

import argparse

WHAT_A_NAME_MEANS = (
    "a file, the folder name of a card (its newest complete record), a record's number or name (alone, or after the "
    "card's and a slash), or a spec sheet such as rtx-5070-spec"
)


def add_storage(parser: argparse.ArgumentParser) -> None:
    """Add the option that names another store."""
    parser.add_argument(
        "--storage",
        metavar="FOLDER",
        help="where baselines are kept (default: what roofline_baselines says in the pytest configuration here or "
        "above, else your user data folder)",
    )
