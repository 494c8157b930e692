"""A7, A8 on a GPU: chains of FMAs in registers, with an SM as full as it gets and with four warps on it.

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

CHAINS = (1, 2, 3, 4, 6, 8, 12, 16)
FOUR_WARPS = (1, 2, 3, 4, 8)
# FMAs of a thread between loading and storing its elements: many, so that these cost nothing that shows.
DEPTH = 16384
# Elements of a launch: enough that they share out evenly, to 1 %, over any number of SMs.
ELEMENTS = 1 << 22
# A body of about this many FFMA stays in the instruction cache, and the loop around it costs under one percent.
BODY = 512
# With chains this many repeats: every kernel then takes about as long, some milliseconds.
REPEATS_A_CHAIN = 2


def steps(chains: int) -> int:
    """Dependent FMAs on each element: a power of two, so that every body divides it."""
    return 1 << int(math.log2(DEPTH // chains))


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


def unrolled(chains: int) -> int:
    """Steps in the body of the loop: the greatest power of two that keeps the body small."""
    return 1 << int(math.log2(BODY // chains))


def source(target: Target, variant: Variant, chains: int) -> CudaSource:
    """`chains` chains in each thread."""
    threads, body = variant.integer("threads"), unrolled(chains)
    return CudaSource(
        text=text(),
        entry=f"chains::run<{chains}, {steps(chains)}, {body}, {threads}>",
        block=chains * threads,
        expects={"fma": body * chains, "mul": 0, "add": 0, "spill": 0},
        threads=threads,
        blocks_per_sm=variant.integer("blocks") if "blocks" in variant.parameters else "full",
    )


def kernel(chains: int, warps: int = 0) -> Kernel:
    """`chains` chains a thread, with `warps` warps on each SM (0: as many as fit)."""
    depth, repeats = steps(chains), REPEATS_A_CHAIN * chains

    def work(n: int) -> Work:
        return Work(
            flops=2.0 * depth * repeats * n,
            unit="fp32",
            traffic={"dram": Traffic(0.0, 0.0)},
            convention="FMA = 2 FLOP; the arrays pass once for thousands of steps, their traffic is not counted",
        )

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [arrays[0].astype(np.float64) + depth / 4]

    return Kernel(
        experiment="chains",
        name=f"chains-{chains:02d}-{f'{warps}-warps' if warps else 'full'}",
        unit="fp32",
        level="l1",
        work=work,
        variants=lambda target: variants(target, warps),
        sources={"cuda": lambda target, variant: source(target, variant, chains)},
        reference=reference,
        measures=() if warps else ("fp32_one_chain",) if chains == 1 else ("fp32",),
        scalars=(0.5, 0.5),
        memory="cache",
        size=lambda elements: ELEMENTS,
        repeats=repeats,
    )


def every_kernel() -> Iterator[Kernel]:
    """Every number of chains with a full SM, and the few that matter with four warps on it."""
    yield from (kernel(chains) for chains in CHAINS)
    yield from (kernel(chains, warps=4) for chains in FOUR_WARPS)
