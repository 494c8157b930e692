"""What a CUDA kernel's source says beyond `Source`: how its grid follows from the card, and what takes the remainder.

Every kernel is called as `entry(arrays…, unsigned long long n, unsigned repeats, float a, float b)`: pointers to the
first element of the launch's window, the elements it handles, how often the code repeats itself, and the two scalars.
"""

from dataclasses import dataclass
from typing import Literal

from roofline.kernel import Source


@dataclass(frozen=True)
class Following:
    """A second function of the same text that follows each launch, with the same arguments.

    It has a block of `threads` threads for every `block` elements.
    """

    entry: str
    block: int
    threads: int


@dataclass(frozen=True)
class CudaSource(Source):
    """CUDA C++ of one variant; `entry` is a name expression, so that many instances share one compilation.

    `tail` names the function that handles what is left beyond the last whole `block`, one element a thread; without it
    the kernel handles any size itself. `blocks_per_sm` makes the grid follow the card, for kernels that share their
    elements out over the blocks there are: that many on each SM ("full": as many as fit). `resident` is the exact
    number of its blocks that an SM must hold at once, which is checked on the card; 0 is any. `then` is what
    follows each launch, for kernels that take two; such a kernel has no tail.
    """

    tail: str = ""
    blocks_per_sm: int | Literal["full"] | None = None
    resident: int = 0
    then: Following | None = None
