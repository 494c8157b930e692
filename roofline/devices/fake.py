"""A device that is told its truth: it runs the whole pipeline in tests, on a clock of its own, faults included.

A launch takes max(FLOPs / P, bytes / β) + launch cost (M1) by the ceilings in its `FakeTruth`; the results are those of
the kernel's own reference. Nothing sleeps: only time on the device's clock passes.
"""

import ctypes
import hashlib
import json
import math
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from roofline.devices.base import (
    Binary,
    Buffers,
    DeviceFault,
    KernelUnsupported,
    Launch,
    Timing,
    WrongMachineCode,
)
from roofline.kernel import Array, Kernel, Launched, Target
from roofline.model import (
    Device,
    Environment,
    Nominal,
    Timer,
    Variant,
    Work,
)
from roofline.rooflines import unit_of

HERTZ = "Hz"


def _positive(where: str, value: float) -> None:
    """ValueError unless a rate, factor or time is positive and finite."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{where} is {value:g}: give a positive finite number")


@dataclass(frozen=True)
class FakeTimer:
    """The device's clock: its tick, and what is wrong with it. Every `zero_every`-th reading is 0 (0: none)."""

    tick_s: float = 1e-9
    frozen: bool = False
    backwards: bool = False
    zero_every: int = 0

    def __post_init__(self) -> None:
        """Refuse a tick that no clock has."""
        _positive("tick_s", self.tick_s)


@dataclass(frozen=True)
class FakeClock:
    """The core clock: what it runs at, what is promised, and to what share of that it is held down.

    One in `throttle_every` readings is throttled: 0 none, 1 all. Arithmetic slows with the clock, memory does not.
    """

    hz: float | None = 1.0e9
    nominal_hz: float | None = 1.0e9
    throttle_share: float = 1.0
    throttle_every: int = 0
    reason: str | None = None

    def __post_init__(self) -> None:
        """Refuse a clock that would stop."""
        _positive("throttle_share", self.throttle_share)


@dataclass(frozen=True)
class FakeSeries:
    """How one reading differs from the next.

    Each is multiplied by exp(noise x normal), by a drift that grows with every launch up to `drift_limit`, by
    `slow_factor` in a random `slow_share` of them, and by the factor of its placement (`placements`, repeating). Up to
    `start_delay_s` pass before a batch starts; reading number `outlier_at` takes `outlier_s` longer.
    """

    noise: float = 0.0
    seed: int = 1
    drift_per_launch: float = 0.0
    drift_limit: float = 0.5
    slow_factor: float = 1.0
    slow_share: float = 0.0
    placements: tuple[float, ...] = (1.0,)
    start_delay_s: float = 0.0
    outlier_s: float = 0.0
    outlier_at: int = 0

    def __post_init__(self) -> None:
        """Refuse what would leave a launch no time at all."""
        for factor in (self.slow_factor, *(self.placements or [0.0])):
            _positive("a factor on time", factor)
        if self.drift_per_launch < 0 and self.drift_limit >= 1:
            raise ValueError(f"drift_limit is {self.drift_limit:g}: time can fall by less than 1, such as 0.15")


@dataclass(frozen=True)
class FakeFaults:
    """What goes wrong; names of kernels are patterns ("dial-*").

    Launch number `fail_at`, or any launch of `fail_kernels`, fails. Kernels of `hang_kernels` never end: an
    interruptible hang heeds signals, a native one does not. `dishonest` kernels move `moved` times the bytes they
    count. `skipping` kernels do no work, `wrong` ones result in something else, `wrong_code` ones are built wrong.
    Of each count of empty launches `lost_launches` never ran.
    """

    fail_at: int | None = None
    fail_kernels: str = ""
    hang_kernels: str = ""
    hang: Literal["interruptible", "native"] = "interruptible"
    dishonest: str = ""
    moved: float = 1.0
    skipping: str = ""
    wrong: str = ""
    wrong_code: str = ""
    lost_launches: int = 0


