"""The summary at the end of a run: what it must show, within 100 columns, whatever things are called."""

import re
from dataclasses import replace

import pytest
from sample import CLAIMS, CPU, card_report, ceiling, cpu_report, dial, gpu_report, measured, placed, row, streaming

from roofline.model import (
    Absent,
    Claim,
    Device,
    Environment,
    Estimate,
    Expectation,
    Nominal,
    Point,
    Spread,
    Traffic,
    Work,
)
from roofline.report import Report
from roofline.report.experiments import dial_setting, experiment_tables
from roofline.report.paste import LONGEST, paste_lines
from roofline.report.terminal import summary
from roofline.report.text import between, shortened
from roofline.report.verdicts import likely_causes
from roofline.rooflines import Roofline

pytestmark = pytest.mark.correctness

LONG = "_ZN" + "5outer5inner" * 50
HOSTILE = ["$x_1$", "<script>alert(1)</script>", '"quoted"', "\x1b[31mred", "two\nlines", "ядро", LONG]


def section(text: str, title: str) -> str:
    """The paragraph of a summary that begins with `title`."""
    found = [paragraph for paragraph in text.split("\n\n") if paragraph.startswith(title)]
    assert len(found) == 1, f"{len(found)} sections {title!r}"
    return found[0]


def line(paragraph: str, start: str) -> str:
    """The one line of a paragraph whose first word is `start`."""
    found = [text for text in paragraph.splitlines() if text.split()[:1] == [start]]
    assert len(found) == 1, f"{len(found)} lines {start!r} in\n{paragraph}"
    return found[0]


def empty_report(**changes) -> Report:
    return replace(Report(CPU, Environment(), {}, (), {}), **changes)


@pytest.mark.parametrize(
    "report", [cpu_report(), gpu_report(), card_report(), empty_report()], ids=["cpu", "gpu", "card", "empty"]
)
def test_no_line_is_wider_than_100_columns_but_those_to_paste(report):
    lines = summary(report).splitlines()
    assert max(len(text) for text in lines if not text.startswith("PASTE")) <= 100


def test_the_text_has_no_colour_and_no_control_characters_of_its_own():
    assert re.search(r"[^\n\x20-\x7e\u00a0-\uffff]", summary(cpu_report())) is None


def test_whoever_calls_may_paint_headings_and_outcomes():
    painted = summary(cpu_report(), paint=lambda text, style: f"<{style}>{text}</{style}>")
    assert "<heading>DIAL " in painted
    assert "<bad>refuted</bad>" in painted
    assert "<good>confirmed</good>" in painted
    assert "<warn>inconclusive</warn>" in painted


def test_colour_codes_do_not_shift_the_columns():
    codes = {"heading": "\x1b[1m", "good": "\x1b[32m", "bad": "\x1b[31m", "warn": "\x1b[33m", "faint": "\x1b[2m"}
    painted = summary(cpu_report(), paint=lambda text, style: f"{codes[style]}{text}\x1b[0m")
    assert re.sub(r"\x1b\[\d+m", "", painted) == summary(cpu_report())


def test_the_device_and_its_state_are_said_and_missing_facts_are_unknown():
    device = section(summary(cpu_report()), "DEVICE")
    assert line(device, "slug").endswith("amd-epyc-7r13-processor-znver3-2c")
    assert "33.6 MB" in device
    assert "3.60 GHz during the run (3.55 GHz … 3.70 GHz)" in device
    assert "power limit unknown" in device
    assert "governor unknown" in device
    assert "0003_second.json" in device
    assert "2 of 4 processors are left out" in device


def test_an_unknown_cache_and_clock_are_said_to_be_unknown():
    device = section(summary(empty_report(device=replace(CPU, cache_bytes=None))), "DEVICE")
    assert line(device, "last").endswith("unknown")
    assert "unknown during the run" in line(device, "clock")
    assert "no baseline of this model" in line(device, "judged")


def test_what_disturbed_the_run_is_said_with_its_rows():
    roofline = Roofline(cpu_report().ceilings)
    work = dial(4, "nt", "dram_copy_nt", roofline, 0.9, 0.1).work
    rows = [
        measured(row("dial", "dial-0004-nt"), work, 0.01, disturbed=0.12, flags=("disturbed", "throttled")),
        measured(row("dial", "dial-0008-nt"), work, 0.01, disturbed=0.0),
    ]
    device = section(summary(empty_report(measurements=rows)), "DEVICE")
    assert "at most 12 % (during dial-0004-nt)" in device
    assert line(device, "throttled").endswith("1 of 2 rows: dial-0004-nt")


