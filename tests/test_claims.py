"""Predictions: where an expectation comes from, and the three things that can become of it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.claims import NotApplicable, Prediction, judge, settle, within
from roofline.model import Ceiling, Device, Estimate, Expectation

pytestmark = pytest.mark.correctness

CARD = Device("card", "cuda", "sm_90", 132)
HALF = Expectation(0.4, 0.6, "formula: a half")


class Stored:
    """A baseline that knows one ceiling."""

    name = "0007_card.json"

    def ceiling(self, resource):
        return Ceiling("fp32", 100.0, 98.0, 103.0, "FLOP/s", "k", "v") if resource == "fp32" else None

    def ridge(self, name):
        return None

    def state(self, name):
        return None


def stored(resource, tolerance=0.0):
    """A prediction that a baseline may know, with a family and a formula behind it."""
    return Prediction(
        "M12",
        "holds",
        figure=lambda baseline: (
            (baseline.ceiling(resource) or CEILING_OF_NOTHING).estimate if baseline.ceiling(resource) else None
        ),
        tolerance=lambda baseline: tolerance,
        family=lambda device: Expectation(1, 2, "family: cards") if device.name == "card" else None,
        formula=within(3, 4, "an equation"),
    )


CEILING_OF_NOTHING = Ceiling("", 0, 0, 0, "", "", "")


def test_the_stored_baseline_of_the_model_comes_first():
    """X5: a figure of the card is expected where this card's own baseline has it, with the interval it reported."""
    expected = stored("fp32").expectation(CARD, Stored())
    assert (expected.low, expected.high, expected.source) == (98.0, 103.0, "baseline 0007_card.json")


def test_the_tolerance_widens_the_interval_of_the_baseline():
    expected = stored("fp32", 0.1).expectation(CARD, Stored())
    assert (expected.low, expected.high) == (pytest.approx(88.2), pytest.approx(113.3))


def test_a_figure_the_baseline_lacks_is_known_from_the_family():
    assert stored("fp64").expectation(CARD, Stored()).source == "family: cards"


def test_an_unknown_family_falls_back_to_the_formula():
    assert stored("fp64").expectation(Device("other", "cpu", "x", 1), None).source == "formula: an equation"


def test_without_any_source_nothing_is_expected():
    prediction = Prediction("A4", "ridge", figure=lambda baseline: baseline.ridge("fp32/dram"))
    assert prediction.needs_baseline
    assert isinstance(prediction.expectation(CARD, Stored()), NotApplicable)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.45, 0.55, "confirmed"),
        (0.4, 0.6, "confirmed"),
        (0.1, 0.3, "refuted"),
        (0.7, 0.9, "refuted"),
        (0.35, 0.45, "inconclusive"),
        (0.55, 0.65, "inconclusive"),
        (0.1, 0.9, "inconclusive"),
    ],
)
def test_a_claim_is_judged_with_its_noise(low, high, outcome):
    """Inside is confirmed, outside refuted, across an edge inconclusive."""
    assert judge(HALF, Estimate((low + high) / 2, low, high))[0] == outcome


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_never_confirmed(value):
    """A NaN on either side of a comparison must not pass."""
    assert judge(HALF, Estimate(value, math.nan, math.nan))[0] == "refuted"
    assert judge(Expectation(math.nan, math.nan, ""), Estimate(0.5, 0.5, 0.5))[0] != "confirmed"


@given(st.floats(0.01, 10), st.floats(0, 1), st.floats(1e-3, 1e3))
def test_the_verdict_does_not_depend_on_the_scale(value, width, scale):
    """C51: scaling expectation and measurement alike changes nothing."""
    measured = Estimate(value, value * (1 - width / 2), value * (1 + width / 2))
    scaled = Estimate(*(scale * side for side in (measured.value, measured.low, measured.high)))
    expected = Expectation(scale * HALF.low, scale * HALF.high, HALF.source)
    edges = [abs(side / edge - 1) for side in (measured.low, measured.high) if side for edge in (HALF.low, HALF.high)]
    if min(edges, default=1) > 1e-9:
        assert judge(expected, scaled)[0] == judge(HALF, measured)[0]


def test_what_a_disturbed_machine_refutes_is_inconclusive_with_the_reason():
    claim = settle(Prediction("A2", "flat"), HALF, Estimate(0.9, 0.9, 0.9), "others used 40 % of the machine meanwhile")
    assert claim.outcome == "inconclusive"
    assert "others used 40 %" in claim.reason


def test_a_disturbance_does_not_spoil_what_is_confirmed():
    assert settle(Prediction("A2", "flat"), HALF, Estimate(0.5, 0.5, 0.5), "others").outcome == "confirmed"


def test_a_claim_without_a_measurement_is_inconclusive_never_confirmed():
    assert settle(Prediction("A2", "flat"), HALF, None, note="no point past the ridge").outcome == "inconclusive"


def test_a_claim_that_does_not_apply_says_why():
    claim = settle(Prediction("C3", "graphs"), NotApplicable("a CPU has no launch graphs"), None)
    assert (claim.outcome, claim.reason) == ("not-applicable", "a CPU has no launch graphs")
