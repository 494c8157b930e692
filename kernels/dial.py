"""A: the intensity dial. Load a float, do F fused multiply-adds on it, store a float: F turns the intensity.

8 bytes and 2F FLOPs an element, so the intensity is F/4 FLOP per byte. A step is v = a·b + v with a = b = 1/2 handed
over at run time: the result is x + F/4 exactly, so a step that was skipped shows. Where no instruction fuses the two, a
step is v = v·(a + b) + (a·b), with the same result.

On a CPU there are three ways to store, and they are three kernels since they move different bytes: `ordinary` stores
read a line before they write it (write-allocate: 12 bytes move where 8 are counted), `nt` (non-temporal) and `inplace`
move what is counted. On a GPU a full sector is written without being read: one way, `plain`.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from roofline.kernel import Array, Kernel
from roofline.model import Traffic, Work

from . import dial_cpu, dial_cuda

# Powers of two, and points half-way between them where the ridges of CPUs (F = 12 … 40) and GPUs (F = 48 … 256) lie.
POINTS = tuple(sorted([2**power for power in range(12)] + [12, 24, 48, 96, 192]))
# More points between these, for whoever wants the whole curve: a long experiment.
FINE_POINTS = (3, 6, 384, 768, 1536)
SLOPES = {"inplace": "dram_update", "nt": "dram_copy_nt", "ordinary": "dram_copy_ordinary", "plain": "dram"}

# Past this many steps a launch handles a part of the arrays and the next launch the next part, so that a launch takes
# about as long as at the ridge; the footprint that the launches cycle through stays the whole of the arrays.
STEPS_AT_FULL_SIZE = {"cpu": 32, "cuda": 128}
# A part is a multiple of this many elements, so that every vector in it is aligned and it is a whole number of every
# variant's blocks: powers of two, and 12 vectors of up to 16 lanes.
WINDOW = 3 << 12


def kernel(steps: int, stores: str) -> Kernel:
    """The dial at F = `steps` with one of the ways to store."""
    full = STEPS_AT_FULL_SIZE["cuda" if stores == "plain" else "cpu"]

    def work(n: int) -> Work:
        return Work(
            flops=2.0 * steps * n,
            unit="fp32",
            traffic={"dram": Traffic(read=4.0 * n, written=4.0 * n)},
            slopes={"dram": SLOPES[stores]},
            convention="FMA = 2 FLOP; each element read once and written once, write-allocate traffic not counted",
        )

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        applied = launches if stores == "inplace" else 1
        return [arrays[0].astype(np.float64) + applied * steps / 4]

    return Kernel(
        experiment="dial",
        name=f"dial-{steps:04d}" if stores == "plain" else f"dial-{steps:04d}-{stores}",
        unit="fp32",
        level="dram",
        work=work,
        variants=lambda target: (dial_cuda if target.kind == "cuda" else dial_cpu).variants(target, steps),
        sources={"cuda": lambda target, variant: dial_cuda.source(target, variant, steps)}
        if stores == "plain"
        else {"cpu": lambda target, variant: dial_cpu.source(target, variant, steps, stores)},
        reference=reference,
        measures=("fp32",) if steps == POINTS[-1] else (),
        arrays=1 if stores == "inplace" else 2,
        scalars=(0.5, 0.5),
        size=lambda elements: elements * full // max(steps, full) // WINDOW * WINDOW or elements,
    )


def at(points: Sequence[int]) -> Iterator[Kernel]:
    """The dial at some settings of F, with every way to store."""
    return (kernel(steps, stores) for stores in SLOPES for steps in points)


def every_kernel() -> Iterator[Kernel]:
    """Every point of the dial with every way to store."""
    return at(POINTS + FINE_POINTS)