def test_a_ceiling_shows_its_rate_spread_share_of_nominal_and_who_reached_it():
    ceilings = section(summary(cpu_report()), "CEILINGS")
    assert re.search(r"228 GFLOP/s +±1\.5 % +96\.3 % +chains-12 u4 +3\.60 GHz", line(ceilings, "fp32"))
    assert re.search(r"±1\.5 % +unknown +update-inplace", line(ceilings, "dram_update"))
    assert "90.0 ns" in line(ceilings, "launch")


def test_a_ceiling_shows_the_clock_it_had_and_what_it_is_at_the_rated_one():
    """A5: a cool card clocks higher than rated, so both stand there."""
    ceilings = section(summary(cpu_report()), "CEILINGS")
    assert line(ceilings, "fp32").endswith("3.60 GHz  234 GFLOP/s")
    assert re.search(r"3\.60 GHz +-$", line(ceilings, "dram_update"))


def test_ceilings_stand_in_groups():
    """R8, H1: units, then the levels from DRAM inwards, then what lies below them, then launches."""
    ceilings = section(summary(card_report()), "CEILINGS").splitlines()
    first = [text.split("  ")[0] for text in ceilings]
    heads = [first.index(group) for group in ("units", "memory levels", "lower lines", "launches")]
    assert heads == sorted(heads)
    groups = [first[begin + 1 : end] for begin, end in zip(heads, [*heads[1:], None], strict=True)]
    assert groups[0][:3] == ["int8_dot", "fp16", "bf16"]
    assert groups[0][-7:] == [name for name in groups[0] if name.startswith("tensor_")]
    assert groups[1] == ["dram_write", "dram_read", "dram_triad", "dram", "l2", "l1", "shared"]
    assert groups[2][:4] == ["dram_stride_2", "dram_stride_4", "dram_stride_8", "fp32_one_chain"]
    assert groups[3] == ["launch_graph", "launch", "launch_sync"]


def test_one_group_of_ceilings_has_no_heading():
    text = section(summary(empty_report(ceilings={"dram": ceiling("dram", 5e10)})), "CEILINGS")
    assert "memory levels" not in text


def test_integer_rates_are_in_operations():
    """M10: an integer operation is no FLOP, in any table or line."""
    work = Work(2e12, "int32", {"dram": Traffic(1e9, 0.0)})
    report = empty_report(measurements=[measured(row("own", "mix", unit="int32"), work, 1.0)])
    text = summary(report)
    assert "2.00 TOP/s" in section(text, "KERNELS")
    assert "PASTE own amd-epyc-7r13-processor-znver3-2c | mix 2.00 TOP/s" in text


def test_a_kernel_of_several_levels_says_how_near_it_is_to_each_line():
    """H2, H4: a row for each level and for its unit, and which of them limits."""
    table = section(summary(card_report()), "HIERARCHY").splitlines()
    begin = next(n for n, text in enumerate(table) if text.startswith("matmul-tile-32"))
    cells = [re.split(r" {2,}", text.strip()) for text in table[begin : begin + 4]]
    assert cells == [
        ["matmul-tile-32", "dram", "201 MB", "683", "11.1 GB/s", "0.261 %"],
        ["l2", "17.2 GB", "7.97", "954 GB/s", "9.83 %"],
        ["shared", "567 GB", "0.242", "31.3 TB/s", "94.7 %", "limits"],
        ["fp32", "137 GFLOP", "-", "7.60 TFLOP/s", "11.6 %"],
    ]


def test_a_kernel_of_several_levels_is_pasted_with_the_two_lines_it_is_nearest_to():
    """H4, X4: nearest first."""
    (pasted,) = [text for text in paste_lines(card_report()) if text.startswith("PASTE matmul")]
    assert pasted.endswith(" | matmul-tile-32 7.60 TFLOP/s, nearest shared 95 %, fp32 12 %")
    assert len(pasted) <= LONGEST


def test_without_a_kernel_of_several_levels_there_is_no_hierarchy():
    assert "HIERARCHY" not in summary(gpu_report())


def test_a_ceiling_that_was_not_measured_in_full_says_so():
    ceilings = {"dram": ceiling("dram", 50e9, "copy-nt", source="probe")}
    assert "(probe)" in section(summary(empty_report(ceilings=ceilings)), "CEILINGS")


