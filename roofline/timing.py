"""Time launches on a device: warm up, group, rotate, stop in time, and say what was wrong with the series.

A reading is what the device's clock says of a group of launches back to back; a sample is a reading over its launches.
Every loop here is bounded by a count as well as by a clock, since the clock may be what is broken.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from roofline import stats
from roofline.devices.base import Backend, Launch, Timing
from roofline.kernel import Launched
from roofline.model import Estimate, Samples, Timer

# A reading that spans this many ticks is off by 1 % at most.
TICKS = 100
# A clock that shows nothing of this many launches does not measure them.
MOST_LAUNCHES = 2**24
# Wall time (or 20 ticks, if longer) in which a clock that works has moved.
STANDS_STILL_S = 0.25
# The fewest samples whose median a single outlier cannot decide.
FEWEST = 3
# Warm is where the medians of the last readings and of those before them agree within this; noise alone stays below.
SETTLED = 0.02
MOST_WARMING = 60
# How often the stopping rule is asked: it costs about as much as a short sample.
LOOK_EVERY = 4
# Samples of each placement at least, so that each has a median of its own.
EACH_PLACEMENT = 4
# A search is quick: what it finds is measured in full afterwards.
SEARCH_SHARE = 0.5
# How far behind the leader's median a variant's best may be after so many rounds; later ones must reach it.
SEARCH_MARGINS = (math.inf, 0.2)
# Launches of an empty kernel in one reading at least: the first of a queue waits for nothing and must not count.
QUEUED = 100
# Others may use this share of the machine before a series counts as disturbed: a tenth of one core of two.
DISTURBED = 0.05
# The key of the clock in a device's nominal rates.
CLOCK = "clock"

Now = Callable[[], float]


class TimerFault(Exception):
    """A device's clock stands still, runs backwards or shows nothing for real work; no figure can come from it.

    The message names the timer, what was timed, what the timer showed, and what to do.
    """


@dataclass(frozen=True)
class Budget:
    """When to stop: the default fits one row of a bench module in about 0.4 s of wall time.

    Sampling ends once the interval of the median is within `relative_error` (0: never) or `seconds` have passed, with
    `min_samples` at least, or at `max_samples`. Warming takes `warm_s` at most. At `limit_s` (or `seconds`, if longer)
    a row ends with what it has, three samples at least. A sample takes `sample_s` at least: reading the clock from
    Python costs a part of that. Before each sample the device rests for `rest_s`.
    """

    seconds: float = 0.2
    relative_error: float = 0.002
    min_samples: int = 12
    max_samples: int = 400
    warm_s: float = 0.1
    sample_s: float = 50e-6
    limit_s: float = 20.0
    rest_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a budget under which nothing could be said."""
        if not FEWEST <= self.min_samples <= self.max_samples:
            raise ValueError(
                f"min_samples = {self.min_samples}, max_samples = {self.max_samples}: "
                f"give {FEWEST} <= min_samples <= max_samples, so that no single sample decides"
            )
        for name in ("seconds", "warm_s", "sample_s", "limit_s", "relative_error", "rest_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} = {value:g}: give a finite number, 0 or more")


ROW = Budget()


class DeviceClock:
    """A clock for pytest-benchmark's `timer` option: it stands still except when told how long the device took.

    pytest-benchmark names a timer by its module and `__name__`, so files say `roofline.timing.device_time`.
    """

    def __init__(self) -> None:
        self.__name__ = "device_time"
        self._seconds = 0.0

    def __call__(self) -> float:
        """Device seconds so far."""
        return self._seconds

    def advance(self, seconds: float) -> None:
        """Move on by `seconds` of device time."""
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"cannot advance by {seconds:g} s: give a finite number of device seconds, 0 or more")
        self._seconds += seconds


@dataclass
class _Watch:
    """Time spent: of the wall clock or of the device, whichever is more, so that one broken clock cannot stop both."""

    now: Now
    began: float = field(init=False)
    device_s: float = 0.0

    def __post_init__(self) -> None:
        self.began = self.now()

    def spent(self) -> float:
        """Seconds since this watch was made."""
        return max(self.now() - self.began, self.device_s)


@dataclass(frozen=True)
class _Reading:
    """One sample: seconds of a single launch, where it ran, and the whole of what the device said."""

    seconds: float
    placement: int
    timing: Timing