def _default_ceilings() -> dict[str, float]:
    memory = {"dram": 100e9, "l2": 400e9, "l1": 1.6e12}
    return memory | {"fp64": 500e9, "fp32": 1e12, "int32": 1e12, "fp32_one_chain": 125e9, "sfu_exp2": 125e9}


def _default_launches() -> dict[str, float]:
    return {"launch": 2e-6, "launch_sync": 6e-6, "launch_graph": 1e-6, "launch_python": 12e-6}


@dataclass(frozen=True)
class FakeTruth:
    """Everything there is to know about a fake device.

    `ceilings` maps resources to rates, `nominal` to what the maker promises, `launch_s` ways to launch to seconds (its
    "launch" is also the cost of every kernel's launch), `variants` patterns of variant names to factors on their time.
    `memory_bytes` is what buffers may take together; buffers that fit in `cache_bytes` are served at the ceiling "l2".
    Each call costs the host `host_s` and each build `build_s`, on the wall clock alone.
    """

    name: str = "Fake device"
    cores: int = 4
    memory_bytes: int = 8 * 2**30
    cache_bytes: int | None = 4 * 2**20
    ceilings: Mapping[str, float] = field(default_factory=_default_ceilings)
    nominal: Mapping[str, float] = field(default_factory=dict)
    launch_s: Mapping[str, float] = field(default_factory=_default_launches)
    variants: Mapping[str, float] = field(default_factory=dict)
    state: Mapping[str, str | float | int | bool | None] = field(default_factory=dict)
    others_busy: float | None = 0.0
    power_w: float | None = None
    host_s: float = 0.0
    build_s: float = 0.0
    timer: FakeTimer = field(default_factory=FakeTimer)
    clock: FakeClock = field(default_factory=FakeClock)
    series: FakeSeries = field(default_factory=FakeSeries)
    faults: FakeFaults = field(default_factory=FakeFaults)

    def __post_init__(self) -> None:
        """Refuse rates and times that no device has."""
        for group in ("ceilings", "nominal", "launch_s", "variants"):
            for key, value in getattr(self, group).items():
                _positive(f"{group}.{key}", value)
        if "launch" not in self.launch_s:
            raise ValueError('launch_s lacks "launch": every kernel\'s launch costs that many seconds')

    @classmethod
    def from_json(cls, path: Path) -> "FakeTruth":
        """The truth that a JSON file tells; what the file leaves out keeps its default.

        Raises ValueError, naming file, key and value, for anything that is not a truth.
        """
        try:
            told = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
            return _read(cls, told, "")
        except OSError as error:
            raise ValueError(f"{path}: cannot be read ({error.strerror}); give a JSON file with a truth") from error
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def _refuse(token: str) -> NoReturn:
    raise ValueError(f"{token} is not JSON: give a finite number, or leave the key out")


Noun = TypeVar("Noun")
SCALARS: Mapping[type, str] = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}


def _read(noun: type[Noun], told: object, where: str) -> Noun:
    """The dataclass that a JSON object tells; ValueError for a key it has not or a value of another type."""
    if not isinstance(told, dict):
        raise ValueError(f"{where or 'the file'} is {told!r}: give an object of keys and values")
    hints = get_type_hints(noun)
    allowed = [entry.name for entry in fields(noun)]  # type: ignore[arg-type]  # every noun here is a dataclass
    for key in told:
        if key not in allowed:
            raise ValueError(f"unknown key {where}{key!s}: allowed are {', '.join(where + name for name in allowed)}")
    return noun(**{key: _value(hints[key], value, f"{where}{key}") for key, value in told.items()})


def _value(hint: Any, told: object, where: str) -> Any:
    """A JSON value as the type that a field has."""
    options = get_args(hint)
    if hasattr(hint, "__dataclass_fields__"):
        return _read(hint, told, f"{where}.")
    if get_origin(hint) is Literal:
        if told not in options:
            raise ValueError(f"{where} is {told!r}: allowed are {', '.join(map(repr, options))}")
        return told
    if get_origin(hint) is tuple:
        if not isinstance(told, list):
            raise ValueError(f"{where} is {told!r}: give a list")
        return tuple(_value(options[0], entry, f"{where}[{place}]") for place, entry in enumerate(told))
    if get_origin(hint) is Mapping:
        if not isinstance(told, dict):
            raise ValueError(f"{where} is {told!r}: give an object of names and values")
        return {key: _value(options[1], value, f"{where}.{key}") for key, value in told.items()}
    return _scalar(options or (hint,), told, where)


