"""The nouns: what flows from a device to a report, each a frozen value in base SI units.

Seconds, bytes, FLOP, FLOP/s, B/s, Hz everywhere; text with prefixes is made in `roofline.units` alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from statistics import median
from typing import Literal

BYTES_PER_SECOND = "B/s"
FLOP_PER_SECOND = "FLOP/s"
OP_PER_SECOND = "OP/s"  # integer arithmetic: a multiply-add is 2, as an FMA is 2 FLOP
SECONDS = "s"
# File systems take names of 255 bytes; a folder's name should also be read by people.
LONGEST_SLUG = 80


@dataclass(frozen=True)
class Nominal:
    """A rate the maker promises, in `unit`, with the formula and the source it came from; never used by a verdict."""

    rate: float
    unit: str
    formula: str
    source: str


@dataclass(frozen=True)
class Device:
    """What a device *is*: the model key by which baselines match, and its nominal rates. No clock reading, no driver.

    `cores` counts SMs or usable CPU cores; `cache_bytes` is the last cache before DRAM, which buffers must exceed;
    `memory_class` the rounded memory size where makers sell one name with several; None is unknown or not applicable.
    """

    name: str
    kind: Literal["cuda", "cpu", "fake"]
    architecture: str
    cores: int
    cache_bytes: int | None = None
    memory_class: str | None = None
    bus_bits: int | None = None
    mig_profile: str | None = None
    nominal: Mapping[str, Nominal] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> tuple[str | int | None, ...]:
        """The values that two records must share to be of the same model."""
        return (
            self.name,
            self.kind,
            self.architecture,
            self.cores,
            self.cache_bytes,
            self.memory_class,
            self.bus_bits,
            self.mig_profile,
        )

    @property
    def slug(self) -> str:
        """The folder name of this model's baselines: lower case letters, digits and single dashes."""
        parts = [self.name]
        if self.kind != "cuda":
            parts += [self.architecture, f"{self.cores}c"]
        if self.mig_profile:
            parts.append(self.mig_profile)
        text = "".join(c if c.isascii() and c.isalnum() else "-" for c in " ".join(parts).lower())
        slug = "-".join(filter(None, text.split("-"))) or "unnamed"
        if len(slug) <= LONGEST_SLUG:
            return slug
        return f"{slug[: LONGEST_SLUG - 9]}-{sha256(slug.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Environment:
    """How a device *was* that day. Never a key; every comparison prints what differs.

    `state` holds what makes figures incomparable when it differs (power limit, ECC, threads, platform); `facts` the
    rest (driver, versions, load). A value is a plain JSON scalar; None is unknown.
    """

    state: Mapping[str, str | float | int | bool | None] = field(default_factory=dict)
    facts: Mapping[str, str | float | int | bool | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Traffic:
    """Bytes that cross one memory level in one launch."""

    read: float
    written: float

    @property
    def total(self) -> float:
        """Bytes read plus bytes written (M8)."""
        return self.read + self.written


@dataclass(frozen=True)
class Work:
    """What one launch computes and moves, counted from the algorithm.

    `traffic` maps a memory level to its bytes. `slopes` names, for a level, the bandwidth ceiling that bounds this mix
    of reads and writes where it is not the level's own (`{"dram": "dram_copy_nt"}`). `convention` says how it was
    counted. `algorithmic` is what the algorithm needs, each input read once and each output written once, where the
    outermost level of `traffic` has more: what this program asks for (M11).
    """

    flops: float
    unit: str
    traffic: Mapping[str, Traffic]
    slopes: Mapping[str, str] = field(default_factory=dict)
    convention: str = "FMA = 2 FLOP; each input read once, each output written once"
    algorithmic: Traffic | None = None

    def intensity(self, level: str = "dram") -> float:
        """FLOP per byte at `level`; infinite where the level moves nothing.

        Raises:
            KeyError: the work is not counted at `level`.
        """
        moved = self.traffic[level].total
        return self.flops / moved if moved else float("inf")

    def moved(self, level: str) -> float:
        """Bytes read and written at `level`; 0 where none are counted."""
        return self.traffic[level].total if level in self.traffic else 0.0

    def slope(self, level: str = "dram") -> str:
        """The resource whose bandwidth bounds this work at `level`."""
        return self.slopes.get(level, level)


@dataclass(frozen=True, order=True)
class RowKey:
    """By what a row of one record is found in another: never by node id, never by variant.

    `size` is the number of elements a launch handles, `unit` the arithmetic unit, `level` the memory level that the
    experiment is about, `fill` the contents of the buffers.
    """

    experiment: str
    kernel: str
    size: int
    unit: str
    level: str
    fill: str = "random"

    def __str__(self) -> str:
        return f"{self.experiment}/{self.kernel} n={self.size} {self.unit} {self.level} {self.fill}"


@dataclass(frozen=True)
class Variant:
    """One member of the family that is searched for a kernel's best form on the device at hand."""

    name: str
    parameters: Mapping[str, int | str | bool] = field(default_factory=dict)

    def __getitem__(self, parameter: str) -> int | str | bool:
        return self.parameters[parameter]

    def integer(self, parameter: str) -> int:
        """The parameter as an integer."""
        return int(self.parameters[parameter])


@dataclass(frozen=True)
class Timer:
    """The clock that timed a sample: a stable name for the record and its tick in seconds."""

    name: str
    tick_s: float


@dataclass(frozen=True)
class Spread:
    """Least, middle and greatest of a set of readings."""

    min: float
    median: float
    max: float

    @classmethod
    def of(cls, readings: "list[float] | tuple[float, ...]") -> "Spread | None":
        """The spread of `readings`, None of none."""
        if not readings:
            return None
        return cls(min(readings), median(readings), max(readings))


@dataclass(frozen=True)
class Samples:
    """Device seconds of single launches, in the order they ran, with the state they ran in.

    `placements[i]` numbers the allocation that sample i ran on: physical placement alone moves DRAM figures.
    `disturbed` is the share of the machine that others used meanwhile (None: unknown). `flags` names what is wrong with
    the series ("throttled", "drifting", "two-peaked", "disturbed"). `burst_s` and `sustained_s` are the medians of the
    first and the last tenth where the series drifts, else None.
    """

    seconds: tuple[float, ...]
    timer: Timer
    launches: int = 1
    cold: bool = True
    placements: tuple[int, ...] = ()
    clock_hz: Spread | None = None
    power_w: float | None = None
    throttle: str | None = None
    disturbed: float | None = None
    flags: tuple[str, ...] = ()
    burst_s: float | None = None
    sustained_s: float | None = None


@dataclass(frozen=True)
class Estimate:
    """A figure with the interval that its noise leaves open: low <= value <= high."""

    value: float
    low: float
    high: float

    def over(self, other: "Estimate | float") -> "Estimate":
        """The quotient with `other`, with its widest interval (all values positive)."""
        if not isinstance(other, Estimate):
            other = Estimate(other, other, other)
        high = self.high / other.low if other.low else float("inf")
        return Estimate(self.value / other.value, self.low / other.high, high)

    def inverse(self, numerator: float) -> "Estimate":
        """`numerator` divided by this: work over time gives a rate, unbounded where the time may be 0."""
        high = numerator / self.low if self.low else float("inf")
        return Estimate(numerator / self.value, numerator / self.high, high)


@dataclass(frozen=True)
class Measurement:
    """One row: a kernel's best variant, timed. `seconds` is the time of one launch with the interval of its median.

    `measures` names the ceilings that this row is a candidate for. `beside` is its share of its slope's bandwidth and
    `beside_roof` that of its arithmetic roof, each taken sample by sample in turns with the kernel that set the
    ceiling: what unseen neighbours take of a machine changes within minutes, these do not.
    `achieved` holds the bytes that crossed a level where something counted them. A row whose time is that of a chain of
    launches says of how `launches`, and in which `launch_mode`.
    `compile_s` is apart from `samples`. `binary` is a hash of the machine code that ran.
    """

    key: RowKey
    work: Work
    variant: str
    samples: Samples
    seconds: Estimate
    measures: tuple[str, ...] = ()
    footprint_bytes: int = 0
    math_mode: str = ""
    binary: str = ""
    compile_s: float = 0.0
    searched: Mapping[str, float] = field(default_factory=dict)
    beside: Estimate | None = None
    beside_roof: Estimate | None = None
    achieved: Mapping[str, Traffic] = field(default_factory=dict)
    launches: int = 1
    launch_mode: str = "launch"

    @property
    def flop_per_s(self) -> Estimate:
        """Arithmetic rate of a launch."""
        return self.seconds.inverse(self.work.flops)

    def bytes_per_s(self, level: str = "dram") -> Estimate:
        """Counted bytes of `level` over time."""
        return self.seconds.inverse(self.work.traffic[level].total)


@dataclass(frozen=True)
class Absent:
    """A row that was meant and has no figure, with the reason. Never a zero, never a NaN."""

    key: RowKey
    status: Literal["unsupported", "skipped", "error"]
    reason: str


@dataclass(frozen=True)
class Ceiling:
    """The best that a resource did on this device: a rate in `unit`, and what reached it.

    Latencies ("s") are ceilings too: there the best is the least. `at_rated_clock` is the rate scaled from the measured
    to the nominal clock, None where either is unknown. `source` says whether it was measured in full, by a quick probe
    in this session, or read from a baseline.
    """

    resource: str
    rate: float
    low: float
    high: float
    unit: str
    kernel: str
    variant: str
    clock_hz: float | None = None
    nominal: Nominal | None = None
    at_rated_clock: float | None = None
    footprint_bytes: int = 0
    source: Literal["measured", "probe", "baseline", "specification"] = "measured"

    @property
    def estimate(self) -> Estimate:
        """The rate with its interval."""
        return Estimate(self.rate, self.low, self.high)

    @property
    def of_nominal(self) -> Estimate | None:
        """The rate over the nominal one at the clock that was measured; None where either is unknown."""
        if self.nominal is None or self.at_rated_clock is None:
            return None
        scale = self.at_rated_clock / self.rate / self.nominal.rate
        return Estimate(*(scale * side for side in (self.rate, self.low, self.high)))


Regime = Literal["memory", "compute", "overhead", "above-roof"]


@dataclass(frozen=True)
class Point:
    """A measurement placed under a roofline, once for each memory level whose bytes are counted and slope is known.

    `intensities` holds its FLOP per byte at each of them (H2), and `level` is the one that judges it: there the share
    is largest. `roof` is the attainable FLOP/s at the intensity there, `bound_by` the ceiling that sets it, `fraction`
    the measured share of it, never clamped: above 1 (beyond `tolerance`) the regime is "above-roof". `nearest` lists
    every ceiling that applies, the slope of each level and the roof of its unit, with its own share, nearest first.
    """

    intensity: float
    flop_per_s: float
    roof: float
    bound_by: str
    fraction: float
    regime: Regime
    nearest: tuple[tuple[str, float], ...] = ()
    level: str = "dram"
    intensities: Mapping[str, float] = field(default_factory=dict)


Case = Literal["extra-bytes", "below-roof", "at-roof", "overhead", "impossible"]


@dataclass(frozen=True)
class Spot:
    """A place on the chart: bytes that cross a level, FLOP per byte, and the least seconds that the model gives it."""

    bytes: float
    intensity: float
    seconds: float


@dataclass(frozen=True)
class Diagnosis:
    """Which case of the routine holds for a placed kernel (L3), what tells, and what to try next.

    `ideal` has the bytes that the algorithm needs, `real` those that crossed `level`, the one nearest its slope;
    `fraction` is the share of the roof `bound_by` there, `gain` how many times faster the ideal point would be.
    `perhaps` is the other case that the noise leaves open. `finding` and `advice` are for people, a sentence or two.
    """

    case: Case
    level: str
    bound_by: str
    regime: Regime
    fraction: Estimate
    ideal: Spot
    real: Spot
    gain: float
    nearest: tuple[tuple[str, float], ...]
    finding: str
    advice: str
    perhaps: Case | None = None


Outcome = Literal["confirmed", "refuted", "inconclusive", "not-applicable"]


@dataclass(frozen=True)
class Expectation:
    """What a claim expects before the run: a figure within [low, high], in `unit`, and where that came from.

    `source` is "baseline FILE", "family: …" or "formula: …". An open side is infinite.
    """

    low: float
    high: float
    source: str
    unit: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of the chapter, judged: what was expected, from where, what was measured, and the outcome."""

    id: str
    statement: str
    expected: Expectation | None
    measured: Estimate | None
    outcome: Outcome
    reason: str = ""
