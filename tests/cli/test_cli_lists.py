"""`roofline baselines` and `roofline show`: what is stored, as it is."""

import json
import os
import shutil

import pytest

from roofline.record import load
from roofline.report.stored import report_of
from roofline.report.terminal import summary
from roofline.schema import text_of

pytestmark = pytest.mark.correctness


def line_of(out, name):
    return next(line.split() for line in out.splitlines() if line.startswith(name))


class TestBaselines:
    """The list shows every file, the damaged ones too."""

    def test_each_file_has_its_day_driver_and_rows(self, roofline):
        code, out, _ = roofline("baselines")
        assert code == 0
        assert "nvidia-h200 (NVIDIA H200)" in out
        assert line_of(out, "0001_cuda13")[:6] == ["0001_cuda13", "baseline", "2026-11-29", "580.159.04", "19", "none"]
        assert "power_limit_w 700" in out

    def test_of_several_runs_the_newest_complete_one_is_the_baseline(self, roofline, another):
        def partial(document):
            document["roofline"] |= {"complete": False, "missing": ["all of test_launch.py"]}
            document["roofline"]["claims"][0]["outcome"] = "refuted"

        another("second")
        another("third", partial)
        _, out, _ = roofline("baselines")
        assert line_of(out, "0003_third")[1] == "incomplete"
        assert line_of(out, "0003_third")[5] != "none", "a failed claim is named"
        assert "0003_third.json lacks all of test_launch.py" in out
        assert line_of(out, "0002_second")[1] == "baseline"
        assert line_of(out, "0001_cuda13")[1] == "complete"

    def test_a_damaged_file_is_shown_as_such_and_what_it_stops_is_said(self, roofline, another):
        another("cut").write_text('{"machine_info": ')
        code, out, _ = roofline("baselines")
        assert code == 0
        assert line_of(out, "0002_cut")[1] == "damaged"
        assert "0002_cut.json is damaged: ends in the middle" in out
        assert "no run of this card can be judged" in out
        assert line_of(out, "0001_cuda13")[1] == "complete"

    def test_damage_in_the_middle_of_a_baseline_is_seen_and_of_an_older_file_with_check(self, roofline, another):
        """Both ends of these files are sound."""
        paths = [another("older"), another("newest")]
        for path in paths:
            text = text_of(json.loads(path.read_text()))
            path.write_text(text.replace('"samples_s": [ ', '"samples_s": [ null, ', 1))
        another("later")
        _, quick, _ = roofline("baselines")
        assert line_of(quick, "0004_later")[1] == "baseline"
        assert line_of(quick, "0003_newest")[1] == "complete"
        _, checked, _ = roofline("baselines", "--check")
        assert line_of(checked, "0003_newest")[1] == "damaged"
        assert line_of(checked, "0002_older")[1] == "damaged"
        assert "samples_s[0] is null" in checked

    def test_spec_sheets_are_listed_apart_and_as_what_they_are(self, roofline):
        _, out, _ = roofline("baselines")
        assert "SPECIFICATIONS   not measurements: " in out
        assert "rtx-5070-spec" in out

    def test_an_empty_store_says_how_to_make_a_record(self, roofline, store):
        shutil.rmtree(store)
        store.mkdir()
        code, out, _ = roofline("baselines")
        assert code == 0
        assert "pytest -m bench --benchmark-save makes one" in " ".join(out.split())

    def test_a_folder_that_is_not_there_is_refused(self, roofline, store):
        store.rename(store.with_name("moved"))
        code, _, err = roofline("baselines")
        assert code == 2
        assert "there is no such folder" in err


class TestShow:
    """A stored run is printed as it was printed when it ended."""

    @pytest.mark.parametrize("name", ["nvidia-h200", "cuda13", "nvidia-h200/0001", "nvidia-h200/0001_cuda13"])
    def test_the_summary_of_the_run_is_shown(self, roofline, store, name):
        code, out, _ = roofline("show", name)
        assert code == 0
        assert out.startswith("RECORD nvidia-h200/0001_cuda13.json, made 2026-11-29 17:11 UTC")
        record = load(store / "nvidia-h200" / "0001_cuda13.json")
        assert summary(report_of(record)) in out

    def test_what_the_run_was_judged_by_is_told_from_its_claims(self, roofline, another):
        def judged(document):
            document["roofline"]["claims"][0]["expected_from"] = "baseline nvidia-h200/0001_cuda13.json"

        another("later", judged)
        assert "judged by     nvidia-h200/0001_cuda13.json" in roofline("show", "later")[1]

    def test_a_spec_sheet_is_shown_as_one_with_a_source_a_figure(self, roofline):
        code, out, _ = roofline("show", "h200-spec")
        assert code == 0
        assert out.startswith("SPECIFICATION   NVIDIA H200 SXM (h200-spec): what its maker promises, not a measurement")
        assert "half of 3958 TFLOP/s, which are with sparsity" in out
        assert "https://" in out

    def test_a_file_is_shown_wherever_it_lies(self, roofline, store, tmp_path):
        path = tmp_path / "elsewhere.json"
        path.write_bytes((store / "nvidia-h200" / "0001_cuda13.json").read_bytes())
        assert "NVIDIA H200" in roofline("show", str(path))[1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_pipe_and_a_huge_file_in_the_store_are_damage_and_not_waited_for(roofline, store):
    os.mkfifo(store / "nvidia-h200" / "0002_pipe.json")
    with (store / "nvidia-h200" / "0003_huge.json").open("wb") as file:
        file.truncate(2**40)
    code, out, _ = roofline("baselines")
    assert code == 0
    assert "0002_pipe.json is damaged: is a pipe" in out
    assert "0003_huge.json is damaged: is 1,099,511,627,776 bytes" in out
    (store / "nvidia-h200" / "0003_huge.json").unlink()
    assert roofline("show", "nvidia-h200")[0] == 2
