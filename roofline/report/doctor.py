"""What the doctor found, for a terminal."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from roofline.doctor import Finding, State
from roofline.report.tables import WIDTH, Paint, Style, unpainted
from roofline.report.text import one_line

STYLES: Mapping[State, Style] = {"works": "good", "missing": "warn", "broken": "bad"}
STATE_WIDTH, SUBJECT_WIDTH = 8, 14
INDENT = " " * (STATE_WIDTH + SUBJECT_WIDTH)


def text(findings: Sequence[Finding], paint: Paint = unpainted) -> str:
    """A line or two for each thing, and below what does not work its cost and the command that helps."""
    lines = [line for finding in findings for line in _lines(finding, paint)]
    return "\n".join([paint("DOCTOR   what measuring takes, and what of it is here", "heading"), *lines])


def _lines(finding: Finding, paint: Paint) -> Iterator[str]:
    first = _wrapped(f"{finding.state:<{STATE_WIDTH}}{finding.subject:<{SUBJECT_WIDTH}}{finding.said}")
    yield paint(finding.state, STYLES[finding.state]) + first.removeprefix(finding.state)
    if finding.costs:
        yield _wrapped(f"{INDENT}so {finding.costs}")
    if finding.helps:
        yield f"{INDENT}run: {one_line(finding.helps)}"  # never wrapped: it is to be copied


def _wrapped(text: str) -> str:
    """`text` below the subject; a path breaks at no dash, so that it can be copied."""
    return textwrap.fill(one_line(text), WIDTH, subsequent_indent=INDENT, break_on_hyphens=False)
