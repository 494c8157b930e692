"""`roofline diff`: verdicts for one model, a contrast for two, and what it says where it can do neither."""

import json

import pytest

pytestmark = pytest.mark.correctness

HOSTILE = "\x1b[31mH200\x1b[0m\u202e</script>|`x`"


class TestOneModel:
    """Two runs of one model get verdicts, and the exit code says whether a gate closes."""

    def test_a_run_is_the_same_as_itself(self, roofline):
        code, out, _ = roofline("diff", "nvidia-h200", "nvidia-h200/0001")
        assert code == 0
        assert "19 same" in out

    def test_a_row_that_became_slower_ends_with_1_and_is_named(self, roofline, another, slowed):
        another("later", slowed("copy-plain", 1.5))
        code, out, _ = roofline("diff", "cuda13", "later")
        assert code == 1
        assert "copy-plain" in out
        assert "slower" in out

    def test_a_row_that_became_faster_is_fine(self, roofline, another, slowed):
        another("later", slowed("copy-plain", 1.5))
        code, out, _ = roofline("diff", "later", "cuda13")
        assert code == 0
        assert "faster" in out

    def test_a_row_that_is_gone_ends_with_1(self, roofline, another, without):
        """C42: a test that vanished does not pass."""
        another("later", without("copy-plain"))
        code, out, _ = roofline("diff", "cuda13", "later")
        assert code == 1
        assert "gone" in out

    def test_what_an_incomplete_run_lacks_is_not_gone(self, roofline, another, without):
        def change(document):
            without("copy-plain")(document)
            document["roofline"] |= {"complete": False, "missing": ["bench/test_dram.py::test_dram[copy-plain]"]}

        another("partial", change)
        code, out, _ = roofline("diff", "cuda13", "partial")
        assert code == 0
        assert "18 same" in out

    def test_json_holds_the_verdict_on_each_row_and_no_sample(self, roofline, another, slowed):
        another("later", slowed("copy-plain", 1.5))
        code, out, _ = roofline("diff", "cuda13", "later", "--format", "json")
        found = json.loads(out, parse_constant=pytest.fail)
        assert (code, found["kind"], found["failed"]) == (1, "verdicts", True)
        assert len(found["changes"]) == 19
        worst = found["changes"][0]
        assert (worst["row"]["kernel"], worst["verdict"]) == ("copy-plain", "slower")
        assert worst["time_after_over_before"]["value"] == pytest.approx(1.5)
        assert found["after"]["file"].endswith("0002_later.json")
        assert "samples_s" not in out

    def test_markdown_is_a_table(self, roofline, another, slowed):
        another("later", slowed("copy-plain", 1.5))
        _, out, _ = roofline("diff", "cuda13", "later", "--format", "markdown")
        assert "| --- |" in out
        assert "copy-plain" in out

    def test_another_state_is_said_and_no_verdict(self, roofline, another):
        """Figures of two power limits are not compared."""

        def capped(document):
            document["machine_info"]["environment"]["state"]["power_limit_w"] = 500.0

        another("capped", capped)
        code, out, _ = roofline("diff", "cuda13", "capped", "--format", "json")
        found = json.loads(out)
        assert found["differs"] == {"power_limit_w": {"before": 700.0, "after": 500.0}}
        assert {change["verdict"] for change in found["changes"]} == {"incomparable"}
        assert code == 1, "nothing was compared, which is no success"


