"""The lines of a roofline in an order and in groups: units, memory levels, what lies below one of them, launches."""

import re
from collections.abc import Iterable
from typing import Literal

from roofline.model import BYTES_PER_SECOND, SECONDS, Ceiling
from roofline.rooflines import MEMORY_LEVELS

Group = Literal["units", "memory levels", "lower lines", "launches"]
GROUPS: tuple[Group, ...] = ("units", "memory levels", "lower lines", "launches")

# A name that says by what habit of code a line falls short of the unit or level it begins with. Special functions have
# units of their own and stand here all the same: they are what keeps FP32 code from the roof of FP32.
FALLS_SHORT = re.compile(r"^sfu_|_(no_fma|one_chain|divergent_\d+|stride_\d+)$")


def is_lower(resource: str) -> bool:
    """Whether a line is what a habit of code leaves of a unit or a level, rather than the best of one."""
    return FALLS_SHORT.search(resource) is not None


def group_of(ceiling: Ceiling) -> Group:
    """The group of a ceiling."""
    if ceiling.unit == SECONDS:
        return "launches"
    if is_lower(ceiling.resource):
        return "lower lines"
    return "memory levels" if ceiling.unit == BYTES_PER_SECOND else "units"


def in_order(ceilings: Iterable[Ceiling]) -> list[Ceiling]:
    """Group by group; levels from the outermost inwards, tensor units after the others, what is like by its rate."""
    return sorted(ceilings, key=_rank)


def _rank(ceiling: Ceiling) -> tuple[int, int, str, float]:
    group = group_of(ceiling)
    begins = ceiling.resource.partition("_")[0]
    depth = MEMORY_LEVELS.index(begins) if begins in MEMORY_LEVELS else len(MEMORY_LEVELS)
    kind = begins if group == "lower lines" else ""
    return (
        GROUPS.index(group),
        depth + (begins == "tensor"),
        kind,
        ceiling.rate if group == "launches" else -ceiling.rate,
    )
