"""W1, W2: blocks of fixed work, from half a wave to many, and one more or less than a whole number of waves.

A device has so many places for blocks: on a GPU each SM holds some at once, on a CPU each core is one. A grid fills all
places, again and again: it takes as long as the number of waves, rounded up. Blocks are as good as equal, and one more
than a whole number of waves keeps all the others waiting.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from roofline.kernel import Array, Kernel
from roofline.model import Device, Traffic, Work

from . import waves_cpu, waves_cuda

EXPERIMENT = "waves"
SCALARS = (0.5, 0.5)
_NAME = re.compile(r"waves-(\d+\.\d)([+-]\d)?(?:-of-cores)?")


@dataclass(frozen=True)
class Grid:
    """So many waves of blocks, and a few blocks more or less."""

    waves: float
    more: int = 0

    @property
    def name(self) -> str:
        """The name of its row; names sort by size."""
        return f"waves-{self.waves:04.1f}" + (f"{self.more:+d}" if self.more else "")

    def blocks(self, places: int) -> int:
        """Its blocks where a wave has so many."""
        return max(1, round(self.waves * places) + self.more)


def grid_of(name: str) -> Grid | None:
    """The grid of a row of that name, None for a name of another kind."""
    match = _NAME.fullmatch(name)
    return Grid(float(match[1]), int(match[2] or 0)) if match else None


CORE = (Grid(0.5), Grid(1), Grid(1, +1))
WAVES = (2, 4, 8, 16, 32)
GRIDS = (*CORE, Grid(1, -1), Grid(1.5), *(Grid(waves, more) for waves in WAVES for more in (-1, 0, +1)))


def places(device: Device) -> int:
    """Blocks that a device works on at once: a wave."""
    return device.cores * (waves_cuda.RESIDENT if device.kind == "cuda" else 1)


def block_of(device: Device) -> int:
    """Elements of a block."""
    return waves_cuda.THREADS if device.kind == "cuda" else waves_cpu.LANES


def _fixed(steps: int) -> Callable[[int], Work]:
    def work(n: int) -> Work:
        return Work(
            flops=2.0 * steps * n,
            unit="fp32",
            traffic={"dram": Traffic(0.0, 0.0)},
            convention="FMA = 2 FLOP; a few elements for thousands of steps, their traffic is not counted",
        )

    return work


def _stepped(steps: int) -> Callable[[Sequence[Array], int], Sequence[Array]]:
    return lambda arrays, launches: [arrays[0].astype(np.float64) + SCALARS[0] * SCALARS[1] * steps]


def fitted(kernel: Kernel, grid: Grid, device: Device) -> Kernel:
    """The kernel with the blocks that the grid has on this device."""
    size = block_of(device) * grid.blocks(places(device))
    return replace(kernel, fitted=None, size=lambda elements: size)


def _kernel(grid: Grid, kernel: Kernel) -> Kernel:
    return replace(kernel, fitted=lambda device: fitted(kernel, grid, device))


def kernel_cuda(grid: Grid) -> Kernel:
    """A grid of blocks, so many of which fit an SM."""
    steps = waves_cuda.STEPS * waves_cuda.REPEATS
    base = Kernel(
        experiment=EXPERIMENT,
        name=grid.name,
        unit="fp32",
        level="none",
        work=_fixed(steps),
        variants=waves_cuda.variants,
        sources={"cuda": waves_cuda.source},
        reference=_stepped(steps),
        arrays=2,
        scalars=SCALARS,
        memory="own",
        repeats=waves_cuda.REPEATS,
        unsupported={"cuda": "how much shared memory an SM of such a card has is not known here"},
    )
    return _kernel(grid, base)


def kernel_cpu(grid: Grid) -> Kernel:
    """A region of blocks, shared out over the cores."""
    base = Kernel(
        experiment=EXPERIMENT,
        name=f"{grid.name}-of-cores",
        unit="fp32",
        level="none",
        work=_fixed(waves_cpu.STEPS),
        variants=waves_cpu.variants,
        sources={"cpu": waves_cpu.source},
        reference=_stepped(waves_cpu.STEPS),
        arrays=2,
        scalars=SCALARS,
        memory="own",
    )
    return _kernel(grid, base)


def every_kernel() -> Iterator[Kernel]:
    """Every grid, of an SM's blocks and of cores."""
    for grid in GRIDS:
        yield kernel_cuda(grid)
        yield kernel_cpu(grid)
