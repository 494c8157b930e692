"""A7, A8: independent chains of FMAs on values that stay in the caches: the arithmetic roof itself.

A core finishes an FMA some cycles after it began and can begin a few each cycle, so it takes chains = latency x pipes
to keep it busy. One chain shows the latency, many show the roof; narrower vectors show what not using them costs.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from roofline.kernel import Array, Kernel
from roofline.model import Traffic, Work

from . import chains_cpu

CHAINS = (1, 2, 3, 4, 6, 8, 12, 16)
WIDTHS = ("widest", "128-bit", "scalar")
STEPS = 2048
# Elements of one launch: 128 times a multiple of the block of any number of chains, so that each core gets as many
# blocks as the others (or one more) and none is left over. At 512 FLOP a byte any cache serves them in time.
ELEMENTS = 128 * 768


def kernel(chains: int, width: str = "widest") -> Kernel:
    """`chains` independent chains of FMAs in vectors of one of the `WIDTHS`."""

    def work(n: int) -> Work:
        return Work(
            flops=2.0 * STEPS * n,
            unit="fp32",
            traffic={"dram": Traffic(0.0, 0.0), "l1": Traffic(4.0 * n, 4.0 * n)},
            convention="FMA = 2 FLOP; no DRAM traffic, the caches serve both arrays",
        )

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [arrays[0].astype(np.float64) + STEPS / 4]

    narrow = width != "widest"
    return Kernel(
        experiment="chains",
        name=f"chains-{chains:02d}" + (f"-{width}" if narrow else ""),
        unit="fp32",
        level="l1",
        work=work,
        variants=lambda target: chains_cpu.variants(target, chains, width),
        sources={"cpu": lambda target, variant: chains_cpu.source(target, variant, STEPS)},
        reference=reference,
        measures=() if narrow else ("fp32_one_chain",) if chains == 1 else ("fp32",),
        scalars=(0.5, 0.5),
        memory="cache",
        size=lambda elements: ELEMENTS,
    )


def every_kernel() -> Iterator[Kernel]:
    """Every number of chains in the widest vectors, and the widest family of chains in each narrower vector."""
    yield from (kernel(chains) for chains in CHAINS)
    yield from (kernel(8, width) for width in WIDTHS[1:])
