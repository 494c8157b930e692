"""Verdicts: what two runs of one model say of each row, what caused it, and when a gate closes."""

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from repeated import CARD, GUEST, STATE, clocked, flagged, record, row, run, slowed

from roofline.changes import NotOneModel, compare
from roofline.evidence import holm
from roofline.model import Absent, Environment, Estimate, Timer
from roofline.noise import Floor, Floors

pytestmark = pytest.mark.correctness

STEADY = [1e-3 * (1 + 0.0005 * step) for step in range(12)]
COPY = row("copy", STEADY)
FLOORS = Floors()  # 5 % for memory, 2 % for arithmetic, 25 % for launches
SERIES = st.lists(st.floats(1e-6, 1e-1), min_size=3, max_size=20)
RANK = {"faster": 0, "same": 1, "inconclusive": 2, "slower": 3}


def verdicts(before, after, floors=FLOORS, **both):
    """The comparison of two lists of rows."""
    return compare(record(run(before, **both)), run(after, **both), floors)


def only(comparison):
    """The change of the only row."""
    (change,) = comparison.changes
    return change


# Properties


@settings(max_examples=40, deadline=None)
@given(st.lists(SERIES, min_size=1, max_size=4))
def test_a_run_compared_with_itself_is_the_same(series):
    """However noisy its rows are."""
    rows = [row(f"copy-{number}", seconds) for number, seconds in enumerate(series)]
    comparison = verdicts(rows, rows)
    assert {change.verdict for change in comparison.changes} == {"same"}
    assert not comparison.failed


@settings(max_examples=40, deadline=None)
@given(SERIES, SERIES, st.floats(0.1, 10), st.floats(0.1, 10))
def test_the_slower_a_row_gets_the_worse_is_its_verdict(before, after, one, other):
    """From faster through same and inconclusive to slower, never back."""
    less, more = sorted((one, other))
    found = [only(verdicts([row("copy", before)], [slowed(row("copy", after), factor)])) for factor in (less, more)]
    ranks = [-1 if c.verdict == "inconclusive" and c.ratio.value < 1 else RANK[c.verdict] for c in found]
    ranks = [{-1: 0.5}.get(rank, rank) for rank in ranks]
    assert ranks == sorted(ranks)


@settings(max_examples=40, deadline=None)
@given(SERIES, SERIES, st.integers(-20, 20))
def test_scaling_both_sides_changes_nothing(before, after, power):
    """A row in microseconds has the verdict that it has in milliseconds: the unit is not part of it."""
    plain = only(verdicts([row("copy", before)], [row("copy", after)]))
    scaled = only(verdicts(*([slowed(row("copy", series), 2.0**power)] for series in (before, after))))
    assert (scaled.verdict, scaled.ratio, scaled.p) == (plain.verdict, plain.ratio, plain.p)


@settings(max_examples=40, deadline=None)
@given(SERIES, SERIES)
def test_exchanging_the_runs_mirrors_the_verdict(before, after):
    mirrored = {"slower": "faster", "faster": "slower", "same": "same", "inconclusive": "inconclusive"}
    there = only(verdicts([row("copy", before)], [row("copy", after)]))
    back = only(verdicts([row("copy", after)], [row("copy", before)]))
    assume(abs(there.size - math.log1p(there.floor)) > 1e-9)  # on the very edge the last digit decides
    assert back.verdict == mirrored[there.verdict]


@pytest.mark.parametrize("figure", [math.nan, math.inf, -math.inf, 0.0, -1e-3])
@pytest.mark.parametrize("side", ["before", "after", "both"])
def test_a_figure_that_is_no_positive_number_never_passes(figure, side):
    """C47: it is no improvement, and it is not the same as itself."""
    broken = replace(COPY, seconds=Estimate(figure, figure, figure))
    before, after = (broken if side in (which, "both") else COPY for which in ("before", "after"))
    comparison = verdicts([before, row("read")], [after, row("read")])
    change = next(change for change in comparison.changes if change.key == COPY.key)
    assert change.verdict == ("incomparable" if side == "before" else "gone")
    assert comparison.failed


def test_a_single_sample_that_is_no_number_never_passes():
    broken = replace(COPY, samples=replace(COPY.samples, seconds=(*STEADY[:-1], math.nan)))
    assert verdicts([COPY], [broken]).failed


