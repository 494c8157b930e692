"""The chart: all that was measured is on it or listed below it, nothing overlaps, and a report gives one file."""

import math
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.path import Path as Polygon
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, BboxTransformTo
from sample import (
    CARD,
    CPU,
    CPU_SLOPES,
    TILED,
    card_report,
    ceiling,
    cpu_report,
    dials,
    gpu_report,
    measured,
    placed,
    row,
)

from roofline.model import Absent, Environment, Traffic, Work
from roofline.report import Report, chart
from roofline.report.labels import Box, spread_out
from roofline.report.scene import scene
from roofline.rooflines import Roofline

pytestmark = pytest.mark.correctness

LONG = "_ZN" + "5outer5inner" * 50
REPORTS = {"cpu": cpu_report(), "gpu": gpu_report(), "card": card_report()}


@cache
def standard(name: str):
    """The picture of one of the `REPORTS`, drawn once."""
    return drawn(REPORTS[name])


def drawn(report: Report):
    """The finished picture and its axes, laid out as it will be saved."""
    with chart.settings():
        figure = chart.figure(report)
        figure.canvas.draw()
    return figure, figure.axes[0]


def texts(figure) -> list[Text]:
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


def written(figure) -> str:
    return "\n".join(text.get_text() for text in texts(figure))


def artists(axes, gid: str) -> list:
    return [line for line in axes.lines if line.get_gid() == gid]


def placed_kernels(*kernels: tuple[str, Work]) -> Report:
    """A CPU report whose only rows are kernels of a user's own."""
    whole = cpu_report()
    rows = [measured(row("own", name), work, 1e-3) for name, work in kernels]
    return replace(whole, measurements=rows, points=placed(rows, Roofline(whole.ceilings)), absent=(), claims=())


def work(flops: float = 1.0, moved: float = 8.0) -> Work:
    return Work(flops * 1e6, "fp32", {"dram": Traffic(moved * 1e6, 0.0)})


def outline(text: Text) -> Polygon:
    """The rectangle of a text, turned as it is."""
    angle = text.get_rotation()
    extent = text.get_window_extent()
    if angle % 90 == 0:
        return Polygon.unit_rectangle().transformed(BboxTransformTo(extent))
    text.set_rotation(0)
    level = text.get_window_extent()
    text.set_rotation(angle)
    upright = Polygon.unit_rectangle().transformed(BboxTransformTo(level))
    middle = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
    return upright.transformed(Affine2D().rotate_deg_around(*middle, angle))


def touching(figure) -> list[tuple[str, str]]:
    """Pairs of texts whose turned rectangles meet."""
    outlines = [(text.get_text(), outline(text)) for text in texts(figure)]
    return [(a, b) for (a, one), (b, other) in combinations(outlines, 2) if one.intersects_path(other, filled=True)]


@pytest.mark.parametrize("name", REPORTS)
def test_no_text_touches_another(name):
    figure, _ = standard(name)
    assert len(texts(figure)) > 20
    assert touching(figure) == []


def test_a_text_on_another_is_seen():
    """The test above can fail: two texts at one place touch, turned or not; parallel ones side by side do not."""
    figure = Figure(dpi=150)
    FigureCanvasAgg(figure)
    style = {"rotation_mode": "anchor", "ha": "center", "va": "center"}
    figure.text(0.3, 0.5, "flat and wide", **style)
    figure.text(0.31, 0.5, "turned", rotation=40, **style)
    assert touching(figure) == [("flat and wide", "turned")]
    beside = Figure(dpi=150)
    FigureCanvasAgg(beside)
    for step in range(3):
        beside.text(0.3 + 0.05 * step, 0.5, "one of many parallel names", rotation=45, **style)
    assert touching(beside) == []


@pytest.mark.parametrize("name", REPORTS)
def test_every_text_lies_inside_the_picture(name):
    figure, _ = standard(name)
    picture = Box(0, 0, *figure.bbox.size)
    boxes = {text.get_text(): text.get_window_extent() for text in texts(figure)}
    assert [name for name, b in boxes.items() if not Box(b.x0, b.y0, b.x1, b.y1).inside(picture)] == []


