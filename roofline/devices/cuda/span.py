"""A stretch of device time: everything queued behind a kernel that holds the stream, then timed by events."""

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from roofline.devices.cuda.host_loop import Arguments, HostLoop

# Longer than the host takes to queue a span, short enough that a host that stops does not hang the card.
HOLD_LIMIT_NS = 100_000_000
WARP = 32
MILLISECOND = 1e-3
NANOSECOND = 1e-9


@dataclass(frozen=True)
class Measured:
    """Device seconds of the spans since the last `take`, and the SM clock during them; None where it cannot be told."""

    seconds: float
    clock_hz: float | None


class Span:
    """Times what is queued inside `timed()`, as often as it is entered, until `take()` adds it up.

    A stamp (cycle counter and time of each SM) before and after gives the clock *during* the work: on one SM, cycles
    over nanoseconds. A clock read after the work would be another one, since power management reacts within it.
    """

    def __init__(self, cupy: Any, stream: Any, loop: HostLoop, function: Callable[[str], int], sms: int) -> None:
        self._cupy = cupy
        self._stream = stream
        self._loop = loop
        self._sms = sms
        self._hold, self._stamp = function("hold"), function("stamp")
        self._flag = cupy.cuda.alloc_pinned_memory(8)
        self._released = ctypes.c_uint32.from_address(self._flag.ptr)
        # Numbers of SMs may have gaps on partitioned cards: twice as many slots as SMs, empty ones stay 0.
        self._stamps = [cupy.cuda.alloc_pinned_memory(32 * sms) for _ in range(2)]
        self._read = [np.frombuffer(memory, np.uint64, 4 * sms).reshape(-1, 2) for memory in self._stamps]
        self._events = [cupy.cuda.Event() for _ in range(2)]
        self._seconds: list[float] = []
        self._clocks: list[float] = []

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Hold the stream, let the caller queue work, release it and wait for its end."""
        self._released.value = 0
        for stamps in self._read:
            stamps[:] = 0
        try:
            held = [ctypes.c_uint64(self._flag.ptr), ctypes.c_uint64(HOLD_LIMIT_NS)]
            self._loop.queue(self._hold, 1, 1, arguments=Arguments([held]))
            self._mark(0)
            self._events[0].record(self._stream)
            yield
            self._events[1].record(self._stream)
            self._mark(1)
        finally:
            self._released.value = 1
        self._stream.synchronize()
        self._seconds.append(self._cupy.cuda.get_elapsed_time(*self._events) * MILLISECOND)
        clock = clock_between(*self._read)
        if clock is not None:
            self._clocks.append(clock)

    def _mark(self, which: int) -> None:
        where = Arguments([[ctypes.c_uint64(self._stamps[which].ptr)]])
        self._loop.queue(self._stamp, self._sms, WARP, arguments=where)

    def take(self) -> Measured:
        """The seconds of all spans since the last call, and the median clock."""
        measured = Measured(sum(self._seconds), median(self._clocks) if self._clocks else None)
        self._seconds, self._clocks = [], []
        return measured


def clock_between(before: Any, after: Any) -> float | None:
    """The clock in Hz from two stamps, rows (cycles, nanoseconds) by SM; None where no SM has two in order."""
    both = (before[:, 1] > 0) & (after[:, 1] > before[:, 1]) & (after[:, 0] > before[:, 0])
    if not both.any():
        return None
    cycles = (after[both, 0] - before[both, 0]).astype(float)
    return float(np.median(cycles / ((after[both, 1] - before[both, 1]) * NANOSECOND)))
