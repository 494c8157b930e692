"""The page as a browser shows it: silent, closed to the network, within reach of the keyboard, and right.

Skipped where no Chromium is installed.
"""

import os
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from pages import HOSTILE, hostile, record_of

from roofline import page
from roofline.model import Ceiling, Environment, Estimate, RowKey, Samples, Timer, Traffic, Work
from roofline.model import Measurement as Row
from roofline.page.presets import presets
from roofline.record import Record, Run
from roofline.rooflines import ARITHMETIC, Roofline
from roofline.specsheets import RTX_5070, sheet
from roofline.units import percent, si

pytestmark = pytest.mark.correctness

AXE = os.environ.get("ROOFLINE_AXE")
STEPS = 600  # of the slider of any intensity
POINTS = "[...document.querySelectorAll('#chart-plot .point')]"


def tiled(h200: Record) -> Record:
    """The H200's run with a kernel more, whose bytes are counted at two levels and which shared memory limits."""
    run = h200.run
    traffic = {"dram": Traffic(134e6, 67e6), "shared": Traffic(550e9, 17e9)}
    seconds = Estimate(0.0193, 0.0180, 0.0210)
    key = RowKey("matmul", "matmul-tile-32", 4096**2, "fp32", "shared")
    row = Row(key, Work(137e9, "fp32", traffic), "v", Samples((0.0193,) * 5, Timer("t", 1e-9)), seconds)
    shared = Ceiling("shared", 33e12, 33e12, 33e12, "B/s", "read", "v")
    ceilings = {**run.ceilings, "shared": shared}
    points = {**run.points, key: Roofline(ceilings).place(row)}
    return replace(h200, run=replace(run, measurements=(*run.measurements, row), points=points, ceilings=ceilings))


def choose(tab, control: str, value: str) -> None:
    """Set a control as a person would, and let the page answer."""
    tab.evaluate(
        f"(c => {{ c.value = {value!r}; c.dispatchEvent(new Event('change')); c.dispatchEvent(new Event('input')); }})"
        f"(document.getElementById({control!r}))"
    )
    tab.settle()


def text_of(tab, name: str) -> str:
    return tab.evaluate(f"document.getElementById({name!r}).textContent")


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (400, True)])
def test_the_page_is_silent_asks_for_nothing_and_fits_the_window(shown, h200, epyc, width, dark):
    tab = shown(h200, epyc, sheet("rtx-5070-spec"), width=width, dark=dark)
    assert tab.console == []
    assert [url for url in tab.requests if not url.startswith("file:")] == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_run_nothing_and_are_shown(shown, h200, text):
    """C56: in a browser too, on the chart, its legend and the explorer."""
    tab = shown(hostile(h200, text))
    assert tab.console == []
    assert tab.evaluate("document.images.length") == 0
    assert tab.evaluate(f"{POINTS}.length") > 0


def test_what_a_page_did_not_bring_cannot_run(shown, h200):
    """The policy stops a script that gets in all the same, and a request."""
    tab = shown(h200)
    tab.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))")
    assert tab.evaluate("window.ran") is None
    assert tab.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'stopped')") == "stopped"
    assert any("Content Security Policy" in line for line in tab.console)


def expected(roofline: Roofline, nominal: Roofline, work: Work, unit: str, slope: str) -> dict[str, object]:
    """What the library says of one setting of the explorer, as text."""
    intensity = work.intensity("dram")
    attainable, bound = roofline.attainable(intensity, unit, slope)
    known = {unit, slope} <= nominal.ceilings.keys()
    moved = replace(work, unit=unit, slopes={"dram": slope})
    times = {unit: work.flops / roofline.ceiling(unit).rate, slope: work.moved("dram") / roofline.ceiling(slope).rate}
    waits = sorted(times.items(), key=lambda pair: -pair[1])
    return {
        "intensity": si(intensity, "FLOP/B"),
        "attainable": si(attainable.value, roofline.ceiling(unit).unit),
        "bound": bound,
        "nominal": si(nominal.attainable(intensity, unit, slope)[0].value, nominal.ceiling(unit).unit)
        if known
        else None,
        "ridge": si(roofline.ridge(unit, slope).value, "FLOP/B"),
        "seconds": si(roofline.seconds(moved), "s"),
        "waits": [[name, percent(seconds / max(times.values()))] for name, seconds in waits],
    }


