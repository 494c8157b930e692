"""What a series of noisy readings says: medians, intervals, trends, levels."""

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline import stats
from roofline.model import Estimate

pytestmark = pytest.mark.correctness

positive = st.floats(min_value=1e-12, max_value=1e12)
series = st.lists(positive, min_size=1, max_size=60)
scales = st.integers(min_value=-20, max_value=20).map(lambda power: 2.0**power)
quick = settings(max_examples=60, deadline=None)

DISTRIBUTIONS: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda source: source.gauss(1, 0.05),
    "log-normal": lambda source: source.lognormvariate(0, 0.3),
    "exponential": lambda source: 1 + source.expovariate(3),
    "uniform": lambda source: source.uniform(1, 1.3),
}


def noisy(levels: list[float], noise: float = 0.01, seed: int = 1) -> list[float]:
    source = random.Random(seed)
    return [level * math.exp(source.gauss(0, noise)) for level in levels]


@quick
@given(series)
def test_an_interval_holds_its_median_and_stays_within_the_samples(samples):
    estimate = stats.interval(samples)
    assert min(samples) <= estimate.low <= estimate.value <= estimate.high <= max(samples)


@quick
@given(series, scales)
def test_scaling_every_sample_scales_the_interval_and_changes_no_verdict(samples, scale):
    scaled = [sample * scale for sample in samples]
    estimate = stats.interval(samples)
    assert stats.interval(scaled) == Estimate(*(v * scale for v in (estimate.value, estimate.low, estimate.high)))
    assert stats.relative_spread(scaled) == stats.relative_spread(samples)
    assert (stats.two_peaked(scaled) is None) == (stats.two_peaked(samples) is None)
    assert stats.drift(scaled) == stats.drift(samples)


@quick
@given(series, st.randoms())
def test_an_interval_does_not_depend_on_the_order_of_the_samples(samples, source):
    shuffled = source.sample(samples, len(samples))
    assert stats.interval(shuffled) == stats.interval(samples)


@quick
@given(positive, st.integers(min_value=1, max_value=60))
def test_a_constant_series_has_no_width_no_spread_no_trend_and_one_level(value, count):
    samples = [value] * count
    assert stats.interval(samples) == Estimate(value, value, value)
    assert stats.relative_spread(samples) == 0
    assert stats.drift(samples) == stats.STEADY
    assert stats.two_peaked(samples) is None


@quick
@given(series)
def test_no_figure_is_ever_nan_or_infinite(samples):
    estimate, trend = stats.interval(samples), stats.drift(samples)
    figures = [estimate.value, estimate.low, estimate.high, trend.change, trend.p, stats.relative_spread(samples)]
    assert all(map(math.isfinite, [*figures, stats.relative_error(estimate), *stats.burst_and_sustained(samples)]))


@quick
@given(st.lists(positive, min_size=6, max_size=60))
def test_more_confidence_is_never_a_narrower_interval(samples):
    half, most = stats.interval(samples, 0.5), stats.interval(samples, 0.99)
    assert most.low <= half.low
    assert half.high <= most.high


@pytest.mark.parametrize(("count", "low", "high"), [(1, 1, 1), (5, 1, 5), (6, 1, 6), (8, 1, 8), (9, 2, 8), (20, 6, 15)])
def test_the_ends_are_the_tabled_order_statistics(count, low, high):
    """Fewer than 6 samples give the whole range; from there the table of David and Nagaraja holds."""
    estimate = stats.interval([float(rank) for rank in range(1, count + 1)])
    assert (estimate.low, estimate.high) == (low, high)


def test_an_interval_holds_the_true_median_as_often_as_it_promises():
    """1000 skewed series of 15; the true coverage of these order statistics is 96.5 %."""
    source = random.Random(3)
    held = 0
    for _ in range(1000):
        estimate = stats.interval([1 + source.expovariate(1) for _ in range(15)])
        held += estimate.low <= 1 + math.log(2) <= estimate.high
    assert held >= 950


@quick
@given(st.lists(st.tuples(positive, st.integers(min_value=0, max_value=3)), min_size=1, max_size=40))
def test_an_interval_covers_the_median_of_every_placement(pairs):
    samples, placements = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    estimate = stats.interval(samples, placements=placements)
    for placement in set(placements):
        own = stats.interval([s for s, p in pairs if p == placement])
        assert estimate.low <= own.value <= estimate.high


def test_a_leading_outlier_never_decides_the_interval():
    """C07: the first sample took 4 s, since something was compiled; the others took 1 ms."""
    estimate = stats.interval([4.0] + [1e-3] * 11)
    assert estimate == Estimate(1e-3, 1e-3, 1e-3)


@pytest.mark.parametrize("wrong", [[], [1.0, 0.0], [1.0, -1.0], [1.0, math.nan], [math.inf]])
def test_samples_that_no_clock_shows_are_refused(wrong):
    for function in (stats.interval, stats.drift, stats.two_peaked, stats.relative_spread):
        with pytest.raises(ValueError, match="positive"):
            function(wrong)


def test_placements_must_be_one_for_each_sample():
    with pytest.raises(ValueError, match="2 placements for 3 samples"):
        stats.interval([1.0, 2.0, 3.0], placements=[0, 1])


