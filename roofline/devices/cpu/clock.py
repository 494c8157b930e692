"""The clock of the CPU device: a counter that runs at a constant rate, read in machine code."""

import time
from collections.abc import Callable
from dataclasses import dataclass

# Long enough that the uncertainty of two readings (about 0.1 µs) is 5 parts in a million of it.
CALIBRATION_NS = 20_000_000
READINGS = 16


@dataclass(frozen=True)
class Clock:
    """A counter's rate and the least step that two readings of it show."""

    name: str
    rate_hz: float
    tick_s: float

    def seconds(self, ticks: int) -> float:
        """How long so many ticks of the counter are."""
        return ticks / self.rate_hz


def calibrated(
    name: str, read: Callable[[], int], step: int, nanoseconds: Callable[[], int] = time.perf_counter_ns
) -> Clock:
    """The clock whose counter is `read`, its rate found against the system's own monotonic clock.

    Raises:
        ValueError: the counter does not advance.
    """
    began, first = _together(read, nanoseconds)
    while nanoseconds() - began < CALIBRATION_NS:
        pass
    ended, last = _together(read, nanoseconds)
    if last <= first:
        raise ValueError(
            f"the counter {name} went from {first} to {last} in {ended - began} ns: it cannot time anything"
        )
    rate = (last - first) / (ended - began) * 1e9
    return Clock(name, rate, step / rate)


def _together(read: Callable[[], int], nanoseconds: Callable[[], int]) -> tuple[int, int]:
    """One moment on both clocks: of some readings, the one that the system's clock enclosed most tightly."""
    best: tuple[int, int, int] | None = None
    for _ in range(READINGS):
        before = nanoseconds()
        ticks = read()
        after = nanoseconds()
        if best is None or after - before < best[0]:
            best = (after - before, (before + after) // 2, ticks)
    assert best is not None
    return best[1], best[2]
