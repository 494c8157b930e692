"""`roofline diff`: verdicts between two runs of one model, a contrast between two cards."""

import argparse
import json
from typing import TYPE_CHECKING

from roofline.cli.ending import FINE, WORSE, refusing
from roofline.cli.options import WHAT_A_NAME_MEANS, add_storage

if TYPE_CHECKING:
    from roofline.baseline import Store
    from roofline.changes import Comparison
    from roofline.contrast import Contrast
    from roofline.model import RowKey
    from roofline.record import Record, Run

SUMMARY = "compare two runs of one model (verdicts), or two cards (ratios, ridges, what binds each kernel)"


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = (
        "Exit code: 0; 1 where a row of one model is slower or gone, or none was compared; 2 where it cannot be done. "
        "Two models are never slower than one another."
    )
    parser.add_argument("before", metavar="A", help=WHAT_A_NAME_MEANS)
    parser.add_argument("after", metavar="B", help="the same")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="default: text")
    add_storage(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare and print."""
    from roofline.cli.places import meant, store_of
    from roofline.contrast import Side, contrast
    from roofline.record import Record

    store = store_of(arguments.storage)
    before, after = (meant(store, name) for name in (arguments.before, arguments.after))
    if isinstance(before, Record) and isinstance(after, Record) and before.run.device.key == after.run.device.key:
        return _verdicts(store, before, after, arguments.format)
    _print_contrast(contrast(Side.of(before), Side.of(after)), arguments.format)
    return FINE


def _verdicts(store: "Store", before: "Record", after: "Record", form: str) -> int:
    from roofline.baseline import StoreError
    from roofline.changes import compare
    from roofline.noise import learn
    from roofline.repeats import repeats

    with refusing(StoreError):
        floors = learn(repeats(store, before.run) or [before])
    found = compare(before, after.run, floors, _attempted(before.run, after.run))
    _print_verdicts(found, after, form)
    return WORSE if found.failed else FINE


def _attempted(before: "Run", after: "Run") -> set["RowKey"] | None:
    """The rows that a run was to measure; None: all of the other's.

    Of a run that is not whole, or was selected otherwise (without `full`), what it has is judged; what it lacks is not
    gone.
    """
    if after.complete and after.selection == before.selection:
        return None
    return {*(row.key for row in after.measurements), *(row.key for row in after.absent)}


def _print_verdicts(found: "Comparison", after: "Record", form: str) -> None:
    from roofline.cli.screen import paint, show
    from roofline.report import changes
    from roofline.report.documents import comparison_document

    if form == "json":
        show(json.dumps(comparison_document(found, after), indent=1, allow_nan=False))
    else:
        show(changes.markdown(found) if form == "markdown" else changes.text(found, paint()))


def _print_contrast(found: "Contrast", form: str) -> None:
    from roofline.cli.screen import paint, show
    from roofline.report import contrast
    from roofline.report.documents import contrast_document

    if form == "json":
        show(json.dumps(contrast_document(found), indent=1, allow_nan=False))
    else:
        show(contrast.markdown(found) if form == "markdown" else contrast.text(found, paint()))