POINTS_AN_INCH = 72  # what an SVG and a PDF are drawn at
NUMBER = r"(-?[\d.]+)"
SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


def svg_of(report: Report, folder: Path) -> ElementTree.Element:
    path = folder / "chart.svg"
    chart.draw(report, path)
    with_comments = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    return ElementTree.parse(path, with_comments).getroot()


def viewed(svg: ElementTree.Element) -> tuple[float, float]:
    """Width and height of the picture, in points."""
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    assert (svg.attrib["width"], svg.attrib["height"]) == (f"{width:g}pt", f"{height:g}pt")
    return width, height


def svg_transform(element: ElementTree.Element) -> Affine2D:
    """The transform of an element without that of its parents."""
    transform = Affine2D()
    for name, first, second in re.findall(rf"(\w+)\({NUMBER}(?: {NUMBER})?\)", element.get("transform", "")):
        one, other = float(first), float(second or first)
        step = {
            "translate": Affine2D().translate(one, other),
            "scale": Affine2D().scale(one, other),
            "rotate": Affine2D().rotate_deg(one),
        }[name]
        transform = step + transform
    return transform


def svg_texts(svg: ElementTree.Element) -> list[tuple[str, Box]]:
    """Every text and the box around its ink as a browser draws it, in points from the lower left of the picture."""
    height = viewed(svg)[1]
    shapes = {path.attrib["id"]: path for path in svg.iter(f"{SVG}path") if "id" in path.attrib}
    found = []
    for group in svg.iter(f"{SVG}g"):
        if not group.get("id", "").startswith("text_"):
            continue
        comment = next(child for child in group if child.tag is ElementTree.Comment)
        lettering = group[-1]  # after the ground that some have
        ink = []
        for glyph in lettering.iter(f"{SVG}use"):
            shape = shapes[glyph.attrib[f"{XLINK}href"].removeprefix("#")]
            numbers = list(map(float, re.findall(NUMBER, shape.get("d", ""))))
            within = svg_transform(shape) + svg_transform(glyph) + svg_transform(lettering)
            ink += within.transform(list(zip(numbers[::2], numbers[1::2], strict=True))).tolist() if numbers else []
        across, down = zip(*ink, strict=True)
        found.append((comment.text.strip(), Box(min(across), height - max(down), max(across), height - min(down))))
    return found


def boxes_in_points(figure) -> list[tuple[str, Box]]:
    """The box of every text, in points from the lower left of the picture, as the figure is laid out now."""
    scale = POINTS_AN_INCH / figure.dpi
    extents = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    return [(name, Box(*(scale * side for side in extent.extents))) for name, extent in extents]


def in_inches(figure) -> list[tuple[str, list[float]]]:
    """Where the anchor of every name and the ends of every line are in the picture, as it is laid out now."""
    (axes,) = figure.axes
    places = [(each.get_text(), [each.get_position()], each) for each in (*axes.texts, *figure.texts)]
    places += [(str(line.get_gid()), line.get_xydata(), line) for line in axes.lines]
    return [(what, list((each.get_transform().transform(xy) / figure.dpi).flat)) for what, xy, each in places]


def plain(name: str) -> str:
    """A text without its spaces, and dashes as a comment of an SVG has them."""
    return re.sub("-+", "-", "".join(name.split()))


def grown(box: Box, by: float) -> Box:
    return Box(box.left - by, box.bottom - by, box.right + by, box.top + by)


@pytest.mark.parametrize("name", REPORTS)
def test_every_text_of_an_svg_lies_inside_it_where_the_png_has_it(name, tmp_path):
    """A text off the canvas is lost; elsewhere than laid out it names another line. Ink is within the text's box."""
    svg, (figure, _) = svg_of(REPORTS[name], tmp_path), standard(name)
    found = [(plain(text), box) for text, box in svg_texts(svg)]
    size = viewed(svg)
    assert size == pytest.approx(POINTS_AN_INCH * figure.get_size_inches())
    assert [text for text, box in found if not box.inside(Box(0, 0, *size))] == []
    laid_out = [(plain(text), box) for text, box in boxes_in_points(figure)]
    assert Counter(text for text, _ in found) == Counter(text for text, _ in laid_out)
    elsewhere = [
        text
        for text, box in found
        if not any(text == other and box.inside(grown(place, 1.0)) for other, place in laid_out)
    ]
    assert elsewhere == []


