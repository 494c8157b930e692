"""R3: arithmetic while only a part of the lanes counts: the roof falls to that part.

Vector code computes every lane and keeps the results of those whose condition holds, so the others cost as much as they
would if they counted. `divergence_cuda` has the same for the lanes of a warp, which wait or take another path.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from roofline.kernel import Array, Kernel
from roofline.model import Traffic, Work

from . import divergence_cpu

# One in so many elements counts: at least one lane of every vector, so at most the lanes of the widest vector there is.
ONE_IN = (1, 2, 4, 8, 16)
STEPS = 2048
# 128 times a multiple of every block, so that each core gets as many blocks as the others, or one more.
ELEMENTS = 128 * 960
LANES_OF_A_WARP = 32


def resource(active: int) -> str:
    """The ceiling that is left while so many of 32 lanes are active, or the same share of a vector's lanes."""
    return f"fp32_divergent_{active}"


def kernel(one_in: int) -> Kernel:
    """The steps of one in so many elements; the others stay as they are."""

    def work(n: int) -> Work:
        return Work(
            flops=2.0 * STEPS * n / one_in,
            unit="fp32",
            traffic={"dram": Traffic(0.0, 0.0), "l1": Traffic(4.0 * n, 4.0 * n)},
            convention="FMA = 2 FLOP, of active lanes only; no DRAM traffic, the caches serve both arrays",
        )

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        values = arrays[0].astype(np.float64)
        return [np.where(np.arange(values.size) % one_in == 0, values + STEPS / 4, values)]

    return Kernel(
        experiment="divergence",
        name=f"lanes-1-in-{one_in:02d}",
        unit="fp32",
        level="l1",
        work=work,
        variants=lambda target: divergence_cpu.variants(target, one_in),
        sources={"cpu": lambda target, variant: divergence_cpu.source(target, variant, one_in, STEPS)},
        reference=reference,
        measures=(resource(LANES_OF_A_WARP // one_in),) if one_in > 1 else (),
        scalars=(0.5, 0.5),
        memory="cache",
        size=lambda elements: ELEMENTS,
        unsupported={"cpu": f"its vectors have fewer than {one_in} lanes, so some would have no active one"},
    )


def every_kernel() -> Iterator[Kernel]:
    """All lanes as the control, then one in two, four and so on."""
    return (kernel(one_in) for one_in in ONE_IN)