@dataclass
class _Meter:
    """Takes one reading after another of the same thing, on each placement in turn.

    `run(launches, placement)` is the device's part, `subject` what a fault calls it, `fewest` the launches of the
    shortest reading.
    """

    run: Callable[[int, int], Timing]
    subject: str
    timer: Timer
    watch: _Watch
    placements: int = 1
    fewest: int = 1
    taken: int = 0

    def read(self, launches: int) -> _Reading:
        """One reading, which may be too short for the clock to show."""
        placement = self.taken % self.placements
        timing = self.run(launches, placement)
        self.taken += 1
        if not math.isfinite(timing.seconds) or timing.launches < 1:
            raise self.fault(f"it showed {timing.seconds:g} s for {timing.launches} launches")
        if timing.seconds <= -self.timer.tick_s:
            raise self.fault(f"it ran backwards by {-timing.seconds:g} s during {timing.launches} launches")
        self.watch.device_s += max(timing.seconds, 0.0)
        return _Reading(timing.seconds / timing.launches, placement, timing)

    def sample(self, launches: int) -> _Reading:
        """One reading of enough launches, which must therefore show."""
        reading = self.read(launches)
        if reading.seconds <= 0:
            raise self.fault(f"it showed 0 s for {launches} launches that took {TICKS} ticks before")
        return reading

    def fault(self, seen: str) -> TimerFault:
        """The error for what the clock did."""
        return TimerFault(
            f"timer {self.timer.name!r} (tick {self.timer.tick_s:g} s) cannot time {self.subject}: {seen}. "
            "Nothing was recorded; check the driver or virtual machine behind this clock, or choose another --device"
        )


def _launch_meter(backend: Backend, launch: Launch, watch: _Watch) -> _Meter:
    """A meter of a kernel: each placement goes on at the window after its last one, so that lines are cold."""
    following = [0] * launch.buffers.placements

    def run(launches: int, placement: int) -> Timing:
        timing = backend.run(launch, launches, following[placement], placement)
        following[placement] = (following[placement] + launches) % launch.windows
        return timing

    kernel = launch.binary.kernel
    subject = f"{kernel.experiment}/{kernel.name} ({launch.binary.variant.name})"
    if kernel.launched:
        timer = backend.launch_timers[kernel.launched.mode]
        return _Meter(_chains(backend, launch, kernel.launched), subject, timer, watch)
    return _Meter(run, subject, backend.timer, watch, launch.buffers.placements)


def _chains(backend: Backend, launch: Launch, launched: Launched) -> Callable[[int, int], Timing]:
    """Chains of launches on the first placement, each reading beginning at the window after the last one's."""
    following = 0

    def run(chains: int, _placement: int) -> Timing:
        nonlocal following
        timing = backend.time_chains(launch, launched, chains, following)
        following = (following + chains * launched.chain) % launch.windows
        return timing

    return run


def sample(backend: Backend, launch: Launch, budget: Budget = ROW, now: Now = time.monotonic) -> Samples:
    """Time one launch of a kernel until it is known well enough, or the budget is spent.

    Raises TimerFault where the device's clock shows nothing usable; lets DeviceFault through.
    """
    meter = _launch_meter(backend, launch, _Watch(now))
    return _sampled(backend, meter, budget, cold=launch.binary.kernel.memory == "dram")


def sample_launches(backend: Backend, mode: str, budget: Budget = ROW, now: Now = time.monotonic) -> Samples:
    """Time one launch of an empty kernel in one of the device's `launch_modes`, as `sample` times a kernel."""
    if mode not in backend.launch_modes:
        raise ValueError(f"launch mode {mode!r}: {backend.device.name} has {', '.join(backend.launch_modes)}")

    def run(launches: int, _placement: int) -> Timing:
        return backend.time_launches(mode, launches)

    meter = _Meter(run, f"empty launches ({mode})", backend.launch_timers[mode], _Watch(now), fewest=QUEUED)
    return replace(_sampled(backend, meter, budget, cold=False), placements=())