@pytest.mark.parametrize("name", REPORTS)
def test_texts_and_lines_lie_the_same_at_every_resolution(name):
    """What holds for a PNG holds for an SVG and a PDF: nothing is placed in pixels of one of them."""
    figure, axes = drawn(REPORTS[name])
    assert artists(axes, "leader")
    laid_out = in_inches(figure)
    figure.dpi = POINTS_AN_INCH
    with chart.settings():
        figure.canvas.draw()
    for (what, before), (_, after) in zip(laid_out, in_inches(figure), strict=True):
        assert after == pytest.approx(before, abs=1e-6), what


def test_a_pdf_is_as_large_as_an_svg(tmp_path):
    chart.draw(REPORTS["card"], tmp_path / "chart.pdf")
    page = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", (tmp_path / "chart.pdf").read_bytes())
    assert page
    assert tuple(map(float, page.groups())) == pytest.approx(viewed(svg_of(REPORTS["card"], tmp_path)), abs=0.01)


@pytest.mark.parametrize("name", REPORTS)
def test_names_on_the_chart_cover_no_point(name):
    _, axes = standard(name)
    markers = [tuple(axes.transData.transform(xy)) for line in artists(axes, "points") for xy in line.get_xydata()]
    upright = [t for t in axes.texts if not t.get_rotation()]
    covered = [
        (text.get_text(), marker)
        for text in upright
        for marker in markers
        if text.get_window_extent().contains(*marker)
    ]
    assert covered == []


@pytest.mark.parametrize("name", REPORTS)
def test_all_points_and_ridges_are_inside_log_log_axes(name):
    """M6: plots are log-log and cover every point and ridge."""
    _, axes = standard(name)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    shown = [xy for gid in ("points", "ridges") for line in artists(axes, gid) for xy in line.get_xydata()]
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert len(shown) >= 22
    assert all(left < x < right and low < y < high for x, y in shown)


def test_every_point_of_the_dial_is_drawn_where_it_was_measured():
    report, (_, axes) = REPORTS["cpu"], standard("cpu")
    points = sorted((x, y) for line in artists(axes, "points") for x, y in line.get_xydata())
    rows = [m for m in report.measurements if m.key.experiment == "dial"]
    assert len(rows) == 51
    assert points == sorted((m.work.intensity(), m.flop_per_s.value) for m in rows)


def test_slopes_have_slope_one_and_end_at_the_roof():
    """M2 and M6: a bandwidth is a line of slope 1, up to the roof."""
    report, (_, axes) = REPORTS["cpu"], standard("cpu")
    for slope in CPU_SLOPES.values():
        (line,) = artists(axes, f"slope {slope}")
        (x0, y0), (x1, y1) = line.get_xydata()
        assert math.log(y1 / y0) / math.log(x1 / x0) == pytest.approx(1)
        assert y1 / x1 == pytest.approx(report.ceilings[slope].rate)
        assert y1 == pytest.approx(report.ceilings["fp32"].rate)


def test_names_of_slopes_turn_with_their_lines():
    _, axes = standard("cpu")
    for slope in CPU_SLOPES.values():
        (line,) = artists(axes, f"slope {slope}")
        (x0, y0), (x1, y1) = axes.transData.transform(line.get_xydata())
        (label,) = [text for text in axes.texts if text.get_text().startswith(f"{slope} ")]
        assert label.get_rotation() == pytest.approx(math.degrees(math.atan2(y1 - y0, x1 - x0)), abs=0.1)


def test_every_line_has_its_figure_and_lower_roofs_are_dashed():
    figure, axes = standard("cpu")
    for label in (
        "dram_update  55.1 GB/s",
        "dram_copy_nt  45.2 GB/s",
        "fp32  228 GFLOP/s",
        "fp32_one_chain  29.1 GFLOP/s",
    ):
        assert label in written(figure)
    (roof,), (lower,) = artists(axes, "roof fp32"), artists(axes, "roof fp32_one_chain")
    assert not roof.is_dashed()
    assert lower.is_dashed()


