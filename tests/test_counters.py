"""Bytes by hardware counters: the profiler's table, its refusals, and what follows from the counts."""

import json
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from roofline.counters import (
    METRICS,
    UnreadableCounters,
    achieved_intensity,
    countable,
    least_achieved,
    over_counted,
    readings,
    shared_out,
)
from roofline.devices.cuda import counters
from roofline.devices.cuda.counters import CountersUnavailable
from roofline.model import Estimate, Measurement, RowKey, Samples, Timer, Traffic, Work

pytestmark = pytest.mark.correctness

UNITS = ("byte", "byte", "sector", "sector", "byte", "byte")
ADDED_READ, ADDED_WRITTEN = 8 << 27, 4 << 27  # bytes of an addition of two arrays of 2^27 floats
COPY = (1e9, 0.94e9, 31250000, 31250000, 1e9, 1e9)


def table(*grids) -> str:
    """What the tool writes: its own lines, heads, units, and a row for each grid; digits in groups."""
    cells = [("ID", "Kernel Name", *METRICS), ("", "", *UNITS)]
    cells += [(str(place), "copy", *(f"{count:,.0f}" for count in counts)) for place, counts in enumerate(grids)]
    lines = [",".join(f'"{cell}"' for cell in row) for row in cells]
    return "\n".join(["==PROF== Connected to process 7", *lines, ""])


def row(achieved=None, read=1e9, written=1e9, flops=2e9) -> Measurement:
    """A copy of 1 GB."""
    work = Work(flops, "fp32", {"dram": Traffic(read, written)})
    samples = Samples((1e-3,), Timer("t", 1e-9))
    key = RowKey("dram", "copy", 1, "fp32", "dram")
    return Measurement(key, work, "v", samples, Estimate(1e-3, 1e-3, 1e-3), achieved=achieved or {})


def test_sectors_become_bytes_and_both_directions_are_kept():
    (found,) = shared_out(readings(table(COPY)), [1])
    assert found["dram"] == Traffic(1e9, 0.94e9)
    assert found["l2"] == found["l1"] == Traffic(1e9, 1e9)


def test_a_launch_of_two_grids_is_what_both_moved():
    one, two = shared_out(readings(table(COPY, COPY, COPY)), [2, 1])
    assert one["dram"].total == 2 * two["dram"].total


def test_another_number_of_grids_than_was_launched_is_refused():
    with pytest.raises(UnreadableCounters, match="1 grids were profiled, and 2 were launched"):
        shared_out(readings(table(COPY)), [1, 1])


@pytest.mark.parametrize(
    "text", ["", "==ERROR== nothing", '"ID","Kernel Name"\n"",""\n"0","copy"', '"' + 200_000 * "x"], ids=lambda t: t[:9]
)
def test_what_is_no_table_is_refused(text):
    with pytest.raises(UnreadableCounters, match="left no table"):
        readings(text)


def test_a_table_that_breaks_off_is_refused():
    """A profiler that is ended while it writes."""
    with pytest.raises(UnreadableCounters, match="broken line"):
        readings(table(COPY, COPY).rpartition(',"1,000,000,000"')[0])


@pytest.mark.parametrize("count", ["nan", "inf", "-1"])
def test_what_is_no_count_is_refused(count):
    """C47: what is not a number would pass every comparison."""
    with pytest.raises(UnreadableCounters, match=f"is '{count}': this card does not count it"):
        readings(table(COPY).replace("31,250,000", count, 1))


def test_a_counter_that_a_card_has_not_is_named():
    text = table(COPY).replace("31,250,000", "n/a", 1)
    with pytest.raises(UnreadableCounters, match=r"lts__t_sectors_srcunit_tex_op_read\.sum is 'n/a'"):
        readings(text)


def test_achieved_bytes_are_compared_with_those_that_were_counted():
    """M11: the ratio, and the intensity that the bytes which moved leave."""
    counted = row({"dram": Traffic(1.5e9, 1e9)})
    assert over_counted(counted) == 1.25
    assert achieved_intensity(counted) == 0.8
    assert over_counted(row()) is None
    assert achieved_intensity(row()) is None


def test_what_can_still_sit_in_the_last_cache_need_not_have_crossed():
    """M11: of what is written, never of what is read, since caches are empty before the launch."""
    assert least_achieved(row(), 60e6) == pytest.approx(1.94e9)
    assert least_achieved(row(written=10e6), 60e6) == 1e9
    assert least_achieved(row(), None) == 2e9


def test_the_least_is_what_the_algorithm_needs_not_what_the_program_asks_for():
    """M11: a program that reads its inputs twice may have the second time from a cache."""
    asking = row(read=5e9)
    needing = replace(asking, work=replace(asking.work, algorithmic=Traffic(1e9, 0.0)))
    assert least_achieved(needing, None) == 1e9


def test_rows_that_move_nothing_are_not_counted():
    assert countable([row(), row(read=0.0, written=0.0)]) == [row()]


