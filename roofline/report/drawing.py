"""What stands inside the axes of a chart: scales, ceilings, points and ridges; their names are in `naming`."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roofline.report.labels import Box, Pixel
from roofline.report.lettering import SMALL, Measure, drawable
from roofline.report.scene import Line, Mark, Scene
from roofline.rooflines import MEMORY_LEVELS
from roofline.units import factor_of, prefixed

# Okabe and Ito's colours, told apart by colour-blind readers (Wong, Nature Methods 8, 441, 2011), the darker ones; with
# a number of markers that has no common factor with theirs, 35 groups differ in one or the other.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK, GREY, FAINT, GRID, ALARM = "#222222", "#666666", "#a8a8a8", "#e6e6e6", "#c1121f"
# Later markers are smaller, so that of points at one place each shows a rim.
NESTED = (7.2, 6.0, 5.4)
MARKER_POINTS, RING_POINTS, ELSEWHERE_POINTS = max(NESTED), 13.0, 4.2
POINTS_AN_INCH = 72


@dataclass(frozen=True)
class Group:
    """Points that share a marker, its size in points and a colour."""

    name: str
    colour: str
    marker: str
    size: float


def groups_of(shown: Scene) -> dict[str, Group]:
    """The groups of points on a chart, in the order they were measured."""
    names = list(dict.fromkeys(mark.group for mark in shown.marks))
    groups = {}
    for order, name in enumerate(names):
        colour, marker = COLOURS[order % len(COLOURS)], MARKERS[order % len(MARKERS)]
        groups[name] = Group(drawable(name), colour, marker, NESTED[order % len(NESTED)])
    return groups


@dataclass(frozen=True)
class Canvas:
    """Axes with their limits set, and what is drawn into them."""

    axes: Any
    shown: Scene
    groups: Mapping[str, Group]
    measure: Measure
    numbered: frozenset[str] = frozenset()

    def pixel(self, intensity: float, flop_per_s: float) -> Pixel:
        """Where a point of the roofline lies, in pixels of the layout."""
        x, y = self.axes.transData.transform((intensity, flop_per_s))
        return float(x), float(y)

    @property
    def pixels(self) -> Any:
        """The transform for what is placed in pixels of the layout: by way of inches, which all kinds of file share.

        An SVG and a PDF are drawn at 72 pixels an inch whatever the figure was laid out at.
        """
        from matplotlib.transforms import Affine2D

        picture = self.axes.figure
        return Affine2D().scale(1 / picture.dpi) + picture.dpi_scale_trans

    @property
    def pixels_a_point(self) -> float:
        """How many pixels a typographic point is."""
        return float(self.axes.figure.dpi) / POINTS_AN_INCH

    @property
    def area(self) -> Box:
        """The inside of the axes, in pixels of the layout."""
        box = self.axes.get_window_extent()
        return Box(box.x0 + 2, box.y0 + 2, box.x1 - 2, box.y1 - 2)


def set_scales(axes: Any, shown: Scene) -> None:
    """Log-log axes with plain numbers, in the prefix that suits the middle, and a light grid."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    symbol = prefixed("FLOP/s", math.sqrt(math.prod(shown.y_limits)))
    axes.set(xscale="log", yscale="log", xlim=shown.x_limits, ylim=shown.y_limits)
    scales = ((axes.xaxis, 1.0, shown.x_limits), (axes.yaxis, factor_of(symbol), shown.y_limits))
    for axis, unit, limits in scales:
        axis.set_major_formatter(FuncFormatter(lambda value, _, unit=unit: f"{value / unit:.12g}"))
        axis.set_major_locator(FixedLocator(ticks(limits, (1,))))
        axis.set_minor_locator(FixedLocator(ticks(limits, range(2, 10))))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("intensity (FLOP/B)", fontsize=9, color=INK)
    axes.set_ylabel(symbol, fontsize=9, color=INK)
    axes.grid(True, which="major", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", color=FAINT, labelcolor=GREY, labelsize=SMALL)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)


def ticks(limits: tuple[float, float], multiples: Iterable[int]) -> list[float]:
    """The multiples of each power of ten that lie within the limits."""
    low, high = limits
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = (multiple * 10.0**power for power in powers for multiple in multiples)
    return [value for value in values if low <= value <= high]


def draw(canvas: Canvas) -> None:
    """Slopes, roofs, points with their intervals, and ridges."""
    _draw_slopes(canvas)
    _draw_roofs(canvas)
    _draw_points(canvas)
    _draw_corners(canvas)


def _line_style(line: Line, colour: str) -> dict[str, Any]:
    """Dark where it judges points, pale where it judges none; dashed and thinner where it lies below another."""
    if line.lower:
        return {"color": colour if line.primary else FAINT, "linewidth": 0.8, "linestyle": (0, (4, 3)), "zorder": 2.1}
    if line.primary:
        return {"color": colour, "linewidth": 1.5, "zorder": 2.2}
    return {"color": FAINT, "linewidth": 1.1, "zorder": 2.1}


def slope_colour(canvas: Canvas, line: Line) -> str:
    """The colour of the points that alone use this mix of reads and writes, so that the eye ties them; else ink."""
    users = {mark.group for mark in canvas.shown.marks if line.resource in mark.judged_by}
    if len(users) == 1 and len(canvas.groups) > 1 and line.resource not in MEMORY_LEVELS:
        return canvas.groups[users.pop()].colour
    return INK


def slope_ends(canvas: Canvas, line: Line) -> tuple[tuple[float, float], tuple[float, float]]:
    """From where a slope enters the axes to where it meets the highest roof (or leaves the axes).

    A lower one ends where the roofs do that judge points: what is above those is nothing to it.
    """
    (left, right), (low, high) = canvas.shown.x_limits, canvas.shown.y_limits
    roofs = [roof.rate for roof in canvas.shown.roofs if roof.primary or not line.lower]
    top = max(roofs or [roof.rate for roof in canvas.shown.roofs], default=high)
    start, end = max(left, low / line.rate), min(right, top / line.rate)
    return (start, start * line.rate), (end, end * line.rate)


def roof_start(canvas: Canvas, line: Line) -> float:
    """Where a roof begins: at the steepest slope, since nothing can reach it further left."""
    steepest = max([slope.rate for slope in canvas.shown.slopes], default=math.inf)
    return max(canvas.shown.x_limits[0], line.rate / steepest)


def _draw_slopes(canvas: Canvas) -> None:
    for line in canvas.shown.slopes:
        (x0, y0), (x1, y1) = slope_ends(canvas, line)
        style = _line_style(line, slope_colour(canvas, line))
        canvas.axes.plot([x0, x1], [y0, y1], gid=f"slope {line.resource}", **style)


def _draw_roofs(canvas: Canvas) -> None:
    right = canvas.shown.x_limits[1]
    for line in canvas.shown.roofs:
        start = roof_start(canvas, line)
        canvas.axes.plot([start, right], [line.rate] * 2, gid=f"roof {line.resource}", **_line_style(line, INK))


def _draw_points(canvas: Canvas) -> None:
    for name, group in canvas.groups.items():
        marks = [mark for mark in canvas.shown.marks if mark.group == name]
        _draw_intervals(canvas, marks, group.colour)
        canvas.axes.plot(
            [mark.intensity for mark in marks],
            [mark.flop_per_s.value for mark in marks],
            linestyle="none",
            marker=group.marker,
            markersize=group.size,
            color=group.colour,
            markeredgecolor="white",
            markeredgewidth=0.6,
            zorder=4,
            gid="points",
        )
        _draw_elsewhere(canvas, marks, group)
    _draw_rings(canvas)


def _draw_elsewhere(canvas: Canvas, marks: Sequence[Mark], group: Group) -> None:
    """The same points at their other levels: hollow, smaller, joined by a thin line."""
    for mark in marks:
        if mark.elsewhere:
            height = mark.flop_per_s.value
            others = [intensity for _, intensity in mark.elsewhere]
            along = [mark.intensity, *others]
            canvas.axes.plot([min(along), max(along)], [height] * 2, color=group.colour, linewidth=0.7, zorder=3.2)
            canvas.axes.plot(
                others,
                [height] * len(others),
                linestyle="none",
                marker=group.marker,
                markersize=ELSEWHERE_POINTS,
                markerfacecolor="white",
                markeredgecolor=group.colour,
                markeredgewidth=1.0,
                zorder=3.8,
                gid="levels",
            )


def _draw_intervals(canvas: Canvas, marks: Sequence[Mark], colour: str) -> None:
    """A bar for each interval that reaches beyond its marker."""
    for mark in marks:
        low, high = _visible_interval(canvas, mark)
        if high > low:
            canvas.axes.plot(
                [mark.intensity] * 2, [low, high], color=colour, linewidth=1.1, alpha=0.6, zorder=3.5, gid="interval"
            )


def _visible_interval(canvas: Canvas, mark: Mark) -> tuple[float, float]:
    rate = mark.flop_per_s
    low, high = max(rate.low, canvas.shown.y_limits[0]), min(rate.high, canvas.shown.y_limits[1])
    reach = min(NESTED) / 2 * canvas.pixels_a_point
    middle = canvas.pixel(mark.intensity, rate.value)[1]
    bounds = canvas.pixel(mark.intensity, low)[1], canvas.pixel(mark.intensity, high)[1]
    seen = any(abs(bound - middle) > reach + 1 for bound in bounds)
    return (low, high) if seen else (rate.value, rate.value)


def _draw_rings(canvas: Canvas) -> None:
    marks = [mark for mark in canvas.shown.marks if mark.above]
    if marks:
        canvas.axes.plot(
            [mark.intensity for mark in marks],
            [mark.flop_per_s.value for mark in marks],
            linestyle="none",
            marker="o",
            markersize=RING_POINTS,
            markerfacecolor="none",
            markeredgecolor=ALARM,
            markeredgewidth=1.4,
            zorder=4.5,
            gid="rings",
        )


def _draw_corners(canvas: Canvas) -> None:
    corners = canvas.shown.corners
    canvas.axes.plot(
        [corner.intensity for corner in corners],
        [corner.flop_per_s for corner in corners],
        linestyle="none",
        marker="D",
        markersize=4,
        markerfacecolor="white",
        markeredgecolor=INK,
        markeredgewidth=1.0,
        zorder=3,
        gid="ridges",
    )