def test_each_ridge_is_marked_with_its_intensity():
    """A4: the measured ridge is on the chart."""
    figure, axes = standard("cpu")
    (ridges,) = artists(axes, "ridges")
    assert list(ridges.get_xdata()) == pytest.approx([4.138, 5.044, 7.651], rel=1e-3)
    for text in ("ridge 4.14 FLOP/B", "ridge 5.04 FLOP/B", "ridge 7.65 FLOP/B"):
        assert text in written(figure)


def test_ways_to_store_differ_in_marker_and_in_colour():
    figure, axes = standard("cpu")
    looks = [(line.get_marker(), line.get_color()) for line in artists(axes, "points")]
    assert len({marker for marker, _ in looks}) == len({colour for _, colour in looks}) == 3
    assert "dial, inplace" in written(figure)


def test_only_intervals_that_reach_beyond_their_marker_are_drawn():
    _, axes = standard("cpu")
    colours = [line.get_color() for line in artists(axes, "interval")]
    noisy = artists(axes, "points")[2].get_color()
    assert set(colours) == {noisy}
    assert len(colours) == 17


def test_a_point_above_its_roof_is_ringed_listed_and_not_clipped():
    """M5: above the roof is shown as it is."""
    report, (figure, axes) = REPORTS["gpu"], standard("gpu")
    naive = next(m for m in report.measurements if m.key.kernel == "gemm-naive")
    (rings,) = artists(axes, "rings")
    assert rings.get_xydata().tolist() == [[0.25, naive.flop_per_s.value]]
    assert naive.flop_per_s.value > 0.25 * report.ceilings["dram"].rate
    assert "above its roof (ringed): gemm-naive 240 % of dram" in written(figure)


def test_the_head_says_what_when_and_how():
    text = written(standard("cpu")[0])
    assert "AMD EPYC 7R13 Processor" in text
    assert "measured 2026-11-29, medians  ·  footprint 268 MB  ·  amd-epyc" in text


def test_an_incomplete_run_says_so_on_the_chart():
    assert "INCOMPLETE RUN" in written(drawn(cpu_report(complete=False))[0])
    assert "INCOMPLETE" not in written(standard("cpu")[0])


def test_every_kernel_is_drawn_or_listed_with_the_reason():
    """C53: zero, infinite and missing points."""
    report = placed_kernels(
        ("copy", work(0.0, 8.0)), ("spin", work(4.0, 0.0)), ("nothing", work(0.0, 0.0)), ("add", work())
    )
    report = replace(report, absent=(Absent(row("own", "mma"), "unsupported", "no such unit"),))
    remarks = scene(report).remarks
    assert [mark.name for mark in scene(report).marks] == ["add"]
    assert "not drawn: own/copy, own/nothing because 0 FLOP are done (intensity 0)" in remarks
    assert "not drawn: own/spin because 0 bytes are moved (infinite intensity)" in remarks
    assert "not drawn: own/mma because there is no figure (unsupported: no such unit)" in remarks
    figure, _ = drawn(report)
    assert "own/spin" in written(figure)


def test_what_measures_a_ceiling_is_listed_by_number_and_not_drawn_again():
    """C53: rows that are lines already, and sweeps that show how a line is reached, are not points as well."""
    chains = [measured(row("chains", f"chains-{n}", level="l1"), work(), 1e-3, measures=("fp32",)) for n in range(3)]
    sweep = measured(row("chains", "chains-8-scalar", level="l1"), work(), 1e-3)
    rows = [replace(each, work=replace(each.work, traffic={"l1": Traffic(8e6, 0.0)})) for each in (*chains, sweep)]
    ceilings = {**cpu_report().ceilings, "l1": ceiling("l1", 4e11)}
    report = cpu_report(ceilings=ceilings, measurements=rows, points=placed(rows, Roofline(ceilings)))
    assert scene(report).marks == []
    assert "not drawn: 3 rows of chains because they measure ceilings, which are lines" in scene(report).remarks
    assert "not drawn: chains-8-scalar because they show how a line is reached: their table has them" in (
        scene(report).remarks
    )


