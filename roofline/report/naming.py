"""The names on a chart: of ceilings, ridges and points, each where it ties to what it names."""

import math
from collections.abc import Iterator, Sequence

from roofline.report.drawing import (
    FAINT,
    GREY,
    INK,
    MARKER_POINTS,
    RING_POINTS,
    Canvas,
    roof_start,
    slope_colour,
    slope_ends,
)
from roofline.report.labels import (
    ON_A_POINT,
    Labels,
    Place,
    above_or_below,
    along_slope,
    around,
    spread_out,
    staircase,
)
from roofline.report.lettering import SMALL, TINY, drawable
from roofline.report.scene import Corner, Line, Mark
from roofline.report.text import shortened
from roofline.units import si

LINE_NAME_WIDTH, POINT_NAME_WIDTH = 28, 26
ROOF_NAME_SPACE = 5  # pixels between the names of two roofs


def line_name(line: Line) -> str:
    """A ceiling by its name and figure: "dram_update 55.1 GB/s"."""
    return drawable(f"{shortened(line.resource, LINE_NAME_WIDTH)}  {si(line.rate, line.unit)}")


def point_name(number: int, mark: Mark, numbered: frozenset[str]) -> str:
    """What stands beside a point: its name, or the number under which the name stands below the chart."""
    return str(number) if needs_number(mark, numbered) else drawable(mark.name)


def needs_number(mark: Mark, numbered: frozenset[str]) -> bool:
    """Whether a point's name is too long for the chart, or found no room there."""
    return mark.name in numbered or len(drawable(mark.name)) > POINT_NAME_WIDTH


def write_names(canvas: Canvas) -> frozenset[str]:
    """Write all names on the chart. Returns those of points and slopes that found no room."""
    labels = _labels(canvas)
    _name_corners(canvas, labels)
    _name_roofs(canvas)
    # Slopes come last: they are long, so they find room where points have left some.
    roomless = frozenset([*_name_points(canvas, labels), *_name_slopes(canvas, labels)])
    _name_levels(canvas, labels)
    return roomless


def _labels(canvas: Canvas) -> Labels:
    points = [canvas.pixel(mark.intensity, mark.flop_per_s.value) for mark in canvas.shown.marks]
    points += [canvas.pixel(i, mark.flop_per_s.value) for mark in canvas.shown.marks for _, i in mark.elsewhere]
    points += [canvas.pixel(corner.intensity, corner.flop_per_s) for corner in canvas.shown.corners]
    (x0, y0), (x1, y1) = (canvas.pixel(intensity, intensity) for intensity in canvas.shown.x_limits)
    slope = (y1 - y0) / (x1 - x0)
    starts = [canvas.pixel(*slope_ends(canvas, line)[0]) for line in canvas.shown.slopes]
    return Labels(
        area=canvas.area,
        points=points,
        angle=math.atan(slope),
        slopes=[y - x * slope for x, y in starts],
        drops=[canvas.pixel(corner.intensity, corner.flop_per_s) for corner in canvas.shown.corners],
        roofs=[canvas.pixel(roof_start(canvas, line), line.rate) for line in canvas.shown.roofs],
        radius=MARKER_POINTS / 2 * canvas.pixels_a_point,
    )


# A white ground that keeps lines out of a text.
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}


def _write(canvas: Canvas, text: str, place: Place, colour: str, on_paper: bool = False, points: float = SMALL) -> None:
    canvas.axes.text(
        *place.center,
        text,
        transform=canvas.pixels,
        rotation=math.degrees(place.angle),
        rotation_mode="anchor",
        ha="center",
        va="center",
        fontsize=points,
        color=colour,
        zorder=3.3,
        bbox=PAPER if on_paper else None,
    )


def _name_corners(canvas: Canvas, labels: Labels) -> None:
    """Each ridge's line drops to its name, the leftmost to the lowest."""
    corners = canvas.shown.corners
    names = [_corner_name(corner, corners) for corner in corners]
    pixels = [canvas.pixel(corner.intensity, corner.flop_per_s) for corner in corners]
    sizes = [canvas.measure(name, SMALL) for name in names]
    height = max([size[1] for size in sizes], default=0.0)
    places = staircase(pixels, [size[0] for size in sizes], height, canvas.area)
    for corner, name, place in zip(corners, names, places, strict=True):
        _, foot = canvas.axes.transData.inverted().transform((place.center[0], place.box.bottom))
        canvas.axes.plot(
            [corner.intensity] * 2, [foot, corner.flop_per_s], color=GREY, linewidth=0.9, linestyle=":", zorder=1.9
        )
        _write(canvas, name, place, GREY, on_paper=True)
        labels.take(place)


