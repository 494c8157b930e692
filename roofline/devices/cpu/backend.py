"""The CPU as a device: kernels compiled for this machine, run by a team of pinned workers, timed in machine code."""

import ctypes
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from roofline.devices.base import (
    Binary,
    Buffers,
    BuildFailed,
    DeviceFault,
    KernelUnsupported,
    Launch,
    Timing,
    WrongMachineCode,
)
from roofline.devices.cpu import cgroup, filling, host, machine_code, regions
from roofline.devices.cpu.clock import Clock
from roofline.devices.cpu.disturbance import Disturbance
from roofline.devices.cpu.jit import Jit
from roofline.devices.cpu.memory import Allocation, allocate
from roofline.devices.cpu.team import Team
from roofline.devices.cpu.topology import Cores
from roofline.kernel import Array, InvalidKernel, Kernel, Launched, Source, Target
from roofline.llvm import merged, rest_name
from roofline.model import Device, Environment, Timer, Variant

# Of the memory that is free, what buffers may take together: the rest is for the page cache, other processes, and for
# this one's own tables and charts.
MEMORY_SHARE = 0.5


@dataclass(frozen=True)
class Code:
    """Loaded machine code of one variant, with the evidence of what it contains."""

    entry: int
    rest: int
    digest: str
    counts: Mapping[str, int]
    listing: str


@dataclass(frozen=True)
class Parts:
    """What a CPU device is made of; `open_cpu` puts them together."""

    device: Device
    target: Target
    cores: Cores
    jit: Jit
    entries: Mapping[str, int]
    clock: Clock
    notes: tuple[str, ...] = ()