def test_a_kernel_without_a_ceiling_above_it_is_listed():
    report = replace(placed_kernels(("add", work())), points={})
    assert "not drawn: own/add because no ceiling above is known" in scene(report).remarks


def test_names_stay_with_their_points():
    """C53: the name beside a point is that point's."""
    report, (_, axes) = REPORTS["gpu"], standard("gpu")
    points = {key.kernel: point for key, point in report.points.items() if key.experiment == "placed"}
    pixels = {name: axes.transData.transform((point.intensity, point.flop_per_s)) for name, point in points.items()}
    for kernel in points:
        (label,) = [text for text in axes.texts if text.get_text() == kernel]
        box = label.get_window_extent()
        nearest = min(pixels, key=lambda name: Box(box.x0, box.y0, box.x1, box.y1).gap(pixels[name]))
        assert nearest == kernel


@pytest.mark.parametrize(
    "ceilings",
    [
        {},
        {"dram": 5e10},
        {"fp64": 1e11},
        {"dram": 5e10, "fp64": 1e11},
        {"l2": 2e11, "shared": 4e11, "tensor_fp16_fp32acc": 1e14},
        {"dram": math.inf, "fp32": math.nan, "fp64": 0.0},
    ],
    ids=lambda ceilings: " ".join(ceilings) or "none",
)
def test_what_ceilings_there_are_are_drawn_and_what_lacks_is_said(ceilings):
    """C55: no FP32, only FP64, a level missing, no ceiling at all."""
    known = {name: ceiling(name, rate) for name, rate in ceilings.items()}
    report = Report(CPU, Environment(), known, (), {})
    figure, axes = drawn(report)
    finite = [name for name, rate in ceilings.items() if math.isfinite(rate) and rate > 0]
    shown = {
        str(line.get_gid()).split()[-1] for line in axes.lines if str(line.get_gid()).startswith(("slope", "roof"))
    }
    assert shown == set(finite)
    slopes = [name for name in finite if known[name].unit == "B/s"]
    assert ("no bandwidth ceiling is known" in written(figure)) == (not slopes)
    assert ("no compute ceiling is known" in written(figure)) == (len(slopes) == len(finite))


def test_a_level_that_no_point_uses_still_has_its_slope():
    """H1: one slope per level."""
    resources = {line.resource: line.primary for line in scene(gpu_report()).slopes}
    assert resources == {"shared": False, "l2": False, "dram": True}


def test_more_roofs_than_have_room_are_listed():
    many = {f"fp32_divergent_{n}": ceiling(f"fp32_divergent_{n}", 1e12 * n) for n in range(1, 40)}
    figure, _ = drawn(Report(CPU, Environment(), many, (), {}))
    assert "roofs not drawn, for want of room: fp32_divergent_7" in written(figure).replace("\n", " ")
    assert touching(figure) == []


NOT_LINES = ("launch", "launch_sync", "launch_graph")
MIXES = ("dram_read", "dram_write", "dram_triad")


def test_every_line_of_a_card_is_on_its_chart_with_its_name():
    """X1: all roofs and all slopes; mixes of reads and writes that judge nothing are in the table alone."""
    figure, axes = standard("card")
    expected = set(CARD) - set(NOT_LINES) - set(MIXES)
    assert len(expected) > 25
    lines = {str(line.get_gid()).split()[-1] for line in axes.lines if re.match("(slope|roof) ", str(line.get_gid()))}
    assert lines == expected
    assert {text.get_text().split()[0] for text in texts(figure)} >= expected


def test_lower_lines_are_dashed_and_thinner_than_those_they_lie_below():
    """R1, R3, R6: what a habit of code leaves of a unit or a level is told from what the unit or the level can do."""
    _, axes = standard("card")
    drawn_lines = {str(line.get_gid()).split()[-1]: line for line in axes.lines if line.get_gid()}
    for lower, own in (("fp32_no_fma", "fp32"), ("fp32_divergent_1", "fp32"), ("dram_stride_8", "dram")):
        assert drawn_lines[lower].is_dashed()
        assert not drawn_lines[own].is_dashed()
        assert drawn_lines[lower].get_linewidth() < drawn_lines[own].get_linewidth()
    assert drawn_lines["sfu_exp2"].is_dashed()
    assert not drawn_lines["tensor_fp8"].is_dashed()


