"""The page as a document: whole, valid, closed to the network, and nothing in a record becomes markup."""

import base64
import hashlib
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import HOSTILE, data_of, hostile, record_of

from roofline import page
from roofline.diagnose import diagnoses
from roofline.model import Absent, Ceiling, Device, Environment, Estimate, RowKey, Traffic, Work
from roofline.page.embedding import embedded_json
from roofline.page.markup import Markup, element
from roofline.record import Run
from roofline.rooflines import Roofline, unit_of
from roofline.specsheets import sheet
from roofline.units import percent

pytestmark = pytest.mark.correctness

VOID = {"meta", "input", "br"}


class Reader(HTMLParser):
    """Notes every element, and that each is closed where it was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_record_becomes_markup(h200, text):
    """C56: elements are the same in number and kind whatever a card and its kernels call themselves."""
    tame, wild = (read(page.html([hostile(h200, name)])) for name in ("harmless", text))
    assert [tag for tag, _ in wild.elements] == [tag for tag, _ in tame.elements]
    assert not any(key.startswith("on") or key == "src" for _, attributes in wild.elements for key in attributes)


def test_two_long_names_that_begin_and_end_alike_are_told_apart(h200):
    """C56: a name is cut in its middle, with a mark of what was there."""
    names = ["f" + "a" * 300 + middle + "b" * 300 for middle in "xy"]
    shown = [read(page.html([hostile(h200, name)])).text for name in names]
    heads = [re.search(r"Roofline of (\S+)", text).group(1) for text in shown]
    assert heads[0] != heads[1]
    assert max(map(len, heads)) < 60


@given(st.text())
def test_embedded_json_ends_no_script_and_reads_back(text):
    """C56: whatever a string holds, U+2028 and "</script" with it."""
    found = embedded_json({"text": text})
    assert not re.search(r"[<>&\u2028\u2029]", found)
    assert found.isascii()
    assert data_of(f'<script type="application/json" id="data">{found}</script>') == {"text": text}


@given(st.text())
def test_text_in_an_element_is_text(text):
    reader = read(element("p", text, title=text))
    assert [tag for tag, _ in reader.elements] == ["p"]


def test_only_markup_passes_as_it_is():
    assert element("p", Markup("<b>bold</b>"), "<i>") == "<p><b>bold</b>&lt;i&gt;</p>"


def test_the_policy_lets_nothing_in_but_what_the_page_brought(h200):
    """No request can leave: the policy has the hash of each script and style, and nothing else is allowed."""
    html = page.html([h200])
    policy = next(a["content"] for t, a in read(html).elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    blocks = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", html, re.S)
    assert len(blocks) == 3
    for block in blocks:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()}'" in policy


def test_the_page_holds_the_licence_of_what_draws_it(h200):
    assert "Permission to use, copy, modify, and/or distribute this software" in read(page.html([h200])).text


def test_a_page_of_three_cards_with_twenty_lines_each_stays_below_five_megabytes(h200):
    run = h200.run
    many = {f"fp32_{i}": replace(run.ceilings["fp32"], resource=f"fp32_{i}") for i in range(20)}
    cards = [replace(h200, run=replace(run, ceilings={**run.ceilings, **many}))] * 3
    assert len(page.html(cards).encode()) < 5e6


def test_what_binds_vecadd_is_told_without_a_script(h200):
    """X2: at a glance, and with the reason."""
    text = read(page.html([h200])).text
    assert "Memory moves 4.38 TB/s (two reads for each write)" in text
    assert "so memory binds it: at most 365 GFLOP/s" in text  # as much as table/vecadd may reach on this card


@pytest.mark.parametrize("lacking", ["fp32", "dram"])
def test_a_missing_ceiling_is_said(h200, lacking):
    """C55: without a precision or a level the page stands, and says what it does not know."""
    run = h200.run
    kept = {name: ceiling for name, ceiling in run.ceilings.items() if not name.startswith(lacking)}
    html = page.html([replace(h200, run=replace(run, ceilings=kept, points={}, ridges={}))])
    assert f"unknown: no ceiling of {lacking} is known" in read(html).text


def test_numbers_that_no_axis_can_show_are_left_out_of_the_data(h200):
    """C47 and C53: no NaN and no infinity reaches a script, and the kernel is listed with the reason."""
    run = h200.run
    first = next(row for row in run.measurements if row.key.kernel == "dial-0001")
    endless = replace(first, key=replace(first.key, kernel="endless"), work=Work(1e9, "fp32", {"dram": Traffic(0, 0)}))
    idle = replace(first, key=replace(first.key, kernel="idle"), work=replace(first.work, flops=0.0))
    wide = replace(first, key=replace(first.key, kernel="wide"), seconds=Estimate(1e-3, 0.0, 2e-3))
    rows = (endless, idle, wide)
    points = {row.key: replace(run.points[first.key], intensity=math.inf) for row in rows[:1]}
    points |= {row.key: run.points[first.key] for row in rows[1:]}
    ceilings = {**run.ceilings, "fp64": Ceiling("fp64", math.nan, math.nan, math.inf, "FLOP/s", "k", "v")}
    html = page.html([replace(h200, run=replace(run, measurements=rows, points=points, ceilings=ceilings))])
    card = data_of(html)["cards"][0]
    assert [mark["name"] for mark in card["marks"]] == ["wide"]
    assert card["marks"][0]["rate"]["high"] is None
    assert "fp64" not in [ceiling["resource"] for ceiling in card["ceilings"]]
    text = read(html).text
    assert re.search(r"not drawn: .*endless.* because 0 bytes are moved", text)
    assert re.search(r"not drawn: .*idle.* because 0 FLOP are done", text)


def test_an_empty_run_has_a_page():
    """C55: nothing was measured, and the page says so."""
    run = Run(Device("Bare", "cuda", "sm_90", 1), Environment(), "")
    text = read(page.html([record_of(run)])).text
    assert "no bandwidth ceiling is known" in text
    assert "No claim was judged in this run." in text


def test_every_absent_row_stands_there_with_its_reason(h200):
    absent = Absent(RowKey("units", "fp4", 1, "tensor_fp4", "dram"), "unsupported", "sm_90 has no FP4")
    text = read(page.html([replace(h200, run=replace(h200.run, absent=(absent,)))])).text
    assert "1 rows have no figure" in text
    assert "sm_90 has no FP4" in text


def test_a_kernel_below_its_roof_stands_with_what_to_try_next(h200):
    """L3: the finding and the advice, in the table and at the point."""
    run = h200.run
    key = next(key for key in run.points if key.kernel == "dial-0001")
    slow = next(row for row in run.measurements if row.key == key)
    slow = replace(slow, seconds=Estimate(*(3 * s for s in (slow.seconds.value, slow.seconds.low, slow.seconds.high))))
    points = {key: Roofline(run.ceilings).place(slow)}
    record = replace(h200, run=replace(run, measurements=(slow,), points=points))
    diagnosis = diagnoses(record.run)[key]
    html = page.html([record])
    assert diagnosis.advice in read(html).text
    assert data_of(html)["cards"][0]["marks"][0]["diagnosis"] == f"{diagnosis.finding} {diagnosis.advice}"


def test_a_claim_stands_with_what_was_expected_and_measured(h200):
    """X5: each prediction is shown beside its result."""
    text = read(page.html([h200])).text
    for claim in h200.run.claims:
        assert claim.statement in text
        assert claim.expected is None or claim.expected.source in text


def test_a_specification_is_never_shown_as_a_measurement(h200):
    text = read(page.html([h200, sheet("rtx-5070-spec")])).text
    assert "NVIDIA GeForce RTX 5070, specification" in text
    assert "promised, not measured" in text


def test_two_runs_of_one_model_are_before_and_after(h200):
    """A row that takes twice as long is slower; the same run again is the same."""
    slow = tuple(
        replace(row, seconds=Estimate(*(2 * s for s in (row.seconds.value, row.seconds.low, row.seconds.high))),
                samples=replace(row.samples, seconds=tuple(2 * s for s in row.samples.seconds)))
        if row.key.kernel == "dial-0001" else row
        for row in h200.run.measurements
    )  # fmt: skip
    after = replace(h200, run=replace(h200.run, measurements=slow))
    assert "1 slower" in read(page.html([h200, after])).text
    assert "slower" not in read(page.html([h200, h200])).text.partition("Before and after")[2].partition("A row is")[0]


def test_two_models_are_a_contrast_with_its_flips(h200, epyc):
    """Ten FLOP a byte wait for memory on a GPU, and for arithmetic on a CPU."""
    text = read(page.html([h200, epyc])).text
    _, _, flips = text.partition("kernels that something else binds on the other card")
    assert "dial/dial-0032-inplace" in flips
    assert "by the model, from that card's ceilings" in flips


def test_kernels_of_both_cards_stand_in_percent_of_their_own_roof(h200):
    """X1: the same run twice reaches the same share on both."""
    _, _, table = read(page.html([h200, h200])).text.partition("Share of its own roof")
    share = percent(h200.run.points[next(k for k in h200.run.points if k.kernel == "dial-0064")].fraction)
    assert table.partition("dial/dial-0064")[2].startswith(f"{share}, fp32{share}, fp32")


@pytest.mark.parametrize(("name", "why"), [("page.pdf", "ends in .html"), ("nowhere/page.html", "does not exist")])
def test_a_name_that_cannot_be_written_is_refused(tmp_path, name, why):
    with pytest.raises(ValueError, match=why):
        page.check(tmp_path / name)


def test_no_record_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        page.html([])


def test_every_unit_of_a_preset_is_one_that_ceilings_have():
    """The explorer names units as the record does."""
    units = {step.work.unit for preset in page.presets.presets() for step in preset.steps}
    assert units <= {"fp32", "tensor_fp16_fp32acc"}
    assert {unit_of(unit) for unit in units} == {"FLOP/s"}