def test_rows_that_were_not_selected_are_not_gone():
    """C42: a partial run says nothing of what it did not run; what it was to run and did not is gone."""
    before, after = record(run([COPY, row("read"), row("triad")])), run([COPY])
    assert not compare(before, after, FLOORS, selected=[COPY.key]).gone
    assert [change.key for change in compare(before, after, FLOORS, selected=[COPY.key, row("read").key]).gone] == [
        row("read").key
    ]
    assert len(compare(before, after, FLOORS).gone) == 2


# What a verdict needs


def test_slower_needs_more_than_the_floor():
    """A difference that the samples tell apart beyond doubt, and that the card shows with nothing changed, is none."""
    change = only(verdicts([COPY], [slowed(COPY, 1.045)]))
    assert change.p < 1e-4
    assert change.verdict == "same"
    assert only(verdicts([COPY], [slowed(COPY, 1.055)])).verdict == "slower"


def test_slower_needs_samples_that_can_be_told_apart():
    """Medians far apart of series that overlap are inconclusive, with the chance of it."""
    wide = [1e-3 * (1 + 0.2 * step) for step in range(12)]
    change = only(verdicts([row("copy", wide)], [slowed(row("copy", wide), 1.2)]))
    assert change.verdict == "inconclusive"
    assert "p = " in change.reason


def test_three_samples_of_many_rows_tell_nothing():
    """What chance does once in ten rows is no finding in ten rows."""
    short = [row(f"copy-{number}", [1e-3, 1.001e-3, 1.002e-3]) for number in range(10)]
    changes = verdicts(short, [slowed(short[0], 1.5), *short[1:]]).changes
    assert changes[0].verdict == "inconclusive"