def test_a_ceiling_above_nominal_is_shown_with_its_clock():
    """A5: over 100 % of the rated peak is possible; it is reported with the rate at the rated clock."""
    ceilings = {"fp32": ceiling("fp32", 250e9, "chains-12", clock_hz=4.0e9, at_rated_clock=231e9)}
    text = section(summary(empty_report(ceilings=ceilings)), "CEILINGS")
    assert "106 %" in line(text.partition("fp32 is above")[0], "fp32")
    assert "fp32 is above nominal (237 GFLOP/s" in text
    assert "231 GFLOP/s" in " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("dial-0016-inplace", (16, "inplace")),
        ("dial-0016", (16, "plain")),
        ("dial-2048-nt", (2048, "nt")),
        ("dial-", None),
        ("undial-0016", None),
    ],
)
def test_the_name_of_a_dial_kernel_gives_its_setting_away(name, setting):
    assert dial_setting(name) == setting


def test_the_dial_is_one_table_with_a_row_for_each_f():
    """X5 and A2: GB/s, GFLOP/s and the share of the roof stand side by side for every way to store."""
    dial_text = section(summary(cpu_report()), "DIAL")
    inplace, nt, ordinary = ["54.3", "13.6", "98.5"], ["44.5", "11.1", "98.5"], ["29.4", "7.34", "98.5"]
    assert line(dial_text, "1").split() == ["1", "0.250", *inplace, *nt, *ordinary]
    assert len([text for text in dial_text.splitlines() if re.match(r" *[0-9]+ ", text)]) == 17


def test_the_first_point_past_each_ridge_is_marked():
    dial_text = section(summary(cpu_report()), "DIAL")
    marked = {text.split()[0]: text.count("*") for text in dial_text.splitlines() if re.match(r" *[0-9]+ ", text)}
    assert {steps: count for steps, count in marked.items() if count} == {"24": 2, "32": 1}
    assert "inplace 4.14 FLOP/B (F=16.6)" in " ".join(dial_text.split())


def test_a_dial_without_a_known_ridge_says_so():
    dial_text = section(summary(cpu_report(ridges={})), "DIAL")
    assert "inplace unknown, nt unknown, ordinary unknown" in dial_text
    assert not re.search(r"^ *[0-9]+ .*\*", dial_text, re.MULTILINE)


def test_a_missing_point_of_the_dial_leaves_a_gap_and_never_a_zero():
    whole = cpu_report()
    rows = [m for m in whole.measurements if m.key.kernel != "dial-0016-nt"]
    cells = line(section(summary(replace(whole, measurements=rows)), "DIAL"), "16").split()
    assert cells[5:8] == ["-", "-", "-"]


def test_ordinary_stores_show_the_write_allocate_factor_and_what_moves():
    dram = section(summary(cpu_report()), "DRAM")
    assert "29.8  ±6.4 %      1.50 ×     44.7" in re.sub(r" {3,}±", "  ±", line(dram, "copy-ordinary"))
    assert "1.33 ×" in line(dram, "triad-ordinary")
    assert "×" not in line(dram, "copy-nt")


def test_chains_are_compared_with_the_peak():
    """A8: one chain stands beside the plateau."""
    chains = section(summary(cpu_report()), "CHAINS")
    assert line(chains, "chains-01").split()[1:] == ["29.1", "±0.20", "%", "12.8", "u4"]


def test_launches_are_in_microseconds_by_mode():
    """C1, C2: what each way to launch costs."""
    launch = section(summary(cpu_report()), "LAUNCH")
    assert re.search(r"waited for by the host +1\.52 ", line(launch, "launch_sync"))
    assert re.search(r"queued without waiting +0\.0900 ", line(launch, "launch"))


def test_every_claim_shows_expectation_source_measured_outcome_and_reason():
    """X5: expected before the run, measured after it, confirmed or not."""
    claims = section(summary(cpu_report()), "CLAIMS")
    flat = " ".join(claims.split())
    assert claims.splitlines()[0] == "CLAIMS   1 refuted, 1 inconclusive, 1 confirmed, 1 not-applicable"
    listed = [text.split()[:2] for text in claims.splitlines() if re.match(r"[A-Z][0-9]", text)]
    order = ("refuted", "inconclusive", "confirmed", "not-applicable")
    assert listed == [[c.id, c.outcome] for c in sorted(CLAIMS, key=lambda c: order.index(c.outcome))]
    assert re.search(r"A4 +refuted +5\.20 .* 3\.60 … 4\.60 +measured ridge", claims)
    assert "(baseline " in flat
    assert "roofline explain ID" in flat
    assert "at least 1.00" in flat
    assert "5.20 FLOP/B" in flat