def search(
    backend: Backend, launches: Mapping[str, Launch], budget: Budget = ROW, now: Now = time.monotonic
) -> tuple[str, dict[str, float]]:
    """The fastest of several variants, and the median seconds of a launch of each.

    Variants run in turns on the same placements, in another order each round, three rounds at least and then until one
    is left, half of the budget's seconds have passed, or its samples are taken. One whose best is behind the leader's
    median is given up. Of equals the first in the mapping wins.
    """
    if not launches:
        raise ValueError("no variants to search: a kernel's `variants(target)` must offer one at least")
    watch = _Watch(now)
    meters = {name: _launch_meter(backend, launch, watch) for name, launch in launches.items()}
    groups = {name: _group(meter, budget) for name, meter in meters.items()}
    seconds: dict[str, list[float]] = {name: [] for name in launches}
    alive = list(launches)
    began = watch.spent()
    for round_ in range(budget.max_samples):
        for name in _turned(alive, round_):
            seconds[name].append(meters[name].sample(groups[name]).seconds)
        alive = _contenders(alive, seconds)
        spent = watch.spent() - began
        if round_ + 1 >= FEWEST and (len(alive) == 1 or spent >= SEARCH_SHARE * budget.seconds):
            break
    medians = {name: median(values) for name, values in seconds.items()}
    return min(alive, key=medians.__getitem__), medians


def beside(
    backend: Backend, launch: Launch, control: Launch, budget: Budget = ROW, now: Now = time.monotonic
) -> Estimate:
    """Seconds of `control` over seconds of `launch`, sample by sample in turns on the same placements.

    What slows both for a while, as neighbours do to a shared memory, does not change the ratio. It takes half of the
    budget's seconds, and three pairs a placement at least.
    """
    watch = _Watch(now)
    meters = [_launch_meter(backend, each, watch) for each in (launch, control)]
    groups = [_group(meter, budget) for meter in meters]
    fewest = FEWEST * launch.buffers.placements
    ratios: list[float] = []
    while len(ratios) < fewest or (watch.spent() < SEARCH_SHARE * budget.seconds and len(ratios) < budget.max_samples):
        own, other = (meter.sample(group).seconds for meter, group in zip(meters, groups, strict=True))
        ratios.append(other / own)
    return stats.interval(ratios)


def _turned(names: Sequence[str], by: int) -> list[str]:
    """The names in the same order, beginning elsewhere: no variant always runs after the same pause."""
    first = by % len(names)
    return [*names[first:], *names[:first]]


def _contenders(names: Sequence[str], seconds: Mapping[str, Sequence[float]]) -> list[str]:
    """Those whose fastest sample is not behind the leader's median, but for the margin that so few rounds leave."""
    rounds = max(len(seconds[name]) for name in names)
    margin = SEARCH_MARGINS[rounds - 1] if rounds <= len(SEARCH_MARGINS) else 0.0
    leading = min(median(seconds[name]) for name in names)
    return [name for name in names if min(seconds[name]) <= (1 + margin) * leading]


def _group(meter: _Meter, budget: Budget) -> int:
    """The launches of one sample: enough to span the ticks and the seconds that a sample must.

    The middle of three readings counts, so that neither a pause, a zero, nor the first launch, which pays for what is
    done once, decides.
    """
    needed = _needed(meter, budget)
    if FEWEST * needed > budget.limit_s:
        raise meter.fault(f"{TICKS} ticks take {needed:g} s, and {FEWEST} samples must fit in {budget.limit_s:g} s")
    launches = meter.fewest
    while True:
        began = meter.watch.now()
        span = _middle(meter, launches, needed)
        wall = meter.watch.now() - began
        if span >= needed:
            return launches
        stands_still = span <= 0 and wall > max(STANDS_STILL_S, 20 * meter.timer.tick_s)
        if stands_still or launches >= MOST_LAUNCHES:
            raise meter.fault(f"it stood still: {span:g} s for {launches} launches, where a sample needs {needed:g} s")
        launches = min(_more(launches, span, needed), MOST_LAUNCHES)


def _needed(meter: _Meter, budget: Budget) -> float:
    """Seconds that a sample must span."""
    return max(TICKS * meter.timer.tick_s, budget.sample_s)


def _middle(meter: _Meter, launches: int, needed: float) -> float:
    """The middle of three readings, or the lesser of the first two where both span what is needed."""
    spans = [meter.read(launches).timing.seconds for _ in range(2)]
    if min(spans) >= needed:
        return min(spans)
    return median([*spans, meter.read(launches).timing.seconds])


