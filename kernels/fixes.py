"""C7: a chain of small kernels, each a step on the array before it, and what helps where launching is most of it.

Sixteen elementwise steps on a small array, six ways: each launch waited for; launched one after the other; replayed
from a graph; fused into one launch; each step over many such arrays at once; and both of these. A row's time is that of
a whole chain. Every step adds a·b to every element, in place, so the result tells how many steps ran.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from roofline.kernel import Array, Kernel, Launched
from roofline.model import Device, Traffic, Work

from . import fixes_cpu, fixes_cuda

EXPERIMENT = "fixes"
STEPS = 16
SCALARS = (0.5, 0.5)
# Elements of one problem: 64 KB on a GPU. On a CPU 4 KB, of which a step takes about as long as a region of its cores.
PROBLEM = {"cuda": 1 << 14, "cpu": 1 << 10, "fake": 1 << 10}
BATCH = 64


@dataclass(frozen=True)
class Way:
    """One way to run the chain: in which launch mode, how many steps a launch takes, how many problems at once."""

    name: str
    mode: str
    what: str
    steps: int = 1
    problems: int = 1

    @property
    def launches(self) -> int:
        """Launches that make up the chain."""
        return STEPS // self.steps


WAYS = (
    Way("chain-waited", "launch_sync", "each launch waited for by the host"),
    Way("chain-streamed", "launch", "launched one after the other"),
    Way("chain-replayed", "launch_graph", "the launches of a chain as one graph"),
    Way("chain-fused", "launch", "one launch for all steps", steps=STEPS),
    Way("chain-batched", "launch", f"each launch over {BATCH} problems", problems=BATCH),
    Way("chain-fused-batched", "launch", f"one launch for all steps of {BATCH} problems", steps=STEPS, problems=BATCH),
)
BY_NAME: Mapping[str, Way] = {way.name: way for way in WAYS}


def kernel(way: Way) -> Kernel:
    """The chain run that way."""

    def work(n: int) -> Work:
        return Work(
            flops=2.0 * STEPS * n,
            unit="fp32",
            traffic={"dram": Traffic(0.0, 0.0)},
            convention="FMA = 2 FLOP; a whole chain; its array stays in a cache, no traffic counted",
        )

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [arrays[0].astype(np.float64) + SCALARS[0] * SCALARS[1] * way.steps * launches]

    base = Kernel(
        experiment=EXPERIMENT,
        name=way.name,
        unit="fp32",
        level="none",
        work=work,
        variants=lambda target: fixes_cuda.variants() if target.kind == "cuda" else fixes_cpu.variants(target),
        sources={
            "cpu": lambda target, variant: fixes_cpu.source(target, variant, way.steps),
            "cuda": lambda target, variant: fixes_cuda.source(variant, way.steps),
        },
        reference=reference,
        arrays=1,
        scalars=SCALARS,
        memory="own",
        size=lambda elements: way.problems * PROBLEM["cuda"],
        launched=Launched(way.mode, way.launches),
        unsupported={"cpu": "a CPU has no launch graphs"} if way.mode == "launch_graph" else {},
    )

    def fitted(device: Device) -> Kernel:
        return replace(base, fitted=None, size=lambda elements: way.problems * PROBLEM[device.kind])

    return replace(base, fitted=fitted)


def every_kernel() -> Iterator[Kernel]:
    """The chain in every way."""
    return map(kernel, WAYS)