@pytest.fixture
def profiler(tmp_path, monkeypatch):
    """Put a stand-in for the profiler on the PATH: it leaves a log and answers, or an error."""

    def install(log, answers):
        script = tmp_path / counters.TOOL
        script.write_text(
            f"#!{sys.executable}\n"
            "import json, pathlib, sys\n"
            "log = sys.argv[sys.argv.index('--log-file') + 1]\n"
            f"pathlib.Path(log).write_text({log!r})\n"
            "told = json.loads(pathlib.Path(sys.argv[-2]).read_text())\n"
            f"answers = {answers!r}\n"
            "if answers is not None:\n"
            "    assert len(answers) == len(told['launches'])\n"
            "    pathlib.Path(sys.argv[-1]).write_text(json.dumps(answers))\n"
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])

    return install


def test_each_launch_gets_its_own_bytes_or_its_own_reason(profiler):
    profiler(table(COPY), [{"reason": "too large"}, {"grids": 1}])
    reason, counted = counters.count("cuda:0", [{}, {}])
    assert reason == "too large"
    assert counted["dram"].total == 1.94e9


def test_where_nothing_could_be_launched_every_row_says_why(profiler):
    profiler("==WARNING== No kernels were profiled.", [{"reason": "too large"}])
    assert counters.count("cuda:0", [{}]) == ["too large"]


def test_no_permission_is_said_with_its_remedy(profiler):
    profiler("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", [{"grids": 1}])
    with pytest.raises(CountersUnavailable, match="NVreg_RestrictProfilingToAdminUsers=0"):
        counters.count("cuda:0", [{}])


def test_the_tools_own_error_is_what_a_person_reads(profiler):
    profiler("==PROF== Connected\n==ERROR== Failed to initialize the profiler: LibraryNotLoaded", None)
    with pytest.raises(CountersUnavailable, match=r"ncu failed: .*LibraryNotLoaded"):
        counters.count("cuda:0", [{}])


@pytest.mark.parametrize("script", [b"#!/bin/sh\nprintf '\\377\\376 rubbish'\n", b"\x7fELF of another machine"])
def test_a_tool_that_prints_rubbish_or_cannot_be_run_is_one_line(tmp_path, monkeypatch, script):
    tool = tmp_path / counters.TOOL
    tool.write_bytes(script)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    with pytest.raises(CountersUnavailable, match="no hardware counters: ncu"):
        counters.count("cuda:0", [{}])


def test_without_the_tool_its_name_and_place_are_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CountersUnavailable, match="no ncu"):
        counters.count("cuda:0", [{}])


def test_clocks_are_left_alone(tmp_path):
    """M11: the tool would lock them to base by itself, and other figures than the card's own would come out."""
    line = counters.command("ncu", tmp_path / "log", tmp_path / "requests", tmp_path / "answers")
    assert line[line.index("--clock-control") + 1] == "none"


def test_without_a_gpu_the_option_says_why_nothing_is_counted(pytester):
    result = pytester.runpytest_inprocess(
        *("--pyargs", "roofline.bench.test_launch", "-m", "bench", "--device", "fake", "--counters"),
        *("-p", "no:cacheprovider", "--benchmark-storage", f"file://{pytester.path}"),
    )
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*no hardware counters: only those of a CUDA GPU*"])


@pytest.fixture
def counted(pytester, profiler, monkeypatch):
    """Run an addition of three arrays and the claims on counters on the fake device, which the profiler then counts."""

    def run(read, written):
        profiler(table((read, written, 1, 1, 1, 1)), [{"grids": 1}])
        monkeypatch.setattr("roofline.plugin.counting.COUNTED_KIND", "fake")
        claims = Path(find_spec("roofline.bench.test_counters").origin).read_text()
        pytester.makepyfile(test_counter_claims=claims.replace(', pytest.mark.devices("cuda")', ""))
        return pytester.runpytest_inprocess(
            *("test_counter_claims.py", "--pyargs", "roofline.bench.test_floor", "-m", "bench"),
            *("-k", "test_counter_claims or 1610612736B", "--device", "fake", "--counters"),
            *("-p", "no:cacheprovider", f"--benchmark-json={pytester.path}/run.json"),
        )

    return run


def test_what_was_counted_is_in_the_record_and_in_the_summary(counted, pytester):
    """M11: achieved bytes beside the counted ones; a count that fits confirms what was claimed of it."""
    result = counted(ADDED_READ, ADDED_WRITTEN - (1 << 20))
    result.stdout.fnmatch_lines(["*COUNTERS*", "*vecadd-*", "M11*confirmed*achieved bytes of DRAM*"])
    (found,) = json.loads((pytester.path / "run.json").read_text())["benchmarks"]
    moved = found["extra_info"]["achieved_bytes"]["dram"]
    assert moved == {"read": ADDED_READ, "written": ADDED_WRITTEN - (1 << 20)}
    assert result.ret == pytest.ExitCode.OK


def test_fewer_bytes_than_the_algorithm_needs_refute_the_count(counted):
    """M11: and the run fails."""
    result = counted(ADDED_READ // 2, ADDED_WRITTEN)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["M11*refuted*achieved bytes of DRAM*"])
