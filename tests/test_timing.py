"""Timing stays honest and ends in time, whatever device, clock or neighbours do. Everything runs on the fake device."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest
from pytest_benchmark.utils import NameWrapper

from roofline import stats, timing
from roofline.devices.base import DeviceFault, Launch
from roofline.devices.fake import FakeBackend, FakeClock, FakeFaults, FakeSeries, FakeTimer, FakeTruth
from roofline.kernel import Array, Kernel
from roofline.kernels import every_kernel
from roofline.model import Samples, Traffic, Variant, Work
from roofline.timing import Budget, DeviceClock, TimerFault, beside, sample, sample_launches, search

pytestmark = pytest.mark.correctness

PLAIN = Variant("plain")
# 2 ms a launch at 100 GB/s, with nothing to speak of for the launch itself.
N = 25_000_000
FREE = {"launch": 1e-12}
DRAM_S = 8 * N / 100e9
LONG = Budget(seconds=2.0, relative_error=0.0, max_samples=1000)


def kernel(steps: int = 0, memory: str = "dram") -> Kernel:
    """Reads and writes each of n floats, with `steps` multiply-adds on it."""

    def work(n: int) -> Work:
        return Work(2.0 * steps * n, "fp32", {"dram": Traffic(4.0 * n, 4.0 * n)})

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [arrays[0].astype(np.float64)]

    return Kernel(
        "trial", f"touch-{steps}", "fp32", "dram", work, lambda target: (PLAIN,), {}, reference, memory=memory
    )


def launch_of(
    backend: FakeBackend,
    n: int = N,
    steps: int = 0,
    variant: Variant = PLAIN,
    placements: int = 1,
    windows: int = 1,
    memory: str = "dram",
) -> Launch:
    (binary,) = backend.build(kernel(steps, memory), [variant])
    return Launch(binary, backend.allocate(2, n * windows, "float32", placements, "random"), n, windows)


def timed(truth: FakeTruth, budget: Budget = timing.ROW, n: int = N, placements: int = 1) -> Samples:
    backend = FakeBackend(truth)
    return sample(backend, launch_of(backend, n, placements=placements), budget, backend.now)


def told(**changes: object) -> FakeTruth:
    """A device that does DRAM work at 100 GB/s, its launches free, with these changes."""
    return FakeTruth(**{"launch_s": FREE, "memory_bytes": 2**50, **changes})


@dataclass
class Recorder(FakeBackend):
    """A fake device that keeps what it was asked to run."""

    truth: FakeTruth
    runs: list[tuple[str, int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(self.truth)

    def run(self, launch, launches, first_window=0, placement=0):
        self.runs.append((launch.binary.variant.name, launches, first_window, placement))
        return super().run(launch, launches, first_window, placement)


class TestFigures:
    def test_samples_are_seconds_of_single_launches(self):
        """M1: work over ceiling, plus the cost of the launch."""
        samples = timed(FakeTruth(memory_bytes=2**40))
        assert stats.estimate(samples).value == pytest.approx(DRAM_S + FakeTruth().launch_s["launch"], rel=1e-5)
        assert samples.timer.name == "fake"
        assert samples.flags == ()

    def test_work_that_outlasts_its_launch_is_timed_to_its_end(self):
        """C01: the wall clock sees nothing of it; the device works for 5 ms."""
        backend = FakeBackend(FakeTruth(launch_s={"launch": 5e-3}))
        samples = sample(backend, launch_of(backend, n=1), now=lambda: 0.0)
        assert stats.estimate(samples).value == pytest.approx(5e-3, rel=1e-3)

    def test_short_launches_are_grouped_until_a_sample_spans_a_hundred_ticks(self):
        samples = timed(FakeTruth(timer=FakeTimer(tick_s=1e-6)), n=1)
        launch_s = FakeTruth().launch_s["launch"]
        assert samples.launches * launch_s >= 100e-6
        assert samples.launches * launch_s <= 200e-6
        assert stats.estimate(samples).value == pytest.approx(launch_s, rel=0.01)

    def test_a_coarse_timer_just_groups_more_launches(self):
        """C03: a clock that ticks every 15.6 ms can still time launches of 2 µs."""
        samples = timed(FakeTruth(timer=FakeTimer(tick_s=15.6e-3)), n=1)
        assert samples.launches > 500_000
        assert stats.estimate(samples).value == pytest.approx(2e-6, rel=0.015)

    def test_long_launches_are_not_grouped(self):
        assert timed(told()).launches == 1

    @pytest.mark.parametrize("mode", FakeTruth().launch_s)
    def test_empty_launches_are_timed_in_every_mode(self, mode):
        """C05: what a launch costs is a figure of its own."""
        truth = FakeTruth()
        backend = FakeBackend(truth)
        samples = sample_launches(backend, mode, now=backend.now)
        assert stats.estimate(samples).value == pytest.approx(truth.launch_s[mode], rel=1e-3)
        assert samples.launches >= timing.QUEUED
        assert (samples.placements, samples.cold) == ((), False)

    def test_a_way_to_launch_that_the_device_has_not_is_refused(self):
        with pytest.raises(ValueError, match="Fake device has launch"):
            sample_launches(FakeBackend(told()), "launch_sync")

    def test_only_dram_experiments_are_cold(self):
        backend = FakeBackend(told())
        cold, warm = (sample(backend, launch_of(backend, memory=memory)).cold for memory in ("dram", "cache"))
        assert (cold, warm) == (True, False)

    def test_a_figure_above_nominal_is_neither_clipped_nor_flagged(self):
        """C14: 13.4 TFLOP/s nominal and 15.9 measured, since the boost is higher than the rated one."""
        truth = told(
            ceilings={"dram": 616e9, "fp32": 15.9e12}, nominal={"fp32": 13.4e12}, clock=FakeClock(1.9e9, 1.545e9)
        )
        backend = FakeBackend(truth)
        launch = launch_of(backend, steps=1000)
        samples = sample(backend, launch, now=backend.now)
        rate = stats.estimate(samples).inverse(launch.binary.kernel.work(N).flops)
        assert rate.value / truth.nominal["fp32"] == pytest.approx(15.9 / 13.4, rel=1e-3)
        assert samples.flags == ()

    @pytest.mark.parametrize("host_s", [0.0, 1e-3])
    def test_what_the_host_does_between_launches_is_not_in_the_samples(self, host_s):
        """C17: 1 ms for a flush, or anything else, between two samples."""
        assert stats.estimate(timed(told(host_s=host_s))).value == pytest.approx(DRAM_S, rel=1e-5)

    @pytest.mark.parametrize(("skipping", "expected"), [("", 1.0), ("touch-*", 0.0)])
    def test_time_grows_with_the_trip_count_unless_the_work_was_removed(self, skipping, expected):
        """C30: trip counts N, 2N, 4N."""
        backend = FakeBackend(FakeTruth(memory_bytes=2**40, faults=FakeFaults(skipping=skipping)))
        steps = [1000, 2000, 4000]
        seconds = [stats.estimate(sample(backend, launch_of(backend, steps=s), now=backend.now)).value for s in steps]
        assert stats.growth(steps, seconds) == pytest.approx(expected, abs=0.01)


class TestRotation:
    def test_samples_take_the_placements_in_turn(self):
        samples = timed(told(), placements=3)
        assert set(samples.placements) == {0, 1, 2}
        assert all(later == (earlier + 1) % 3 for earlier, later in pairwise(samples.placements))

    def test_every_placement_gets_samples_enough_for_a_median_of_its_own(self):
        samples = timed(told(), placements=6)
        counts = [samples.placements.count(placement) for placement in range(6)]
        assert min(counts) >= timing.EACH_PLACEMENT

    def test_each_placement_goes_on_at_the_window_after_its_last_one(self):
        """A line is cold when it is met again only if nothing begins anew in between."""
        backend = Recorder(FakeTruth(memory_bytes=2**40))
        sample(backend, launch_of(backend, n=1000, placements=2, windows=7), now=backend.now)
        for own in (0, 1):
            runs = [(launches, first) for _, launches, first, placement in backend.runs if placement == own]
            assert len(runs) > 10
            for (launches, first), (_, following) in pairwise(runs):
                assert following == (first + launches) % 7

    def test_placements_that_differ_widen_the_interval_and_are_no_second_level(self):
        """Physical placement alone moves DRAM figures by up to 1.6x."""
        samples = timed(told(series=FakeSeries(placements=(1.0, 1.6), noise=0.01)), placements=2)
        estimate = stats.estimate(samples)
        assert estimate.low <= DRAM_S * 1.02
        assert estimate.high >= 1.6 * DRAM_S * 0.98
        assert samples.flags == ()


class TestBrokenClocks:
    """C03: each ends within a bounded number of readings, with an error that names the timer."""

    FAULTS = (
        FakeTimer(frozen=True),
        FakeTimer(backwards=True),
        FakeTimer(tick_s=1e-3, backwards=True),
        FakeTimer(zero_every=5),
        FakeTimer(zero_every=2),
        FakeTimer(tick_s=10.0),
    )

    @pytest.mark.parametrize("timer", FAULTS)
    @pytest.mark.parametrize("wall_stands_still", [False, True])
    @pytest.mark.parametrize("n", [1, N])
    def test_a_broken_clock_is_named_soon(self, timer, wall_stands_still, n):
        backend = FakeBackend(FakeTruth(memory_bytes=2**40, timer=timer))
        with pytest.raises(TimerFault) as fault:
            sample(backend, launch_of(backend, n), now=(lambda: 0.0) if wall_stands_still else backend.now)
        assert "timer 'fake'" in str(fault.value)
        assert "trial/touch-0 (plain)" in str(fault.value)
        assert "Nothing was recorded" in str(fault.value)
        assert backend.readings < 100

    @pytest.mark.parametrize("timer", FAULTS)
    def test_a_search_and_empty_launches_meet_the_same_fault(self, timer):
        backend = FakeBackend(FakeTruth(timer=timer))
        with pytest.raises(TimerFault, match="touch-0"):
            search(backend, {"a": launch_of(backend), "b": launch_of(backend)}, now=backend.now)
        with pytest.raises(TimerFault, match=r"empty launches \(launch\)"):
            sample_launches(backend, "launch", now=backend.now)
        assert backend.readings < 200

    def test_a_frozen_clock_is_given_up_before_much_wall_time_is_spent(self):
        """Launches of 2 ms: the readings that prove it take seconds, not minutes."""
        backend = FakeBackend(told(timer=FakeTimer(frozen=True)))
        with pytest.raises(TimerFault, match="stood still"):
            sample(backend, launch_of(backend), now=backend.now)
        assert backend.now() < 3.0

    def test_a_clock_that_runs_backwards_is_told_from_one_that_stands_still(self):
        backend = FakeBackend(told(timer=FakeTimer(backwards=True)))
        with pytest.raises(TimerFault, match=r"ran backwards by 0\.002 s during 1 launches"):
            sample(backend, launch_of(backend), now=backend.now)

    @pytest.mark.parametrize("seconds", [math.nan, math.inf])
    def test_a_reading_that_is_no_number_is_a_fault(self, seconds):
        class Broken(FakeBackend):
            def run(self, launch, launches, first_window=0, placement=0):
                return replace(super().run(launch, launches, first_window, placement), seconds=seconds)

        backend = Broken(told())
        with pytest.raises(TimerFault, match=f"showed {seconds:g} s"):
            sample(backend, launch_of(backend), now=backend.now)

    def test_sampling_ends_though_the_wall_clock_stands_still(self):
        backend = FakeBackend(told(series=FakeSeries(noise=0.3)))
        samples = sample(backend, launch_of(backend), now=lambda: 0.0)
        assert sum(samples.seconds) < 2 * Budget().seconds


class TestOutliers:
    @pytest.mark.parametrize("outlier_at", range(16))
    def test_a_reading_of_four_seconds_decides_nothing_wherever_it_falls(self, outlier_at):
        """C07: the first reading takes 4 s and the rest 1 ms; or the second, or the third."""
        samples = timed(told(series=FakeSeries(outlier_s=4.0, outlier_at=outlier_at, noise=0.001)))
        assert stats.estimate(samples).value == pytest.approx(DRAM_S, rel=0.01)
        assert len(samples.seconds) >= Budget().min_samples
        assert samples.flags == ()

    def test_a_long_first_reading_does_not_make_short_launches_go_ungrouped(self):
        """C07: compiling in the first launch must not pass for a launch of 4 s."""
        samples = timed(FakeTruth(series=FakeSeries(outlier_s=4.0, outlier_at=0)), n=1)
        assert samples.launches * 2e-6 >= Budget().sample_s
        assert stats.estimate(samples).value == pytest.approx(2e-6, rel=1e-3)

    def test_a_sample_that_took_long_is_kept(self):
        samples = timed(told(series=FakeSeries(outlier_s=4.0, outlier_at=12)))
        assert max(samples.seconds) > 4.0

    def test_batches_that_start_late_leave_a_wide_interval(self):
        """C09: up to 200 µs pass before a batch of short launches starts."""
        prompt, late = (timed(FakeTruth(series=FakeSeries(start_delay_s=delay_s)), n=1) for delay_s in (0.0, 200e-6))
        assert stats.relative_error(stats.estimate(late)) > 0.03
        assert stats.relative_error(stats.estimate(prompt)) < 0.001


class TestFlags:
    @pytest.mark.parametrize("noise", [0.0, 0.02])
    def test_a_steady_series_has_no_flag(self, noise):
        samples = timed(told(series=FakeSeries(noise=noise)), LONG)
        assert samples.flags == ()
        assert (samples.burst_s, samples.sustained_s) == (None, None)

    @pytest.mark.parametrize(("per_launch", "limit"), [(-0.0003, 0.15), (0.0002, 0.10)])
    def test_a_drifting_series_is_flagged_with_burst_and_sustained(self, per_launch, limit):
        """C10: time that falls by 15 %, time that rises by 10 %."""
        samples = timed(told(series=FakeSeries(0.005, drift_per_launch=per_launch, drift_limit=limit)), LONG)
        assert "drifting" in samples.flags
        change = samples.sustained_s / samples.burst_s - 1
        assert change == pytest.approx(math.copysign(limit, per_launch), abs=0.03)

    def test_a_series_on_two_levels_is_flagged(self):
        """C10 and C58: two-level, two-peaked."""
        samples = timed(told(series=FakeSeries(0.005, slow_factor=1.25, slow_share=0.4)), LONG)
        assert samples.flags == ("two-peaked",)

    def test_a_device_that_is_always_throttled_ends_with_flagged_samples(self):
        """C11: 57 % of nominal throughout; no guard throws a sample away or waits for better times."""
        held = FakeClock(hz=1.41e9, nominal_hz=1.41e9, throttle_share=0.57, throttle_every=1)
        backend = FakeBackend(told(clock=held))
        samples = sample(backend, launch_of(backend, steps=1000), now=backend.now)
        assert samples.flags == ("throttled",)
        assert samples.throttle == "clock stayed at 57 % of nominal"
        assert len(samples.seconds) >= Budget().min_samples
        assert samples.clock_hz.median == pytest.approx(0.57 * 1.41e9)
        assert backend.now() < 40 * samples.seconds[0]

    def test_throttling_in_every_third_sample_is_flagged(self):
        """C11: the samples are kept, fast and slow ones."""
        held = FakeClock(throttle_share=0.57, throttle_every=3, reason="thermal slowdown")
        backend = FakeBackend(told(clock=held))
        samples = sample(backend, launch_of(backend, steps=200), LONG, backend.now)
        assert samples.flags == ("throttled", "two-peaked")
        assert samples.throttle.endswith("; thermal slowdown")
        assert re.match("clock below 90 % of nominal in 3[234] % of the readings, least 57 %", samples.throttle)
        assert max(samples.seconds) / min(samples.seconds) == pytest.approx(1 / 0.57, rel=0.01)

    def test_a_clock_that_cannot_be_read_is_unknown_and_not_throttled(self):
        samples = timed(told(clock=FakeClock(hz=None)))
        assert (samples.clock_hz, samples.throttle, samples.flags) == (None, None, ())

    @pytest.mark.parametrize(("busy", "flags"), [(0.0, ()), (0.5, ("disturbed",)), (None, ())])
    def test_others_on_the_machine_are_flagged_where_they_can_be_seen(self, busy, flags):
        samples = timed(told(others_busy=busy))
        assert (samples.disturbed, samples.flags) == (busy, flags)

    def test_others_before_the_sampling_do_not_count(self):
        class Quiet(FakeBackend):
            shares = iter((0.9, 0.0))

            def others_busy(self):
                return next(self.shares)

        backend = Quiet(told())
        assert sample(backend, launch_of(backend), now=backend.now).disturbed == 0.0

    def test_power_is_recorded_with_the_samples(self):
        assert timed(told(power_w=350.0)).power_w == 350.0


class TestBudget:
    def test_sampling_stops_once_the_figure_is_known(self):
        samples = timed(told(series=FakeSeries(noise=0.0005)))
        assert len(samples.seconds) == Budget().min_samples

    def test_sampling_stops_when_its_time_is_over(self):
        budget = Budget(seconds=0.5, relative_error=0.0)
        samples = timed(told(series=FakeSeries(noise=0.2)), budget)
        assert sum(samples.seconds) == pytest.approx(0.5, abs=2 * max(samples.seconds))

    def test_time_spent_by_the_host_counts(self):
        budget = Budget(seconds=0.5, relative_error=0.0)
        assert len(timed(told(host_s=0.02), budget).seconds) == pytest.approx(0.5 / 0.022, abs=1)

    def test_sampling_stops_at_the_greatest_number_of_samples(self):
        assert len(timed(told(), replace(LONG, seconds=1e6, max_samples=30)).seconds) == 30

    def test_a_very_long_launch_ends_at_the_limit_with_what_it_has(self):
        samples = timed(told(), Budget(limit_s=20.0), n=4000 * N)
        assert len(samples.seconds) == timing.FEWEST

    def test_warming_ends_though_nothing_settles(self):
        backend = FakeBackend(told(series=FakeSeries(noise=0.5)))
        samples = sample(backend, launch_of(backend), now=backend.now)
        assert backend.now() < 1.0
        assert samples.seconds

    def test_a_device_that_speeds_up_while_it_warms_is_sampled_after_that(self):
        """The first 60 launches take up to twice as long."""
        samples = timed(told(series=FakeSeries(drift_per_launch=-0.0125, drift_limit=0.5)), Budget(warm_s=1.0))
        assert stats.relative_spread(samples.seconds) < 0.05

    def test_a_sample_still_spans_its_ticks_when_the_device_sped_up_while_it_warmed(self):
        series = FakeSeries(drift_per_launch=-5e-4, drift_limit=0.6)
        samples = timed(FakeTruth(timer=FakeTimer(tick_s=1e-6), series=series), n=1)
        assert samples.launches * stats.estimate(samples).value >= 100e-6

    def test_a_row_takes_about_as_long_as_promised(self):
        """About 0.4 s, even where noise never lets the figure settle."""
        backend = FakeBackend(told(series=FakeSeries(noise=0.3)))
        sample(backend, launch_of(backend), now=backend.now)
        assert backend.now() < 0.4

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"min_samples": 2}, "min_samples = 2"),
            ({"min_samples": 20, "max_samples": 10}, "max_samples = 10"),
            ({"seconds": -1.0}, "seconds = -1"),
            ({"warm_s": math.inf}, "warm_s = inf"),
            ({"relative_error": math.nan}, "relative_error = nan"),
        ],
    )
    def test_a_budget_under_which_nothing_can_be_said_is_refused(self, wrong, said):
        with pytest.raises(ValueError, match=said):
            Budget(**wrong)

    def test_a_kernel_that_fails_in_the_middle_fails_the_row(self):
        backend = FakeBackend(told(faults=FakeFaults(fail_at=9)))
        with pytest.raises(DeviceFault, match="trial/touch-0"):
            sample(backend, launch_of(backend), now=backend.now)


class TestSearch:
    def found(
        self, truth: FakeTruth, names: Sequence[str], placements: int = 1
    ) -> tuple[str, dict[str, float], Recorder]:
        backend = Recorder(truth)
        launches = {name: launch_of(backend, variant=Variant(name), placements=placements) for name in names}
        return (*search(backend, launches, now=backend.now), backend)

    def test_the_fastest_wins_and_every_median_is_told(self):
        winner, medians, _ = self.found(told(variants={"b": 1.0, "*": 1.2}), "abc")
        assert winner == "b"
        assert medians == pytest.approx({"a": 1.2 * DRAM_S, "b": DRAM_S, "c": 1.2 * DRAM_S}, rel=1e-4)

    def test_of_equals_the_first_wins(self):
        assert self.found(told(), "cab")[0] == "c"

    def test_a_single_variant_wins_and_is_measured(self):
        winner, medians, _ = self.found(told(), "a")
        assert (winner, medians) == ("a", pytest.approx({"a": DRAM_S}, rel=1e-4))

    def test_no_variant_at_all_is_an_error(self):
        with pytest.raises(ValueError, match="no variants to search"):
            search(FakeBackend(told()), {})

    @pytest.mark.parametrize("seed", range(10))
    def test_neither_noise_nor_drift_nor_placement_hides_a_tenth(self, seed):
        """Variants take turns on the same pages, so what disturbs one disturbs all."""
        series = FakeSeries(0.02, seed=seed, drift_per_launch=0.001, placements=(1.0, 1.6, 1.3))
        names = [f"slow-{place}" for place in range(3)] + ["fast"] + [f"slow-{place}" for place in range(3, 6)]
        assert self.found(told(series=series, variants={"slow-*": 1.1}), names, placements=3)[0] == "fast"

    @pytest.mark.parametrize("outlier_at", range(0, 16, 3))
    def test_an_outlier_decides_nothing(self, outlier_at):
        series = FakeSeries(outlier_s=4.0, outlier_at=outlier_at)
        assert self.found(told(series=series, variants={"b": 1.0, "*": 1.1}), "abc")[0] == "b"

    def test_a_variant_that_is_far_behind_is_given_up_early(self):
        truth = told(variants={"c": 3.0, "a": 1.0, "b": 1.0}, series=FakeSeries(noise=0.02))
        runs = [name for name, *_ in self.found(truth, "abc")[2].runs]
        assert runs.count("c") < runs.count("a")

    def test_a_search_ends_though_its_variants_are_equal(self):
        _, _, backend = self.found(told(series=FakeSeries(noise=0.3)), "abcdef")
        assert backend.now() < 0.4

    def test_variants_run_in_turns_that_begin_elsewhere_each_round(self):
        backend = self.found(told(series=FakeSeries(noise=0.1)), "abc")[2]
        assert "".join(name for name, *_ in backend.runs[6:15]) == "abcbcacab"


class TestSameAndSlower:
    """C52: two series of the same thing agree, and a tenth is found, 19 times in 20."""

    def pairs(self, factor: float) -> list[tuple[Samples, Samples]]:
        def one(seed: int, slower: float) -> Samples:
            truth = told(
                variants={"*": slower}, series=FakeSeries(noise=0.03, seed=seed, slow_factor=1.5, slow_share=0.1)
            )
            return timed(truth)

        return [(one(2 * trial, 1.0), one(2 * trial + 1, factor)) for trial in range(20)]

    def test_the_same_kernel_timed_twice_is_the_same(self):
        apart = 0
        for first, second in self.pairs(1.0):
            a, b = stats.estimate(first), stats.estimate(second)
            apart += a.high < b.low or b.high < a.low
        assert apart <= 1

    def test_a_tenth_slower_is_found(self):
        found = sum(stats.estimate(a).high < stats.estimate(b).low for a, b in self.pairs(1.1))
        assert found >= 19


class TestDeviceClock:
    def test_it_stands_still_until_it_is_told_of_device_time(self):
        clock = DeviceClock()
        assert clock() == clock() == 0.0
        clock.advance(0.25)
        clock.advance(0.5)
        assert clock() == 0.75

    def test_its_name_in_a_file_is_stable(self):
        assert str(NameWrapper(DeviceClock())) == "roofline.timing.device_time"

    @pytest.mark.parametrize("seconds", [-1e-9, math.nan, math.inf])
    def test_it_never_runs_backwards_nor_to_infinity(self, seconds):
        with pytest.raises(ValueError, match="cannot advance"):
            DeviceClock().advance(seconds)


class TestBeside:
    """A kernel timed in turns with the kernel that it is judged by."""

    def share(self, truth, kernel="dial-0001-nt"):
        backend = FakeBackend(truth)
        launches = []
        for each in every_kernel():
            if each.name in (kernel, "copy-nt"):
                (binary, *_) = backend.build(each, each.variants(backend.target))
                buffers = backend.allocate(each.arrays, 1 << 24, "float32", 2, "random")
                launches.append((each.name, Launch(binary, buffers, 1 << 24, repeats=each.repeats)))
        named = dict(launches)
        return beside(backend, named[kernel], named["copy-nt"], Budget(seconds=0.2), backend.now)

    def test_equal_kernels_have_the_ratio_one(self):
        share = self.share(FakeTruth())
        assert share.value == pytest.approx(1.0, rel=1e-3)

    def test_a_drift_that_slows_both_does_not_change_the_ratio(self):
        share = self.share(FakeTruth(series=FakeSeries(drift_per_launch=0.01)))
        assert share.value == pytest.approx(1.0, rel=0.05)

    def test_a_kernel_of_half_the_speed_has_the_ratio_one_half(self):
        share = self.share(FakeTruth(faults=FakeFaults(dishonest="dial-0001-nt", moved=2.0)))
        assert share.value == pytest.approx(0.5, rel=1e-2)