@pytest.mark.parametrize("confidence", [0, 1, 95, math.nan])
def test_confidence_must_lie_between_none_and_certainty(confidence):
    with pytest.raises(ValueError, match=r"such as 0\.95"):
        stats.interval([1.0], confidence)


@quick
@given(st.lists(positive, min_size=4, max_size=20), scales)
def test_the_difference_between_placements_can_be_taken_out(samples, scale):
    both = [*samples, *(sample * scale for sample in samples)]
    placements = [0] * len(samples) + [1] * len(samples)
    own = stats.within_placements(both, placements)
    assert list(own[: len(samples)]) == list(own[len(samples) :])


@pytest.mark.parametrize("change", [-0.15, 0.10, 0.50])
@pytest.mark.parametrize("count", [12, 100])
def test_a_trend_is_found_with_its_size(change, count):
    """C10: a series that falls by 15 % or rises by 10 %."""
    trend = stats.drift(noisy([1 + change * place / (count - 1) for place in range(count)], noise=0.005))
    assert trend.present
    assert trend.change == pytest.approx(change / (1 + change / 2), rel=0.2)


def test_a_step_is_a_trend():
    """C10: a series on two levels, one after the other."""
    assert stats.drift(noisy([1.0] * 20 + [1.2] * 20)).present


def test_a_trend_too_small_to_matter_is_none_however_certain():
    trend = stats.drift([1 + 0.01 * place / 99 for place in range(100)])
    assert trend.p < 1e-6
    assert not trend.present


def test_steady_noise_is_seldom_called_a_trend():
    found = sum(stats.drift(noisy([1.0] * 30, noise=0.1, seed=seed)).present for seed in range(200))
    assert found <= 6


def test_an_outlier_is_no_trend():
    assert not stats.drift([4000.0, *noisy([1.0] * 30)]).present


@pytest.mark.parametrize("every", [2, 3, 5])
def test_two_levels_are_found_with_their_share(every):
    """C10 and C58: every second, third or fifth sample is 30 % slower."""
    levels = stats.two_peaked(noisy([1.3 if place % every == 0 else 1.0 for place in range(60)]))
    assert levels is not None
    assert levels.upper / levels.lower == pytest.approx(1.3, rel=0.02)
    assert levels.upper_share == pytest.approx(1 / every, abs=0.01)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("count", [12, 30])
def test_one_level_is_seldom_called_two(name, count):
    source = random.Random(5)
    found = sum(stats.two_peaked([DISTRIBUTIONS[name](source) for _ in range(count)]) is not None for _ in range(300))
    assert found <= 15


def test_a_few_outliers_are_no_second_level():
    assert stats.two_peaked([*noisy([1.0] * 40), 4.0, 4.1, 3.9]) is None


def test_levels_a_percent_apart_are_one():
    assert stats.two_peaked([1.0, 1.01] * 20) is None


def test_too_few_samples_show_no_levels():
    assert stats.two_peaked([1.0, 2.0, 1.0, 2.0]) is None


def test_a_clock_held_down_throughout_is_named_with_its_share():
    """C11: an A100 that stays at 57 % of its clock."""
    assert stats.throttled([0.57 * 1410e6] * 9, 1410e6) == "clock stayed at 57 % of nominal"


def test_a_clock_held_down_now_and_then_is_named_too():
    """C11: throttling in every third sample."""
    said = stats.throttled([0.57e9 if place % 3 == 0 else 1e9 for place in range(30)], 1e9)
    assert said == "clock below 90 % of nominal in 33 % of the readings, least 57 %"


@pytest.mark.parametrize("share", [0.95, 1.0, 1.19])
def test_a_clock_near_or_above_nominal_is_not_throttled(share):
    """C14: a card that clocks 19 % above the rated boost is no fault."""
    assert stats.throttled([share * 1e9] * 5, 1e9) is None


def test_one_odd_reading_is_no_throttling():
    assert stats.throttled([1e9] * 20 + [0.1e9], 1e9) is None


def test_throttling_is_unknown_without_a_nominal_clock_or_a_reading():
    assert stats.throttled([1e9], None) is None
    assert stats.throttled([], 1e9) is None


def test_burst_and_sustained_are_the_medians_of_both_ends():
    """C10: what a short burst sees and what lasts."""
    assert stats.burst_and_sustained([1.0] * 50 + [2.0] * 50) == (1.0, 2.0)
    assert stats.burst_and_sustained([9.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]) == (1.0, 2.0)


@quick
@given(positive, st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_growth_is_the_power_of_work(seconds, power):
    """C30: time at trip counts N, 2N, 4N; C6: time that does not depend on size."""
    work = [1.0, 2.0, 4.0]
    assert stats.growth(work, [seconds * amount**power for amount in work]) == pytest.approx(power, abs=1e-9)


@pytest.mark.parametrize(("work", "seconds"), [([1.0, 1.0], [1.0, 2.0]), ([1.0], [1.0]), ([1.0, 2.0], [1.0])])
def test_growth_needs_pairs_of_two_amounts(work, seconds):
    with pytest.raises(ValueError, match="two amounts or more"):
        stats.growth(work, seconds)


def test_a_spread_leaves_out_what_could_not_be_read():
    assert stats.spread([None, None]) is None
    spread = stats.spread([2.0, None, 1.0, 4.0])
    assert spread is not None
    assert (spread.min, spread.median, spread.max) == (1.0, 2.0, 4.0)
