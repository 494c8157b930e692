"""Words and figures as reports write them, safe for a terminal line whatever a driver or a kernel calls itself."""

import hashlib
import math
from collections.abc import Sequence

from roofline.escaping import one_line as one_line
from roofline.model import Estimate, RowKey
from roofline.units import INFINITE, RANGES, UNKNOWN, percent, si

# How often a name of this many characters is told from another by its hash alone: 24 bits.
HASH_DIGITS = 6
# Below this share a spread says nothing that a reader could use.
LEAST_SPREAD = 0.001


def shortened(text: str, width: int) -> str:
    """`text` in at most `width` characters: the middle goes, and a hash of the whole keeps equal ends apart."""
    text = one_line(text)
    if len(text) <= width:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:HASH_DIGITS]
    kept = max(width - len(digest) - 2, 2)
    tail = kept // 3
    return f"{text[: kept - tail]}…{text[-tail:] if tail else ''}#{digest}"[:width]


def row_name(key: RowKey) -> str:
    """A row by its kernel's name, with its experiment where the name does not begin with it."""
    return key.kernel if key.kernel.startswith(key.experiment) else f"{key.experiment}/{key.kernel}"


def figure(value: float | None, unit: str) -> str:
    """A figure in a base unit with its prefix; in a unit of a claim's own, the plain number."""
    if unit in RANGES:
        return si(value, unit)
    if value is None or math.isnan(value):
        return UNKNOWN
    return f"{si(value, '')} {one_line(unit)}"


def between(low: float, high: float, unit: str) -> str:
    """An interval in words: "12.0 … 16.0 FLOP/B", "at least 0.950", "anything"."""
    if low == -math.inf and high == math.inf:
        return "anything"
    if high == math.inf:
        return f"at least {figure(low, unit)}"
    if low == -math.inf:
        return f"at most {figure(high, unit)}"
    low_text, high_text = figure(low, unit), figure(high, unit)
    if low_text == high_text:
        return low_text
    low_number, _, low_symbol = low_text.partition(" ")
    return f"{low_number if high_text.endswith(' ' + low_symbol) else low_text} … {high_text}"


def estimate(value: Estimate | None, unit: str) -> str:
    """A measured figure with the interval that its noise leaves open."""
    if value is None:
        return "not measured"
    if value.low == value.high:
        return figure(value.value, unit)
    return f"{figure(value.value, unit)} ({between(value.low, value.high, unit)})"


def spread(value: Estimate) -> str:
    """How far the interval reaches from the figure, to its farther side: "±1.2 %"."""
    if not value.value:
        return UNKNOWN
    farther = max(value.high - value.value, value.value - value.low) / value.value
    if not math.isfinite(farther):
        return "±" + INFINITE
    return "±" + percent(farther, 2) if farther >= LEAST_SPREAD or not farther else f"<{percent(LEAST_SPREAD, 1)}"


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names in one line, no more than `most`, with the number of those left out."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