def _scalar(allowed: Sequence[type], told: object, where: str) -> Any:
    """A JSON scalar of one of the allowed types; a whole number also serves as a number."""
    if type(told) in allowed:
        return told
    if type(told) is int and float in allowed:
        return float(told)
    names = " or ".join(SCALARS.get(kind, "null") for kind in allowed)
    raise ValueError(f"{where} is {told!r}: give {names}")


@dataclass(frozen=True)
class _Ran:
    """What a run of launches did: which kernel, on which of the arrays, how many elements a window."""

    kernel: Kernel
    places: tuple[int, ...]
    size: int


@dataclass(eq=False)
class _Allocation:
    """One placement: its arrays as they were filled, and how often each window was launched since."""

    fill: Callable[[], list[Array]]
    nbytes: int
    launched: dict[tuple[str, int, int, tuple[int, ...]], tuple[_Ran, list[int]]] = field(default_factory=dict)

    def note(self, launch: Launch, launches: int, first_window: int) -> None:
        """Remember how often each window was launched; what it results in is computed when somebody looks."""
        kernel = launch.binary.kernel
        ran = _Ran(kernel, tuple(place for _, place in launch.buffers.handles[0]), launch.size)
        key = (f"{kernel.experiment}/{kernel.name}", ran.size, launch.windows, ran.places)
        _, counts = self.launched.setdefault(key, (ran, [0] * launch.windows))
        rounds, rest = divmod(launches, launch.windows)
        for window in range(launch.windows):
            counts[window] += rounds + ((window - first_window) % launch.windows < rest)

    def arrays(self) -> list[Array]:
        """The arrays after everything that was launched."""
        arrays = self.fill()
        for ran, counts in self.launched.values():
            for window, count in enumerate(counts):
                part = slice(window * ran.size, (window + 1) * ran.size) if len(counts) > 1 else slice(None)
                if count:
                    _show(ran.kernel, [arrays[place][part] for place in ran.places], count)
        return arrays


def _show(kernel: Kernel, arrays: Sequence[Array], launches: int) -> None:
    """Write into the last arrays what the kernel's reference says that they show.

    A result of the arrays' own shape is written as it is. A single number becomes an array with that sum, split so that
    no digit is lost. Other results cannot be shown: NotImplementedError.
    """
    results = kernel.reference(arrays, launches)
    for array, result in zip(arrays[len(arrays) - len(results) :], map(np.asarray, results), strict=True):
        if result.shape == array.shape:
            array[...] = result.astype(array.dtype)
        elif result.size == 1:
            array[...] = 0
            rest = float(result.reshape(-1)[0])
            for place in range(min(array.size, 4)):
                array.flat[place] = rest
                rest -= float(array.flat[place])
        else:
            raise NotImplementedError(
                f"the fake device cannot show {kernel.name}: its reference has the shape {result.shape}, "
                f"allowed are that of its array, {array.shape}, and a single number"
            )


def _filled(arrays: int, elements: int, dtype: str, fill: str) -> list[Array]:
    """Arrays with the contents that every device fills in: the same each time."""
    if fill == "zeros":
        return [np.zeros(elements, dtype) for _ in range(arrays)]
    values = np.random.default_rng(1)
    return [(1 + values.random(elements)).astype(dtype) for _ in range(arrays)]


def _device(truth: FakeTruth) -> Device:
    """The device as the truth describes it, with the nominal clock among its nominal rates."""
    promised = dict(truth.nominal)
    if truth.clock.nominal_hz is not None:
        promised["clock"] = truth.clock.nominal_hz
    nominal = {
        key: Nominal(rate, HERTZ if key == "clock" else unit_of(key), "as told", "the fake device's truth")
        for key, rate in promised.items()
    }
    return Device(truth.name, "fake", "fake", truth.cores, truth.cache_bytes, nominal=nominal)


