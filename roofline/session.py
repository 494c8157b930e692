"""One run on one device: measures kernels, keeps what was measured, and answers what the ceilings are.

Knows nothing of pytest. Everything measured stays here whatever happens next, so that an interrupted run can be saved.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import median

from roofline.buffers import ARRAYS, BufferPlan, plan
from roofline.checking import check
from roofline.claims import Known
from roofline.counting import BYTES
from roofline.devices.base import Backend, Binary, Buffers, KernelUnsupported, Launch
from roofline.kernel import InvalidKernel, Kernel
from roofline.kernels import every_kernel
from roofline.kernels import launch as launching
from roofline.model import (
    BYTES_PER_SECOND,
    SECONDS,
    Absent,
    Ceiling,
    Claim,
    Environment,
    Estimate,
    Measurement,
    Point,
    RowKey,
    Samples,
    Work,
)
from roofline.rooflines import MissingCeiling, Roofline, ceilings_of, rate_of, unit_of
from roofline.stats import estimate
from roofline.timing import DISTURBED, Budget, beside, sample, sample_launches, search
from roofline.units import si

# Bursts of a kernel that the device cannot sustain: an eighth of its work, a twentieth of a second apart.
BURST = 8
BURSTS = Budget(seconds=0.0, min_samples=8, max_samples=8, warm_s=0.0, sample_s=0.0, rest_s=0.05)
SUSTAINED = Budget(seconds=1.0, relative_error=0.0, warm_s=0.3)
# How often what others disturbed is measured again, and the seconds that a run may spend on it in all: no more than
# makes it a third longer.
AGAIN, AGAIN_S = 2, 20.0
# With more of its rows disturbed than this, a run says more about the others than about the device.
MOST_DISTURBED = 0.25
# From half the ridge on the arithmetic roof has a say in a kernel's time, and up to twice the ridge memory has.
NOT_YET, NO_LONGER = 0.5, 2.0


@dataclass
class Session:
    """The state of a run: a device, a time budget, and everything measured so far."""

    backend: Backend
    budget: Budget = field(default_factory=Budget)
    probe_budget: Budget = field(default_factory=lambda: Budget(seconds=0.05))
    baseline: Known | None = None
    measurements: dict[RowKey, Measurement] = field(default_factory=dict)
    probes: dict[RowKey, Measurement] = field(default_factory=dict)
    absent: dict[RowKey, Absent] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    current: str = ""

    def __post_init__(self) -> None:
        self.device = self.backend.device
        least = self.backend.least_sample_s
        self.budget = replace(self.budget, sample_s=max(least, self.budget.sample_s))
        self.probe_budget = replace(self.probe_budget, sample_s=max(least, self.probe_budget.sample_s))
        now = self.backend.environment()
        today = datetime.now(UTC).date().isoformat()
        self.environment: Environment = replace(now, facts={**now.facts, "date": today})
        self._plan: BufferPlan | None = None
        self._arenas: dict[str, Buffers] = {}
        self._small: dict[tuple[int, str, str], Buffers] = {}
        self._built: dict[int, tuple[Kernel, Sequence[Binary]]] = {}
        self._draining: set[str] = set()
        self._again_s = AGAIN_S
        self._winners: dict[tuple[str, str], Launch] = {}

    def measure(self, kernel: Kernel) -> Measurement:
        """Build every variant, check each against the reference, find the fastest, time it and keep the row.

        Raises:
            KernelUnsupported: recorded as absent, with its reason.
            InvalidKernel: a row of that name is there already, and stays.
            Exception: whatever went wrong, recorded as absent with status "error".

        """
        fitted = self.fitted(kernel)
        return self._keep(self._key(fitted), lambda: self._measure(fitted, self.budget), fitted.name)

    def measure_launches(self, mode: str) -> Measurement:
        """Time empty launches in one of the modes of `roofline.kernels.launch` and keep the row."""
        key = RowKey("launch", mode, size=1, unit="none", level="none", fill="none")
        return self._keep(key, lambda: self._measure_launches(key, mode), mode)

    def count_launches(self, mode: str) -> tuple[int, int]:
        """Launches asked for and launches that really ran, by counting (C4)."""
        return launching.COUNTED, self.backend.count_launches(mode, launching.COUNTED)

    def _keep(self, key: RowKey, run: Callable[[], Measurement], name: str) -> Measurement:
        self.current = f"{key.experiment}/{name}"
        if key in self.measurements:
            raise InvalidKernel(f"{key} was measured before in this run: give each kernel a name of its own")
        try:
            measurement = run()
        except KernelUnsupported as reason:
            self.absent[key] = Absent(key, "unsupported", str(reason))
            raise
        except Exception as fault:
            self.absent[key] = Absent(key, "error", f"{type(fault).__name__}: {fault}")
            raise
        self.measurements[key] = measurement
        self.absent.pop(key, None)
        return measurement

    def fitted(self, kernel: Kernel) -> Kernel:
        """The kernel in the size that suits this session's device."""
        return kernel.fitted(self.device) if kernel.fitted else kernel

    def row_key(self, kernel: Kernel) -> RowKey:
        """By what the row of a kernel is found in a record of this device."""
        return self._key(self.fitted(kernel))

    def _key(self, kernel: Kernel) -> RowKey:
        try:
            elements = self._room(kernel)
        except Exception:  # noqa: BLE001 - the row is named all the same; measuring it raises this again
            elements = 0
        size = kernel.size(elements)
        kept = size if isinstance(size, int) else 0  # measuring it says what is wrong with any other
        return RowKey(kernel.experiment, kernel.name, kept, kernel.unit, kernel.level, kernel.fill)

    def _room(self, kernel: Kernel) -> int:
        """Elements that fit one array of the buffers this kernel wants."""
        if kernel.memory == "dram":
            return self.buffer_plan.array_bytes // BYTES[kernel.dtype]
        return kernel.size(0)

    @property
    def buffer_plan(self) -> BufferPlan:
        """The sizes of the DRAM buffers of this session.

        Raises:
            TooLittleMemory: they do not fit.

        """
        if self._plan is None:
            self._plan = plan(self.device, self.backend.memory_limit())
        return self._plan

    def buffers(self, kernel: Kernel) -> Buffers:
        """The arrays that `kernel` works on: the session's large ones, or small ones of its own."""
        if kernel.memory == "dram":
            return self._dram_buffers(kernel)
        size, dtype, fill = wanted = kernel.size(0), kernel.dtype, kernel.fill
        if kernel.memory == "own":
            return self._own_buffers(kernel, size)
        if wanted not in self._small:
            self._small[wanted] = self.backend.allocate(ARRAYS, size, dtype, 1, fill)
        return _first(self._small[wanted], kernel.arrays)

    def _dram_buffers(self, kernel: Kernel) -> Buffers:
        if kernel.dtype not in self._arenas:
            planned, limit = self.buffer_plan, self.backend.memory_limit()
            fitting = limit * planned.placements // planned.total_bytes  # less, where another type has arrays already
            if not fitting:
                each = planned.total_bytes // planned.placements
                raise KernelUnsupported(
                    f"its {kernel.dtype} arrays take {si(each, 'B')}, and {si(limit, 'B')} can be had"
                )
            self._arenas[kernel.dtype] = self.backend.allocate(
                planned.arrays, self._room(kernel), kernel.dtype, min(fitting, planned.placements), "random"
            )
        return _first(self._arenas[kernel.dtype], kernel.arrays)

    def _own_buffers(self, kernel: Kernel, size: int) -> Buffers:
        """Fresh arrays of exactly the size that a kernel asks for."""
        wanted, limit = size * BYTES[kernel.dtype] * kernel.arrays, self.backend.memory_limit()
        if wanted > limit:
            raise KernelUnsupported(f"its arrays take {si(wanted, 'B')}, and {si(limit, 'B')} can be had")
        return self.backend.allocate(kernel.arrays, size, kernel.dtype, 1, kernel.fill)

    def binaries(self, kernel: Kernel) -> Sequence[Binary]:
        """Every variant of a kernel, built and found correct, once a session."""
        if id(kernel) not in self._built:
            variants = kernel.variants(self.backend.target)
            if not variants:
                raise KernelUnsupported(
                    kernel.unsupported.get(self.device.kind)
                    or f"no variant of it fits the registers of {self.backend.target.architecture}"
                )
            built = self.backend.build(kernel, variants)
            for binary in built:
                check(self.backend, binary)
            self._built[id(kernel)] = kernel, built  # held, so that no other kernel can get its id
        return self._built[id(kernel)][1]

    def launch(self, kernel: Kernel, variant: str) -> Launch:
        """One launch of a variant on this session's buffers, checked against the reference, for others to carry out.

        Raises:
            KernelUnsupported: this device has no such variant.

        """
        fitted = self.fitted(kernel)
        for binary in self.binaries(fitted):
            if binary.variant.name == variant:
                buffers = self.buffers(fitted)
                return _launch(binary, buffers, fitted.size(buffers.elements))
        raise KernelUnsupported(f"{kernel.name} has no variant {variant!r} on {self.device.name}")

    def _measure(self, kernel: Kernel, budget: Budget) -> Measurement:
        _validate(kernel)
        _validate_counts(kernel, kernel.size(self._room(kernel)))
        if kernel.launched and kernel.launched.mode not in self.backend.chain_modes:
            reason = f"a {self.device.kind} device launches no chain that way ({kernel.launched.mode})"
            raise KernelUnsupported(kernel.unsupported.get(self.device.kind) or reason)
        binaries = self.binaries(kernel)
        buffers = self.buffers(kernel)
        try:
            return self._timed(kernel, binaries, buffers, budget)
        finally:
            if kernel.memory == "own":
                self.backend.free(buffers)

    def _timed(self, kernel: Kernel, binaries: Sequence[Binary], buffers: Buffers, budget: Budget) -> Measurement:
        size = kernel.size(buffers.elements)
        launches = {binary.variant.name: _launch(binary, buffers, size) for binary in binaries}
        winner, searched = search(self.backend, launches, budget)
        best = launches[winner]
        if kernel.sustained:
            self._draining.add(kernel.experiment)
        samples = self._sustained(best) if kernel.sustained else self._undisturbed(best, budget)
        work = kernel.work(size)
        fed, busy = self._in_turns(kernel, work, best, budget)
        return Measurement(
            key=self._key(kernel),
            work=work,
            variant=winner,
            samples=samples,
            seconds=estimate(samples),
            measures=kernel.measures,
            beside=fed,
            beside_roof=busy,
            footprint_bytes=buffers.elements * buffers.itemsize * kernel.arrays,
            math_mode=best.binary.math_mode
            or ("fused" if self.backend.target.has_fma else "separate multiply and add"),
            binary=best.binary.digest,
            compile_s=sum(binary.build_s for binary in binaries),
            searched=searched,
            launches=kernel.launched.chain if kernel.launched else 1,
            launch_mode=kernel.launched.mode if kernel.launched else "launch",
        )

    def _undisturbed(self, launch: Launch, budget: Budget) -> Samples:
        """Samples of a launch: taken again, twice at most, where others disturbed them and the run has time for that.

        The least disturbed series counts, and still says how much it was.
        """
        samples = sample(self.backend, launch, budget)
        for _ in range(AGAIN):
            if (samples.disturbed or 0.0) <= DISTURBED or self._again_s <= 0:
                break
            began = time.monotonic()
            again = sample(self.backend, launch, budget)
            self._again_s -= time.monotonic() - began
            samples = min(samples, again, key=lambda series: series.disturbed or 0.0)
        return samples

    def _sustained(self, launch: Launch) -> Samples:
        """Samples of a second without a pause, and of bursts: an eighth of the work each, after a rest, from cold."""
        burst = sample(self.backend, replace(launch, repeats=launch.repeats // BURST), BURSTS)
        held = sample(self.backend, launch, SUSTAINED)
        return replace(
            held, burst_s=BURST * median(burst.seconds), sustained_s=median(held.seconds[len(held.seconds) // 2 :])
        )

    def _in_turns(
        self, kernel: Kernel, work: Work, launch: Launch, budget: Budget
    ) -> tuple[Estimate | None, Estimate | None]:
        """The shares of its slope and of its roof that a kernel reaches, in turns with the kernels that set them."""
        if kernel.memory != "own":  # its arrays are gone afterwards, so nothing can take turns with it
            self._winners[kernel.experiment, kernel.name] = launch
        if kernel.memory != "dram":
            return None, None
        ceilings = self.ceilings()
        slope, roof = ceilings.get(work.slope()), ceilings.get(work.unit)
        if slope is None or not work.moved("dram"):
            return None, None
        past = work.intensity() * slope.rate / roof.rate if roof else 0.0
        fed = busy = None
        if past < NO_LONGER and slope.resource not in kernel.measures:
            fed = self._share_of(slope, work.traffic["dram"].total, launch, budget)
        shared = self.device.kind != "cuda"  # the units of an SM are nobody else's: its roof does not move
        if shared and roof and past > NOT_YET and roof.resource not in kernel.measures:
            busy = self._share_of(roof, work.flops, launch, budget)
        return fed, busy

    def _share_of(self, ceiling: Ceiling, amount: float, launch: Launch, budget: Budget) -> Estimate | None:
        """The share of a ceiling that a launch of so many bytes or FLOPs reaches, in turns with the kernel that set it.

        None where that kernel's arrays are gone.
        """
        holder = next(
            m
            for m in self._all().values()
            if ceiling.resource in m.measures and rate_of(m, ceiling.resource).value == ceiling.rate
        )
        control = self._winners.get((holder.key.experiment, holder.key.kernel))
        if control is None:
            return None
        held = holder.work.traffic["dram"].total if ceiling.unit == BYTES_PER_SECOND else holder.work.flops
        return _times(amount / held, beside(self.backend, launch, control, budget))

    def _all(self) -> dict[RowKey, Measurement]:
        return self.probes | self.measurements

    def _measure_launches(self, key: RowKey, mode: str) -> Measurement:
        if mode not in self.backend.launch_modes:
            raise KernelUnsupported(f"a {self.device.kind} device has no such way to launch")
        samples = sample_launches(self.backend, mode, self.budget)
        return Measurement(
            key=key,
            work=launching.work(1),
            variant="empty",
            samples=samples,
            seconds=estimate(samples),
            measures=(mode,),
        )

    def unquiet(self) -> str:
        """How many rows others disturbed, where that is too many for a baseline; empty where it is not."""
        rows = list(self.measurements.values())
        shares = [m.samples.disturbed or 0.0 for m in rows]
        disturbed = sum(share > DISTURBED for share in shares)
        if disturbed <= MOST_DISTURBED * len(rows):
            return ""
        return (
            f"the machine was not quiet: others disturbed {disturbed} of {len(rows)} rows, by up to {max(shares):.0%}"
        )

    def held_down(self) -> str:
        """What held the clock down in most rows of a run, empty where nothing did.

        Kernels that draw so much power that every device lowers its clock for them do not count.
        """
        steady = [m.samples for key, m in self.measurements.items() if key.experiment not in self._draining]
        held = [samples.throttle for samples in steady if samples.throttle]
        return held[len(held) // 2] if 2 * len(held) > len(steady) else ""

    def ceilings(self) -> dict[str, Ceiling]:
        """What was measured in this session, and for what was not, what a quick probe found."""
        probed = {
            resource: replace(ceiling, source="probe")
            for resource, ceiling in ceilings_of(self.probes.values(), self.device).items()
        }
        return probed | ceilings_of(self.measurements.values(), self.device)

    def roofline(self) -> Roofline:
        """The roofline of what is known so far."""
        return Roofline(self.ceilings())

    def ensure(self, resources: Iterable[str]) -> list[str]:
        """Probe the ceilings that nothing in this session has measured; returns those that were probed now."""
        known = self.ceilings()
        missing = [resource for resource in dict.fromkeys(resources) if resource not in known]
        for resource in missing:
            for kernel in every_kernel():
                if resource in kernel.measures and runs_on(kernel, self.device.kind):
                    with suppress(KernelUnsupported):  # the others that measure it are enough
                        self._probe(kernel)
        return missing

    def _probe(self, kernel: Kernel) -> None:
        kernel = self.fitted(kernel)
        key = self._key(kernel)
        if key not in self.probes and key not in self.measurements:
            self.current = f"quick probe of {kernel.experiment}/{kernel.name}"
            self.probes[key] = self._measure(kernel, self.probe_budget)

    def points(self) -> dict[RowKey, Point]:
        """Every measurement that has a roof above it, placed.

        What a buffer holds changes what a device does, so a row of zeros is not judged by a roof of random data.
        """
        roofline = self.roofline()
        placed = {}
        for key, measurement in self.measurements.items():
            if key.fill == "zeros":
                continue
            try:
                placed[key] = roofline.place(measurement)
            except (MissingCeiling, ValueError):
                continue
        return placed

    def ridges(self) -> dict[str, Estimate]:
        """Ridge points by "unit/slope": of each pair that judges some measurement, and of each such unit with DRAM."""
        ceilings = self.ceilings()
        pairs = {pair for measurement in self.measurements.values() for pair in _judging(measurement)}
        pairs |= {(unit, "dram") for unit, _ in pairs}
        roofline = Roofline(ceilings)
        return {
            f"{unit}/{slope}": roofline.ridge(unit, slope)
            for unit, slope in sorted(pairs)
            if unit in ceilings and slope in ceilings
        }

    def close(self) -> None:
        """Give everything back to the device."""
        self.backend.close()


def _judging(measurement: Measurement) -> set[tuple[str, str]]:
    """The roof with each slope that judges a measurement; what measures a ceiling is judged by DRAM's at most."""
    work, measures = measurement.work, measurement.measures
    levels = [level for level in work.traffic if work.moved(level)]
    if measures:
        levels = ["dram"] if measurement.key.level == "dram" else []
    return {(work.unit, work.slope(level)) for level in levels if work.slope(level) not in measures}


def _times(factor: float, share: Estimate) -> Estimate:
    return Estimate(factor * share.value, factor * share.low, factor * share.high)


def _validate(kernel: Kernel) -> None:
    """Refuse, before it costs any time, a kernel whose row could not be found again or has no arrays.

    Raises:
        InvalidKernel: its names are empty, or its type is not known.
    """
    name = f"{kernel.experiment}/{kernel.name}"
    if not kernel.experiment or not kernel.name:
        raise InvalidKernel(f"{name!r}: a kernel needs an experiment and a name, by which its row is found again")
    if kernel.dtype not in BYTES:
        raise InvalidKernel(f"{name}: its arrays are of {kernel.dtype!r}: give one of {', '.join(BYTES)}")


def _validate_counts(kernel: Kernel, size: int) -> None:
    """Refuse, before it costs any time, a kernel whose row could not be kept.

    Raises:
        InvalidKernel: it handles no elements, its work is no count, or counts nothing of what it measures.
    """
    name = f"{kernel.experiment}/{kernel.name}"
    if not isinstance(size, int) or size < 1:
        raise InvalidKernel(f"{name}: a launch handles {size!r} elements: give an integer, 1 or more")
    work = kernel.work(size)
    if work.unit != kernel.unit:
        raise InvalidKernel(
            f"{name}: its work is counted in {work.unit!r} and the kernel says {kernel.unit!r}: one unit"
        )
    if kernel.memory == "dram" and "dram" not in work.traffic:
        raise InvalidKernel(f"{name}: its work counts {sorted(work.traffic)}: a kernel on DRAM buffers counts 'dram'")
    counts = {"flops": work.flops}
    for level, traffic in work.traffic.items():
        counts |= {f"bytes read at {level}": traffic.read, f"bytes written at {level}": traffic.written}
    for what, count in counts.items():
        if not 0 <= count < float("inf"):
            raise InvalidKernel(f"{name}: {what} of {size} elements are {count}: give a number, 0 or more")
    for resource in kernel.measures:
        if not _counts(work, resource):
            raise InvalidKernel(f"{name}: it measures {resource!r} and its work counts nothing of that")


def _counts(work: Work, resource: str) -> bool:
    """Whether work says what a ceiling is the rate of. Launches are timed empty, and not by a kernel."""
    unit = unit_of(resource)
    if unit == BYTES_PER_SECOND:
        return work.moved(resource.split("_")[0]) > 0
    return bool(resource) and unit != SECONDS and work.flops > 0


def runs_on(kernel: Kernel, kind: str) -> bool:
    """Whether a kernel has code for this kind of device. The fake device stands in for a CPU."""
    return ("cpu" if kind == "fake" else kind) in kernel.sources


def disturbance(measurements: Iterable[Measurement]) -> str:
    """What others did to the machine while these were measured, empty if nothing that matters."""
    shares = [m.samples.disturbed for m in measurements if m.samples.disturbed is not None]
    worst = max(shares, default=0.0)
    return f"others used {worst:.0%} of the machine meanwhile" if worst > DISTURBED else ""


def _first(buffers: Buffers, arrays: int) -> Buffers:
    return replace(buffers, handles=[handles[:arrays] for handles in buffers.handles])


def _launch(binary: Binary, buffers: Buffers, size: int) -> Launch:
    return Launch(binary, buffers, size, windows=max(1, buffers.elements // size), repeats=binary.kernel.repeats)
