"""What a kernel *is*, apart from any device: its source for each kind of device, its work, inputs and reference.

A module in `kernels/` makes `Kernel` values; a device builds and runs them; nothing here knows which.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from roofline.model import Device, Variant, Work

Array = NDArray[np.generic]


@dataclass(frozen=True)
class Target:
    """What a kernel's source may depend on: the kind of device and the widths of its registers.

    `kind` is "cpu", "cuda" or "fake"; `architecture` "x86-64-v3", "aarch64", "sm_90a" …; `lanes` FP32 lanes of the
    widest vector; `registers` the vector registers; `has_fma` whether one instruction multiplies and adds; `extensions`
    what else a CPU's instruction set has of `roofline.devices.cpu.target.EXTENSIONS`.
    """

    kind: str
    architecture: str
    lanes: int = 1
    registers: int = 16
    has_fma: bool = True
    extensions: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Source:
    """The text of one variant for one target, and what its machine code must contain.

    `text` is LLVM IR for "cpu", CUDA C++ for "cuda"; `entry` the function in it. `block` is the number of elements that
    a launch's size must be a multiple of. `expects` maps a class of instruction ("fma", "mul", "add", "store_nt",
    "mma" …) to its exact number in the function; a device refuses machine code with another number. `threads` is the
    size of a CUDA block of threads, of which there is one for every `block` elements. `workers` is the number of CPU
    cores that share a launch out among them, None for all.
    """

    text: str
    entry: str = "k"
    block: int = 1
    expects: Mapping[str, int] = field(default_factory=dict)
    threads: int = 256
    shared_bytes: int = 0
    workers: int | None = None


@dataclass(frozen=True)
class Launched:
    """How a kernel is launched where that is what is measured: in a `mode` of `roofline.kernels.launch.MODES`.

    A `chain` of so many launches in a row is timed as one, by whoever waits for its end; a graph holds one chain.
    """

    mode: str
    chain: int = 1


class InvalidKernel(Exception):
    """A kernel contradicts itself or names what does not exist; the message says which and what is allowed."""


def written_arrays(arrays: Sequence[Array]) -> Sequence[Array]:
    """The arrays that a kernel with one output wrote: the last one."""
    return arrays[-1:]


@dataclass(frozen=True)
class Kernel:
    """One computation, with everything needed to build, check, count and time it.

    Identity
        `name` is unique within its `experiment`; `unit` is the arithmetic unit it uses, `level` the memory level that
        the experiment is about, `measures` the ceilings it is a candidate for.
    Code
        `sources[kind](target, variant)` writes the code; a kind that is missing is unsupported there, for the reason in
        `unsupported[kind]`, and so is a target without variants. `variants(target)` is the family to search, best guess
        first.
    Memory
        `arrays` arrays of `dtype`, passed to the code in order; the only array of a kernel is input and output.
        `memory` says what buffers are wanted: "dram" (larger than the last cache, each line cold when it is met again),
        "cache" (small enough for the first-level cache of each core, the code repeated `repeats` times in a launch;
        kept, and shared with the kernels that want the same), "own" (exactly `size(0)` elements, given back once
        measured) or "none". `size(elements)` is the number of elements a launch handles when an array has room for
        `elements`. `fitted(device)`, where there is one, is the kernel whose size suits that device: so much for each
        of its cores, or a part of its last cache; without it one size suits all.
        `fill` is their contents: "random" (full-mantissa values in [1, 2)) or "zeros".
        `scalars` are two numbers handed to the code at run time, so that no compiler can fold them.
    Timing
        A `sustained` kernel draws so much power that the device lowers its clock: it is also timed in bursts, each
        after a rest, and its figure is what it holds for a second. `launched`, where there is one, says that not the
        device's clock times it but whoever launches it, and how; `work` then counts the whole chain.
    Counting and checking
        `work(n)` counts one launch over n elements, all `repeats` included. `reference(arrays, launches)` computes in
        float64 what `observe(arrays read back)` shows after that many launches over the whole arrays. `tolerance` is
        the allowed |difference| / max(1, |reference|), 0 for exact, with its reason in `tolerance_reason`.
    """

    experiment: str
    name: str
    unit: str
    level: str
    work: Callable[[int], Work]
    variants: Callable[[Target], Sequence[Variant]]
    sources: Mapping[str, Callable[[Target, Variant], Source]]
    reference: Callable[[Sequence[Array], int], Sequence[Array]]
    observe: Callable[[Sequence[Array]], Sequence[Array]] = written_arrays
    measures: tuple[str, ...] = ()
    arrays: int = 2
    scalars: tuple[float, float] = (0.0, 0.0)
    dtype: str = "float32"
    memory: Literal["dram", "cache", "own", "none"] = "dram"
    size: Callable[[int], int] = lambda elements: elements
    fitted: Callable[[Device], "Kernel"] | None = None
    repeats: int = 1
    tolerance: float = 0.0
    tolerance_reason: str = "the result is exact in the type"
    fill: str = "random"
    sustained: bool = False
    launched: Launched | None = None
    unsupported: Mapping[str, str] = field(default_factory=dict)
