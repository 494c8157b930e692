"""How a command ends where it cannot do what it was asked."""

import contextlib
from collections.abc import Iterator

from roofline.escaping import one_line

FINE, WORSE, CANNOT = 0, 1, 2
# As a shell reports Ctrl-C: 128 and the number of the signal.
INTERRUPTED = 130


class Refusal(Exception):
    """A command cannot be carried out; the message is what a person reads, and the exit code is 2."""


@contextlib.contextmanager
def refusing(*faults: type[Exception]) -> Iterator[None]:
    """Turns what a person can put right into a `Refusal`."""
    try:
        yield
    except faults as fault:
        raise Refusal(str(fault)) from None


def said(refusal: Refusal) -> str:
    """What a refusal says, in lines in which nothing acts on a terminal."""
    return "\n".join(map(one_line, str(refusal).split("\n")))
