"""One pinned worker a core, asleep between measurements and spinning at a machine-code barrier inside them."""

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from roofline.devices.base import DeviceFault
from roofline.devices.cpu.memory import allocate
from roofline.devices.cpu.regions import TEAM_BYTES, TEAM_SLOTS
from roofline.llvm import JOB_BYTES, JOB_SLOTS

# A worker is woken in well under a millisecond; one that takes this long will not come.
GATHERING_LIMIT_S = 10.0
CLOSING_LIMIT_S = 5.0
DOUBLES = ("a", "b")


class Job(ctypes.Structure):
    """What one worker is to do and what came of it: the slots that kernels and regions read and write."""

    _fields_ = [(slot, ctypes.c_double if slot in DOUBLES else ctypes.c_int64) for slot in JOB_SLOTS]


class Team:
    """The workers of the usable cores. The calling thread is worker 0 while the team is gathered.

    `entries` are the addresses of the functions of `regions.ENTRIES`.
    """

    def __init__(self, cores: Sequence[int], entries: Mapping[str, int]) -> None:
        self.cores = tuple(cores)
        self._nothing = entries["nothing"]
        pair = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self._member, self._lead = pair(entries["member"]), pair(entries["lead"])
        self._memory = allocate(TEAM_BYTES + JOB_BYTES * (1 + len(cores)))
        self._slots = {
            name: ctypes.c_int64.from_address(self._memory.address + offset) for name, offset in TEAM_SLOTS.items()
        }
        first = self._memory.address + JOB_BYTES  # keeps jobs aligned to their size
        self._jobs = tuple(Job.from_address(first + JOB_BYTES * number) for number in range(len(cores)))
        self._addresses = tuple(ctypes.addressof(job) for job in self._jobs)
        self._sessions = 0
        self._closing = False
        self._wake = [threading.Semaphore(0) for _ in cores[1:]]
        self._threads = [
            threading.Thread(
                target=self._serve, args=(number, self._wake[number - 1]), name=f"roofline-worker-{number}", daemon=True
            )
            for number in range(1, len(cores))
        ]
        self._start()

    @property
    def stuck(self) -> bool:
        """Whether a worker of a closed team did not end: then its memory and code must stay."""
        return any(thread.is_alive() for thread in self._threads)

    @property
    def jobs(self) -> Sequence[Job]:
        """Each worker's job.

        Raises:
            DeviceFault: the team is closed.
        """
        if self._closing:
            raise DeviceFault("the CPU device is closed: open it again to run kernels")
        return self._jobs

    @contextmanager
    def gathered(self) -> Iterator[Callable[[], None]]:
        """Wake the workers and hold them at the barrier; inside, the yielded function runs what `prepare` asked for.

        Raises:
            DeviceFault: a worker did not come in time.
        """
        own = affinity_of_caller()
        try:
            self._gather()
            yield self._runner()
        finally:
            self._slots["session"].value = 0
            pin_caller(own)

    def prepare(self, kernel: int, rest: int | None = None, launches: int = 1) -> None:
        """Set what the next run calls on each worker's job, and how many times."""
        self._slots["kernel"].value = kernel
        self._slots["rest"].value = rest or self._nothing
        self._slots["launches"].value = launches

    def ticks_taken(self, workers: int | None = None) -> int:
        """Counter ticks of the last run, from first start to last end of the first so many workers, None for all."""
        jobs = self.jobs[:workers]
        return int(max(job.ended for job in jobs) - min(job.started for job in jobs))

    def close(self) -> None:
        """End the workers; their memory is given back unless one of them is stuck."""
        if self._closing:
            return
        self._closing = True
        self._slots["session"].value = 0
        for wake in self._wake:
            wake.release()
        started = [thread for thread in self._threads if thread.ident is not None]
        for thread in started:
            thread.join(CLOSING_LIMIT_S)
        if not self.stuck:
            self._memory.free()

    def _start(self) -> None:
        self._slots["members"].value = len(self.cores)
        try:
            for thread in self._threads:
                thread.start()
            with self.gathered():
                pass
        except (RuntimeError, DeviceFault) as error:
            self.close()
            raise DeviceFault(f"{len(self.cores)} workers were wanted and not all could start: {error}") from error

    def _serve(self, number: int, wake: threading.Semaphore) -> None:
        pin_caller({self.cores[number]})
        while True:
            wake.acquire()
            if self._closing:
                return
            self._member(self._memory.address, self._addresses[number])

    def _gather(self) -> None:
        others = self.jobs[1:]
        self._sessions += 1
        self._slots["session"].value = self._sessions
        for wake in self._wake:
            wake.release()
        pin_caller({self.cores[0]})
        limit = time.monotonic() + GATHERING_LIMIT_S
        while missing := [job for job in others if job.present != self._sessions]:
            if time.monotonic() > limit:
                raise DeviceFault(
                    f"{len(missing)} of {len(self.cores)} workers did not come in {GATHERING_LIMIT_S:g} s"
                )
            time.sleep(0)

    def _runner(self) -> Callable[[], None]:
        lead, team, job = self._lead, ctypes.c_void_p(self._memory.address), ctypes.c_void_p(self._addresses[0])

        def run() -> None:
            lead(team, job)

        return run


def affinity_of_caller() -> set[int]:
    """The cores that the calling thread may run on; empty where the system does not say."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def pin_caller(cores: set[int]) -> None:
    """Let the calling thread run on these cores alone; nothing where the system cannot do that."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
