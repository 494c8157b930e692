"""`roofline chart`: the roofline of a stored run as a picture, for a paper or a slide."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roofline.cli.ending import FINE, Refusal, refusing
from roofline.cli.options import WHAT_A_NAME_MEANS, add_storage

if TYPE_CHECKING:
    from roofline.record import Record

SUMMARY = "draw the roofline of stored runs: SVG, PNG or PDF, ready for a paper"
DEFAULT = "roofline.svg"


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = (
        "One record is drawn into FILE. Of several, each is drawn into a file of its own, whose name is FILE's with "
        "the card's and the record's: -o x.svg makes x-nvidia-h200-0001_cuda13.svg. `roofline report` lays cards over "
        "one another."
    )
    parser.add_argument("names", metavar="RECORD", nargs="+", help=WHAT_A_NAME_MEANS)
    parser.add_argument(
        "-o", "--output", metavar="FILE", default=DEFAULT, help=f".svg, .png or .pdf (default: {DEFAULT})"
    )
    add_storage(parser)


def run(arguments: argparse.Namespace) -> int:
    """Draw."""
    from roofline.cli.places import meant, store_of
    from roofline.cli.screen import show
    from roofline.report import chart
    from roofline.report.stored import report_of

    output = Path(arguments.output)
    with refusing(ValueError, chart.ChartUnavailable):
        chart.check(output)
    store = store_of(arguments.storage)
    records = [_measured(meant(store, name), name) for name in arguments.names]
    for record, path in zip(records, paths(records, output), strict=True):
        with refusing(OSError):
            remarks = chart.draw(report_of(record), path)
        show("\n".join([*remarks, f"roofline: chart in {path}"]))
    return FINE


def _measured(found: object, name: str) -> "Record":
    from roofline.record import Record

    if not isinstance(found, Record):
        raise Refusal(f"{name} is a specification, which has no points: `roofline report {name}` draws its lines")
    return found


def paths(records: "Sequence[Record]", output: Path) -> Iterator[Path]:
    """The file of each record: the given one, or one named after the record where there are several.

    Raises:
        Refusal: two would be drawn into one file.
    """
    if len(records) == 1:
        return iter([output])
    named = [output.with_stem(f"{output.stem}-{record.path.parent.name}-{record.path.stem}") for record in records]
    twice = next((path for path in named if named.count(path) > 1), None)
    if twice:
        raise Refusal(f"two of these records would be drawn into {twice}: name each once")
    return iter(named)