def test_the_figures_of_the_explorer_are_the_librarys(shown, h200, epyc):
    """X2, X3, M2, M3: every preset at every step under every roof and slope of three cards."""
    spec = sheet("rtx-5070-spec")
    tab = shown(h200, epyc, spec)
    wanted, asked = [], []
    for number, ceilings in enumerate((h200.run.ceilings, epyc.run.ceilings, spec.roofline.ceilings)):
        promised = {
            name: c if c.source == "specification" else replace(c, rate=c.nominal.rate)
            for name, c in ceilings.items()
            if c.nominal or c.source == "specification"
        }
        units = [name for name, c in ceilings.items() if c.unit in ARITHMETIC]
        slopes = [name for name, c in ceilings.items() if c.unit == "B/s" and name.startswith("dram")]
        for (order, preset), unit, slope in product(enumerate(presets()), units, slopes):
            for step, setting in enumerate(preset.steps):
                asked.append([number, order, step, unit, slope])
                wanted.append(expected(Roofline(ceilings), Roofline(promised), setting.work, unit, slope))
    found = tab.evaluate(f"{asked}.map(setting => Explorer.figuresOf(...setting))")
    assert len(found) > 1000
    different = [(a, f, w) for a, f, w in zip(asked, found, wanted, strict=True) if f != w]
    assert different[:3] == []


FIGURES = (0.0, 1.0, 999.4, 999.5, 1365.333, 0.125, 1.125, 2.675, 1e-9, 3.8e-6, 6.55e13, 4.268e12, -5.5, 1e21, 62.55)


@pytest.mark.parametrize("unit", ["FLOP/s", "B/s", "s", "FLOP/B", "B", ""])
def test_a_figure_reads_as_the_library_writes_it(shown, h200, unit):
    tab = shown(h200)
    assert tab.evaluate(f"{list(FIGURES)}.map(x => Model.si(x, {unit!r}))") == [si(x, unit) for x in FIGURES]


