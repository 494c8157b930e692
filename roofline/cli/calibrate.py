"""`roofline calibrate`: measure several times in turn, and learn from that what this device's noise is."""

import argparse

from roofline.cli.ending import FINE, Refusal, refusing
from roofline.cli.options import add_storage

SUMMARY = "run the suite several times and learn this device's noise: what a change must exceed to be a verdict"
NAME = "calibration"
RUNS = 5
# Two runs differ once, which says next to nothing of how far two runs can differ.
FEWEST = 3
# Exit codes of pytest after which a run may be stored: all passed, some failed.
MEASURED = (0, 1)


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = "All other arguments go to pytest, such as: --device cuda:1 -k dial"
    parser.add_argument("-n", dest="runs", metavar="RUNS", type=_runs, default=RUNS, help=f"default: {RUNS}")
    add_storage(parser)


def _runs(text: str) -> int:
    if not text.isdecimal() or int(text) < FEWEST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of runs: give {FEWEST} or more")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Measure, each time in a process of its own, then print what was learnt."""
    from roofline.baseline import StoreError
    from roofline.cli.places import store_of
    from roofline.cli.screen import paint, show
    from roofline.record import RecordError
    from roofline.repeats import saved_since
    from roofline.report.floors import text

    given = [argument for argument in arguments.pytest_arguments if argument != "--"]
    _refuse(given)
    store = store_of(arguments.storage)
    with refusing(StoreError, RecordError):
        there = {path for slug in store.slugs() for path in store.files(slug)}
        for number in range(arguments.runs):
            show(f"roofline: run {number + 1} of {arguments.runs}")
            _measure(str(store.root), given)
        cards = saved_since(store, there)
    if not cards:
        raise Refusal("nothing was stored, so nothing can be learnt: see what the runs above say")
    show("\n\n".join(text(records, paint()) for records in cards.values()))
    return FINE


def _refuse(arguments: list[str]) -> None:
    """Refuse what would store the runs elsewhere than where they are looked for."""
    for option, instead in (("--benchmark-storage", "--storage FOLDER"), ("--benchmark-save", f"the name {NAME!r}")):
        if any(argument.partition("=")[0] == option for argument in arguments):
            raise Refusal(f"{option} is calibrate's own: it uses {instead}")


def _measure(storage: str, arguments: list[str]) -> None:
    """One run of the suite, with this terminal as its own."""
    import sys

    from roofline.foreground import exit_code

    options = ["-m", "bench", f"--benchmark-save={NAME}", f"--benchmark-storage=file://{storage}"]
    try:
        code = exit_code([sys.executable, "-m", "pytest", *options, *arguments])
    except KeyboardInterrupt:
        raise Refusal(f"interrupted: runs that ended are stored as {NAME!r} and count") from None
    if code not in MEASURED:
        raise Refusal(f"pytest ended with exit code {code}: put right what it says above, then calibrate again")
