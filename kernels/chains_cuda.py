"""A7, A8 on a GPU: chains of FMAs in registers, with an SM as full as it gets and with few warps on it.

A scheduler begins one FMA each cycle and an FMA takes four or so, so a single warp needs four chains. Many warps hide
the latency as well: with a full SM one chain nearly reaches the roof, with one warp a scheduler it shows the latency.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from roofline.cuda_source import CudaSource
from roofline.kernel import Array, Kernel, Target
from roofline.model import Traffic, Variant, Work

# With a full SM: what shows the roof, and with one chain how near the other warps bring it to that.
FULL = (1, 2, 4, 8)
# Where one chain shows the latency: a warp for each of the four schedulers of an SM. The sweep over both numbers, of
# which these rows are a part, is the experiment `independence`.
FOUR_WARPS = 4
# A turn of a thread, between loading and storing its elements, is long so that these cost nothing that shows: so many
# FMAs with a full SM, where they add up, and so many steps where few warps leave each chain alone.
DEPTH, STEPS_OF_FEW = 16384, 4096
# Elements of a launch, and how often it repeats them for each chain (and warp): enough turns that they share out
# evenly, to 1 %, over any number of SMs, and a time of some milliseconds whatever the numbers are.
ELEMENTS, ELEMENTS_OF_FEW = 1 << 22, 1 << 18
REPEATS_A_CHAIN, REPEATS_A_WARP = 2, 3
# A body of about this many FFMA stays in the instruction cache, and the loop around it costs under one percent.
BODY = 512


def variants(target: Target, warps: int) -> Sequence[Variant]:
    """Blocks of 256 or 512 threads, as many as an SM holds; or one block of that many warps on each SM."""
    if target.kind != "cuda":
        return ()
    if warps:
        return (Variant(f"{warps}-warps", {"threads": 32 * warps, "blocks": 1}),)
    return (Variant("full-256", {"threads": 256}), Variant("full-512", {"threads": 512}))


@cache
def text() -> str:
    """The source that every instance is made from."""
    return Path(__file__).with_name("chains.cu").read_text(encoding="utf-8")


def power_of_two(most: int) -> int:
    """The greatest power of two that is no more than `most`: loops of such lengths divide each other."""
    return 1 << int(math.log2(most))


def source(target: Target, variant: Variant, chains: int, steps: int) -> CudaSource:
    """`chains` chains of so many steps in each thread."""
    threads, body = variant.integer("threads"), power_of_two(BODY // chains)
    return CudaSource(
        text=text(),
        entry=f"chains::run<{chains}, {steps}, {body}, {threads}>",
        block=chains * threads,
        expects={"fma": body * chains, "mul": 0, "add": 0, "spill": 0},
        threads=threads,
        blocks_per_sm=variant.integer("blocks") if "blocks" in variant.parameters else "full",
    )


def kernel(chains: int, warps: int = 0, experiment: str = "chains") -> Kernel:
    """`chains` chains a thread, with `warps` warps on each SM (0: as many as fit)."""
    steps = STEPS_OF_FEW if warps else power_of_two(DEPTH // chains)
    repeats = chains * (REPEATS_A_WARP * warps if warps else REPEATS_A_CHAIN)

    def work(n: int) -> Work:
        return Work(
            flops=2.0 * steps * repeats * n,
            unit="fp32",
            traffic={"dram": Traffic(0.0, 0.0)},
            convention="FMA = 2 FLOP; the arrays pass once for thousands of steps, their traffic is not counted",
        )

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [arrays[0].astype(np.float64) + steps / 4]

    return Kernel(
        experiment=experiment,
        name=f"{experiment}-{chains:02d}-{f'{warps}-warps' if warps else 'full'}",
        unit="fp32",
        level="l1",
        work=work,
        variants=lambda target: variants(target, warps),
        sources={"cuda": lambda target, variant: source(target, variant, chains, steps)},
        reference=reference,
        measures=() if warps else ("fp32_one_chain",) if chains == 1 else ("fp32",),
        scalars=(0.5, 0.5),
        memory="cache",
        size=lambda elements: ELEMENTS_OF_FEW if warps else ELEMENTS,
        repeats=repeats,
    )


def every_kernel() -> Iterator[Kernel]:
    """The numbers of chains that set the roof of a full SM, and one chain alone on each scheduler."""
    yield from (kernel(chains) for chains in FULL)
    yield kernel(1, warps=FOUR_WARPS)