def test_absent_rows_have_status_and_reason():
    absent = section(summary(cpu_report()), "ABSENT")
    assert re.search(r"tensor/mma-fp16.* unsupported +no tensor units on a CPU", absent)


def test_a_point_above_its_roof_is_called_out_with_likely_causes():
    """M5: never clamped, and explained by cache, clock or count."""
    above = " ".join(section(summary(gpu_report()), "ABOVE THE ROOF").split())
    assert "placed/gemm-naive 240 % dram" in above
    assert "wrong count" in above


def test_a_footprint_near_the_cache_is_a_likely_cause():
    report = cpu_report()
    measurement = replace(report.measurements[0], footprint_bytes=40 * 2**20)
    point = Point(0.25, 20e9, 13e9, "dram_update", 1.5, "above-roof")
    causes = likely_causes(measurement, point, report)
    assert causes[0] == "cache-resident (footprint 41.9 MB, last cache 33.6 MB)"
    assert causes[-1].startswith("wrong count")


@pytest.mark.parametrize(
    ("bound_by", "then", "said"),
    [
        ("fp32", None, ["clock above rated (3.60 GHz, rated 3.00 GHz)"]),
        ("fp32", 3.2e9, ["clock above the roof's (3.60 GHz, then 3.20 GHz)"]),
        ("fp32", 3.6e9, []),
        ("dram_update", None, []),
    ],
    ids=["roof at an unknown clock", "roof at a lower clock", "roof at the same boost", "memory"],
)
def test_a_clock_is_a_likely_cause_where_it_can_be_one(bound_by, then, said):
    """A5: the clock belongs to the figure; a roof of the same boosted clock is no lower, and DRAM has its own."""
    report = cpu_report(device=replace(CPU, nominal={"clock": replace(CPU.nominal["clock"], rate=3.0e9)}))
    report = replace(report, ceilings={**report.ceilings, "fp32": replace(report.ceilings["fp32"], clock_hz=then)})
    point = Point(0.25, 20e9, 13e9, bound_by, 1.5, "above-roof")
    causes = likely_causes(report.measurements[0], point, report)
    assert [cause for cause in causes if "clock" in cause] == said


def test_an_incomplete_run_says_loudly_what_is_missing_first_and_last():
    text = summary(cpu_report(complete=False, missing=("dram: 3 of 8 rows", "launch")))
    first, last = text.split("\n\n")[0], text.split("\n\n")[-1]
    assert first == last
    assert first.startswith("INCOMPLETE RUN")
    assert "missing: dram: 3 of 8 rows\nmissing: launch" in first
    assert all("INCOMPLETE" in pasted for pasted in paste_lines(cpu_report(complete=False)))


def test_a_complete_run_does_not_speak_of_incompleteness():
    assert "INCOMPLETE" not in summary(cpu_report())


def test_kernels_of_other_experiments_show_their_place_under_the_roof():
    kernels = section(summary(gpu_report()), "KERNELS")
    assert line(kernels, "placed/gemm-fp16").split()[1:] == [
        "67108864", "657", "TFLOP/s", "1360", "83.0", "tensor_fp16_fp32acc", "compute",
    ]  # fmt: skip


def test_a_run_that_measured_nothing_says_so():
    text = summary(empty_report())
    assert "no ceiling was measured" in text
    assert "no claim was judged" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_on_their_line_and_within_the_columns(name):
    """C56: escaped, never acted upon by a terminal."""
    key = row("own", name)
    work = streaming(1000, 1, 8, 4, "dram")
    report = empty_report(
        device=replace(CPU, name=name),
        ceilings={"dram": ceiling("dram", 5e10, name)},
        measurements=[measured(key, work, 1e-6, flags=(name,))],
        points={key: Point(1 / 12, 1e9, 5e8, "dram", 2.0, "above-roof")},
        claims=[Claim("A1", name, Expectation(0, 1, name, name), Estimate(0.5, 0.4, 0.6), "confirmed", name)],
        absent=[Absent(row("own", name + "2"), "error", name)],
        notes=[name],
        missing=[name],
        complete=False,
    )
    lines = summary(report).splitlines()
    assert max(len(text) for text in lines if not text.startswith("PASTE")) <= 100
    assert all(text.isprintable() for text in lines)


def test_long_names_that_begin_and_end_alike_stay_distinguishable():
    """C56: two names equal in their first 80 characters are two."""
    first, second = LONG + "A" + LONG, LONG + "B" + LONG
    assert shortened(first, 60) != shortened(second, 60)
    assert len(shortened(first, 60)) <= 60