def test_holm_corrects_for_the_number_of_rows():
    """The example of a textbook: the least by all of them, the next by one fewer, none below the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_slow_first_sample_decides_nothing():
    """C07: whatever was compiled or loaded in it."""
    cold = row("copy", [4.0, *STEADY[1:]])
    assert only(verdicts([COPY], [cold])).verdict == "same"


def test_noise_that_could_hide_a_change_is_said():
    wide = row("copy", [1e-3 * (1 + 0.05 * step) for step in range(12)])
    change = only(verdicts([wide], [wide]))
    assert change.verdict == "same"
    assert "its noise could hide" in change.reason


@pytest.mark.parametrize("flag", ["drifting", "two-peaked", "disturbed", "throttled"])
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_series_that_was_not_steady_is_named_and_makes_a_change_inconclusive(flag, side):
    before, after = COPY, slowed(COPY, 1.5)
    before, after = (flagged(before, flag), after) if side == "before" else (before, flagged(after, flag))
    comparison = verdicts([before], [after])
    assert only(comparison).verdict == "inconclusive"
    assert f"{flag} {side}" in only(comparison).reason
    assert not comparison.slower


def test_a_clock_that_is_always_held_down_under_a_kernel_is_no_excuse_for_it():
    """A kernel that draws all the power there is runs throttled in every run, and can become slower all the same."""
    held = flagged(COPY, "throttled")
    assert only(verdicts([held], [slowed(held, 1.5)])).verdict == "slower"


def test_the_floor_is_each_rows_own():
    floors = Floors({COPY.key: Floor(0.2, "learnt"), row("read").key: Floor(0.01, "learnt")})
    before = [COPY, row("read", STEADY)]
    changes = verdicts(before, [slowed(each, 1.1) for each in before], floors).changes
    assert [(change.floor, change.verdict) for change in changes] == [(0.2, "same"), (0.01, "slower")]


def test_other_counts_do_not_make_a_row_another():
    """Time is compared, so an algorithm that counts fewer bytes gains nothing by it; points and ridges never gate."""
    fewer = replace(COPY, work=replace(COPY.work, flops=1.0))
    comparison = compare(
        record(run([COPY], ridges={"fp32/dram": Estimate(10, 9, 11)})),
        run([fewer], ridges={"fp32/dram": Estimate(90, 80, 99)}),
        FLOORS,
    )
    assert only(comparison).verdict == "same"
    assert not comparison.failed


# Causes


@pytest.mark.parametrize(("factor", "verdict"), [(1.3, "slower"), (1 / 1.3, "faster")])
def test_a_kernel_that_changed_with_its_ceiling_is_the_machine(factor, verdict):
    """It is reported, and no kernel regressed."""
    rows = [row("mine", STEADY), row("copy", STEADY, ("dram",)), row("read", STEADY, ("dram_read",))]
    comparison = verdicts(rows, [slowed(each, factor) for each in rows], bound_by={"mine": "dram"})
    assert {(change.verdict, change.cause) for change in comparison.changes} == {(verdict, "machine")}
    assert len(comparison.drifted) == 3
    assert not comparison.slower
    assert not comparison.failed


def test_a_kernel_that_changed_alone_regressed():
    rows = [row("mine", STEADY), row("copy", STEADY, ("dram",)), row("read", STEADY, ("dram_read",))]
    comparison = verdicts(rows, [slowed(rows[0], 1.3), *rows[1:]], bound_by={"mine": "dram"})
    assert [change.key.kernel for change in comparison.slower] == ["mine"]
    assert "what else measures dram did not" in comparison.slower[0].reason
    assert comparison.failed


def test_a_ceiling_that_changed_alone_is_its_kernel():
    """What measures a ceiling is held against what else uses the resource, not against itself."""
    rows = [row("copy", STEADY, ("dram",)), row("read", STEADY, ("dram_read",)), row("write", STEADY, ("dram_write",))]
    comparison = verdicts(rows, [slowed(rows[0], 1.3), *rows[1:]], bound_by={"copy": "dram"})
    assert [change.key.kernel for change in comparison.slower] == ["copy"]


@pytest.mark.parametrize(("shares", "cause"), [((0.9, 0.9), "machine"), ((0.9, 0.9 / 1.3), "kernel")])
def test_what_took_turns_with_its_ceiling_is_held_against_it(shares, cause):
    """The share that a kernel reaches in turns tells best: no other row of the run says as much."""
    before, after = (
        replace(slowed(row("mine", STEADY), factor), beside=Estimate(share, share, share))
        for factor, share in zip((1.0, 1.3), shares, strict=True)
    )
    assert only(verdicts([before], [after], bound_by={"mine": "dram"})).cause == cause


def test_time_that_grew_while_cycles_did_not_is_the_clock():
    before, after = clocked(row("chains-04", STEADY), 2.0e9), clocked(slowed(row("chains-04", STEADY), 1.25), 1.6e9)
    comparison = verdicts([before], [after])
    assert (only(comparison).verdict, only(comparison).cause) == ("slower", "clock")
    assert not comparison.failed


def test_a_lower_clock_does_not_excuse_more_cycles():
    before, after = clocked(row("chains-04", STEADY), 2.0e9), clocked(slowed(row("chains-04", STEADY), 1.5), 1.6e9)
    comparison = verdicts([before], [after])
    assert only(comparison).cause == "kernel"
    assert comparison.failed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"binary": "0ther"}, "its machine code changed"),
        ({}, "the same machine code"),
        ({"variant": "narrow"}, "variant narrow won, wide before"),
    ],
)
def test_what_became_of_the_code_is_said(change, said):
    after = replace(slowed(COPY, 1.5), **change)
    assert said in only(verdicts([COPY], [after])).reason


def test_on_a_guest_the_same_code_is_not_slower_by_itself():
    """Neighbours that nobody can see take half of a core; a changed code, or a control in turns, tells them apart."""
    after = slowed(COPY, 3.0)
    comparison = verdicts([COPY], [after], state=GUEST)
    assert only(comparison).verdict == "inconclusive"
    assert "guest" in only(comparison).reason
    assert only(verdicts([COPY], [replace(after, binary="0ther")], state=GUEST)).verdict == "slower"
    beside = [replace(each, beside=Estimate(share, share, share)) for each, share in ((COPY, 0.9), (after, 0.3))]
    assert only(verdicts(beside[:1], beside[1:], state=GUEST, bound_by={"copy": "dram"})).verdict == "slower"


# What cannot be compared


@pytest.mark.parametrize("name", ["power_limit_w", "ecc", "platform"])
def test_another_state_is_incomparable_and_named(name):
    """And a gate does not take it for a pass."""
    other = run([COPY], state={**STATE, name: "other"})
    comparison = compare(record(run([COPY])), other, FLOORS)
    assert only(comparison).verdict == "incomparable"
    assert name in only(comparison).reason
    assert comparison.differs == {name: (STATE[name], "other")}
    assert comparison.failed


def test_what_only_one_run_knew_of_its_state_is_a_note():
    """A later version may record more: that makes no older baseline worthless."""
    comparison = compare(record(run([COPY])), run([COPY], state={**STATE, "mig": False}), FLOORS)
    assert only(comparison).verdict == "same"
    assert any("mig" in note for note in comparison.notes)


@pytest.mark.parametrize(("before", "after", "verdict"), [(0, 2, "incomparable"), (2, 3, "same"), (None, 2, "same")])
def test_others_on_the_card_make_another_state_of_one_that_was_alone(before, after, verdict):
    runs = [replace(run([COPY]), environment=Environment(STATE, {"other_processes": n})) for n in (before, after)]
    assert only(compare(record(runs[0]), runs[1], FLOORS)).verdict == verdict


def test_another_model_is_refused():
    """C41: nothing is slower or faster between two cards."""
    other = replace(run([COPY]), device=replace(CARD, memory_class="8 GiB"))
    with pytest.raises(NotOneModel, match="one model"):
        compare(record(run([COPY])), other, FLOORS)


def test_another_unit_of_the_model_is_judged_by_the_wider_floor():
    """Two cards of one name lie further apart than two runs of either."""
    quiet = Floors({COPY.key: Floor(0.01, "learnt")})
    runs = [
        replace(run([slowed(COPY, factor)]), unit=unit) for factor, unit in ((1.0, "one"), (1.03, "one"), (1.03, "two"))
    ]
    found = [only(compare(record(runs[0]), after, quiet)).verdict for after in runs[1:]]
    assert found == ["slower", "same"]


def test_another_unit_of_the_model_and_changed_software_are_notes():
    before = replace(run([COPY]), unit="one", environment=Environment(STATE, {"driver": "560", "temperature_c": 40}))
    after = replace(run([COPY]), unit="two", environment=Environment(STATE, {"driver": "570", "temperature_c": 50}))
    notes = "\n".join(compare(record(before), after, FLOORS).notes)
    assert "another unit" in notes
    assert "driver: 560 before, 570 after" in notes
    assert "temperature" not in notes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"samples": replace(COPY.samples, timer=Timer("perf_counter", 1e-9))}, "timer"),
        ({"samples": replace(COPY.samples, cold=False)}, "cache"),
        ({"math_mode": "fused"}, "arithmetic"),
    ],
)
def test_a_row_that_was_measured_otherwise_is_incomparable(change, said):
    comparison = verdicts([COPY, row("read")], [replace(COPY, **change), row("read")])
    change = comparison.of("incomparable")[0]
    assert said in change.reason
    assert len(comparison.judged) == 1


def test_runs_without_a_row_in_common_do_not_pass():
    comparison = compare(record(run([COPY])), run([row("read")]), FLOORS, selected=[])
    assert [change.verdict for change in comparison.changes] == ["new"]
    assert comparison.failed


def test_a_row_of_another_size_is_gone_and_says_what_is_measured_now():
    """C42: a changed parameter is neither a pass nor a riddle."""
    bigger = replace(COPY, key=replace(COPY.key, size=8192))
    comparison = verdicts([COPY], [bigger])
    assert [change.verdict for change in comparison.changes] == ["gone", "new"]
    assert "n=8192" in comparison.gone[0].reason


def test_a_row_that_failed_is_gone_for_its_reason():
    after = run([row("read")], absent=(Absent(COPY.key, "error", "values are wrong"),))
    comparison = compare(record(run([COPY, row("read")])), after, FLOORS)
    assert comparison.gone[0].reason == "error: values are wrong"


def test_changes_come_by_size_and_what_has_none_before_them():
    before = [row(name, STEADY) for name in ("copy-a", "copy-b", "copy-c", "copy-d")]
    after = [slowed(before[1], 1.2), slowed(before[2], 1 / 3), before[3], row("copy-e")]
    names = [change.key.kernel for change in verdicts(before, after).by_size]
    assert names == ["copy-a", "copy-e", "copy-c", "copy-b", "copy-d"]
