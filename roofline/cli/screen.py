"""What the commands print to: a terminal in colour, or whatever else in plain text."""

import os
import sys
from collections.abc import Mapping

from roofline.cli.ending import Refusal
from roofline.report.tables import Paint, Style, unpainted

# The escape sequences of ECMA-48 for each style.
CODES: Mapping[Style, str] = {"heading": "1", "good": "32", "bad": "31", "warn": "33", "faint": "2"}


def paint() -> Paint:
    """Colour where a person looks at it; none into files and pipes, or where NO_COLOR is set (https://no-color.org)."""
    if sys.stdout is None or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return unpainted
    return lambda text, style: f"\x1b[{CODES[style]}m{text}\x1b[0m"


def can_show(text: str) -> bool:
    """Whether the encoding of the terminal has every character of a text."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def show(text: str) -> None:
    """Print a text; a character that the terminal's encoding lacks becomes its escape, never an error.

    Raises:
        BrokenPipeError: whoever read has seen enough.
        Refusal: the output cannot be written, such as to a full disk.
    """
    if sys.stdout is None:
        raise Refusal("there is no output to write to: it is closed")
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard()
        raise Refusal(f"the output cannot be written: {error.strerror}") from None


def discard() -> None:
    """Send what is still to be written nowhere: Python would try it when it ends, and fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