class TestTwoCards:
    """Two models are never slower than one another: ratios, shares of each one's own roof, ridges, flips."""

    def test_a_spec_sheet_beside_a_measurement_says_that_it_is_none(self, roofline):
        """The chapter's reference card beside the card at hand."""
        code, out, _ = roofline("diff", "rtx-5070-spec", "nvidia-h200")
        assert code == 0
        assert "A: NVIDIA GeForce RTX 5070 (rtx-5070-spec, specification)" in out
        assert "A is a specification: what its maker promises, dense, and not a measurement" in out
        assert "6.35 ×" in out
        assert "slower" not in out

    def test_the_flip_table_marks_what_only_the_model_says(self, roofline):
        _, out, _ = roofline("diff", "rtx-5070-spec", "nvidia-h200")
        flips = out.partition("FLIPS")[2]
        assert [line.split() for line in flips.splitlines() if "dial-0096" in line] == [
            ["dial/dial-0096", "24.0", "dram", "*", "fp32"]
        ]
        assert "* by the model" in flips

    def test_two_spec_sheets_have_ceilings_and_ridges_and_no_kernels(self, roofline):
        code, out, _ = roofline("diff", "h100-sxm-spec", "b200-spec")
        assert code == 0
        assert "no kernel was measured on either" in out
        assert "tensor_fp8/dram" in out

    def test_json_holds_both_sides(self, roofline):
        code, out, _ = roofline("diff", "nvidia-h200", "amd-epyc-znver3-2c", "--format", "json")
        found = json.loads(out, parse_constant=pytest.fail)
        assert (code, found["kind"]) == (0, "contrast")
        assert [found[side]["specification"] for side in ("first", "second")] == [False, False]
        launch = next(row for row in found["kernels"] if row["row"]["kernel"] == "launch")
        assert launch["first"]["measured"]
        assert launch["second"]["measured"]
        assert launch["times_as_fast"]["low"] <= launch["times_as_fast"]["value"] <= launch["times_as_fast"]["high"]

    def test_markdown_has_every_table(self, roofline):
        _, out, _ = roofline("diff", "nvidia-h200", "amd-epyc-znver3-2c", "--format", "markdown")
        assert [title in out for title in ("CEILINGS", "RIDGES", "KERNELS", "FLIPS")] == [True] * 4

    def test_a_model_that_differs_in_its_key_alone_is_another_and_what_differs_is_said(self, roofline, another):
        """Cards match by the whole key, not by their name."""

        def smaller(document):
            document["machine_info"]["device"]["memory_class"] = "80 GiB"

        another("smaller", smaller)
        code, out, _ = roofline("diff", "cuda13", "smaller")
        assert code == 0
        assert "two models of one name: memory_class '140 GiB' and '80 GiB'" in out


class TestRefusals:
    """What cannot be compared ends with 2 and a line that says why."""

    @pytest.mark.parametrize(
        ("names", "said"),
        [
            (("nvidia-h200", "nvidia-h20"), "'nvidia-h20' is no file, card or record in "),
            (("nvidia-h200", "nvidia-h20"), "there are: nvidia-h200"),
            (("nvidia-h200", "rtx-6070-spec"), "no spec sheet 'rtx-6070-spec'; there are: a100-40gb-spec"),
            (("0001", "nvidia-h200"), "records of several cards"),
            (("nvidia-h200", "../nvidia-h200"), "is no file, card or record"),
            (("nvidia-h200", "x" * 5000), "is no file, card or record"),
            (("nvidia-h200", "\0"), "is no file, card or record"),
        ],
    )
    def test_a_name_that_means_nothing_offers_what_there_is(self, roofline, names, said):
        code, out, err = roofline("diff", *names)
        assert (code, out) == (2, "")
        assert said in err

    def test_a_damaged_file_ends_the_comparison_with_its_name(self, roofline, another):
        path = another("cut")
        path.write_text(path.read_text()[:5000])
        code, out, err = roofline("diff", "cuda13", "cut")
        assert (code, out) == (2, "")
        assert "0002_cut.json: ends in the middle" in err

    def test_a_damaged_newest_file_is_not_replaced_by_an_older_one(self, roofline, another):
        another("cut").write_text("")
        code, _, err = roofline("diff", "rtx-5070-spec", "nvidia-h200")
        assert code == 2
        assert "0002_cut.json: is empty; restore it from version control or delete it" in err

    def test_a_plain_pytest_benchmark_file_is_told_apart(self, roofline, tmp_path):
        """C46: an older tool's file is refused as what it is."""
        path = tmp_path / "plain.json"
        path.write_text(json.dumps({"machine_info": {"node": "x"}, "benchmarks": []}))
        code, _, err = roofline("diff", str(path), "nvidia-h200")
        assert code == 2
        assert "plain pytest-benchmark file" in err

    def test_a_missing_argument_and_an_unknown_option_are_usage(self, roofline):
        assert roofline("diff", "nvidia-h200")[0] == 2
        code, _, err = roofline("diff", "nvidia-h200", "nvidia-h200", "--gate")
        assert code == 2
        assert "--gate" in err


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_names_in_files_act_on_no_terminal_and_no_page(roofline, another, slowed, form):
    """C56: a device and a kernel that are called in escape sequences and HTML."""

    def hostile(document):
        document["machine_info"]["device"]["name"] = HOSTILE
        slowed("copy-plain", 1.5)(document)
        for benchmark in document["benchmarks"]:
            if benchmark["extra_info"].get("kernel") == "copy-plain":
                benchmark["extra_info"]["kernel"] = HOSTILE

    path = another("hostile", hostile)
    code, out, _ = roofline("diff", "rtx-5070-spec", str(path), "--format", form)
    assert code == 0
    assert not any(character in out for character in "\x1b\u202e\r")
    if form == "markdown":
        assert "</script>" not in out
        assert "`x`" not in out


