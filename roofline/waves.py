"""Waves: how long a grid of equal blocks takes by how many there are, where it steps and what is left idle (W1)."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

# Between one block more and the wave that it begins time rises by half at least as long as there are two waves or less.
STEP = 1.4


@dataclass(frozen=True)
class Timed:
    """A grid of so many blocks and the seconds it takes."""

    blocks: int
    seconds: float


def waves_of(blocks: int, places: int) -> int:
    """How often all places are filled until the last block has had one."""
    if blocks < 1 or places < 1:
        raise ValueError(f"{blocks} blocks on {places} places: give 1 or more of both")
    return -(-blocks // places)


def idle(blocks: int, places: int) -> float:
    """The share of all places in all waves that stay empty."""
    return 1 - blocks / (waves_of(blocks, places) * places)


def first_step(grids: Iterable[Timed], step: float = STEP) -> tuple[int, int] | None:
    """The blocks before and after time first rises by `step` or more between two grids; None where it never does."""
    sweep = sorted(grids, key=lambda timed: timed.blocks)
    for before, after in pairwise(sweep):
        if after.seconds >= step * before.seconds:
            return before.blocks, after.blocks
    return None


def teeth(grids: Iterable[Timed], places: int) -> list[tuple[int, float]]:
    """What one block more than so many whole waves costs, as a share of their time: (waves, cost) in order."""
    times = {timed.blocks: timed.seconds for timed in grids}
    return [
        (blocks // places, times[blocks + 1] / seconds - 1)
        for blocks, seconds in sorted(times.items())
        if blocks % places == 0 and blocks + 1 in times
    ]