def test_integer_roofs_are_in_operations_and_say_so():
    """M10: an integer operation is no FLOP."""
    figure, _ = standard("card")
    assert "int32  33.0 TOP/s" in written(figure)
    assert "integer roofs are in OP/s, a multiply-add counting as 2" in written(figure)


def test_a_kernel_stands_once_a_level_at_one_height():
    """H2: the level that limits it has its marker, the others small ones of the same look, all at its FLOP/s."""
    report, (figure, axes) = REPORTS["card"], standard("card")
    (points,) = [line for line in artists(axes, "points") if len(line.get_xydata()) == len(TILED)]
    assert list(points.get_xdata()) == pytest.approx([0.25 / (1 + 1 / tile) for tile in TILED])
    small = {tuple(line.get_xdata()): set(line.get_ydata()) for line in artists(axes, "levels")}
    assert list(small) == [(pytest.approx(4096 / 6), pytest.approx(tile / 4 / (1 + tile / 2 / 4096))) for tile in TILED]
    assert [max(heights) for heights in small.values()] == pytest.approx(list(TILED.values()))
    assert "matmul-tile-32, nearest: shared 95 %, fp32 12 %, l2 9.8 %, dram 0.26 %" in " ".join(written(figure).split())
    assert axes.get_xlim()[1] > 4096 / 6
    assert {text.get_text() for text in axes.texts} >= {"l2", "dram", "matmul-tile-32"}
    assert report.points[next(key for key in report.points if key.experiment == "matmul")].level == "shared"


@pytest.mark.parametrize(
    "name",
    [
        "$x_1$",
        "$",
        r"\frac{1}{2}",
        "_underscore",
        "<script>alert(1)</script>",
        "\"&'",
        "ядро",
        "核心",
        "a\nb\0c",
        "\ud800",
        LONG,
    ],
)
def test_hostile_names_are_written_as_they_are_and_crash_nothing(name, tmp_path):
    """C56: never parsed as mathematics, escaped, long names shortened."""
    report = replace(placed_kernels((name, work())), device=replace(CPU, name=name))
    figure, _ = drawn(report)
    assert all(not text.get_parse_math() for text in texts(figure))
    expected = {"核心": r"\u6838\u5fc3", "a\nb\0c": r"a\nb\x00c", "\ud800": r"\ud800", LONG: LONG[:30]}
    assert written(figure).count(expected.get(name, name)) >= 2
    chart.draw(report, tmp_path / "chart.svg")
    assert b"<script" not in (tmp_path / "chart.svg").read_bytes()


def test_long_names_that_begin_alike_are_told_apart_below_the_chart():
    """C56: two names equal in their first 80 characters are two."""
    first, second = LONG + "A" + LONG, LONG + "B" + LONG
    figure, _ = drawn(placed_kernels((first, work()), (second, work(4.0))))
    named = re.findall(r"[12]=(\S+)", written(figure))
    assert len(set(named)) == 2


def test_names_without_room_stand_below_the_chart_by_number():
    crowd = [(f"kernel-number-{n:02d}", work(1.0 + n / 1000)) for n in range(30)]
    figure, _ = drawn(placed_kernels(*crowd))
    beside = set(re.findall(r"^kernel-number-\d\d$", written(figure), re.MULTILINE))
    below = set(re.findall(r"\d+=(kernel-number-\d\d)", written(figure)))
    assert beside | below == {name for name, _ in crowd}
    assert below


@settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate])
@given(
    bandwidths=st.lists(st.floats(1e10, 1e11), min_size=3, max_size=3),
    peak=st.floats(2e11, 5e12),
)
def test_texts_stay_apart_whatever_the_machine(bandwidths, peak):
    ceilings = {name: ceiling(name, rate) for name, rate in zip(CPU_SLOPES.values(), bandwidths, strict=True)}
    ceilings |= {"fp32": ceiling("fp32", peak), "fp32_one_chain": ceiling("fp32_one_chain", peak / 8)}
    roofline = Roofline(ceilings)
    rows = dials(roofline, CPU_SLOPES)
    ridges = {f"fp32/{slope}": roofline.ridge("fp32", slope) for slope in CPU_SLOPES.values()}
    figure, _ = drawn(Report(CPU, Environment(), ceilings, rows, placed(rows, roofline), ridges))
    assert touching(figure) == []
    words = " ".join(written(figure).split())
    assert all(f"{slope} {ceilings[slope].rate / 1e9:.3g}" in words for slope in CPU_SLOPES.values())


