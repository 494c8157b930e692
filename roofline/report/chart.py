"""The roofline as a picture: intensity against FLOP/s on log-log axes, as SVG, PNG or PDF, without a display.

What is shown is decided in `roofline.report.scene`, drawn inside the axes by `roofline.report.drawing`, named there
by `roofline.report.naming`; here is the rest: the file, the title, the legend and the remarks below.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofline.model import Measurement
from roofline.report import Report
from roofline.report.caption import caption, spoken
from roofline.report.drawing import ALARM, GREY, INK, Canvas, Group, groups_of, set_scales
from roofline.report.drawing import draw as draw_inside
from roofline.report.lettering import BODY, FONT, SMALL, TITLE, Measure, broken, fitted, measured_by
from roofline.report.naming import ROOF_NAME_SPACE, line_name, write_names
from roofline.report.scene import Scene, scene
from roofline.units import UNKNOWN, si

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What each kind of file is saved with, so that the same report gives the same bytes: no date, no program's version.
METADATA: Mapping[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}
STYLE = {"text.parse_math": False, "svg.hashsalt": "roofline", "font.family": FONT, "savefig.dpi": "figure"}
# Pixels an inch of the layout and of a PNG; `Canvas.pixels` carries the layout over to the other kinds.
DPI = 150

# The picture in inches, from top to bottom: head, legend, axes, axis, remarks.
WIDTH, MARGIN, LEFT = 8.0, 0.15, 0.72
HEAD, LEGEND_ROW, AXES, AXIS, REMARK = 0.62, 0.21, 4.4, 0.46, 0.16
ROOF_NAME_GAP = 0.3


class ChartUnavailable(Exception):
    """A chart was asked for and matplotlib is not installed; the message says how to install it."""


def check(path: Path | str) -> None:
    """See to it, before anything is measured, that a chart can be drawn into a file of this name.

    Raises:
        ValueError: the suffix is none that can be drawn.
        ChartUnavailable: matplotlib is not installed.
    """
    _kind(path)
    folder = Path(path).absolute().parent
    if not os.access(folder, os.W_OK):
        there = "cannot be written to" if folder.is_dir() else "does not exist"
        raise ValueError(f"cannot draw a chart into {str(path)!r}: the folder {there}")
    _require_matplotlib()


def draw(report: Report, path: Path | str) -> list[str]:
    """Draw the roofline of a report into a file, and return what is to be said of it.

    Raises:
        ValueError: the suffix is none that can be drawn.
        ChartUnavailable: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    check(path)
    kind = _kind(path)
    with settings():
        figure(report).savefig(path, format=kind, metadata=METADATA[kind])
    return spoken(scene(report))


def _kind(path: Path | str) -> str:
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in METADATA:
        allowed = ", ".join(f".{name}" for name in METADATA)
        raise ValueError(f"cannot draw a chart into {str(path)!r}: give it a name that ends in one of {allowed}")
    return kind


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401  # optional, and slow to import: only who draws pays
    except ImportError as missing:
        raise ChartUnavailable(
            f"matplotlib cannot be imported ({missing}), so no chart can be drawn: pip install 'pytest-roofline[chart]'"
        ) from None


def settings() -> Any:
    """A context with matplotlib's own defaults and our style, whatever a user's matplotlibrc says."""
    import matplotlib.style

    return matplotlib.style.context(["default", STYLE])