def _more(launches: int, span: float, needed: float) -> int:
    """Launches that will span `needed` with a quarter to spare, at most 16 times as many as spanned `span`."""
    if span <= 0:
        return 4 * launches
    return min(math.ceil(1.25 * launches * needed / span), 16 * launches)


def _warm(meter: _Meter, launches: int, budget: Budget) -> float:
    """Run until the last samples agree with those before them or `warm_s` is over; seconds of one launch by then."""
    block = max(FEWEST, meter.placements)
    began = meter.watch.spent()
    seconds: list[float] = []
    while len(seconds) < MOST_WARMING:
        seconds.append(meter.sample(launches).seconds)
        before, last = seconds[-2 * block : -block], seconds[-block:]
        if len(before) == block and abs(median(last) / median(before) - 1) <= SETTLED:
            break
        if len(seconds) >= FEWEST and meter.watch.spent() - began >= budget.warm_s:
            break
    return median(seconds[-block:])


def _collect(meter: _Meter, launches: int, budget: Budget) -> list[_Reading]:
    """Samples until the stopping rule holds."""
    began = meter.watch.spent()
    readings: list[_Reading] = []
    while not _enough(readings, meter, meter.watch.spent() - began, budget):
        if budget.rest_s:
            time.sleep(budget.rest_s)
        readings.append(meter.sample(launches))
    return readings


def _enough(readings: Sequence[_Reading], meter: _Meter, spent: float, budget: Budget) -> bool:
    """Whether the budget says to stop; never before a single outlier cannot decide."""
    count = len(readings)
    if count < FEWEST:
        return False
    if count >= budget.max_samples or spent >= max(budget.limit_s, budget.seconds):
        return True
    if count < max(budget.min_samples, EACH_PLACEMENT * meter.placements):
        return False
    return spent >= budget.seconds or (count % LOOK_EVERY == 0 and _known(readings, budget))


def _known(readings: Sequence[_Reading], budget: Budget) -> bool:
    """Whether more samples on the same placements would not tell more."""
    own = stats.within_placements([r.seconds for r in readings], [r.placement for r in readings])
    return stats.relative_error(stats.interval(list(own))) < budget.relative_error


def _sampled(backend: Backend, meter: _Meter, budget: Budget, cold: bool) -> Samples:
    """The whole of it: group, warm, collect, judge."""
    launches = _group(meter, budget)
    warm_s = _warm(meter, launches, budget)
    needed = _needed(meter, budget)
    if launches * warm_s < needed:  # the clock rose while it warmed
        launches = _more(launches, launches * warm_s, needed)
    backend.others_busy()  # begins the span that the next call reports
    readings = _collect(meter, launches, budget)
    disturbed = backend.others_busy()
    nominal = backend.device.nominal.get(CLOCK)
    return _judged(readings, meter, disturbed, cold, nominal.rate if nominal else None)


def _judged(
    readings: Sequence[_Reading], meter: _Meter, disturbed: float | None, cold: bool, nominal_hz: float | None
) -> Samples:
    """The samples with what is wrong with them."""
    seconds = tuple(reading.seconds for reading in readings)
    placements = tuple(reading.placement for reading in readings)
    timings = [reading.timing for reading in readings]
    clocks = [timing.clock_hz for timing in timings if timing.clock_hz is not None]
    powers = [timing.power_w for timing in timings if timing.power_w is not None]
    reasons = dict.fromkeys(timing.throttle for timing in timings if timing.throttle)
    held = stats.throttled(clocks, nominal_hz)
    own = list(stats.within_placements(seconds, placements))
    drifting = stats.drift(own).present
    burst_s, sustained_s = stats.burst_and_sustained(seconds) if drifting else (None, None)
    wrong = {
        "throttled": bool(reasons or held),
        "drifting": drifting,
        "two-peaked": stats.two_peaked(own) is not None,
        "disturbed": disturbed is not None and disturbed > DISTURBED,
    }
    return Samples(
        seconds=seconds,
        timer=meter.timer,
        launches=timings[0].launches,
        cold=cold,
        placements=placements,
        clock_hz=stats.spread(clocks),
        power_w=median(powers) if powers else None,
        throttle="; ".join(filter(None, (held, *reasons))) or None,
        disturbed=disturbed,
        flags=tuple(name for name, present in wrong.items() if present),
        burst_s=burst_s,
        sustained_s=sustained_s,
    )
