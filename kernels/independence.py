"""R4: chains of FMAs times the workers that run them, from one chain on one core upwards.

The code is that of the experiment `chains`, whose rows, on all the cores there are, are the last column of this one.
"""

from collections.abc import Iterator
from dataclasses import replace

from roofline.kernel import Kernel, Source, Target
from roofline.model import Variant

from . import chains, chains_cpu

CHAINS = (1, 2, 4, 8)
# Elements of a launch for each worker: a multiple of the block of any number of chains.
ELEMENTS_A_WORKER = 16 * 768


def kernel(count: int, workers: int) -> Kernel:
    """`count` chains on each of so many workers, while the others wait."""

    def source(target: Target, variant: Variant) -> Source:
        return replace(chains_cpu.source(target, variant, chains.STEPS), workers=workers)

    return replace(
        chains.kernel(count),
        experiment="independence",
        name=f"independence-{count:02d}-{workers}-workers",
        sources={"cpu": source},
        measures=(),
        size=lambda elements: ELEMENTS_A_WORKER * workers,
    )


def kernels_below(cores: int) -> Iterator[Kernel]:
    """Every number of chains on 1, 2, 4 … workers, as long as that leaves out some of the cores."""
    workers = 1
    while workers < cores:
        yield from (kernel(count, workers) for count in CHAINS)
        workers *= 2


def every_kernel() -> Iterator[Kernel]:
    """What every CPU can run: one worker. How many more there are to try, only the machine at hand says."""
    return (kernel(count, workers=1) for count in CHAINS)