def _corner_name(corner: Corner, corners: Sequence[Corner]) -> str:
    """The ridge's intensity, with the roof and the slope as far as they tell it from the others."""
    parts = zip(*(other.name.split("/") for other in corners), strict=True)
    own = [part for part, all_parts in zip(corner.name.split("/"), parts, strict=True) if len(set(all_parts)) > 1]
    figure = f"ridge {si(corner.intensity, 'FLOP/B')}"
    return drawable(f"{figure}  ({shortened('/'.join(own), 48)})") if own else figure


def _name_roofs(canvas: Canvas) -> None:
    """The roofs' names in the right margin, each joined to its line where it had to move."""
    roofs = canvas.shown.roofs
    if not roofs:
        return
    wanted = [canvas.pixel(canvas.shown.x_limits[1], line.rate)[1] for line in roofs]
    height = canvas.measure(line_name(roofs[0]), SMALL)[1]
    heights = spread_out(wanted, height + ROOF_NAME_SPACE, canvas.area.bottom + height / 2, canvas.area.top)
    edge = canvas.area.right + 2
    for line, start, end in zip(roofs, wanted, heights, strict=True):
        colour = INK if line.primary else GREY
        name = line_name(line)
        canvas.axes.plot(
            [edge, edge + 14, edge + 24],
            [start, end, end],
            transform=canvas.pixels,
            clip_on=False,
            color=FAINT,
            linewidth=0.8,
            gid="leader",
        )
        width = canvas.measure(name, SMALL)[0]
        _write(canvas, name, Place((edge + 29 + width / 2, end), width, height), colour)


def _name_slopes(canvas: Canvas, labels: Labels) -> Iterator[str]:
    """The slopes' names along their lines, inner ones first: the outer have a side free. Yields those without room."""
    slopes = canvas.shown.slopes
    inner_first = sorted(range(len(slopes)), key=lambda order: -min(order, len(slopes) - 1 - order))
    for order in inner_first:
        line, outer = slopes[order], order in (0, len(slopes) - 1)
        name = line_name(line)
        start, end = (canvas.pixel(*point) for point in slope_ends(canvas, line))
        place = labels.best(along_slope(start, end, canvas.measure(name, SMALL), labels.radius, from_end=outer))
        if not place:
            yield line.resource
            continue
        colour = slope_colour(canvas, line) if line.primary else GREY
        _write(canvas, name, place, colour, on_paper=True)


def _name_points(canvas: Canvas, labels: Labels) -> Iterator[str]:
    """Names beside the points that have one of their own; yields those that had no room."""
    named = [mark for mark in canvas.shown.marks if mark.named]
    for number, mark in enumerate(named, start=1):
        name = point_name(number, mark, canvas.numbered)
        pixel = canvas.pixel(mark.intensity, mark.flop_per_s.value)
        radius = (RING_POINTS if mark.above else MARKER_POINTS) / 2 * canvas.pixels_a_point
        places = labels.belonging(around(pixel, *canvas.measure(name, SMALL), radius), pixel)
        place = labels.best(places, most=ON_A_POINT / 2)
        if place:
            _write(canvas, name, place, canvas.groups[mark.group].colour)
        else:
            yield mark.name


def _name_levels(canvas: Canvas, labels: Labels) -> None:
    """The level beside each small marker; where there is no room the remark below the chart tells it."""
    for mark in canvas.shown.marks:
        for level, intensity in mark.elsewhere:
            pixel = canvas.pixel(intensity, mark.flop_per_s.value)
            size = canvas.measure(drawable(level), TINY)
            places = above_or_below(pixel, *size, labels.radius)
            place = labels.best(labels.belonging(places, pixel), most=ON_A_POINT / 2)
            if place:
                _write(canvas, drawable(level), place, canvas.groups[mark.group].colour, points=TINY)
