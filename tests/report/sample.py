"""Constructed reports: a CPU's whole run and a GPU's, with the roofline model's own placing of every point."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from roofline.model import (
    Absent,
    Ceiling,
    Claim,
    Device,
    Environment,
    Estimate,
    Expectation,
    Measurement,
    Nominal,
    Point,
    RowKey,
    Samples,
    Spread,
    Timer,
    Traffic,
    Work,
)
from roofline.report import Report
from roofline.rooflines import MissingCeiling, Roofline, unit_of

DIAL = tuple(sorted([2**power for power in range(12)] + [12, 24, 48, 96, 192]))
CPU_SLOPES = {"inplace": "dram_update", "nt": "dram_copy_nt", "ordinary": "dram_copy_ordinary"}

CPU = Device(
    name="AMD EPYC 7R13 Processor",
    kind="cpu",
    architecture="znver3",
    cores=2,
    cache_bytes=32 * 2**20,
    nominal={
        "fp32": Nominal(236.8e9, "FLOP/s", "2 cores × 8 lanes × 2 × 2 pipes × 3.70 GHz", "AMD data sheet"),
        "clock": Nominal(3.7e9, "Hz", "maximum boost", "AMD data sheet"),
    },
)
GPU = Device(
    name="NVIDIA H200",
    kind="cuda",
    architecture="9.0",
    cores=132,
    cache_bytes=50 * 2**20,
    memory_class="141GB",
    bus_bits=6144,
    nominal={
        "dram": Nominal(4814e9, "B/s", "2 × 3201 MHz × 6016 bit / 8", "device attributes"),
        "fp32": Nominal(66.9e12, "FLOP/s", "132 SMs × 128 × 2 × 1.98 GHz", "device attributes"),
    },
)
ENVIRONMENT = Environment(
    state={"workers": 2, "smt": False, "power limit": None},
    facts={"date": "2026-11-29", "python": "3.11.4", "governor": None},
)


def ceiling(resource: str, rate: float, kernel: str = "k", device: Device = CPU, **more) -> Ceiling:
    nominal = device.nominal.get(resource)
    return Ceiling(resource, rate, rate * 0.985, rate * 1.012, unit_of(resource), kernel, "u4", nominal=nominal, **more)


def measured(
    key: RowKey, work: Work, seconds: float, noise: float = 0.01, measures: tuple[str, ...] = (), **state
) -> Measurement:
    """A row whose median has an interval of ±`noise`; `state` goes into its samples."""
    samples = Samples((seconds,) * 5, Timer("cycles", 1e-9), clock_hz=Spread(3.55e9, 3.6e9, 3.7e9), **state)
    interval = Estimate(seconds, seconds * (1 - noise), seconds * (1 + noise))
    return Measurement(key, work, "u4", samples, interval, measures, footprint_bytes=268435456)


def row(experiment: str, kernel: str, n: int = 2**25, unit: str = "fp32", level: str = "dram") -> RowKey:
    return RowKey(experiment, kernel, n, unit, level)


def streaming(n: int, flops: float, read: float, written: float, slope: str, unit: str = "fp32") -> Work:
    """`flops` and bytes an element, bounded by `slope`."""
    return Work(flops * n, unit, {"dram": Traffic(read * n, written * n)}, {"dram": slope})


def dial(steps: int, stores: str, slope: str, roofline: Roofline, efficiency: float, noise: float) -> Measurement:
    """A point of the dial that reaches `efficiency` of what the model allows."""
    work = streaming(2**25, 2.0 * steps, 4, 4, slope)
    name = f"dial-{steps:04d}" + ("" if stores == "plain" else f"-{stores}")
    measures = ("fp32",) if steps == DIAL[-1] else ()
    return measured(row("dial", name), work, roofline.seconds(work) / efficiency, noise, measures)


def efficiency(steps: int, ridge_steps: float) -> float:
    """What a real dial shows: close to its roof on both sides, and a soft knee at the ridge."""
    distance = abs(steps - ridge_steps) / max(steps, ridge_steps)
    return 0.985 - 0.17 * max(0.0, 1 - 2 * distance)


def placed(measurements: Sequence[Measurement], roofline: Roofline) -> dict[RowKey, Point]:
    """Every measurement that the ceilings allow to be placed."""
    points = {}
    for measurement in measurements:
        try:
            points[measurement.key] = roofline.place(measurement)
        except (MissingCeiling, ValueError, KeyError):
            continue
    return points


def dials(roofline: Roofline, slopes: Mapping[str, str]) -> list[Measurement]:
    rows = []
    for index, (stores, slope) in enumerate(slopes.items()):
        ridge_steps = 4 * roofline.ridge("fp32", slope).value
        noise = (0.008, 0.05, 0.16)[index % 3]
        rows += [dial(f, stores, slope, roofline, efficiency(f, ridge_steps), noise) for f in DIAL]
    return rows


def cpu_report(**changes) -> Report:
    """A whole run on two cores: ceilings, the dial with three ways to store, DRAM, chains, launches, claims."""
    ceilings = {
        "dram": ceiling("dram", 55.1e9, "update-inplace", clock_hz=3.6e9),
        "dram_update": ceiling("dram_update", 55.1e9, "update-inplace", clock_hz=3.6e9),
        "dram_copy_nt": ceiling("dram_copy_nt", 45.2e9, "copy-nt", clock_hz=3.6e9),
        "dram_copy_ordinary": ceiling("dram_copy_ordinary", 29.8e9, "copy-ordinary", clock_hz=3.6e9),
        "dram_read": ceiling("dram_read", 37.2e9, "read"),
        "fp32": ceiling("fp32", 228e9, "chains-12", clock_hz=3.6e9, at_rated_clock=234e9),
        "fp32_one_chain": ceiling("fp32_one_chain", 29.1e9, "chains-01", clock_hz=3.6e9),
        "launch": ceiling("launch", 0.09e-6, "launch"),
    }
    roofline = Roofline(ceilings)
    rows = [*dials(roofline, CPU_SLOPES), *cpu_dram(), *cpu_chains(), *cpu_launches()]
    report = Report(
        device=CPU,
        environment=ENVIRONMENT,
        ceilings=ceilings,
        measurements=rows,
        points=placed(rows, roofline),
        ridges={f"fp32/{slope}": roofline.ridge("fp32", slope) for slope in CPU_SLOPES.values()},
        claims=CLAIMS,
        absent=(Absent(row("tensor", "mma-fp16", unit="tensor_fp16"), "unsupported", "no tensor units on a CPU"),),
        notes=("2 of 4 processors are left out: they share a core",),
        baseline="0003_second.json",
    )
    return replace(report, **changes)


def cpu_dram() -> list[Measurement]:
    n = 2**25
    patterns = {
        "read": ("dram_read", 1, 4, 0, 37.2e9),
        "write-nt": ("dram_write", 0, 0, 4, 31.0e9),
        "copy-nt": ("dram_copy_nt", 0, 4, 4, 45.2e9),
        "copy-ordinary": ("dram_copy_ordinary", 0, 4, 4, 29.8e9),
        "update-inplace": ("dram_update", 1, 4, 4, 55.1e9),
        "triad-ordinary": ("dram_triad_ordinary", 2, 8, 4, 30.2e9),
    }
    rows = []
    for name, (slope, flops, read, written, rate) in patterns.items():
        work = streaming(n, flops, read, written, slope)
        rows.append(measured(row("dram", name), work, (read + written) * n / rate, 0.06, (slope,)))
    return rows


def cpu_chains() -> list[Measurement]:
    rates = {1: 29.1e9, 2: 58.0e9, 4: 115e9, 8: 227e9, 12: 228e9, 16: 226e9}
    work = Work(2.0 * 2048 * 4096 * 16, "fp32", {"dram": Traffic(0, 0), "l1": Traffic(262144, 262144)})
    return [
        measured(row("chains", f"chains-{n:02d}", 4096, level="l1"), work, work.flops / rate, 0.002, ("fp32",))
        for n, rate in rates.items()
    ]


def cpu_launches() -> list[Measurement]:
    work = Work(0.0, "none", {"dram": Traffic(0.0, 0.0)})
    modes = {"launch": 0.09e-6, "launch_sync": 1.52e-6}
    keys = {mode: row("launch", mode, 1000, "none", "none") for mode in modes}
    return [measured(keys[mode], work, seconds, 0.03, (mode,)) for mode, seconds in modes.items()]


CLAIMS = (
    Claim(
        "A2",
        "below the ridge GB/s stays at the DRAM ceiling while GFLOP/s doubles with F",
        Expectation(0.9, 1.1, "formula: min(P, I·β)"),
        Estimate(0.985, 0.97, 1.0),
        "confirmed",
    ),
    Claim(
        "A4",
        "measured ridge = best GFLOP/s / best GB/s",
        Expectation(3.6, 4.6, "baseline 0003_second.json", "FLOP/B"),
        Estimate(5.2, 5.0, 5.4),
        "refuted",
        "above what was expected",
    ),
    Claim(
        "C2",
        "a launch that is waited for costs more than one that is queued",
        Expectation(1.0, float("inf"), "family: any CPU"),
        Estimate(1.1, 0.9, 1.3),
        "inconclusive",
        "its noise reaches across the edge of what was expected",
    ),
    Claim("R1", "no FMA is half the FP32 roof", None, None, "not-applicable", "Zen has separate pipes"),
)


def gpu_report(**changes) -> Report:
    """A data-centre GPU with a cache level, shared memory, tensor units and kernels of a user's own."""
    ceilings = {
        name: ceiling(name, rate, device=GPU)
        for name, rate in {
            "dram": 4290e9,
            "dram_read": 4420e9,
            "l2": 8900e9,
            "shared": 33.1e12,
            "fp64": 32.9e12,
            "fp32": 62.1e12,
            "fp32_no_fma": 31.2e12,
            "fp32_one_chain": 58.9e12,
            "fp32_divergent_2": 31.0e12,
            "fp32_divergent_32": 1.94e12,
            "sfu_exp2": 8.2e12,
            "tensor_fp16_fp32acc": 792e12,
            "tensor_bf16": 788e12,
            "tensor_tf32": 401e12,
            "tensor_fp8": 1540e12,
        }.items()
    }
    roofline = Roofline(ceilings)
    rows = [*dials(roofline, {"plain": "dram"}), *gpu_kernels(roofline)]
    report = Report(
        device=GPU,
        environment=ENVIRONMENT,
        ceilings=ceilings,
        measurements=rows,
        points=placed(rows, roofline),
        ridges={f"{unit}/dram": roofline.ridge(unit, "dram") for unit in ("fp64", "fp32", "tensor_fp16_fp32acc")},
    )
    return replace(report, **changes)


