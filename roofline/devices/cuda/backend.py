"""The CUDA device behind the interface that every kind of device has."""

import contextlib
import ctypes
import hashlib
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roofline.cuda_source import CudaSource, Following
from roofline.devices.base import (
    Binary,
    Buffers,
    DeviceFault,
    KernelUnsupported,
    Launch,
    Timing,
    WrongMachineCode,
)
from roofline.devices.cuda import elf, library, sass
from roofline.devices.cuda.cache import Cubin, open_cache
from roofline.devices.cuda.chains import CHAIN_MODES, Bound, Chains
from roofline.devices.cuda.compiling import Compiler, architecture_of, compiler_version
from roofline.devices.cuda.empty import EmptyLaunches
from roofline.devices.cuda.host_loop import Arguments, HostLoop, LaunchRefused
from roofline.devices.cuda.nvml import Monitor, windows_subsystem
from roofline.devices.cuda.selection import Found, device, import_cupy
from roofline.devices.cuda.span import Span
from roofline.devices.cuda.status import LIBRARY
from roofline.kernel import Array, Kernel, Launched, Target
from roofline.kernels import launch as launching
from roofline.library_source import LibrarySource
from roofline.model import Environment, Timer, Variant

# CUDA's documentation of cudaEventElapsedTime: "a resolution of around 0.5 microseconds".
EVENT_TICK_S = 0.5e-6
# Launches queued behind the holding kernel before it lets go: well below what a driver's queue takes (1024 and more).
QUEUED_AT_ONCE = 256
# The driver, the context and what others start meanwhile need a part of what is free now.
USABLE_SHARE = 0.9
FILL_THREADS = 256
TAIL_THREADS = 256
# More shared memory than this for a block must be asked for (CUDA C++ Programming Guide, "Shared Memory").
SHARED_WITHOUT_ASKING = 48 << 10
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
ALL_OF_IT = 100  # percent of an SM's on-chip memory as shared memory, where blocks need it
PERSISTING_L2_SIZE = 6  # cudaLimitPersistingL2CacheSize
# Architectures of the cards that every kernel was run on, with the right results.
PROVEN = frozenset({"sm_90a"})
FILLABLE = ("float16", "float32", "float64")


@dataclass(frozen=True)
class Loaded:
    """One variant on the card: its functions as the driver's handles, and the blocks that an SM takes at once."""

    source: CudaSource
    function: int
    tail: int | None
    grid: int | None
    module: Any
    then: int | None = None


