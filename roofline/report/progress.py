"""The lines that appear while a run goes on: what is expected, how far it is, the last figure."""

from collections.abc import Sequence

from tabulate import tabulate

from roofline.claims import Expected, NotApplicable, Prediction
from roofline.model import Claim, Measurement
from roofline.report.text import between, estimate, figure, one_line
from roofline.rooflines import unit_of
from roofline.units import si

NAME_WIDTH = 34


def predictions(stated: Sequence[tuple[Prediction, Expected]]) -> str:
    """What is expected of this device, written down before anything is measured (X5)."""
    rows = [
        (prediction.id, prediction.statement, *_expected(expected, prediction.unit)) for prediction, expected in stated
    ]
    table = tabulate(rows, headers=("id", "prediction", "expected", "from"), maxcolwidths=[None, 42, 18, 28])
    return f"predictions, stated before the run\n{table}"


def _expected(expected: Expected, unit: str) -> tuple[str, str]:
    if isinstance(expected, NotApplicable):
        return "not applicable", expected.reason
    return between(expected.low, expected.high, expected.unit or unit), expected.source


def claim_line(claim: Claim) -> str:
    """A judged claim in one line."""
    unit = claim.expected.unit if claim.expected else ""
    parts = [f"{claim.id} {claim.outcome}: {claim.statement}"]
    if claim.measured:
        parts.append(f"measured {estimate(claim.measured, unit)}")
    if claim.expected:
        parts.append(f"expected {between(claim.expected.low, claim.expected.high, unit)} ({claim.expected.source})")
    if claim.reason:
        parts.append(claim.reason)
    return "; ".join(parts)


def verdict(claim: Claim) -> str:
    """A judged claim as briefly as progress wants it: the summary has the whole."""
    unit = claim.expected.unit if claim.expected else ""
    measured = f"  measured {figure(claim.measured.value, unit)}" if claim.measured else ""
    expected = f"  expected {between(claim.expected.low, claim.expected.high, unit)}" if claim.expected else ""
    return f"{claim.id} {claim.outcome}{measured}{expected}"


def figures(measurement: Measurement) -> str:
    """The figures of a row: rates where it moves and computes something, the time where it does neither."""
    work = measurement.work
    shown = []
    level = measurement.key.level if work.moved(measurement.key.level) else "dram"
    if work.moved(level):
        shown.append(si(measurement.bytes_per_s(level).value, "B/s"))
    if work.flops:
        shown.append(si(measurement.flop_per_s.value, unit_of(work.unit)))
    if not shown:
        shown.append(si(measurement.seconds.value, "s"))
    flags = f" ({', '.join(measurement.samples.flags)})" if measurement.samples.flags else ""
    return "  ".join(f"{figure:>12s}" for figure in shown) + f"  {measurement.variant}{flags}"


def progress(name: str, line: str, outcome: str) -> str:
    """A test's name and what came of it."""
    failed = "FAILED " if outcome == "failed" else ""
    return f"{one_line(name):{NAME_WIDTH}s} {failed}{one_line(line)}"