def test_a_hostile_key_in_a_message_is_escaped_and_cut(roofline, another):
    """The dotted path of a wrong value is the file's own text."""

    def change(document):
        document["roofline"]["ceilings"]["\x1b[2J" + "k" * 100_000] = 5

    code, _, err = roofline("diff", "cuda13", str(another("hostile", change)))
    assert code == 2
    assert "\x1b" not in err
    assert len(err) < 1000


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("clock_hz", "median"), 0.0),
        (("interval", "high"), 0.0),
        (("interval", "low"), -1.0),
        (("interval", "low"), 1.0),
        (("seconds",), 1e-320),
        (("beside",), {"value": 0.0, "low": 0.0, "high": 1.0}),
        (("bytes", "dram"), None),
    ],
)
def test_a_figure_that_no_run_can_have_is_refused_with_its_key(roofline, another, slowed, where, value):
    """None divides by zero in a verdict, and a null with a reason stands for a number alone."""

    def change(document):
        slowed("copy-plain", 1.5)(document)
        owner = next(b["extra_info"] for b in document["benchmarks"] if b["extra_info"].get("kernel") == "copy-plain")
        for key in where[:-1]:
            owner = owner[key]
        owner |= {where[-1]: value, f"{where[-1]}_reason": "infinite"}

    another("odd", change)
    code, out, err = roofline("diff", "cuda13", "odd")
    assert (code, out) == (2, "")
    assert where[0] in err


@pytest.mark.parametrize("key", ["ceilings", "ridges", "floors"])
@pytest.mark.parametrize("value", [None, -2.0])
def test_what_the_whole_run_holds_is_refused_likewise(roofline, another, key, value):
    def change(document):
        document["roofline"].setdefault(key, {})
        document["roofline"][key] |= {"dram": value, "dram_reason": "infinite"}

    another("odd", change)
    code, _, err = roofline("diff", "odd", "cuda13")
    assert code == 2
    assert f"roofline.{key}" in err


def test_a_file_outside_the_store_is_judged_by_the_noise_that_it_holds(roofline, another, slowed, tmp_path):
    """No run of the store was made like it."""

    def elsewhere(factor):
        def change(document):
            slowed("copy-plain", factor)(document)
            document["machine_info"]["device"]["name"] = "Another Card"
            document["machine_info"]["environment"]["state"]["virtualised"] = True

        return another("kept", change).rename(tmp_path / f"{factor}.json")

    code, out, _ = roofline("diff", str(elsewhere(1.0)), str(elsewhere(1.2)))
    assert code == 0, out
    assert "of a guest" in " ".join(out.split())


def test_what_was_not_selected_is_not_gone(roofline, another, without):
    """A run of the long experiments too, against a later one of the core."""

    def core(document):
        without("copy-plain")(document)
        document["roofline"]["selection"] = "-m 'bench'"

    def everything(document):
        document["roofline"]["selection"] = "-m 'bench and full'"

    another("all", everything)
    another("core", core)
    code, out, _ = roofline("diff", "all", "core")
    assert code == 0
    assert "gone" not in out
    assert "selected otherwise (-m 'bench and full' before, -m 'bench' after)" in " ".join(out.split())


def test_of_two_files_of_one_number_the_later_run_is_meant(roofline, another):
    """Branches that were merged."""

    def on(day):
        return lambda document: document.update(datetime=f"2026-12-{day}T12:00:00+00:00")

    first = another("a", on(30))
    another("b", on(10)).rename(first.with_name("0002_b.json"))
    assert "0002_a.json" in roofline("show", "0002")[1]


def test_a_spec_sheet_comes_before_a_file_of_its_name_and_a_long_name_is_none(roofline, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "h200-spec").write_text("mine")
    assert roofline("show", "h200-spec")[0] == 0
    assert roofline("show", "x" * 5000 + "-spec")[0] == 2
