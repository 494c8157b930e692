"""R7: bandwidth is what is on its way divided by how long that takes (Little's law), until the memory is full.

On a GPU the bytes on their way are warps × 32 lanes × loads in flight a thread × 4 bytes, on each SM. On a CPU, whose
prefetchers fetch what nobody asked for yet, only loads that depend on one another can be counted: n streams, in each of
which the next address waits for the line before, have n lines of 64 bytes on their way on each core.

One stream alone shows the latency: on a CPU the row with one stream on one core, on a GPU the kernel `chase`, a single
thread on the whole card. Its time is nothing but latency, so it counts no work.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from roofline.kernel import Array, Kernel, Source, Target
from roofline.llvm import LINE
from roofline.model import Estimate, Measurement, Traffic, Variant, Work

from . import in_flight_cpu, in_flight_cuda

WARPS = (4, 16, 32, 64)
LOADS = (1, 4, 16)
STREAMS = (1, 2, 4, 8, 16)
CORES = {"one-core": 1, "all-cores": None}
BYTES_OF_A_WARP = 32 * 4  # on their way with one load a thread
# A stream's launch walks one of so many windows, so that even a single one is through with it in a moment.
WINDOWS = 16
# Loads that a launch of the chase takes one after another, and the elements from one to the next: 4 KiB, where no line,
# sector or page of the memory serves two.
HOPS, SPACING = 2048, 1024
CHASE = "chase"


def bytes_in_flight(kernel: str, cores: int) -> float | None:
    """Bytes on their way at once in a kernel of that name on a device of so many SMs or cores; None for others."""
    who, _, streams = kernel.rpartition("-streams-")
    if who in CORES:
        return float(LINE * int(streams) * (CORES[who] or cores))
    warps, _, loads = kernel.removeprefix("warps-").partition("-loads-")
    return float(cores * int(warps) * int(loads) * BYTES_OF_A_WARP) if loads else None


def latency_by_law(measurement: Measurement, cores: int) -> Estimate:
    """Seconds a load by Little's law: what is on its way over the rate at which it arrives.

    Raises:
        ValueError: nobody knows what this kernel has on its way.
    """
    there = bytes_in_flight(measurement.key.kernel, cores)
    if there is None:
        raise ValueError(f"{measurement.key}: only reads with a set number of bytes in flight have a latency by law")
    return measurement.bytes_per_s().inverse(there)


def latency_of_a_hop(chased: Measurement) -> Estimate:
    """Seconds a load by the chase, in which one waits for the other."""
    return chased.seconds.over(float(_asked_for(chased.key.size, SPACING)))


def bytes_needed(settings: Sequence[tuple[float, float]], rate: float) -> float | None:
    """Bytes in flight at which `rate` is reached, None where none of the (bytes, rate) `settings` reaches it.

    Between the last setting below it and the first that reaches it the rate is taken for a straight line.
    """
    before = (0.0, 0.0)
    for there, reached in sorted(settings):
        if reached >= rate:
            return before[0] + (there - before[0]) * (rate - before[1]) / (reached - before[1])
        before = there, reached
    return None


def _asked_for(n: int, spacing: int) -> int:
    return -(-n // spacing)


def warps(count: int, loads: int) -> Kernel:
    """A pure read with `count` warps on each SM and `loads` loads of 4 bytes in flight in each thread."""
    kernel = _kernel(
        f"warps-{count:02d}-loads-{loads:02d}",
        lambda target: in_flight_cuda.variants(target, count, loads),
        {"cuda": lambda target, variant: in_flight_cuda.read(variant)},
    )
    return replace(kernel, unsupported={"cuda": f"an SM of this architecture holds fewer than {count} warps"})


def streams(cores: str, count: int) -> Kernel:
    """`count` streams of dependent loads on each of the `CORES`."""
    block = in_flight_cpu.block(max(STREAMS))
    kernel = _kernel(
        f"{cores}-streams-{count:02d}",
        lambda target: in_flight_cpu.variants(target, count),
        {"cpu": lambda target, variant: in_flight_cpu.source(target, variant, CORES[cores])},
    )
    return replace(kernel, size=lambda elements: elements // WINDOWS // block * block)


def chase() -> Kernel:
    """One thread on the whole card, and one load of it at a time."""

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return _added_up([arrays[0][::SPACING], arrays[1]], launches)

    kernel = _kernel(CHASE, in_flight_cuda.one_thread, {"cuda": lambda target, variant: in_flight_cuda.chase(SPACING)})
    return replace(
        kernel,
        work=lambda n: Work(0.0, "none", {"dram": Traffic(0.0, 0.0)}, convention="no work: the time is latency"),
        reference=reference,
        size=lambda elements: min(elements, HOPS * SPACING),
    )


def _kernel(
    name: str,
    variants: Callable[[Target], Sequence[Variant]],
    sources: dict[str, Callable[[Target, Variant], Source]],
) -> Kernel:
    """A read of everything, of which the sum is added to the last array."""
    return Kernel(
        experiment="in_flight",
        name=name,
        unit="none",
        level="dram",
        work=_work,
        variants=variants,
        sources=sources,
        reference=_added_up,
        observe=lambda arrays: [np.asarray(arrays[-1].sum(dtype=np.float64))],
    )


def _work(n: int) -> Work:
    return Work(
        flops=0.0,
        unit="none",
        traffic={"dram": Traffic(4.0 * n, 0.0)},
        slopes={"dram": "dram_read"},
        convention="each element read once; not the additions that prove it arrived",
    )


def _added_up(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
    return [np.asarray(arrays[-1].sum(dtype=np.float64) + launches * arrays[0].sum(dtype=np.float64))]


def every_kernel() -> Iterator[Kernel]:
    """Warps × loads and the chase on a GPU, cores × streams on a CPU."""
    yield from (warps(count, loads) for count in WARPS for loads in LOADS)
    yield chase()
    yield from (streams(cores, count) for cores in CORES for count in STREAMS)