def gpu_kernels(roofline: Roofline) -> list[Measurement]:
    n = 2**26
    works = {
        "vecadd": (streaming(n, 1, 8, 4, "dram"), 0.97),
        "softmax": (streaming(n, 5, 4, 4, "dram"), 0.91),
        "layer-norm": (streaming(n, 8, 4, 4, "dram"), 0.34),
        "gemm-fp16": (streaming(n, 1365 * 6, 4, 2, "dram", "tensor_fp16_fp32acc"), 0.83),
        "gemm-naive": (streaming(n, 8, 16, 16, "dram"), 2.4),
    }
    return [
        measured(row("placed", name, n, work.unit), work, roofline.seconds(work) / share, 0.02)
        for name, (work, share) in works.items()
    ]


# Every line that an H200 has, about as it measures them: B/s, FLOP/s, OP/s.
CARD = {
    "dram": 4268e9,
    "dram_read": 4511e9,
    "dram_write": 4667e9,
    "dram_triad": 4383e9,
    "l2": 9700e9,
    "l1": 33.0e12,
    "shared": 33.1e12,
    "fp64": 33.1e12,
    "fp32": 65.7e12,
    "fp16": 130e12,
    "bf16": 129e12,
    "int32": 33.0e12,
    "int8_dot": 132e12,
    "tensor_fp16_fp32acc": 834e12,
    "tensor_fp16_fp16acc": 840e12,
    "tensor_bf16": 829e12,
    "tensor_tf32": 415e12,
    "tensor_fp8": 1610e12,
    "tensor_int8": 1650e12,
    "tensor_fp64": 64.9e12,
    "fp32_no_fma": 32.9e12,
    "fp32_one_chain": 65.5e12,
    **{f"fp32_divergent_{lanes}": 65.7e12 * lanes / 32 for lanes in (16, 8, 4, 2, 1)},
    **{f"dram_stride_{stride}": 4511e9 / stride for stride in (2, 4, 8)},
    "sfu_exp2": 4.1e12,
    "sfu_rsqrt": 4.1e12,
    "sfu_sin": 3.9e12,
    "launch": 3.2e-6,
    "launch_sync": 8.1e-6,
    "launch_graph": 0.6e-6,
}
TILED = {16: 7.1e12, 32: 7.6e12}
"""FLOP/s of a tiled matmul, by the side of its tiles."""


def tiled(tile: int, rows: int = 4096) -> Measurement:
    """A matmul that is counted at three levels, and limited by the innermost."""
    traffic = {
        "dram": Traffic(8.0 * rows**2, 4.0 * rows**2),
        "l2": Traffic(8.0 * rows**3 / tile, 4.0 * rows**2),
        "shared": Traffic(8.0 * rows**3, 8.0 * rows**3 / tile),
    }
    work = Work(2.0 * rows**3, "fp32", traffic)
    return measured(row("matmul", f"matmul-tile-{tile}", rows**2, level="l2"), work, work.flops / TILED[tile], 0.003)


def card_report(**changes) -> Report:
    """A card with every line there is: 34 ceilings, the dial, and kernels that are placed once a level."""
    ceilings = {name: ceiling(name, rate, device=GPU, clock_hz=1.98e9) for name, rate in CARD.items()}
    roofline = Roofline(ceilings)
    rows = [*dials(roofline, {"plain": "dram"}), *map(tiled, TILED)]
    ridges = {f"fp32/{slope}": roofline.ridge("fp32", slope) for slope in ("dram", "l2", "shared")}
    return replace(Report(GPU, ENVIRONMENT, ceilings, rows, placed(rows, roofline), ridges), **changes)
