"""Predictions, stated before the run, and their judgement after it.

An expectation comes, in this order, from the stored baseline of this model (where the claim is a figure of the card),
from the device's family with its source, or from the formula. What was measured has an interval; so three things can
come out: it lies inside what was expected (confirmed), outside (refuted), or across an edge (inconclusive).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from roofline.model import Ceiling, Claim, Device, Estimate, Expectation, Outcome


class Known(Protocol):
    """What a stored baseline can answer: the figures of a card of this model."""

    @property
    def name(self) -> str:
        """The file's name, for the record of where an expectation came from."""
        ...

    def ceiling(self, resource: str) -> Ceiling | None:
        """A stored ceiling, None where the baseline has none."""
        ...

    def ridge(self, name: str) -> Estimate | None:
        """A stored ridge point, by name ("fp32/dram")."""
        ...

    def state(self, name: str) -> str | float | bool | None:
        """A value of the environment's state when it was recorded, None where it is unknown."""
        ...


@dataclass(frozen=True)
class NotApplicable:
    """Why a claim does not hold for this device at all; it is shown, and judges nothing."""

    reason: str


Expected = Expectation | NotApplicable


@dataclass(frozen=True)
class Prediction:
    """A claim of the chapter with a way to what it expects of a device.

    `figure` reads the expected figure from a baseline and `tolerance` (of that baseline) widens the interval that the
    baseline itself reports; `family` knows it from the kind of device; `formula` from the model. The first that answers
    counts.
    """

    id: str
    statement: str
    unit: str = ""
    figure: Callable[[Known], Estimate | None] | None = None
    tolerance: Callable[[Known], float] = lambda _: 0.1
    family: Callable[[Device], Expected | None] | None = None
    formula: Callable[[Device], Expected] | None = None

    def expectation(self, device: Device, baseline: Known | None) -> Expected:
        """What to expect of `device`, and where from."""
        if self.figure and baseline:
            stored = self.figure(baseline)
            if stored:
                slack = self.tolerance(baseline)
                return Expectation(
                    stored.low * (1 - slack),
                    stored.high * (1 + slack),
                    f"baseline {baseline.name.rpartition('/')[2]}",
                    self.unit,
                )
        if self.family:
            known = self.family(device)
            if known:
                return known
        if self.formula:
            return self.formula(device)
        return NotApplicable("no stored baseline of this model says what to expect")

    @property
    def needs_baseline(self) -> bool:
        """True for a figure of the card that nothing but a stored baseline predicts."""
        return not (self.family or self.formula)


def within(low: float, high: float, formula: str, unit: str = "") -> Callable[[Device], Expected]:
    """A formula's expectation that is the same for every device.

    Raises:
        ValueError: `low` is above `high`.
    """
    if not low <= high:
        raise ValueError(f"expected {low} … {high}: give the lower bound first")
    return lambda _: Expectation(low, high, f"formula: {formula}", unit)


def judge(expected: Expectation, measured: Estimate) -> tuple[Outcome, str]:
    """Confirmed when the whole interval lies inside what was expected, refuted when all of it lies outside."""
    if not measured.low <= measured.value <= measured.high:
        return "refuted", f"not a number one can judge: {measured}"
    if expected.low <= measured.low and measured.high <= expected.high:
        return "confirmed", ""
    if measured.high < expected.low:
        return "refuted", "below what was expected"
    if measured.low > expected.high:
        return "refuted", "above what was expected"
    edge = "lower" if measured.low < expected.low else "upper"
    return "inconclusive", f"its noise reaches across the {edge} edge of what was expected"


def settle(
    prediction: Prediction, expected: Expected, measured: Estimate | None, disturbed: str = "", note: str = ""
) -> Claim:
    """The judged claim. What would be refuted on a disturbed machine is inconclusive, for that reason."""
    if isinstance(expected, NotApplicable):
        return Claim(prediction.id, prediction.statement, None, measured, "not-applicable", expected.reason)
    if measured is None:
        return Claim(prediction.id, prediction.statement, expected, None, "inconclusive", note or "not measured")
    outcome, reason = judge(expected, measured)
    if outcome == "refuted" and disturbed:
        outcome, reason = "inconclusive", f"{reason}, but {disturbed}"
    return Claim(
        prediction.id, prediction.statement, expected, measured, outcome, "; ".join(filter(None, (reason, note)))
    )
