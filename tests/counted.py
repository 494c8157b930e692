"""Numbers that count what is done with them, and memory that counts what is read and written."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Tally:
    """What a program did: floating-point operations, elements read and elements written."""

    flops: int = 0
    read: int = 0
    written: int = 0


@dataclass(frozen=True)
class Number:
    """A number of which every operation is one FLOP."""

    value: float
    tally: Tally = field(repr=False)

    def _result(self, value: float) -> "Number":
        self.tally.flops += 1
        return Number(value, self.tally)

    def __add__(self, other: "Number | float") -> "Number":
        return self._result(self.value + plain(other))

    def __sub__(self, other: "Number | float") -> "Number":
        return self._result(self.value - plain(other))

    def __mul__(self, other: "Number | float") -> "Number":
        return self._result(self.value * plain(other))

    def __truediv__(self, other: "Number | float") -> "Number":
        return self._result(self.value / plain(other))

    def exp(self) -> "Number":
        """E to the power of it: one FLOP, whatever it takes."""
        return self._result(math.exp(self.value))

    def inverse_root(self) -> "Number":
        """1/sqrt: one FLOP."""
        return self._result(1 / math.sqrt(self.value))

    def larger(self, other: "Number | float") -> "Number":
        """The larger of both: a comparison, counted as one FLOP only where a kernel's convention says so."""
        return self._result(max(self.value, plain(other)))


def plain(number: "Number | float") -> float:
    """The value of a number, counted or not."""
    return number.value if isinstance(number, Number) else float(number)


class Memory:
    """An array of which each access counts, by what a program asks it for."""

    def __init__(self, values: Sequence[float], tally: Tally) -> None:
        self.values, self.tally = list(map(float, values)), tally

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> Number:
        self.tally.read += 1
        return Number(self.values[index], self.tally)

    def __setitem__(self, index: int, number: Number) -> None:
        self.tally.written += 1
        self.values[index] = number.value


def total(numbers: Sequence[Number]) -> Number:
    """Their sum, of which the first is no addition."""
    result = numbers[0]
    for number in numbers[1:]:
        result = result + number
    return result
