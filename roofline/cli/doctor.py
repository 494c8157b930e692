"""`roofline doctor`: what this machine has, what each missing thing costs, and the command that helps."""

import argparse

from roofline.cli.ending import FINE, WORSE
from roofline.cli.options import add_storage

SUMMARY = "say what this machine has to measure with, what each missing thing costs and what helps"


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = "Exit code: 1 where a device that is here cannot be measured, else 0."
    add_storage(parser)


def run(arguments: argparse.Namespace) -> int:
    """Examine this machine and print what was found."""
    from roofline import doctor
    from roofline.cli.places import store_of
    from roofline.cli.screen import paint, show
    from roofline.report.doctor import text

    findings = doctor.examine(store_of(arguments.storage))
    show(text(findings, paint()))
    return WORSE if doctor.cannot_measure(findings) else FINE