@dataclass(frozen=True)
class DeviceArray:
    """Memory on the card: where it begins, and what was asked for."""

    pointer: int
    elements: int
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Its size."""
        return self.elements * self.dtype.itemsize


class CudaBackend:
    """An open CUDA device. Everything is queued on one non-blocking stream of its own."""

    launch_modes: Sequence[str] = tuple(launching.MODES)
    chain_modes: Sequence[str] = CHAIN_MODES
    # An event pair around one launch costs some microseconds that are not the kernel's: 0.5 % of a copy of 1 GB.
    least_sample_s = 2e-3

    def __init__(self, found: Found) -> None:
        self._found = found
        self._cupy, cupy_note = import_cupy()
        self._runtime = self._cupy.cuda.runtime
        self._context = self._cupy.cuda.Device(found.index)
        self._context.use()
        self._stream = self._cupy.cuda.Stream(non_blocking=True)
        self._loop = HostLoop(self._stream.ptr)
        self._monitor = Monitor.open(found.uuid, found.pci)
        cache = open_cache()
        self._compiler = Compiler(architecture_of(found.properties.compute_capability), cache)
        self._driver = ctypes.CDLL(LIBRARY)
        self._allocated: set[int] = set()
        self._chained: tuple[Launch, Chains] | None = None
        self.device = device(found.properties)
        self.target = Target(kind="cuda", architecture=self._compiler.architecture, lanes=1, registers=255)
        self.timer = Timer("cuda events", EVENT_TICK_S)
        host = Timer("perf_counter", time.get_clock_info("perf_counter").resolution)
        self.launch_timers: Mapping[str, Timer] = dict.fromkeys(self.launch_modes, host)
        self.unit = found.uuid
        self.notes: Sequence[str] = tuple(note for note in (cupy_note, cache.note, *self._opening_notes()) if note)

    def _opening_notes(self) -> list[str]:
        notes = []
        if windows_subsystem():
            notes.append("inside Windows (WSL): its driver holds launches back in batches, launch figures vary")
        if self.target.architecture not in PROVEN:
            notes.append(
                f"no kernel of this suite was ever run on a card of {self.target.architecture}: only its machine code "
                "was checked before; here each is timed after its result was found right"
            )
        if self.device.mig_profile:
            notes.append(f"a MIG slice ({self.device.mig_profile}): nominal rates are those of its own SMs")
        others = self._monitor.state().other_processes
        if others:
            notes.append(f"{others} other processes use this card")
        return notes

    def environment(self) -> Environment:
        """How the card is now, from NVML where that answers."""
        state = self._monitor.state()
        return Environment(
            state={
                "platform": "wsl" if windows_subsystem() else platform.system().lower(),
                "power_limit_w": state.power_limit_w,
                "max_clock_hz": state.max_clock_hz,
                "ecc": state.ecc,
                "mig": state.mig,
            },
            facts={
                "driver": state.driver,
                "cuda_driver": self._runtime.driverGetVersion(),
                "cuda_runtime": self._runtime.runtimeGetVersion(),
                "nvrtc": compiler_version(),
                "cupy": self._cupy.__version__,
                "cuda_core": version("cuda-core"),
                "python": platform.python_version(),
                "persistence": state.persistence,
                "temperature_c": state.temperature_c,
                "clock_hz": state.clock_hz,
                "memory_clock_hz": state.memory_clock_hz,
                "power_w": state.power_w,
                "throttle": state.throttle,
                "other_processes": state.other_processes,
            },
        )

    def memory_limit(self) -> int:
        """A share of what the card has free now."""
        self._context.use()
        free, _total = self._runtime.memGetInfo()
        return int(free * USABLE_SHARE)

    def build(self, kernel: Kernel, variants: Sequence[Variant]) -> Sequence[Binary]:
        """Compile the variants side by side, check their machine code, and load them."""
        if "cuda" not in kernel.sources or not variants:
            raise KernelUnsupported(kernel.unsupported.get("cuda", f"{kernel.name} has no CUDA source"))
        self._context.use()
        written = [kernel.sources["cuda"](self.target, variant) for variant in variants]
        called = [source for source in written if isinstance(source, LibrarySource)]
        if called:
            return [self._call(kernel, variant, source) for variant, source in zip(variants, called, strict=True)]
        sources = [_cuda(source) for source in written]
        with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as compilers:
            timed = list(compilers.map(self._compiled, sources))
        return [
            self._binary(kernel, variant, source, cubin, build_s)
            for variant, source, (cubin, build_s) in zip(variants, sources, timed, strict=True)
        ]

    def _call(self, kernel: Kernel, variant: Variant, source: LibrarySource) -> Binary:
        """A call of the vendor's library, which has no machine code of ours to look at."""
        call = self._library.call(source)
        digest = hashlib.sha256(call.identity.encode()).hexdigest()
        return Binary(kernel, variant, call, digest, listing=call.identity, math_mode=call.math_mode)

    def _compiled(self, source: CudaSource) -> tuple[Cubin, float]:
        began = time.perf_counter()
        following = source.then.entry if source.then else ""
        cubin = self._compiler.build(source.text, [name for name in (source.entry, source.tail, following) if name])
        return cubin, time.perf_counter() - began

    def _binary(self, kernel: Kernel, variant: Variant, source: CudaSource, cubin: Cubin, build_s: float) -> Binary:
        function = elf.functions(cubin.code)[cubin.symbols[source.entry]]
        instructions = sass.histogram(function.code)
        counts = sass.counts(instructions)
        self._refuse_wrong(kernel, variant, source, counts)
        return Binary(
            kernel=kernel,
            variant=variant,
            handle=self._load(source, cubin),
            digest=hashlib.sha256(function.code).hexdigest(),
            block=source.block,
            counts=counts,
            listing="\n".join(f"{count:6d} {name}" for name, count in instructions.most_common()),
            build_s=build_s,
        )

    def _refuse_wrong(self, kernel: Kernel, variant: Variant, source: CudaSource, counts: dict[str, int]) -> None:
        wrong = [f"{counts[kind]} {kind}, not {n}" for kind, n in source.expects.items() if counts[kind] != n]
        if wrong:
            raise WrongMachineCode(
                f"{kernel.experiment}/{kernel.name}, variant {variant.name}, for {self.target.architecture}: "
                f"{'; '.join(wrong)} (NVRTC {compiler_version()}). It is not timed; report it with this line"
            )

    def _load(self, source: CudaSource, cubin: Cubin) -> Loaded:
        module = self._cupy.RawModule(path=str(cubin.path))
        kernel = module.get_function(cubin.symbols[source.entry])
        if source.shared_bytes > SHARED_WITHOUT_ASKING:
            kernel.max_dynamic_shared_size_bytes = source.shared_bytes
        function = kernel.kernel.ptr
        if source.resident:
            kernel.preferred_shared_memory_carveout = ALL_OF_IT
            self._refuse_others_beside(source, function)
        tail = module.get_function(cubin.symbols[source.tail]).kernel.ptr if source.tail else None
        then = module.get_function(cubin.symbols[source.then.entry]).kernel.ptr if source.then else None
        return Loaded(source, function, tail, self._wave(source, function), module, then)

    def _refuse_others_beside(self, source: CudaSource, function: int) -> None:
        fit = self._fitting(source, function)
        if fit != source.resident:
            raise WrongMachineCode(
                f"{fit} blocks of {source.entry} fit an SM of {self.device.name}, not {source.resident}: it is not "
                "timed, since its waves would be others than those that are counted"
            )

    def _fitting(self, source: CudaSource, function: int) -> int:
        """The blocks of a kernel that an SM holds at once."""
        driver = self._cupy.cuda.driver
        return int(driver.occupancyMaxActiveBlocksPerMultiprocessor(function, source.threads, source.shared_bytes))

    def _wave(self, source: CudaSource, function: int) -> int | None:
        """The blocks of a grid that follows the card, None where it follows the size."""
        if source.blocks_per_sm is None:
            return None
        fit = self._fitting(source, function)
        if not fit:
            raise KernelUnsupported(f"a block of {source.entry} does not fit an SM of {self.device.name}")
        return self.device.cores * (fit if source.blocks_per_sm == "full" else min(fit, source.blocks_per_sm))

    def allocate(self, arrays: int, elements: int, dtype: str, placements: int, fill: str) -> Buffers:
        """Fresh arrays, each an allocation of its own, filled on the card."""
        kind = np.dtype(dtype)
        if fill not in ("random", "zeros") or (fill == "random" and dtype not in FILLABLE):
            raise ValueError(f"fill = {fill!r} of {dtype}: give 'zeros', or 'random' of {', '.join(FILLABLE)}")
        self._context.use()
        wanted, limit = arrays * placements * elements * kind.itemsize, self.memory_limit()
        if wanted > limit:
            raise MemoryError(f"{wanted / 1e9:.2f} GB wanted and {limit / 1e9:.2f} GB may be used: give smaller arrays")
        handles = [[self._array(elements, kind) for _ in range(arrays)] for _ in range(placements)]
        for placement in handles:
            for seed, array in enumerate(placement):
                self._fill(array, fill, seed)
        self._stream.synchronize()
        return Buffers(handles, elements, kind.itemsize, fill)

    def _array(self, elements: int, dtype: np.dtype[Any]) -> DeviceArray:
        try:
            pointer = int(self._runtime.malloc(max(1, elements * dtype.itemsize)))
        except self._runtime.CUDARuntimeError as refused:
            raise MemoryError(f"{elements * dtype.itemsize / 1e9:.2f} GB refused by the card: {refused}") from refused
        self._allocated.add(pointer)
        return DeviceArray(pointer, elements, dtype)

    def _fill(self, array: DeviceArray, fill: str, seed: int) -> None:
        if fill == "zeros":
            self._runtime.memsetAsync(array.pointer, 0, array.nbytes, self._stream.ptr)
            return
        values = (ctypes.c_uint64(array.pointer), ctypes.c_uint64(array.elements), ctypes.c_uint64(seed))
        function = self._support(f"fill_{array.dtype.name}")
        self._loop.queue(function, 16 * self.device.cores, FILL_THREADS, arguments=Arguments([values]))

    def bind(self, host: Sequence[Array]) -> Buffers:
        """One placement with copies of the `host` arrays."""
        self._context.use()
        handles = []
        for array in host:
            copy = self._array(array.size, array.dtype)
            flat = np.ascontiguousarray(array)
            self._runtime.memcpy(copy.pointer, flat.ctypes.data, copy.nbytes, HOST_TO_DEVICE)
            handles.append(copy)
        self._runtime.deviceSynchronize()
        return Buffers([handles], host[0].size, host[0].dtype.itemsize, "given")

    def read_back(self, buffers: Buffers) -> list[NDArray[np.generic]]:
        """The arrays of the first placement, as they are now on the card."""
        self._synchronize("reading back")
        host = []
        for array in buffers.handles[0]:
            copy = np.empty(array.elements, array.dtype)
            self._runtime.memcpy(copy.ctypes.data, array.pointer, array.nbytes, DEVICE_TO_HOST)
            host.append(copy)
        return host

    def free(self, buffers: Buffers) -> None:
        """Give the memory of `buffers` back; a second time does nothing."""
        for placement in buffers.handles:
            for array in placement:
                if array.pointer in self._allocated:
                    self._allocated.remove(array.pointer)
                    self._runtime.free(array.pointer)

    def run(self, launch: Launch, launches: int, first_window: int = 0, placement: int = 0) -> Timing:
        """Launch back to back, everything queued before the first begins, and time it with events."""
        self._context.use()
        self._forget_persisting_lines()
        name = f"{launch.binary.kernel.experiment}/{launch.binary.kernel.name} ({launch.binary.variant.name})"
        queue = self._queue(launch, placement)
        try:
            for done in range(0, launches, QUEUED_AT_ONCE):
                with self._span.timed():
                    queue(first_window + done, min(QUEUED_AT_ONCE, launches - done))
            measured = self._span.take()
        except (LaunchRefused, self._runtime.CUDARuntimeError) as fault:
            raise DeviceFault(f"{name} failed on {self.device.name}: {fault}") from fault
        return Timing(
            measured.seconds, launches, measured.clock_hz, self._monitor.power_w(), self._monitor.throttle() or None
        )

    def _forget_persisting_lines(self) -> None:
        """Undo what other code in this process reserved of L2, outside the timed span; cards before sm_80 have none."""
        with contextlib.suppress(self._runtime.CUDARuntimeError):
            self._runtime.deviceSetLimit(PERSISTING_L2_SIZE, 0)
            self._driver.cuCtxResetPersistingL2Cache()

    def _queue(self, launch: Launch, placement: int) -> Callable[[int, int], None]:
        """A function (first window, count) that queues launches of `launch`."""
        if isinstance(launch.binary.handle, library.Call):
            return self._calls(launch.binary.handle, launch, placement)
        loaded: Loaded = launch.binary.handle
        source = loaded.source
        whole = launch.size // source.block * source.block if loaded.tail else launch.size
        main = self._arguments(launch, placement, 0, whole)
        grid = loaded.grid or -(-whole // source.block)  # a kernel without a tail takes what is no whole block itself
        if source.then:
            return self._in_pairs(loaded, source.then, grid, launch.size, main)
        if whole == launch.size:
            return lambda first, count: self._loop.queue(
                loaded.function, grid, source.threads, source.shared_bytes, main, first, count
            )
        rest = self._arguments(launch, placement, whole, launch.size - whole)
        tail, tail_grid = loaded.tail or 0, -(-(launch.size - whole) // TAIL_THREADS)

        def both(first: int, count: int) -> None:
            for window in range(first, first + count):
                if whole:
                    self._loop.queue(loaded.function, grid, source.threads, source.shared_bytes, main, window)
                self._loop.queue(tail, tail_grid, TAIL_THREADS, 0, rest, window)

        return both

    def _in_pairs(
        self, loaded: Loaded, then: Following, grid: int, elements: int, arguments: Arguments
    ) -> Callable[[int, int], None]:
        """Each launch of the first function followed by one of the second."""
        source, second, second_grid = loaded.source, loaded.then or 0, -(-elements // then.block)

        def pairs(first: int, count: int) -> None:
            for window in range(first, first + count):
                self._loop.queue(loaded.function, grid, source.threads, source.shared_bytes, arguments, window)
                self._loop.queue(second, second_grid, then.threads, 0, arguments, window)

        return pairs

    def _calls(self, call: library.Call, launch: Launch, placement: int) -> Callable[[int, int], None]:
        """Calls of the library, each on the arrays of its window."""
        arrays, step = launch.buffers.handles[placement], launch.size * launch.buffers.itemsize

        def calls(first: int, count: int) -> None:
            for number in range(first, first + count):
                moved = number % launch.windows * step
                call.multiply([array.pointer + moved for array in arrays], launch.size)

        return calls

    def _arguments(self, launch: Launch, placement: int, offset: int, elements: int) -> Arguments:
        """The arguments of each window: `elements` elements from `offset` on within the window."""
        kernel, itemsize = launch.binary.kernel, launch.buffers.itemsize
        arrays = launch.buffers.handles[placement]
        return Arguments(
            [
                [
                    *(ctypes.c_uint64(a.pointer + (window * launch.size + offset) * itemsize) for a in arrays),
                    ctypes.c_uint64(elements),
                    ctypes.c_uint32(launch.repeats),
                    *map(ctypes.c_float, kernel.scalars),
                ]
                for window in range(launch.windows)
            ]
        )

    def others_busy(self) -> float | None:
        """What NVML says of other processes; None in most containers."""
        return self._monitor.others_busy()

    def time_launches(self, mode: str, launches: int) -> Timing:
        """Launch an empty kernel that way, timed by the host's clock from the first launch to the end of the last."""
        self._context.use()
        return self._empty.timed(mode, launches)

    def time_chains(self, launch: Launch, launched: Launched, chains: int, first_window: int = 0) -> Timing:
        """Chains of launches by the host's clock, from the first launch to the end of the last."""
        self._context.use()
        if self._chained is None or self._chained[0] is not launch:
            self._chained = launch, Chains(self._cupy, self._stream, self._loop, self._bound(launch))
        try:
            seconds = self._chained[1].timed(launched, chains, first_window)
        except (LaunchRefused, self._runtime.CUDARuntimeError) as fault:
            name = f"{launch.binary.kernel.experiment}/{launch.binary.kernel.name} ({launched.mode})"
            raise DeviceFault(f"{name} failed on {self.device.name}: {fault}") from fault
        return Timing(seconds, chains, None, self._monitor.power_w(), self._monitor.throttle() or None)

    def profile(self, launch: Launch) -> int:
        """Launch once, alone, where a profiler that begins when it is told to looks; how many grids that was.

        Raises:
            KernelUnsupported: nobody here knows how many grids a call of the library takes.
        """
        grids = _grids(launch)
        queue = self._queue(launch, 0)
        self._synchronize("waiting to be profiled")
        self._runtime.profilerStart()
        queue(0, 1)
        self._synchronize("being profiled")
        self._runtime.profilerStop()
        return grids

    def _bound(self, launch: Launch) -> Bound:
        """One grid with its arguments; a size that needs a second one for what no block fills is refused."""
        loaded: Loaded = launch.binary.handle
        source = loaded.source
        if loaded.tail and launch.size % source.block:
            raise ValueError(
                f"{launch.size} elements of {launch.binary.kernel.name} need two grids a launch: give a multiple of "
                f"{source.block} where launches are counted one by one"
            )
        grid = loaded.grid or -(-launch.size // source.block)
        arguments = self._arguments(launch, 0, 0, launch.size)
        return Bound(loaded.function, grid, source.threads, source.shared_bytes, arguments)

    def count_launches(self, mode: str, launches: int) -> int:
        """Launch the counting kernel that way and read its counter."""
        self._context.use()
        return self._empty.counted(mode, launches)

    def close(self) -> None:
        """Give memory and stream back; a second time does nothing."""
        if "_library" in self.__dict__:
            self._library.close()
            del self._library
        for pointer in self._allocated:
            self._runtime.free(pointer)
        self._allocated.clear()

    @cached_property
    def _span(self) -> Span:
        return Span(self._cupy, self._stream, self._loop, self._support, self.device.cores)

    @cached_property
    def _library(self) -> library.Products:
        return library.Products(library.load(), self._stream.ptr, self._workspace)

    def _workspace(self, wanted: int) -> int:
        return int(self._array(wanted, np.dtype(np.uint8)).pointer)

    @cached_property
    def _empty(self) -> EmptyLaunches:
        cubin = self._compiler.build(launching.cuda_text(), ("empty", "count"))
        return EmptyLaunches(self._cupy, self._stream, self._loop, self._cupy.RawModule(path=str(cubin.path)))

    def _support(self, name: str) -> int:
        return int(self._support_module.get_function(name).kernel.ptr)

    @cached_property
    def _support_module(self) -> Any:
        text = Path(__file__).with_name("support.cu").read_text(encoding="utf-8")
        names = ("hold", "stamp", *(f"fill_{dtype}" for dtype in FILLABLE))
        return self._cupy.RawModule(path=str(self._compiler.build(text, names).path))

    def _synchronize(self, doing: str) -> None:
        try:
            self._runtime.deviceSynchronize()
        except self._runtime.CUDARuntimeError as fault:
            raise DeviceFault(f"a kernel failed on {self.device.name}, seen while {doing}: {fault}") from fault


def _grids(launch: Launch) -> int:
    """The grids of one launch of ours: its own, one for what no block fills, one for a kernel that follows."""
    loaded: Loaded | library.Call = launch.binary.handle
    if isinstance(loaded, library.Call):
        raise KernelUnsupported("a call of the library takes as many grids as the library likes")
    source = loaded.source
    with_tail = loaded.tail and launch.size > source.block and launch.size % source.block
    return 2 if source.then or with_tail else 1


def _cuda(source: Any) -> CudaSource:
    if isinstance(source, CudaSource):
        return source
    raise TypeError(f"a kernel's CUDA source is a CudaSource (roofline.cuda_source), not {type(source).__name__}")
