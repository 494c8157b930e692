"""The command line: compare stored runs and cards, list and show them, and see what this machine has.

Each command is a module with `SUMMARY`, `describe`, which adds its arguments to a parser, and `run`, which returns the
exit code. What takes long to import is imported by `run`, so that `--help` is quick.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from roofline._version import VERSION
from roofline.cli import baselines, calibrate, chart, diff, doctor, explain, report, show
from roofline.cli.ending import CANNOT, INTERRUPTED, Refusal, said
from roofline.escaping import one_line


@dataclass(frozen=True)
class Command:
    """What one command is for, the arguments that it takes, and what it does."""

    summary: str
    describe: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


COMMANDS: Mapping[str, Command] = {
    "diff": Command(diff.SUMMARY, diff.describe, diff.run),
    "baselines": Command(baselines.SUMMARY, baselines.describe, baselines.run),
    "show": Command(show.SUMMARY, show.describe, show.run),
    "explain": Command(explain.SUMMARY, explain.describe, explain.run),
    "chart": Command(chart.SUMMARY, chart.describe, chart.run),
    "report": Command(report.SUMMARY, report.describe, report.run),
    "calibrate": Command(calibrate.SUMMARY, calibrate.describe, calibrate.run),
    "doctor": Command(doctor.SUMMARY, doctor.describe, doctor.run),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` (None: the process's own) name, and return its exit code."""
    parser = _parser()
    known, rest = parser.parse_known_args(arguments)
    if rest and known.command != "calibrate":
        parser.error(one_line(f"unrecognized arguments: {' '.join(rest)}"))
    known.pytest_arguments = rest
    try:
        return COMMANDS[known.command].run(known)
    except Refusal as refusal:
        sys.stderr.write(f"roofline: {said(refusal)}\n")
        return CANNOT
    except BrokenPipeError:
        from roofline.cli.screen import discard

        discard()
        return CANNOT
    except KeyboardInterrupt:
        sys.stderr.write("roofline: interrupted\n")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="roofline",
        description="Compare stored runs and cards, list and show them, and see what this machine has to measure with. "
        "Measuring itself is pytest's: pytest -m bench.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"pytest-roofline {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        summary = command.summary
        command.describe(commands.add_parser(name, help=summary, description=f"{summary}.", allow_abbrev=False))
    return parser
