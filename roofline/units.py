"""Text out of figures and figures out of text: the one place where base SI units meet prefixes.

Prefixes are decimal, also for bytes: 1 GB/s is 1e9 B/s. Binary ones (1 GiB/s is 1.0737e9 B/s) are read, never written.
"""

import math
import re
from decimal import Decimal
from types import MappingProxyType

UNKNOWN = "unknown"
INFINITE = "∞"

PREFIXES = MappingProxyType(
    {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
)
BINARY_PREFIXES = MappingProxyType({10: "Ki", 20: "Mi", 30: "Gi", 40: "Ti", 50: "Pi", 60: "Ei"})

# The least and the greatest exponent of a prefix that each unit is written with: nobody says ks, mB or kFLOP/B.
RANGES = MappingProxyType(
    {
        "s": (-12, 0),
        "B": (0, 18),
        "FLOP": (0, 18),
        "OP": (0, 18),
        "B/s": (-12, 18),
        "FLOP/s": (-12, 18),
        "OP/s": (-12, 18),
        "FLOP/B": (0, 0),
        "Hz": (-12, 18),
        "W": (-12, 18),
        "": (0, 0),
    }
)
BYTE_UNITS = ("B", "B/s")

_NUMBER_AND_UNIT = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?: ?([^\s0-9.+-]\S*))?")


def si(value: float | None, unit: str, digits: int = 3) -> str:
    """`value`, given in the base unit `unit`, with a prefix and `digits` significant digits: "55.1 GB/s", "1.52 µs".

    None and NaN are "unknown", an infinite value is "∞ GB/s" without a prefix: "∞ B/s".

    Raises:
        ValueError: the unit is none of `RANGES`, or `digits` is below 1.
    """
    _check_unit(unit)
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return _joined("-" * (value < 0) + INFINITE, unit)
    rounded = _rounded(value, digits)
    exponent = _prefix_exponent(rounded, unit)
    return _joined(_digits(rounded.scaleb(-exponent), digits), PREFIXES[exponent] + unit)


def scaled(value: float | None, symbol: str, digits: int = 3) -> str:
    """The number alone of `value` (in the base unit) in the prefixed unit `symbol`, for a column headed with it.

    Raises:
        ValueError: the unit is unknown.
    """
    factor, _ = _factor(symbol)
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "-" * (value < 0) + INFINITE
    return _digits(_rounded(value / float(factor), digits), digits)


def prefixed(unit: str, value: float) -> str:
    """The symbol that `si` would write `value` with, for an axis or a column: "GFLOP/s"."""
    _check_unit(unit)
    return PREFIXES[_prefix_exponent(_rounded(value, 1), unit)] + unit


def factor_of(symbol: str) -> float:
    """How many base units one `symbol` is: 1e9 for "GB/s".

    Raises:
        ValueError: the unit is unknown.
    """
    return float(_factor(symbol)[0])


def percent(fraction: float | None, digits: int = 3) -> str:
    """A fraction as "88.4 %", never clamped; None and NaN are "unknown"."""
    number = percent_number(fraction, digits)
    return number if number == UNKNOWN else f"{number} %"


def percent_number(fraction: float | None, digits: int = 3) -> str:
    """The number alone of a fraction in percent, for a column headed with the sign."""
    return scaled(None if fraction is None else fraction * 100, "", digits)


def parse(text: str) -> tuple[float, str]:
    """The value in the base unit, and that unit: "55.1 GB/s" gives (55.1e9, "B/s"). GiB are 7.37 % more than GB.

    Raises:
        ValueError: no finite number, or a unit that is not known.
    """
    match = _NUMBER_AND_UNIT.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a figure: write a number, a space and a unit, such as '55.1 GB/s'")
    number, symbol = match.group(1), match.group(2) or ""
    factor, unit = _factor(symbol)
    value = float(Decimal(number) * factor)
    if math.isinf(value):
        raise ValueError(f"{text!r} is too large: a figure must be finite")
    return value, unit


def _check_unit(unit: str) -> None:
    if unit not in RANGES:
        raise ValueError(f"{unit!r} is not a base unit; allowed: {', '.join(filter(None, RANGES))}, or '' for a ratio")


def _rounded(value: float, digits: int) -> Decimal:
    """`value` rounded to significant digits, before a prefix is chosen: 999.96 is 1000, hence 1.00 k."""
    if digits < 1:
        raise ValueError(f"{digits} significant digits: give at least 1")
    return Decimal(format(value, f".{digits - 1}e"))


def _prefix_exponent(rounded: Decimal, unit: str) -> int:
    least, greatest = RANGES[unit]
    if not rounded:
        return 0
    return min(max(rounded.adjusted() // 3 * 3, least), greatest)


def _digits(number: Decimal, digits: int) -> str:
    """Plain notation with `digits` significant digits, no exponent: Decimal("2.20E+2") is "220"."""
    if not number:
        return "0"
    decimals = max(digits - 1 - number.adjusted(), 0)
    return f"{number:.{decimals}f}"


def _joined(number: str, symbol: str) -> str:
    return f"{number} {symbol}" if symbol else number


def _symbols() -> dict[str, tuple[Decimal, str]]:
    """Every unit that can be read, with its size in base units; micro is read as µ (both code points) and as u."""
    table = {}
    for unit, (least, greatest) in RANGES.items():
        for exponent, prefix in PREFIXES.items():
            if least <= exponent <= greatest:
                for spelt in ("µ", "μ", "u") if prefix == "µ" else (prefix,):
                    table[spelt + unit] = (Decimal(10) ** exponent, unit)
        if unit in BYTE_UNITS:
            table |= {prefix + unit: (Decimal(2) ** bits, unit) for bits, prefix in BINARY_PREFIXES.items()}
    return table


SYMBOLS = MappingProxyType(_symbols())


def _factor(symbol: str) -> tuple[Decimal, str]:
    if symbol not in SYMBOLS:
        units = ", ".join(filter(None, RANGES))
        raise ValueError(
            f"unknown unit {symbol!r}; allowed: {units}, with a decimal prefix (GB/s), bytes also a binary one (GiB/s)"
        )
    return SYMBOLS[symbol]