class CpuBackend:
    """All the usable cores as one device. One thread at a time may use it."""

    launch_modes: Sequence[str] = ("launch", "launch_sync")
    chain_modes: Sequence[str] = launch_modes

    def __init__(self, parts: Parts) -> None:
        self.device = parts.device
        self.target = parts.target
        self.notes: Sequence[str] = parts.notes
        self.timer = Timer(f"cpu.{parts.clock.name}", parts.clock.tick_s)
        host = Timer("perf_counter", time.get_clock_info("perf_counter").resolution)
        self.launch_timers: Mapping[str, Timer] = {"launch": self.timer, "launch_sync": host}
        self.least_sample_s = 50e-6
        self.unit = ""
        self._cores, self._jit, self._entries, self._clock = parts.cores, parts.jit, parts.entries, parts.clock
        self._team = Team(parts.cores.used, parts.entries)
        self._disturbance = Disturbance(parts.cores.used)
        self._codes: dict[str, Code] = {}
        self._closed = False

    def __enter__(self) -> "CpuBackend":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def environment(self) -> Environment:
        """How the machine is now."""
        return host.environment(self._cores)

    def memory_limit(self) -> int:
        """Half of what is free, of the machine's memory or of the container's, whichever is less."""
        free = [left for left in (host.memory_available(), cgroup.memory_left()) if left is not None]
        if not free:
            raise DeviceFault("neither /proc/meminfo nor a cgroup says how much memory is free")
        return int(MEMORY_SHARE * max(0, min(free)))

    def build(self, kernel: Kernel, variants: Sequence[Variant]) -> Sequence[Binary]:
        """Machine code of each variant, checked against what its source says it must contain."""
        sources = self._sources(kernel, variants)
        began = time.perf_counter()
        try:
            self._compile([source for source in sources if source.text not in self._codes])
        except (RuntimeError, KeyError) as refusal:  # llvmlite's own errors are RuntimeErrors; an entry not in the text
            name = f"{kernel.experiment}/{kernel.name}"
            said = (
                f"it defines no function {refusal}" if isinstance(refusal, KeyError) else " ".join(str(refusal).split())
            )
            raise BuildFailed(f"{name}: LLVM cannot build its IR: {said}") from refusal
        each = (time.perf_counter() - began) / len(sources)
        pairs = list(zip(variants, sources, strict=True))
        for variant, source in pairs:
            _check(kernel, variant, source, self._codes[source.text].counts)
        return [self._binary(kernel, variant, source, each) for variant, source in pairs]

    def allocate(self, arrays: int, elements: int, dtype: str, placements: int, fill: str) -> Buffers:
        """Fresh arrays, each filled by the workers that will use its parts."""
        if (dtype, fill) not in filling.ENTRIES:
            raise ValueError(
                f"arrays of {dtype!r} filled with {fill!r} were asked for; the CPU device fills float32 and float16 "
                f"arrays with one of {', '.join(filling.FILLS)}: bring other contents with bind()"
            )
        buffers = self._fresh(arrays, elements, np.dtype(dtype).itemsize, placements, fill)
        entry, words = filling.entry_of(fill, dtype), -(-elements * buffers.itemsize // filling.WORD_BYTES)
        for handles in buffers.handles:
            for number, allocation in enumerate(handles):
                self._fill(allocation.address, words, entry, seed=number * filling.SEED_STEP)
        return buffers

    def bind(self, host: Sequence[Array]) -> Buffers:
        """One placement that holds copies of the `host` arrays."""
        contents = [np.ascontiguousarray(array) for array in host]
        if len({(array.size, array.itemsize) for array in contents}) != 1:
            raise ValueError("the arrays of one launch must all have the same number and size of elements")
        buffers = self._fresh(len(contents), contents[0].size, contents[0].itemsize, 1, "bound")
        for allocation, array in zip(buffers.handles[0], contents, strict=True):
            ctypes.memmove(allocation.address, array.ctypes.data, array.nbytes)
        return buffers

    def read_back(self, buffers: Buffers) -> list[NDArray[np.generic]]:
        """Copies of the arrays of the first placement."""
        size = buffers.elements * buffers.itemsize
        dtype = np.dtype(f"f{buffers.itemsize}")
        return [np.frombuffer(ctypes.string_at(at.address, size), dtype).copy() for at in buffers.handles[0]]

    def free(self, buffers: Buffers) -> None:
        """Unmap the memory of `buffers`."""
        for handles in buffers.handles:
            for allocation in handles:
                allocation.free()

    def run(self, launch: Launch, launches: int, first_window: int = 0, placement: int = 0) -> Timing:
        """Launch back to back; seconds go from the first start to the last end of the workers that take part.

        The clock is measured right after, by a dependent chain on every worker. Those that take no part wait at the
        barrier, as they do between any two launches.
        """
        code: Code = launch.binary.handle
        workers = launch.binary.workers
        self._assign(launch, launches, first_window, placement)
        with self._team.gathered() as run:
            self._team.prepare(code.entry, code.rest, launches)
            run()
            seconds = self._clock.seconds(self._team.ticks_taken(workers))
            self._team.prepare(self._entries["cycles"])
            run()
        return Timing(seconds, launches, clock_hz=self._clock_hz(workers))

    def others_busy(self) -> float | None:
        """Share of our cores that other processes and other machines used since the last answer."""
        return self._disturbance.share()

    def time_launches(self, mode: str, launches: int) -> Timing:
        """Empty regions, timed in machine code ("launch") or as Python waits for each of them ("launch_sync")."""
        self._assign_nothing()
        with self._team.gathered() as run:
            self._team.prepare(self._entries["nothing"], launches=self._queued(mode, launches))
            run()  # the workers meet once before the clock starts
            began = time.perf_counter_ns()
            for _ in range(self._waited_for(mode, launches)):
                run()
            waited = (time.perf_counter_ns() - began) / 1e9
            seconds = self._clock.seconds(self._team.ticks_taken()) if mode == "launch" else waited
        return Timing(seconds, launches)

    def time_chains(self, launch: Launch, launched: Launched, chains: int, first_window: int = 0) -> Timing:
        """Regions in a row, timed in machine code ("launch") or as Python waits for each of them ("launch_sync")."""
        launches = chains * launched.chain
        if self._queued(launched.mode, launches) == launches:
            return replace(self.run(launch, launches, first_window), launches=chains)
        code: Code = launch.binary.handle
        self._assign(launch, launches, first_window, 0)
        with self._team.gathered() as run:
            self._team.prepare(code.entry, code.rest)
            began = time.perf_counter_ns()
            for _ in range(launches):
                run()
            return Timing((time.perf_counter_ns() - began) / 1e9, chains)

    def count_launches(self, mode: str, launches: int) -> int:
        """How many launches every worker took part in: the least of what each counted for itself (C4)."""
        self._assign_nothing()
        for job in self._team.jobs:
            job.count = 0
        with self._team.gathered() as run:
            self._team.prepare(self._entries["count"], launches=self._queued(mode, launches))
            for _ in range(self._waited_for(mode, launches)):
                run()
        return int(min(job.count for job in self._team.jobs))

    def close(self) -> None:
        """End the workers and unload the code; buffers that were not freed stay mapped."""
        if self._closed:
            return
        self._closed = True
        self._team.close()
        if not self._team.stuck:
            self._jit.close()

    def _sources(self, kernel: Kernel, variants: Sequence[Variant]) -> list[Source]:
        if "cpu" not in kernel.sources:
            raise KernelUnsupported(kernel.unsupported.get("cpu", f"{kernel.name} has no code for a CPU"))
        if not variants:
            raise KernelUnsupported(
                kernel.unsupported.get("cpu")
                or f"no form of {kernel.name} fits the {self.target.registers} vector registers of "
                f"{self.target.architecture}"
            )
        sources = [kernel.sources["cpu"](self.target, variant) for variant in variants]
        for source in sources:
            _check_workers(kernel, source.workers, len(self._team.jobs))
        return sources

    def _compile(self, sources: Sequence[Source]) -> None:
        if not sources:
            return
        assembly = self._jit.assembly(merged([source.text for source in sources]))
        functions = machine_code.functions(assembly)
        names = {name for source in sources for name in (source.entry, rest_name(source.entry))}
        addresses = self._jit.load(assembly, sorted(names))
        for source in sources:
            entry, rest = source.entry, rest_name(source.entry)
            self._codes[source.text] = Code(
                addresses[entry],
                addresses[rest],
                machine_code.digest([functions[entry], functions[rest]]),
                machine_code.count(functions[entry], self.target.architecture),
                f"{entry}:{functions[entry]}",
            )

    def _binary(self, kernel: Kernel, variant: Variant, source: Source, build_s: float) -> Binary:
        code = self._codes[source.text]
        return Binary(
            kernel=kernel,
            variant=variant,
            handle=code,
            digest=code.digest,
            block=source.block,
            counts=code.counts,
            listing=code.listing,
            build_s=build_s,
            workers=source.workers,
        )

    def _fresh(self, arrays: int, elements: int, itemsize: int, placements: int, fill: str) -> Buffers:
        size, limit = elements * itemsize, self.memory_limit()
        if arrays * placements * size > limit:
            raise MemoryError(
                f"{placements} x {arrays} arrays of {size} bytes were asked for, {arrays * placements * size} in all; "
                f"this machine has {limit} to give ({MEMORY_SHARE:.0%} of what is free): ask for less, or free some"
            )
        handles: list[list[Allocation]] = []
        try:
            while len(handles) < placements:
                handles.append([])
                while len(handles[-1]) < arrays:
                    handles[-1].append(allocate(size))
        except MemoryError:
            self.free(Buffers(handles, elements, itemsize))
            raise
        return Buffers(handles, elements, itemsize, fill)

    def _fill(self, address: int, words: int, entry: str, seed: int) -> None:
        self._share_out(words, filling.block_of(self.target))
        for job in self._team.jobs:
            job.x, job.seed, job.repeats, job.window, job.windows = address, seed, 1, 0, 1
        with self._team.gathered() as run:
            self._team.prepare(self._entries[entry], self._entries[rest_name(entry)])
            run()

    def _assign(self, launch: Launch, launches: int, first_window: int, placement: int) -> None:
        _check_launch(launch, launches, self.target)
        arrays = launch.buffers.handles[placement][: launch.binary.kernel.arrays]
        addresses = [allocation.address for allocation in arrays]
        self._share_out(launch.size, launch.binary.block, launch.binary.workers)
        a, b = launch.binary.kernel.scalars
        for job in self._team.jobs:
            job.x, job.y, job.z = addresses[0], addresses[-1], addresses[1 % len(addresses)]
            job.a, job.b = a, b
            job.repeats = (
                launch.repeats if job.length or job.left else 1
            )  # who has nothing to do goes on to the barrier
            job.window, job.windows = first_window % launch.windows, launch.windows

    def _assign_nothing(self) -> None:
        self._share_out(0, 1)
        for job in self._team.jobs:
            job.repeats, job.window, job.windows = 1, 0, 1

    def _share_out(self, elements: int, block: int, workers: int | None = None) -> None:
        """Give each worker whole blocks, as many as the others or one more; the last one takes what no block fills.

        Only the first `workers` get any, None is all of them.
        """
        blocks, left = divmod(elements, block)
        workers = workers or len(self._team.jobs)
        for number, job in enumerate(self._team.jobs):
            first, last = (blocks * min(edge, workers) // workers * block for edge in (number, number + 1))
            job.first, job.length, job.size = first, last - first, elements
            job.left = left if number == workers - 1 else 0

    def _clock_hz(self, workers: int | None) -> float:
        ticks = [job.cycle_ticks for job in self._team.jobs[:workers]]
        return median(regions.CHAIN_CYCLES / self._clock.seconds(least) for least in ticks)

    def _queued(self, mode: str, launches: int) -> int:
        """Launches that one call from Python runs in `mode`."""
        if mode not in self.launch_modes:
            raise ValueError(f"launch mode {mode!r} is not one of the CPU device's: {', '.join(self.launch_modes)}")
        return launches if mode == "launch" else 1

    def _waited_for(self, mode: str, launches: int) -> int:
        return launches // self._queued(mode, launches)


def _check(kernel: Kernel, variant: Variant, source: Source, counts: Mapping[str, int]) -> None:
    wrong = {name: wanted for name, wanted in source.expects.items() if counts.get(name, 0) != wanted}
    if wrong:
        found = ", ".join(f"{counts.get(name, 0)} {name} where {wanted} were meant" for name, wanted in wrong.items())
        raise WrongMachineCode(
            f"{kernel.experiment}/{kernel.name}, variant {variant.name}: the machine code has {found}. It is not "
            "timed: another release of llvmlite may compile it otherwise."
        )


def _check_workers(kernel: Kernel, wanted: int | None, there: int) -> None:
    if wanted is None:
        return
    name = f"{kernel.experiment}/{kernel.name}"
    if wanted < 1:
        raise InvalidKernel(f"{name} wants {wanted} workers: give 1 or more, or None for all there are")
    if wanted > there:
        raise KernelUnsupported(f"{name} wants {wanted} workers, and there are {there} cores that this process may use")


def _check_launch(launch: Launch, launches: int, target: Target) -> None:
    if launches < 1 or launch.size < 1 or launch.repeats < 1 or launch.windows < 1:
        raise ValueError(
            f"{launches} launches of {launch.size} elements, {launch.repeats} repeats and {launch.windows} windows: "
            "each must be 1 or more"
        )
    if launch.size * launch.windows > launch.buffers.elements:
        raise ValueError(
            f"{launch.windows} windows of {launch.size} elements do not fit into arrays of {launch.buffers.elements}"
        )
    wanted, there = launch.binary.kernel.arrays, min(len(handles) for handles in launch.buffers.handles)
    if there < wanted:
        raise ValueError(f"{launch.binary.kernel.name} takes {wanted} arrays and the buffers have {there}")
    if any(allocation.freed for handles in launch.buffers.handles for allocation in handles):
        raise ValueError("the buffers of this launch have been freed")
    if launch.windows > 1 and launch.size % target.lanes:
        raise ValueError(
            f"windows of {launch.size} elements would begin inside a vector: make the size a multiple of "
            f"{target.lanes} (better of Binary.block, {launch.binary.block})"
        )