def test_any_intensity_on_the_chapters_card(shown):
    """M2: on an RTX 5070 intensity 10 allows 6.7 TFLOP/s, 22 % of 30.9, and lies 4.6 times left of the ridge."""
    tab = shown(sheet("rtx-5070-spec"))
    choose(tab, "explorer-kernel", "own")
    choose(tab, "explorer-setting", str(STEPS // 2))
    assert text_of(tab, "explorer-intensity") == "10.0 FLOP/B"
    assert text_of(tab, "explorer-attainable") == "6.72 TFLOP/s, set by dram"
    assert RTX_5070.attainable(10.0)[0].value == pytest.approx(6.72e12)
    assert "21.7 % of what fp32 can do" in text_of(tab, "explorer-verdict")
    assert "4.60 × left of the ridge" in text_of(tab, "explorer-verdict")


def test_the_batch_slider_moves_the_decode_layer_over_the_ridge(shown, h200):
    """K5: memory binds a batch of 1, tensor cores one of 1024; the point moves right and up."""
    tab = shown(h200)
    number = next(i for i, preset in enumerate(presets()) if preset.name == "decode layer")
    choose(tab, "explorer-kernel", f"preset/{number}")
    where = "(box => [box.x, box.y])(document.querySelector('#explorer-point path').getBoundingClientRect())"
    x, y = tab.evaluate(where)
    assert "is memory-bound" in text_of(tab, "explorer-verdict")
    choose(tab, "explorer-setting", "19")
    moved_x, moved_y = tab.evaluate(where)
    assert moved_x > x
    assert moved_y < y
    assert "(batch 1024) is compute-bound: tensor_fp16_fp32acc" in text_of(tab, "explorer-verdict")


def test_a_kernel_shorter_than_a_launch_is_bound_by_launching(shown, h200):
    """C6: a product of 128 × 128 takes less time than its launch."""
    tab = shown(h200)
    number = next(i for i, preset in enumerate(presets()) if preset.name == "GEMM, FP32")
    choose(tab, "explorer-kernel", f"preset/{number}")
    choose(tab, "explorer-setting", "0")
    assert "the launch overhead binds" in text_of(tab, "explorer-verdict")


def test_which_waits_is_shown_as_shares_of_the_longest(shown, h200):
    """X3: vecadd keeps memory busy all the time and the FP32 units hardly ever."""
    tab = shown(h200)
    shares = tab.evaluate("[...document.querySelectorAll('#explorer-waits li')].map(li => li.textContent)")
    assert shares == ["dram_triad100 % busy", "fp320.556 % busy"]


def test_a_measured_kernel_can_be_explored_at_the_level_that_limits_it(shown, h200):
    """X3, H4: shared memory is busy all the time, and the kernel reached 89 % of what it feeds."""
    tab = shown(tiled(h200))
    kernels = "[...document.querySelectorAll('#explorer-kernel option')]"
    choose(tab, "explorer-kernel", tab.evaluate(f"{kernels}.find(o => o.text === 'matmul-tile-32').value"))
    assert "Measured: 7.10 TFLOP/s, 89.0 % of that" in text_of(tab, "explorer-verdict")
    shares = tab.evaluate("[...document.querySelectorAll('#explorer-waits li .what')].map(what => what.textContent)")
    assert shares == ["shared", "fp32", "dram"]


def test_the_level_switch_moves_the_points(shown, h200):
    """H2: the same kernel lies further right at DRAM than at shared memory; others are not counted there."""
    tab = shown(tiled(h200))
    matmul = f"{POINTS}.find(p => p.dataset.key.includes('matmul'))"
    place = f"{matmul}.querySelector('.mark:last-child').getBoundingClientRect().x"
    limiting, count = tab.evaluate(place), tab.evaluate(f"{POINTS}.length")
    tab.evaluate("document.querySelector('input[value=dram]').click()")
    tab.settle()
    assert tab.evaluate(place) > limiting
    tab.evaluate("document.querySelector('input[value=shared]').click()")
    tab.settle()
    assert tab.evaluate(place) == pytest.approx(limiting, abs=2)
    assert tab.evaluate(f"{POINTS}.length") == 1 < count
    assert "not counted at this level" in tab.evaluate("document.querySelector('#chart-plot svg').ariaDescription")


def test_samples_that_spread_have_an_error_bar(shown, h200):
    tab = shown(tiled(h200))
    bars = f"{POINTS}.filter(p => p.querySelector('.spread')).map(p => p.dataset.key)"
    assert "A/matmul/matmul-tile-32/16777216" in tab.evaluate(bars)


def test_a_point_above_its_roof_is_ringed_and_says_so(shown, h200):
    """M5: shown where it was measured, never clipped."""
    run = h200.run
    key = next(key for key in run.points if key.kernel == "dial-0064")
    high = replace(run.points[key], fraction=1.25, regime="above-roof")
    tab = shown(replace(h200, run=replace(run, points={**run.points, key: high})))
    ringed = f"{POINTS}.filter(p => p.querySelector('.above'))"
    assert tab.evaluate(f"{ringed}.length") == 1
    assert "above its roof: 125 % of fp32" in tab.evaluate(f"{ringed}[0].getAttribute('aria-label')")


def test_the_keyboard_reaches_every_point_and_shows_its_numbers(shown, h200):
    """One stop for all points; from there the arrow keys, in the order of intensity."""
    tab = shown(h200)
    assert tab.evaluate(f"{POINTS}.filter(p => p.tabIndex === 0).length") == 1
    tab.evaluate(f"{POINTS}[0].focus()")
    seen = [tab.evaluate("document.querySelector('.tip strong').textContent")]
    for _ in range(tab.evaluate(f"{POINTS}.length") - 1):
        tab.press("ArrowRight", 39)
        seen.append(tab.evaluate("document.querySelector('.tip strong').textContent"))
    assert len(set(seen)) == len(seen)
    assert seen[0] == "dial-0001"
    first = next(row for row in h200.run.measurements if row.key.kernel == "dial-0001")
    tab.press("Home", 36)
    assert si(first.flop_per_s.value, "FLOP/s") in tab.evaluate("document.querySelector('.tip').textContent")


def test_the_keyboard_zooms_and_shows_all_again(shown, h200):
    tab = shown(h200)
    ticks = "[...document.querySelectorAll('#chart-plot .axes text')].map(t => t.textContent).join()"
    whole = tab.evaluate(ticks)
    tab.evaluate("document.querySelector('#chart-plot svg').focus()")
    for _ in range(4):
        tab.press("+", 187)
    assert tab.evaluate(ticks) != whole
    tab.press("0", 48)
    assert tab.evaluate(ticks) == whole


def test_zooming_at_a_point_leaves_the_keyboard_there(shown, h200):
    """Points are drawn anew at each step; whoever was at one is not sent back to the top of the page."""
    tab = shown(h200)
    tab.evaluate(f"{POINTS}[2].focus()")
    focused = "document.activeElement.getAttribute('data-key')"
    key = tab.evaluate(focused)
    for name, code in (("+", 187), ("+", 187), ("-", 189), ("0", 48)):
        tab.press(name, code)
        assert tab.evaluate(focused) == key
    assert tab.evaluate("document.querySelector('.tip').hidden") is False


def test_figures_beyond_every_prefix_fit_the_window(shown, h200):
    """C47: a rate of 300 digits is absurd, and the page stands all the same."""
    run = h200.run
    absurd = {name: replace(c, rate=c.rate * 1e280, high=c.high * 1e280) for name, c in run.ceilings.items()}
    tab = shown(replace(h200, run=replace(run, ceilings=absurd)), width=400)
    assert tab.console == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400


def test_the_legend_takes_lines_and_points_away(shown, h200):
    tab = shown(h200)
    lines = "document.querySelectorAll('#chart-plot path.line').length"
    before = tab.evaluate(lines)
    tab.evaluate("document.querySelector('#chart-legend input[data-id=\"A/line/fp32\"]').click()")
    tab.evaluate("document.querySelector('#chart-legend input[data-id=\"group/dial\"]').click()")
    tab.settle()
    assert tab.evaluate(lines) == before - 1
    assert tab.evaluate(f"{POINTS}.length") == 0


@pytest.mark.parametrize("width", [1400, 400])
def test_no_name_on_a_chart_lies_on_another(shown, h200, width):
    """Twenty roofs and eight slopes more: what has no room is in the legend."""
    run = h200.run
    roofs = {
        f"unit_{i:02d}": replace(run.ceilings["fp32"], resource=f"unit_{i:02d}", rate=60e12 * 1.09**i)
        for i in range(20)
    }
    slopes = {f"dram_{i}": replace(run.ceilings["dram"], resource=f"dram_{i}", rate=4e12 * 1.3**i) for i in range(8)}
    record = replace(h200, run=replace(run, ceilings={**run.ceilings, **roofs, **slopes}))
    tab = shown(record, width=width)
    tab.evaluate("document.querySelectorAll('#chart-legend input:not(:checked)').forEach(i => i.click())")
    tab.settle()
    boxes = tab.evaluate(
        "[...document.querySelectorAll('#chart-plot text:not([transform])')].map(t => {"
        "const b = t.getBoundingClientRect(); return [t.textContent, b.left, b.top + 2, b.right, b.bottom - 2]})"
    )
    assert len(boxes) > 15
    touching = [
        (one[0], other[0])
        for i, one in enumerate(boxes)
        for other in boxes[:i]
        if one[1] < other[3] and other[1] < one[3] and one[2] < other[4] and other[2] < one[4]
    ]
    assert touching == []


def test_a_card_without_a_roof_or_a_slope_has_a_page(shown, h200):
    """C55: an empty explorer says why."""
    tab = shown(record_of(Run(h200.run.device, Environment(), "")))
    assert tab.console == []
    assert "nothing can be said" in text_of(tab, "explorer-verdict")


def test_what_is_folded_is_open_on_paper(shown, h200):
    tab = shown(h200)
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.evaluate("document.querySelectorAll('main details:not([open])').length") == 0


@pytest.mark.skipif(not AXE, reason="ROOFLINE_AXE does not name a copy of axe.min.js")
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_fault(shown, h200, epyc, dark):
    tab = shown(tiled(h200), epyc, sheet("rtx-5070-spec"), dark=dark)
    tab.evaluate(Path(AXE).read_text(encoding="utf-8") + ";0")
    faults = "axe.run().then(found => found.violations.map(fault => [fault.id, fault.impact, fault.nodes[0].html]))"
    assert tab.evaluate(faults) == []


def test_the_pages_own_scripts_are_few(h200):
    """What is ours stays small beside the library."""
    ours = sum(len(page.embedding.asset(name)) for name in page.embedding.SCRIPTS)
    assert ours < len(page.embedding.asset(page.embedding.LIBRARY)) / 2
