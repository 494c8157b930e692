"""How much of our cores others used: processor time that the system counted, less our own."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from roofline.devices.cpu.cgroup import ROOT
from roofline.devices.cpu.topology import read

# The columns of /proc/stat that are not idle time: user, nice, system, irq, softirq and steal (what the hypervisor gave
# to other machines). Time of guests stands in user already.
BUSY_COLUMNS = (0, 1, 2, 5, 6, 7)
# The system counts in ticks; over fewer than this the share would be mostly rounding.
LEAST_TICKS = 5


@dataclass(frozen=True)
class Reading:
    """One look at the clocks, in seconds: the wall's, the busy time of our cores, our own processor time."""

    wall: float
    busy: float
    own: float


class Disturbance:
    """Compares each look with the last one. `now` gives wall and own processor time; tests replace it."""

    def __init__(
        self,
        cores: Sequence[int],
        root: Path = ROOT,
        now: Callable[[], tuple[float, float]] = lambda: (time.monotonic(), time.process_time()),
    ) -> None:
        self._cores = cores
        self._root = root
        self._now = now
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")
        self._last = self._look()

    def share(self) -> float | None:
        """The share of our cores that others used since the last answer; None where that cannot be known.

        It cannot without /proc/stat, nor over less than `LEAST_TICKS` ticks: then the next call covers this time too.
        """
        look = self._look()
        if look is None or self._last is None:
            return None
        wall = look.wall - self._last.wall
        if wall < LEAST_TICKS * self._tick_s:
            return None
        others = look.busy - self._last.busy - (look.own - self._last.own)
        self._last = look
        # Busy time comes in whole ticks and our own does not, so a quiet machine gives values just outside 0 … 1.
        return min(1.0, max(0.0, others / (wall * len(self._cores))))

    def _look(self) -> Reading | None:
        text = read(self._root / "proc/stat")
        if text is None:
            return None
        wanted = {f"cpu{core}" for core in self._cores}
        rows = [line.split() for line in text.splitlines() if line.split(" ", 1)[0] in wanted]
        ticks = sum(int(row[1 + column]) for row in rows for column in BUSY_COLUMNS)
        return Reading(self._now()[0], ticks * self._tick_s, self._now()[1])
