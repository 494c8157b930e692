"""A small roofline in characters, for a terminal: log-log, slopes, roofs, ridges and points, and a key below.

It shows the lines that judge points; the chart and the page show all of them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from roofline.report import Report
from roofline.report.scene import Line, Mark, Scene, scene
from roofline.report.tables import WIDTH, Paint, Style, unpainted, wrapped
from roofline.report.text import listed, shortened
from roofline.units import si

# What is drawn inside the frame, in characters: 4 columns a row is about what makes a slope rise at 30 degrees.
COLUMNS, ROWS = 84, 21
MARGIN = 13
MARKERS = "oxv*#@&%"
ABOVE = "!"
MOST_LINES = 6
MOST_RIDGES = 5


@dataclass(frozen=True)
class Signs:
    """The characters that lines are drawn with."""

    roof: str
    slope: str
    ridge: str
    below_ridge: str
    side: str
    corner: str
    tick: str
    floor: str

    @property
    def all(self) -> str:
        """All of them, for whoever wants to know whether a terminal has them."""
        return "".join(
            (self.roof, self.slope, self.ridge, self.below_ridge, self.side, self.corner, self.tick, self.floor)
        )


BOX = Signs(roof="─", slope="╱", ridge="◆", below_ridge="┊", side="│", corner="└", tick="┴", floor="─")
ASCII = Signs(roof="-", slope="/", ridge="+", below_ridge=":", side="|", corner="+", tick="+", floor="-")


@dataclass(frozen=True)
class Grid:
    """Cells of a log-log plot, row 0 at the top; what is put later lies above."""

    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    cells: dict[tuple[int, int], tuple[str, Style]] = field(default_factory=dict)

    def column(self, intensity: float) -> int:
        """Where an intensity lies."""
        return round(_share(intensity, self.x_limits) * (COLUMNS - 1))

    def row(self, flop_per_s: float) -> int:
        """Where a rate lies."""
        return round((1 - _share(flop_per_s, self.y_limits)) * (ROWS - 1))

    def intensity(self, column: int) -> float:
        """The intensity in the middle of a column."""
        low, high = self.x_limits
        return float(low * (high / low) ** (column / (COLUMNS - 1)))

    def put(self, row: int, column: int, text: str, style: Style) -> None:
        """Write a text to the right from a cell; what lies outside is cut off."""
        for offset, sign in enumerate(text):
            if 0 <= row < ROWS and 0 <= column + offset < COLUMNS:
                self.cells[row, column + offset] = (sign, style)

    def free(self, row: int, column: int, length: int) -> bool:
        """Whether there is room for a text of that length, with a space at both ends."""
        return column >= 0 and not any((row, at) in self.cells for at in range(column - 1, column + length + 1))


def _share(value: float, limits: tuple[float, float]) -> float:
    low, high = limits
    return math.log(value / low) / math.log(high / low)


def plot(report: Report, paint: Paint = unpainted, signs: Signs = BOX) -> str:
    """The roofline of a report, or nothing where it has neither a slope nor a roof."""
    shown = scene(report)
    slopes, roofs = _judging(shown.slopes), _judging(shown.roofs)
    if not slopes or not roofs:
        return ""
    grid = Grid(shown.x_limits, shown.y_limits)
    ridges = _ridges(shown, slopes, roofs)
    markers = _markers(shown.marks)
    letters = _draw_slopes(grid, slopes, roofs, signs)
    _draw_roofs(grid, roofs, slopes, signs)
    _draw_ridges(grid, ridges, signs)
    _draw_points(grid, shown.marks, markers)
    key = list(_key(shown, letters, ridges, markers, signs))
    title = paint(wrapped(f"ROOFLINE   {shortened(report.device.name, 60)}: FLOP/s by FLOP/B"), "heading")
    return "\n".join([title, *_framed(grid, paint, signs), *key])


def _judging(lines: Sequence[Line]) -> list[Line]:
    """The lines that judge points, fastest first; all full ones where none does."""
    full = [line for line in lines if not line.lower]
    return ([line for line in lines if line.primary] or full)[:MOST_LINES]


def _ridges(shown: Scene, slopes: Sequence[Line], roofs: Sequence[Line]) -> list[tuple[str, float, float]]:
    """Name, intensity and rate of the ridges whose lines are both drawn, from the left."""
    drawn = {line.resource for line in (*slopes, *roofs)}
    found = [(c.name, c.intensity, c.flop_per_s) for c in shown.corners if drawn.issuperset(c.name.split("/"))]
    return found[:MOST_RIDGES]


def _markers(marks: Sequence[Mark]) -> Mapping[str, str]:
    """A sign for each group of points; those beyond the last sign share it."""
    groups = list(dict.fromkeys(mark.group for mark in marks))
    return {group: MARKERS[min(order, len(MARKERS) - 1)] for order, group in enumerate(groups)}


def _draw_slopes(grid: Grid, slopes: Sequence[Line], roofs: Sequence[Line], signs: Signs) -> Mapping[str, Line]:
    """Each slope up to the highest roof, and the letter near its lower end by which the key names it."""
    highest = max(roof.rate for roof in roofs)
    letters = {}
    for order, slope in enumerate(slopes):
        for column in range(COLUMNS):
            rate = slope.rate * grid.intensity(column)
            if rate <= highest:
                grid.put(grid.row(max(rate, grid.y_limits[0])), column, signs.slope, "faint")
        letter = chr(ord("a") + order)
        letters[letter] = slope
    for order, (letter, slope) in enumerate(letters.items()):
        column = _first_column(grid, slope) + 2 + 4 * order
        grid.put(grid.row(slope.rate * grid.intensity(column)), column, letter, "heading")
    return letters


def _first_column(grid: Grid, slope: Line) -> int:
    """The column in which a slope rises above the lower edge."""
    return max(0, grid.column(grid.y_limits[0] / slope.rate))


def _draw_roofs(grid: Grid, roofs: Sequence[Line], slopes: Sequence[Line], signs: Signs) -> None:
    """Each roof from the steepest slope on, with its name above its right end where there is room."""
    steepest = max(slope.rate for slope in slopes)
    for roof in roofs:
        row = grid.row(roof.rate)
        first = max(0, grid.column(roof.rate / steepest))
        grid.put(row, first, signs.roof * (COLUMNS - first), "faint")
    for roof in roofs:
        name = _named(roof)
        row = grid.row(roof.rate) - 1
        if row >= 0 and grid.free(row, COLUMNS - len(name), len(name)):
            grid.put(row, COLUMNS - len(name), name, "heading")


def _named(line: Line) -> str:
    return f"{shortened(line.resource, 30)} {si(line.rate, line.unit)}"


def _draw_ridges(grid: Grid, ridges: Sequence[tuple[str, float, float]], signs: Signs) -> None:
    for _, intensity, rate in ridges:
        column = grid.column(intensity)
        for row in range(grid.row(rate) + 1, ROWS):
            if (row, column) not in grid.cells:
                grid.put(row, column, signs.below_ridge, "faint")
    for _, intensity, rate in ridges:
        grid.put(grid.row(rate), grid.column(intensity), signs.ridge, "heading")


def _draw_points(grid: Grid, marks: Sequence[Mark], markers: Mapping[str, str]) -> None:
    """Those above their roof last, so that nothing hides them."""
    for mark in sorted(marks, key=lambda mark: bool(mark.above)):
        style: Style = "bad" if mark.above else "good"
        sign = ABOVE if mark.above else markers[mark.group]
        grid.put(grid.row(mark.flop_per_s.value), grid.column(mark.intensity), sign, style)


def _framed(grid: Grid, paint: Paint, signs: Signs) -> Iterator[str]:
    """The rows with the decades of the rate on the left, and those of the intensity below."""
    labels = {grid.row(decade): si(decade, "FLOP/s", 1) for decade in _decades(grid.y_limits)}
    for row in range(ROWS):
        yield f"{labels.get(row, ''):>{MARGIN - 2}} {signs.side}{_painted(grid, row, paint)}".rstrip()
    columns = {grid.column(decade): f"{decade:g}" for decade in _decades(grid.x_limits)}
    floor = "".join(signs.tick if column in columns else signs.floor for column in range(COLUMNS))
    yield " " * (MARGIN - 1) + signs.corner + floor
    below = [" "] * (WIDTH - MARGIN)
    for column, text in columns.items():
        below[column : column + len(text)] = text
    yield (" " * MARGIN + "".join(below)).rstrip()


def _painted(grid: Grid, row: int, paint: Paint) -> str:
    cells = [grid.cells.get((row, column), (" ", None)) for column in range(COLUMNS)]
    runs = ((style, "".join(sign for sign, _ in run)) for style, run in groupby(cells, key=lambda cell: cell[1]))
    return "".join(paint(text, style) if style else text for style, text in runs).rstrip()


def _decades(limits: tuple[float, float]) -> list[float]:
    low, high = limits
    exponents = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return [10.0**exponent for exponent in exponents]


def _key(
    shown: Scene,
    letters: Mapping[str, Line],
    ridges: Sequence[tuple[str, float, float]],
    markers: Mapping[str, str],
    signs: Signs,
) -> Iterator[str]:
    """What letters and signs mean, and what is drawn elsewhere only."""
    yield wrapped("slopes  " + "; ".join(f"{letter} {_named(line)}" for letter, line in letters.items()), indent="  ")
    if ridges:
        named = "; ".join(f"{name} {si(intensity, 'FLOP/B')}" for name, intensity, _ in ridges)
        yield wrapped(f"ridges  {signs.ridge} {named}", indent="  ")
    if markers:
        above = [f"{ABOVE} above its roof"] if any(mark.above for mark in shown.marks) else []
        groups = [f"{sign} {group}" for group, sign in markers.items()]
        yield wrapped("points  " + "; ".join([*groups, *above]), indent="  ")
    drawn = {line.resource for line in (*letters.values(), *_judging(shown.roofs))}
    others = [line.resource for line in (*shown.slopes, *shown.roofs) if line.resource not in drawn]
    if others:
        yield wrapped(f"not here but on the chart and the page: {listed(others, 6)}", indent="  ")