def test_one_pasteable_line_an_experiment():
    """X4: each line stands for itself, with the device's slug."""
    lines = paste_lines(cpu_report())
    slug = "amd-epyc-7r13-processor-znver3-2c"
    assert [text.split(" | ")[0] for text in lines] == [
        f"PASTE {name} {slug}" for name in ("dial", "dram", "chains", "launch", "claims")
    ]
    assert lines[0] == (
        f"PASTE dial {slug} | fp32 best 225 GFLOP/s | inplace 54.3 GB/s ridge 4.14 FLOP/B"
        " | nt 44.5 GB/s ridge 5.04 FLOP/B | ordinary 29.4 GB/s ridge 7.65 FLOP/B"
    )
    assert lines[3] == f"PASTE launch {slug} | launch 90.0 ns | launch_sync 1.52 µs"
    assert lines[4].endswith("| refuted A4")


def test_a_pasteable_line_is_short_and_counts_what_it_leaves_out():
    device = Device(name=LONG, kind="cpu", architecture="x", cores=2)
    lines = paste_lines(cpu_report(device=device))
    assert all(len(text) <= LONGEST < 200 for text in lines)
    assert re.search(r"\| and \d+ more$", lines[1])


def test_every_measured_experiment_has_a_table():
    titles = [table.title.split()[0] for table in experiment_tables(cpu_report())]
    assert titles == ["DIAL", "DRAM", "CHAINS", "LAUNCH"]


def test_more_ways_to_store_than_fit_are_shown_in_a_second_table():
    ceilings = {f"dram_{way}": ceiling(f"dram_{way}", 5e10) for way in "abcde"} | {"fp32": ceiling("fp32", 2e11)}
    roofline = Roofline(ceilings)
    rows = [dial(4, way, f"dram_{way}", roofline, 0.9, 0.1) for way in "abcde"]
    text = summary(empty_report(ceilings=ceilings, measurements=rows, points=placed(rows, roofline)))
    assert text.count("DIAL ") == 2


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (12.0, 16.0, "12.0 … 16.0 FLOP/B"),
        (0.95, float("inf"), "at least 0.950 FLOP/B"),
        (-float("inf"), 1.0, "at most 1.00 FLOP/B"),
        (-float("inf"), float("inf"), "anything"),
        (5.0, 5.0, "5.00 FLOP/B"),
    ],
)
def test_an_interval_is_put_in_words(low, high, text):
    assert between(low, high, "FLOP/B") == text


def test_an_interval_across_prefixes_keeps_both():
    assert between(900e6, 2e9, "B/s") == "900 MB/s … 2.00 GB/s"


class TestTensorTable:
    """What a card holds, what it does in bursts, and how near that is to its limit at the clock it had."""

    LIMIT, RATED = 1070e12, 1.98e9

    def report(self):
        nominal = {
            "tensor_fp16_fp32acc": Nominal(self.LIMIT, "FLOP/s", "SMs × FLOP a clock × clock", "white paper"),
            "clock": Nominal(self.RATED, "Hz", "boost", "attribute"),
        }
        device = replace(CPU, kind="cuda", nominal=nominal)
        work = Work(835e12, "tensor_fp16_fp32acc", {"dram": Traffic(0.0, 0.0)})
        key = row("tensor", "wgmma-fp32acc", unit=work.unit)
        held = measured(key, work, 1.0, measures=(work.unit,))
        clock = Spread(1.5e9, self.RATED * 835 / 1070, 1.6e9)
        held = replace(held, samples=replace(held.samples, burst_s=835 / 870, clock_hz=clock))
        zeros = replace(held, key=replace(key, fill="zeros"))
        return Report(device, Environment(), {}, (held, zeros), {})

    def test_it_shows_the_figure_held_the_burst_and_the_share_of_the_limit_at_its_clock(self):
        table = section(summary(self.report()), "TENSOR")
        cells = [text.split() for text in table.splitlines() if text.startswith("wgmma-fp32acc")]
        assert cells[0][1:6] == ["random", "835", "870", "1.55", "GHz"]
        assert cells[0][6] == "100"

    def test_rows_of_other_contents_are_told_apart(self):
        """C19: zeros and random data are different figures."""
        assert [text.split()[1] for text in section(summary(self.report()), "TENSOR").splitlines()[4:6]] == [
            "random",
            "zeros",
        ]
        assert "wgmma-fp32acc zeros 835 TFLOP/s" in "".join(paste_lines(self.report()))
