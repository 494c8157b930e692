"""`roofline explain`: every experiment and claim, from what the suite says of itself."""

import re

import pytest

from roofline import explaining
from roofline.claims import NotApplicable
from roofline.record import load
from roofline.report.explaining import prose

pytestmark = pytest.mark.correctness


def test_without_a_name_it_lists_every_experiment_with_its_claims(roofline):
    code, out, _ = roofline("explain")
    assert code == 0
    listed = re.findall(r"^([a-z_]+)  ", out, re.MULTILINE)
    assert [name for name in listed if name != "name"] == list(explaining.names())
    assert re.search(r"^waves .* W1, W2$", out, re.MULTILINE)


@pytest.mark.parametrize("name", explaining.names())
def test_every_experiment_is_explained_within_100_columns(roofline, name):
    """What it does, how it is counted, what it predicts, and where to read on."""
    code, out, _ = roofline("explain", name)
    assert code == 0
    assert max(len(line) for line in out.splitlines() if not line.startswith("  page: ")) <= 100
    assert f"EXPERIMENT {name}\n" in out
    assert "\\n" not in out, "line ends within a paragraph are spaces"
    found = explaining.experiment(name)
    assert ("COUNTED" in out) == bool(found.counted)
    assert ("PREDICTIONS" in out) == bool(found.stated)
    assert f"pytest -m bench -k test_{name}" in out


@pytest.mark.parametrize("typed", ["in_flight", "in-flight", "test_in_flight", "bench/test_in_flight.py", "In-Flight"])
def test_an_experiment_may_be_named_as_its_module_its_page_or_itself(roofline, typed):
    assert roofline("explain", typed)[1].startswith("EXPERIMENT in_flight\n")


def test_a_claim_shows_what_each_stored_card_is_expected_to_do_and_did(roofline):
    """X5: the interval, where it is from, and what the newest record has."""
    code, out, _ = roofline("explain", "a3")
    assert code == 0
    flat = " ".join(out.split())
    assert flat.startswith("CLAIM A3 asserted by bench/test_dial.py")
    assert "0.900 … 1.05 formula: min(P, I·β) nvidia-h200: 0.982" in flat
    assert "amd-epyc-" in flat
    assert "FMA = 2 FLOP" in flat
    assert "If it is low." in flat


def test_a_claim_that_does_not_apply_to_a_card_says_why(store):
    """Launch graphs are a GPU's; tests that are marked for one kind of device are not asked of another."""
    cpu = load(store / "amd-epyc-znver3-2c" / "0001_2-vcpu.json")
    (graphs,) = explaining.find("C3")
    assert graphs.expectation(cpu) == NotApplicable("a CPU has no launch graphs")
    portable = explaining.find("B3")[0]
    assert portable.expectation(cpu) == NotApplicable("it is about cuda")


def test_every_claim_of_the_experiments_is_explained(roofline):
    claims = {claim for each in explaining.experiments() for claim in each.claims}
    assert {"A2", "B1", "C4", "H1", "K1", "M12", "R6", "T1", "W1"} <= claims
    for claim in sorted(claims)[::6]:
        code, out, _ = roofline("explain", claim)
        assert (code, out.startswith(f"CLAIM {claim} ")) == (0, True)


@pytest.mark.parametrize(
    ("typed", "near"), [("dail", "dial"), ("M7", "M2, "), ("wave", "waves"), ("tensors", "tensor")]
)
def test_an_unknown_name_is_answered_with_near_ones(roofline, typed, near):
    code, out, err = roofline("explain", typed)
    assert (code, out) == (2, "")
    assert f"{typed!r} is no experiment and no claim; near it: {near}" in err


def test_a_name_that_is_near_nothing_is_answered_with_all_of_them(roofline):
    code, _, err = roofline("explain", "../../etc/passwd")
    assert code == 2
    assert ", ".join(explaining.names()) in err


def test_without_a_stored_record_it_explains_all_the_same(roofline, store):
    for card in store.iterdir():
        card.rename(store.parent / card.name)
    code, out, _ = roofline("explain", "dial")
    assert code == 0
    assert "no record is stored here" in out


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("A7, A8: the roof.", ["A7", "A8"]),
        ("K1 to K4, T7: the ladder.", ["K1", "K2", "K3", "K4", "T7"]),
        ("Checked before it is timed (A9).", ["A9"]),
        ("Reads that stay in L2, or in L1.", []),
        ("A: the dial.", []),
    ],
)
def test_claims_stand_before_a_sentence_or_in_brackets(text, claims):
    """L1 and L2 are caches elsewhere."""
    assert explaining.ids_in(text) == claims


def test_paragraphs_of_a_page_are_found_by_their_bold_words_and_lose_their_markup():
    page = "# T\n\n**If it is low.** See [the\nfloor](floor.md), **twice**.\n\n| **a** | b |\n\n**How.** So."
    assert list(explaining.paragraphs(page)) == [("If it is low", "See the floor, twice."), ("How", "So.")]


def test_prose_is_filled_and_what_is_laid_out_stays():
    text = "One\ntwo.\n\n  a   1\n  b   2"
    assert prose(text) == "One two.\n\n  a   1\n  b   2"
