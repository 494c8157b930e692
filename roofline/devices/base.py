"""What every kind of device offers to the rest of the library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from roofline.kernel import Array, Kernel, Launched, Target
from roofline.model import Device, Environment, Timer, Variant


class DeviceUnavailable(Exception):
    """A device that was asked for cannot be had. The message is one or two lines: the cause, then the remedy."""


class KernelUnsupported(Exception):
    """A kernel that this device cannot run; the message is the reason a person reads. The row becomes *absent*."""


class WrongMachineCode(Exception):
    """The built code lacks, or has more of, the instructions that the kernel is about. It is never timed."""


class BuildFailed(Exception):
    """The source of a kernel could not be built; the message names the kernel and what its compiler said."""


class DeviceFault(Exception):
    """A kernel failed while it ran; what was measured before it stands."""


@dataclass(frozen=True)
class Binary:
    """One built variant: an opaque `handle` of its device, a hash of the code, and the evidence.

    `counts` holds the instructions found, by class. `listing` is the disassembly or assembly text. `block` is the
    number of elements sizes must be a multiple of. `workers` is the number of CPU cores that share a launch out among
    them, None for all. `math_mode` says what arithmetic it does where that does not follow from the device.
    """

    kernel: Kernel
    variant: Variant
    handle: Any
    digest: str
    block: int = 1
    counts: Mapping[str, int] = field(default_factory=dict)
    listing: str = ""
    build_s: float = 0.0
    workers: int | None = None
    math_mode: str = ""


@dataclass(frozen=True)
class Buffers:
    """Device arrays of equal element type: `handles[placement][array]`, each with room for `elements`.

    Each placement is an allocation of its own, since physical placement moves DRAM figures; samples rotate over them.
    """

    handles: Sequence[Sequence[Any]]
    elements: int
    itemsize: int
    fill: str = "random"

    @property
    def placements(self) -> int:
        """The number of separate allocations."""
        return len(self.handles)


@dataclass(frozen=True)
class Launch:
    """A binary bound to buffers: `size` elements a launch, beginning `window * size` elements into the arrays.

    Consecutive launches move on by one window and wrap round, so that a line is cold when it is met again.
    """

    binary: Binary
    buffers: Buffers
    size: int
    windows: int = 1
    repeats: int = 1


@dataclass(frozen=True)
class Timing:
    """What the device's clock said of `launches` launches back to back: seconds in all, and the state meanwhile."""

    seconds: float
    launches: int
    clock_hz: float | None = None
    power_w: float | None = None
    throttle: str | None = None


class Backend(Protocol):
    """An opened device. One at a time runs one launch at a time; `close` gives everything back."""

    device: Device
    target: Target
    timer: Timer
    launch_timers: Mapping[str, Timer]
    """The clock of each way to launch: for those that wait it can only be the host's."""
    least_sample_s: float
    """A sample shorter than this would show what the clock itself costs."""
    unit: str
    """What tells this very unit from others of its model (a UUID); only a hash of it is ever stored. May be empty."""
    notes: Sequence[str]
    """What a person should know about how this device was opened, one line each (no FMA, cores left out, …)."""

    def environment(self) -> Environment:
        """How the device is now."""
        ...

    def memory_limit(self) -> int:
        """Bytes that buffers may take together, after what this machine, its containers and its neighbours need."""
        ...

    def build(self, kernel: Kernel, variants: Sequence[Variant]) -> Sequence[Binary]:
        """Machine code of each variant, checked against what the source says it must contain.

        Raises:
            KernelUnsupported: this kind, or this model, cannot run the kernel.
            WrongMachineCode: the compiler did something else than was meant.
        """
        ...

    def allocate(self, arrays: int, elements: int, dtype: str, placements: int, fill: str) -> Buffers:
        """Fresh arrays, filled on the device by the cores that will use them; the same contents each time.

        `fill` is "random" (full-mantissa values in [1, 2)) or "zeros". Raises MemoryError when there is too little.
        """
        ...

    def bind(self, host: Sequence[Array]) -> Buffers:
        """One placement holding copies of the `host` arrays, for correctness runs."""
        ...

    def read_back(self, buffers: Buffers) -> list[NDArray[np.generic]]:
        """The arrays of the first placement, as they are now on the device."""
        ...

    def free(self, buffers: Buffers) -> None:
        """Give the memory of `buffers` back."""
        ...

    def run(self, launch: Launch, launches: int, first_window: int = 0, placement: int = 0) -> Timing:
        """Launch `launches` times back to back and time it with the device's clock.

        Raises:
            DeviceFault: the kernel failed.
        """
        ...

    def others_busy(self) -> float | None:
        """Share of the machine that others used since the last call, 0 … 1; None where that cannot be known."""
        ...

    launch_modes: Sequence[str]
    """The ways to launch an empty kernel that this device has, of `roofline.kernels.launch.MODES`."""

    def time_launches(self, mode: str, launches: int) -> Timing:
        """Launch an empty kernel `launches` times in one of the `launch_modes`, timed as whoever waits sees it."""
        ...

    chain_modes: Sequence[str]
    """The `launch_modes` in which this device launches chains of any kernel."""

    def time_chains(self, launch: Launch, launched: Launched, chains: int, first_window: int = 0) -> Timing:
        """Launch a kernel on its first placement as `launched` says, `chains` chains, timed as whoever waits sees it.

        The timing counts chains. Raises DeviceFault where the kernel failed.
        """
        ...

    def count_launches(self, mode: str, launches: int) -> int:
        """Launch a counting kernel `launches` times in that mode and return how many really ran (C4)."""
        ...

    def close(self) -> None:
        """Give back threads and memory."""
        ...
