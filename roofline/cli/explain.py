"""`roofline explain`: what an experiment or a claim is about, how it is counted, and what a low value means."""

import argparse

from roofline.cli.ending import FINE, refusing
from roofline.cli.options import add_storage

SUMMARY = "explain an experiment or a claim: what it does, the formula, how it is counted, what a low value means"


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = "No device is needed and nothing is measured."
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="an experiment (dial) or a claim (A3); none: list what there is"
    )
    add_storage(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    from roofline import explaining
    from roofline.baseline import StoreError
    from roofline.cli.places import store_of
    from roofline.cli.screen import paint, show
    from roofline.record import RecordError
    from roofline.report.explaining import claim_text, experiment_text, overview

    if arguments.name is None:
        show(overview(explaining.experiments(), paint()))
        return FINE
    with refusing(explaining.NothingToExplain):
        found = explaining.find(arguments.name)
    store = store_of(arguments.storage)
    with refusing(StoreError, RecordError):
        newest = [store.newest(slug).record for slug in store.slugs()]
    # Most predictions are about GPUs, so what is shown of one card alone is of a GPU where there is one.
    records = sorted(filter(None, newest), key=lambda record: record.run.device.kind != "cuda")
    if isinstance(found, explaining.Experiment):
        show(experiment_text(found, records, paint()))
    else:
        show(claim_text(arguments.name.upper(), found, records, paint()))
    return FINE