@dataclass
class _VirtualTime:
    """The two clocks of a fake device: its own, which times launches, and the wall's, which also sees the host."""

    device_s: float = 0.0
    wall_s: float = 0.0

    def device(self, seconds: float) -> None:
        """The device worked and the host waited."""
        self.device_s += seconds
        self.wall_s += seconds


def _hang(how: str) -> NoReturn:
    """Never return. An interruptible hang heeds signals; a native one waits in C for a lock that nobody gives back."""
    if how == "interruptible":
        while True:
            threading.Event().wait()
    library = ctypes.CDLL(None)
    lock = ctypes.create_string_buffer(256)  # room for any platform's pthread_mutex_t
    library.pthread_mutex_init(lock, None)
    while True:
        library.pthread_mutex_lock(lock)


class FakeBackend:
    """An opened fake device; `now` is its wall clock, for the functions that take one."""

    def __init__(self, truth: FakeTruth) -> None:
        self.truth = truth
        self.device = _device(truth)
        self.target = Target("fake", "fake", lanes=8, registers=32)
        self.timer = Timer("fake", truth.timer.tick_s)
        self.launch_timers: Mapping[str, Timer] = dict.fromkeys(truth.launch_s, self.timer)
        self.least_sample_s = 0.0
        self.unit = ""
        self.notes: Sequence[str] = ("this device is fake: its results are what its truth tells",)
        self.launch_modes: Sequence[str] = tuple(truth.launch_s)
        self.chain_modes: Sequence[str] = self.launch_modes
        self.hanging = threading.Event()
        """Set just before a launch hangs."""
        self.launched = 0
        """Launches so far, empty ones included."""
        self.readings = 0
        """How often the device's clock timed something."""
        self._time = _VirtualTime()
        self._random = random.Random(truth.series.seed)
        self._held: list[_Allocation] = []

    def now(self) -> float:
        """Seconds on the virtual wall clock."""
        return self._time.wall_s

    def environment(self) -> Environment:
        """The state that the truth tells."""
        return Environment({"platform": "fake", **self.truth.state}, {"others_busy": self.truth.others_busy})

    def memory_limit(self) -> int:
        """Bytes that are left for buffers."""
        return self.truth.memory_bytes - sum(allocation.nbytes for allocation in self._held)

    def build(self, kernel: Kernel, variants: Sequence[Variant]) -> Sequence[Binary]:
        """Each variant, without any code: the truth alone decides how fast it is."""
        faults = self.truth.faults
        if fnmatchcase(kernel.name, faults.wrong_code):
            raise WrongMachineCode(f"{kernel.name}: the fake device was told to build this kernel wrong")
        self._bound(kernel, kernel.work(1), "dram")
        self._time.wall_s += self.truth.build_s * len(variants)
        return [self._binary(kernel, variant) for variant in variants]

    def _binary(self, kernel: Kernel, variant: Variant) -> Binary:
        identity = f"{kernel.experiment}/{kernel.name}/{variant.name}"
        return Binary(kernel, variant, None, hashlib.sha256(identity.encode()).hexdigest(), build_s=self.truth.build_s)

    def allocate(self, arrays: int, elements: int, dtype: str, placements: int, fill: str) -> Buffers:
        """Arrays that take no memory of the host until they are read back."""
        if fill not in ("random", "zeros"):
            raise ValueError(f"fill {fill!r}: allowed are 'random' and 'zeros'")
        itemsize = np.dtype(dtype).itemsize
        nbytes = arrays * elements * itemsize
        if placements * nbytes > self.memory_limit():
            left = self.memory_limit()
            raise MemoryError(f"{placements * nbytes} bytes were asked for, {left} are left: ask for less")
        make = partial(_filled, arrays, elements, dtype, fill)
        return self._buffers([_Allocation(make, nbytes) for _ in range(placements)], arrays, elements, itemsize, fill)

    def bind(self, host: Sequence[Array]) -> Buffers:
        """One placement with copies of the host's arrays."""
        kept = [array.copy() for array in host]
        allocation = _Allocation(lambda: [array.copy() for array in kept], sum(array.nbytes for array in kept))
        return self._buffers([allocation], len(kept), kept[0].size, kept[0].itemsize, "host")

    def _buffers(
        self, allocations: Sequence[_Allocation], arrays: int, elements: int, itemsize: int, fill: str
    ) -> Buffers:
        self._held += allocations
        handles = [[(allocation, place) for place in range(arrays)] for allocation in allocations]
        return Buffers(handles, elements, itemsize, fill)

    def read_back(self, buffers: Buffers) -> list[Array]:
        """What the reference of every launched kernel results in."""
        allocation: _Allocation = buffers.handles[0][0][0]
        every = allocation.arrays()
        arrays = [every[place] for _, place in buffers.handles[0]]
        kernels = {ran.kernel.name for ran, _ in allocation.launched.values()}
        if any(fnmatchcase(name, self.truth.faults.wrong) for name in kernels):
            arrays[-1][-1:] = np.add(arrays[-1][-1:], 1)
        return arrays

    def free(self, buffers: Buffers) -> None:
        """Give the bytes back; ValueError where they were given back before."""
        for handles in buffers.handles:
            self._held.remove(handles[0][0])

    def run(self, launch: Launch, launches: int, first_window: int = 0, placement: int = 0) -> Timing:
        """Let the time pass that the truth gives these launches, and note what they result in."""
        kernel = launch.binary.kernel
        self._fail_or_hang(kernel, launches)
        if not fnmatchcase(kernel.name, self.truth.faults.skipping):
            launch.buffers.handles[placement][0][0].note(launch, launches, first_window)
        factors = self.truth.series.placements
        seconds = self._seconds(launch, self.truth.launch_s["launch"])
        return self._pass(seconds * factors[placement % len(factors)], launches)

    def _fail_or_hang(self, kernel: Kernel, launches: int) -> None:
        faults, before = self.truth.faults, self.launched
        self.launched += launches
        if fnmatchcase(kernel.name, faults.hang_kernels):
            self.hanging.set()
            _hang(faults.hang)
        due = faults.fail_at is not None and before < faults.fail_at <= self.launched
        if due or fnmatchcase(kernel.name, faults.fail_kernels):
            raise DeviceFault(f"{kernel.experiment}/{kernel.name} failed: the fake device was told to")

    def time_chains(self, launch: Launch, launched: Launched, chains: int, first_window: int = 0) -> Timing:
        """Let the time pass that the truth gives a chain: its work, and what each launch costs in that mode."""
        kernel = launch.binary.kernel
        self._fail_or_hang(kernel, chains * launched.chain)
        if not fnmatchcase(kernel.name, self.truth.faults.skipping):
            launch.buffers.handles[0][0][0].note(launch, chains * launched.chain, first_window)
        return self._pass(self._seconds(launch, launched.chain * self._mode(launched.mode)), chains)

    def _seconds(self, launch: Launch, cost_s: float) -> float:
        """Seconds of one launch, or chain, by the ceilings and its cost, before anything disturbs it."""
        kernel = launch.binary.kernel
        if fnmatchcase(kernel.name, self.truth.faults.skipping):
            return cost_s
        bound_s = self._bound(kernel, kernel.work(launch.size), self._serving(launch))
        variant = launch.binary.variant.name
        factors = (factor for name, factor in self.truth.variants.items() if fnmatchcase(variant, name))
        return bound_s * launch.repeats / kernel.repeats * next(factors, 1.0) + cost_s

    def _serving(self, launch: Launch) -> str:
        """The level that serves what the kernel counts as DRAM traffic: the cache, where all of it fits in there."""
        arrays = len(launch.buffers.handles[0])
        footprint = launch.size * launch.windows * launch.buffers.itemsize * arrays
        return "l2" if footprint <= (self.truth.cache_bytes or 0) and "l2" in self.truth.ceilings else "dram"

    def _bound(self, kernel: Kernel, work: Work, serving: str) -> float:
        """max(FLOPs / P, bytes / β) over the levels that the truth has a ceiling for."""
        bounds = [0.0]
        if work.flops:
            bounds.append(work.flops / self._arithmetic(kernel, work.unit) / self._clock_share())
        for level, traffic in work.traffic.items():
            slope = serving if level == "dram" and serving != "dram" else work.slope(level)
            rate = self.truth.ceilings.get(slope, self.truth.ceilings.get(level))
            if rate is None and level == "dram" and traffic.total:
                raise KernelUnsupported(f"the fake device was told no ceiling {slope!r} for {kernel.name}")
            moved = self.truth.faults.moved if fnmatchcase(kernel.name, self.truth.faults.dishonest) else 1.0
            if rate is not None:
                bounds.append(moved * traffic.total / rate)
        return max(bounds)

    def _arithmetic(self, kernel: Kernel, unit: str) -> float:
        """The rate of the kernel's arithmetic: that of the narrower roof it measures, if told, else of its unit."""
        own = [name for name in kernel.measures if name.startswith(f"{unit}_") and name in self.truth.ceilings]
        for name in [*own, unit]:
            if name in self.truth.ceilings:
                return self.truth.ceilings[name]
        raise KernelUnsupported(f"the fake device was told no ceiling {unit!r} for {kernel.name}")

    def _clock_share(self) -> float:
        """The share of its clock that the next reading runs at."""
        clock = self.truth.clock
        held = clock.throttle_every and self.readings % clock.throttle_every == 0
        return clock.throttle_share if held else 1.0

    def _disturbed(self, seconds: float) -> float:
        """One launch as the next reading shows it: with noise, drift and a second level."""
        series = self.truth.series
        drifted = min(abs(series.drift_per_launch) * self.launched, series.drift_limit)
        factor = 1 + math.copysign(drifted, series.drift_per_launch)
        factor *= math.exp(series.noise * self._random.gauss(0, 1))
        if self._random.random() < series.slow_share:
            factor *= series.slow_factor
        return seconds * factor

    def _pass(self, seconds: float, launches: int) -> Timing:
        """Let `launches` of so many seconds pass, and read the device's clock before and after."""
        series, clock = self.truth.series, self.truth.clock
        share = self._clock_share()
        total = self._disturbed(seconds) * launches + series.start_delay_s * self._random.random()
        if series.outlier_s and self.readings == series.outlier_at:
            total += series.outlier_s
        self.readings += 1
        began = self._time.device_s
        self._time.device(total)
        self._time.wall_s += self.truth.host_s
        return Timing(
            seconds=self._shown(began, self._time.device_s),
            launches=launches,
            clock_hz=None if clock.hz is None else clock.hz * share,
            power_w=self.truth.power_w,
            throttle=clock.reason if share < 1 else None,
        )

    def _shown(self, began: float, ended: float) -> float:
        """What the device's clock shows between two moments: whole ticks, and what is wrong with it."""
        timer = self.truth.timer
        ticks = math.floor(ended / timer.tick_s) - math.floor(began / timer.tick_s)
        if timer.frozen or (timer.zero_every and self.readings % timer.zero_every == 0):
            return 0.0
        return -ticks * timer.tick_s if timer.backwards else ticks * timer.tick_s

    def others_busy(self) -> float | None:
        """The share that the truth tells."""
        return self.truth.others_busy

    def time_launches(self, mode: str, launches: int) -> Timing:
        """Empty launches, at the truth's seconds for that mode."""
        self.launched += launches
        return self._pass(self._mode(mode), launches)

    def count_launches(self, mode: str, launches: int) -> int:
        """How many of the launches ran: those that the truth does not lose."""
        self._mode(mode)
        return max(0, launches - self.truth.faults.lost_launches)

    def _mode(self, mode: str) -> float:
        if mode not in self.truth.launch_s:
            raise ValueError(f"launch mode {mode!r}: allowed are {', '.join(self.truth.launch_s)}")
        return self.truth.launch_s[mode]

    def close(self) -> None:
        """Nothing to give back: the arrays belong to whoever holds them."""
