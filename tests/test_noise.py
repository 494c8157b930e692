"""Floors: what the runs of a device differ by with nothing changed, learnt from runs that are repeats."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repeated import GUEST, STATE, flagged, record, row, run, slowed

from roofline.changes import compare
from roofline.model import RowKey
from roofline.noise import DEFAULTS, DEFAULTS_OF_A_GUEST, FEWEST_RUNS, LEAST, Floors, kind_of, learn

pytestmark = pytest.mark.correctness

KEY = row().key


def repeats(*factors, kernel="copy", **changes):
    """A record a factor, each of one row whose time is that many milliseconds."""
    return [record(run([row(kernel, [1e-3 * factor] * 12)], **changes), day) for day, factor in enumerate(factors, 1)]


@pytest.mark.parametrize(
    ("kernel", "kind"), [("copy", "memory"), ("chains-04", "arithmetic"), ("launch_sync", "launch")]
)
def test_a_row_of_which_nothing_was_learnt_has_the_default_of_its_kind_and_says_so(kernel, kind):
    key = row(kernel).key
    assert kind_of(key) == kind
    assert Floors().of(key) == DEFAULTS[kind]
    assert "not learnt" in Floors().source(key)


def test_a_guest_has_wider_defaults_than_a_machine_of_its_own():
    floors = learn(repeats(1.0, state=GUEST))
    assert floors.of(KEY) == DEFAULTS_OF_A_GUEST["memory"] > DEFAULTS["memory"]
    assert "guest" in floors.source(KEY)


def test_two_runs_teach_nothing_and_three_do():
    assert "not learnt" in learn(repeats(1.0, 1.001)).source(KEY)
    assert learn(repeats(1.0, 1.001, 1.0005)).source(KEY) == f"learnt from {FEWEST_RUNS} runs"


def test_runs_that_agree_to_the_last_digit_do_not_promise_that_the_next_will():
    assert learn(repeats(1.0, 1.0, 1.0, 1.0)).of(KEY) == LEAST


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.5, 2.0), min_size=FEWEST_RUNS, max_size=8))
def test_no_difference_that_was_seen_between_repeats_exceeds_their_floor(factors):
    """A difference that the card showed with nothing changed is never a change."""
    floor = learn(repeats(*factors)).of(KEY)
    assert floor >= max(LEAST, (max(factors) / min(factors) - 1) * (1 - 1e-9))


def test_a_quiet_row_borrows_of_the_noise_of_others_of_its_kind():
    """Three runs that happened to agree say less than three runs among rows that all agree."""
    quiet, noisy = [1.0, 1.0, 1.0], [1.0, 1.1, 0.9]
    alone = learn(repeats(*quiet)).of(KEY)
    pairs = [
        record(run([row("copy", [1e-3 * a] * 12), row("read", [1e-3 * b] * 12), row("chains", [1e-3] * 12)]), day)
        for day, (a, b) in enumerate(zip(quiet, noisy, strict=True), 1)
    ]
    floors = learn(pairs)
    assert floors.of(KEY) > 10 * alone
    assert floors.of(row("chains").key) == alone  # of another kind


@pytest.mark.parametrize(
    "other",
    [
        {"state": {**STATE, "power_limit_w": 120.0}},
        {"unit": "another card"},
        {"facts": {"driver": "570"}},
        {"rows": [replace(row(seconds=[2e-3] * 12), binary="0ther")]},
        {"rows": [flagged(row(seconds=[2e-3] * 12), "disturbed")]},
    ],
    ids=["state", "unit", "driver", "machine code", "disturbed"],
)
def test_only_repeats_teach(other):
    """Runs in another state, of another card, driver or code, and rows that others disturbed say nothing of noise."""
    alike = [record(replace(run([row()]), unit="this card"), day) for day in (5, 6, 7)]
    strange = run(other.get("rows", [row(seconds=[2e-3] * 12)]), state=other.get("state", STATE))
    environment = replace(strange.environment, facts=other.get("facts", {}))
    strange = replace(strange, unit=other.get("unit", ""), environment=environment)
    assert learn([*alike, record(strange, 1)]).of(KEY) == LEAST
    assert learn([*alike, record(replace(run([row(seconds=[2e-3] * 12)]), unit=""), 1)]).of(KEY) > 0.5


def test_another_winner_of_the_search_is_noise_too():
    """Which variant wins may change from run to run: that is not another kernel."""
    other = replace(row(seconds=[1.05e-3] * 12), variant="narrow", binary="0ther")
    floor = learn([*repeats(1.0, 1.0, 1.0), record(run([other]), 9)]).of(KEY)
    assert floor > 0.05


def test_between_two_cards_of_a_model_no_default_is_undercut():
    """What one card's repeats differ by says nothing of another card; what they showed beyond the default stays."""
    quiet, noisy = learn(repeats(1.0, 1.0, 1.0)), learn(repeats(1.0, 1.2, 0.9))
    assert quiet.of(KEY) == LEAST
    assert quiet.between_units().of(KEY) == DEFAULTS["memory"]
    assert noisy.between_units().of(KEY) == noisy.of(KEY) > DEFAULTS["memory"]