def figure(report: Report, numbered: frozenset[str] = frozenset()) -> "Figure":
    """The picture, not yet saved; to be made within `settings()`.

    The points and slopes in `numbered` have their names below the chart. Names that find no room beside their point or
    line are added to them, and the picture is made anew.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = scene(report)
    picture = Figure(figsize=(WIDTH, AXES), dpi=DPI)
    measure = measured_by(FigureCanvasAgg(picture).get_renderer())  # type: ignore[no-untyped-call]
    layout = _layout(shown, numbered, measure)
    picture.set_size_inches(WIDTH, layout.height)
    axes = picture.add_axes(layout.axes)
    set_scales(axes, shown)
    canvas = Canvas(axes, shown, groups_of(shown), measure, numbered)
    draw_inside(canvas)
    roomless = write_names(canvas) - numbered
    if roomless:
        return figure(report, numbered | roomless)
    _write_head(picture, report, layout, measure)
    _write_legend(picture, shown, layout)
    _write_remarks(picture, layout)
    return picture


@dataclass(frozen=True)
class Layout:
    """The height of the picture in inches, the axes in its fractions, and what stands around them."""

    height: float
    axes: tuple[float, float, float, float]
    legend_columns: int
    remarks: Sequence[str]

    def from_top(self, inches: float) -> float:
        """The fraction of the height that lies `inches` below the top."""
        return 1 - inches / self.height

    def from_bottom(self, inches: float) -> float:
        """The fraction of the height that lies `inches` above the bottom."""
        return inches / self.height


def _layout(shown: Scene, numbered: frozenset[str], measure: Measure) -> Layout:
    room = WIDTH - 2 * MARGIN
    remarks = caption(shown, numbered, lambda text: broken(text, SMALL, room * DPI, measure))
    entries = [group.name for group in groups_of(shown).values()] + [RING] * any(mark.above for mark in shown.marks)
    widest = max([measure(entry, BODY)[0] / DPI for entry in entries], default=room) + 0.35
    columns = max(1, min(len(entries), int(room / widest)))
    names = [measure(line_name(roof), SMALL) for roof in shown.roofs]
    right = max([width / DPI for width, _ in names], default=0.0) + ROOF_NAME_GAP
    high = max(AXES, sum(tall + ROOF_NAME_SPACE for _, tall in names) / DPI)
    bottom = AXIS + MARGIN + REMARK * len(remarks)
    height = HEAD + LEGEND_ROW * math.ceil(len(entries) / columns) + high + bottom
    axes = (LEFT / WIDTH, bottom / height, (WIDTH - LEFT - right) / WIDTH, high / height)
    return Layout(height, axes, columns, remarks)


RING = "above its roof"


def _write_head(picture: "Figure", report: Report, layout: Layout, measure: Measure) -> None:
    room = (WIDTH - 2 * MARGIN) * DPI
    left = MARGIN / WIDTH
    title = fitted(report.device.name, TITLE, room, measure)
    picture.text(left, layout.from_top(0.16), title, fontsize=TITLE, color=INK, va="top")
    subtitle = fitted(_subtitle(report), BODY, room, measure)
    colour = GREY if report.complete else ALARM
    picture.text(left, layout.from_top(0.43), subtitle, fontsize=BODY, color=colour, va="top")


def _subtitle(report: Report) -> str:
    """When and over how much memory the points were measured, and whether all of them were."""
    footprint = max((_footprint(measurement) for measurement in report.measurements), default=0)
    parts = [
        "" if report.complete else "INCOMPLETE RUN",
        f"measured {report.environment.facts.get('date') or 'on an unknown date'}, medians",
        f"footprint {si(footprint, 'B') if footprint else UNKNOWN}",
        report.device.slug,
    ]
    return "  ·  ".join(filter(None, parts))


def _footprint(measurement: Measurement) -> int:
    return measurement.footprint_bytes


def _write_legend(picture: "Figure", shown: Scene, layout: Layout) -> None:
    handles = [_handle(group) for group in groups_of(shown).values()]
    handles += [_ring()] * any(mark.above for mark in shown.marks)
    if handles:
        picture.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(MARGIN / WIDTH, layout.from_top(HEAD)),
            ncols=layout.legend_columns,
            frameon=False,
            fontsize=BODY,
            labelcolor=INK,
            borderpad=0,
            borderaxespad=0,
            handletextpad=0.2,
            handlelength=1.4,
            columnspacing=1.6,
        )


def _handle(group: Group) -> Any:
    from matplotlib.lines import Line2D

    # Matplotlib leaves out what begins with an underscore, so a space goes before it.
    label = f" {group.name}" if group.name.startswith("_") else group.name
    return Line2D([], [], linestyle="none", marker=group.marker, color=group.colour, markersize=group.size, label=label)


def _ring() -> Any:
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], linestyle="none", marker="o", markerfacecolor="none", markeredgecolor=ALARM, markersize=9, label=RING
    )


def _write_remarks(picture: "Figure", layout: Layout) -> None:
    for order, line in enumerate(reversed(layout.remarks)):
        y = layout.from_bottom(MARGIN / 2 + REMARK * order)
        picture.text(MARGIN / WIDTH, y, line, fontsize=SMALL, color=GREY, va="bottom")