@given(st.lists(st.floats(-50, 650), min_size=1, max_size=20), st.floats(1, 20))
def test_spread_out_heights_keep_their_order_and_their_distance(wanted, gap):
    wanted = sorted(wanted, reverse=True)
    heights = spread_out(wanted, gap, 0, 600)
    assert len(heights) == len(wanted)
    assert all(above - below >= gap - 1e-6 for above, below in pairwise(heights))
    assert all(-1e-6 <= height <= 600 for height in heights)


@given(st.lists(st.floats(20, 100), min_size=1, max_size=10))
def test_heights_that_have_room_stay_where_they_are(steps):
    wanted = [1000 - sum(steps[:n]) for n in range(len(steps))]
    assert spread_out(wanted, 19, 0, 1000) == pytest.approx(wanted)


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_report_gives_the_same_bytes(kind, tmp_path):
    first, second = tmp_path / f"first.{kind}", tmp_path / f"second.{kind}"
    chart.draw(cpu_report(), first)
    chart.draw(cpu_report(), second)
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 10_000


def test_an_svg_has_no_date_and_needs_no_network(tmp_path):
    """C56: self-contained."""
    path = tmp_path / "chart.svg"
    chart.draw(cpu_report(), path)
    text = path.read_text(encoding="utf-8")
    assert "dc:date" not in text
    assert not re.search(r'(href|src)="(?!#)', text)


def test_a_png_is_1200_pixels_wide(tmp_path):
    path = tmp_path / "chart.png"
    chart.draw(cpu_report(), path)
    assert int.from_bytes(path.read_bytes()[16:20], "big") == 1200


def test_the_remarks_are_returned_for_whoever_prints(tmp_path):
    remarks = chart.draw(gpu_report(), tmp_path / "chart.png")
    assert remarks == ["above its roof (ringed): gemm-naive 240 % of dram"]


@pytest.mark.parametrize("name", ["chart.jpg", "chart", "svg", "chart.html", "chart.svg.gz"])
def test_another_suffix_is_refused_with_those_allowed(name, tmp_path):
    with pytest.raises(ValueError, match=rf"{re.escape(name)}.*\.pdf, \.png, \.svg"):
        chart.draw(cpu_report(), tmp_path / name)
    assert not (tmp_path / name).exists()


def test_upper_case_suffixes_are_the_same():
    chart.check(Path("CHART.SVG"))


def test_a_missing_matplotlib_is_said_with_the_command_that_installs_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(chart.ChartUnavailable, match=r"pip install 'pytest-roofline\[chart\]'"):
        chart.draw(cpu_report(), tmp_path / "chart.svg")


def test_a_users_own_settings_of_matplotlib_change_nothing(tmp_path):
    import matplotlib

    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    chart.draw(cpu_report(), first)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "text.usetex": True, "svg.fonttype": "none"}):
        chart.draw(cpu_report(), second)
        assert matplotlib.rcParams["axes.facecolor"] == "red"
    assert first.read_bytes() == second.read_bytes()


def test_drawing_needs_no_display_and_leaves_pyplot_alone(tmp_path):
    """C56: head-less, and matplotlib is imported only by who draws."""
    script = (
        "import sys\n"
        "import roofline.report.chart as chart, roofline.report.terminal\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from sample import cpu_report\n"
        "chart.draw(cpu_report(), sys.argv[1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path / "chart.svg")],
        env={"PYTHONPATH": f"{root}:{Path(__file__).parent}", "MPLCONFIGDIR": str(tmp_path), "PATH": ""},
        check=True,
        timeout=120,
    )
    assert (tmp_path / "chart.svg").exists()