def test_three_quiet_launches_do_not_promise_a_quiet_host():
    """A host that does something else comes seldom, lasts for a run, and adds half to a launch."""
    key = row("launch").key
    assert learn(repeats(1.0, 1.0, 1.0, kernel="launch")).of(key) == DEFAULTS["launch"]
    assert learn(repeats(1.0, 2.0, 1.0, kernel="launch")).of(key) > 1.0


def test_a_record_keeps_its_floors_for_those_who_have_no_repeats():
    """A stored baseline carries what was learnt on its card; repeats found later count instead."""
    learnt = learn(repeats(1.0, 1.02, 0.99))
    alone = replace(run([row()]), floors=learnt.plain())
    assert learn([record(alone)]).of(KEY) == learnt.of(KEY)
    assert "holds it" in learn([record(alone)]).source(KEY)
    assert learn([record(alone, 9), *repeats(1.0, 1.0, 1.0)]).of(KEY) == LEAST


def test_floors_say_where_they_come_from_in_one_sentence():
    floors = learn(repeats(1.0, 1.0, 1.0))
    said = floors.summary([KEY, RowKey("launch", "launch", 1, "none", "none", "none")])
    assert said == "floors: 1 learnt from 3 runs, 1 default for launch of a machine of its own, not learnt"


def test_nothing_to_learn_from_is_no_error():
    assert learn([]).of(KEY) == DEFAULTS["memory"]


def drawn(random, rows, spread):
    """A run in which each row's median is off by its own spread, and its twelve samples by a tenth of it."""
    kernels = [f"copy-{number}" for number in range(rows)]
    return run(
        row(kernel, (1e-3 * np.exp(spread * (random.normal() + 0.1 * random.normal(size=12)))).tolist())
        for kernel in kernels
    )


def test_a_run_with_nothing_changed_seldom_has_a_row_that_is_called_slower():
    """At most one run in twenty, whatever the number of rows, although twelve samples agree ten times better."""
    random = np.random.default_rng(7)
    alarms = 0
    for _ in range(40):
        *learnt, before, after = (drawn(random, 8, 0.01) for _ in range(6))
        floors = learn([record(each, day) for day, each in enumerate([*learnt, before], 1)])
        alarms += bool(compare(record(before), after, floors).of("slower"))
    assert alarms <= 2


@pytest.mark.parametrize("factor", [1.05, 1.10])
def test_a_true_slow_down_of_a_steady_card_is_found(factor):
    """5 and 10 % of one row, on a card whose runs differ by a quarter of a percent; all else is the same."""
    random = np.random.default_rng(11)
    found = 0
    for _ in range(20):
        *learnt, after = (drawn(random, 5, 0.0025) for _ in range(6))
        floors = learn([record(each, day) for day, each in enumerate(learnt, 1)])
        first, *rest = after.measurements
        worse = replace(after, measurements=(slowed(first, factor), *rest))
        slower = compare(record(learnt[-1]), worse, floors).of("slower", "faster", "inconclusive")
        found += [change.key for change in slower] == [first.key]
    assert found >= 19


def test_runs_that_lie_absurdly_far_apart_still_have_a_floor():
    """Of one row alone nothing moderates the spread, and its exponential exceeds every number."""
    runs = [record(run([row("copy", [seconds] * 12)]), day) for day, seconds in enumerate((1e-90, 1.0, 1e90))]
    assert 1 < learn(runs).of(row("copy").key) < math.inf
