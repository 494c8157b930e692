"""What bad input gets: one or two lines with cause and remedy, exit code 4, never a traceback."""

import json

import pytest

pytestmark = pytest.mark.correctness

SUITE = ("--pyargs", "roofline.bench", "-m", "bench", "-p", "no:cacheprovider")


def refused(pytester, *arguments, suite=SUITE):
    """Run with arguments that must be refused; returns what was said."""
    result = pytester.runpytest_inprocess(*suite, *arguments)
    said = result.stderr.str() + result.stdout.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR, said
    assert "Traceback" not in said
    return said


def test_an_unknown_device_is_refused_with_what_is_allowed(pytester):
    said = refused(pytester, "--device", "tpu")
    assert "unknown device 'tpu': give auto, cpu, cuda, cuda:N" in said


def test_a_save_name_that_is_an_existing_path_asks_for_an_equals_sign(pytester):
    """`--benchmark-save bench/` swallowed the folder that was to be run."""
    pytester.mkdir("experiments")
    said = refused(pytester, "--device", "fake", "--benchmark-save", "experiments")
    assert "=NAME" in said


@pytest.mark.parametrize("name", ["../up", "a/b", ".."])
def test_a_save_name_with_a_path_in_it_is_refused(pytester, name):
    assert "--benchmark-save" in refused(pytester, "--device", "fake", f"--benchmark-save={name}")


def test_the_fake_device_makes_no_baseline(pytester):
    """Nothing simulated is ever stored as measured, unless a folder for trying it is named."""
    assert "results are no baseline" in refused(pytester, "--device", "fake", "--benchmark-save")


def test_benchmarks_under_xdist_are_refused(pytester):
    """C49: two workers on one device measure each other."""
    assert "add -n 0" in refused(pytester, "--device", "fake", "-n", "2")


def test_a_chart_of_an_unknown_kind_is_refused_before_anything_is_measured(pytester):
    said = refused(pytester, "--device", "fake", "--roofline-chart", "roof.xlsx")
    assert ".svg" in said


def test_too_little_memory_is_refused_with_what_is_needed(pytester):
    """C37: DRAM figures from buffers that fit the cache would be a lie."""
    truth = pytester.path / "truth.json"
    truth.write_text(json.dumps({"memory_bytes": 10_000_000, "cache_bytes": 64 << 20}))
    said = refused(pytester, "--device", "fake", f"--roofline-fake={truth}")
    assert "only 0.01 GB may be used" in said


def test_a_truth_that_is_none_is_refused_by_key_and_value(pytester):
    truth = pytester.path / "truth.json"
    truth.write_text(json.dumps({"ceilngs": {}}))
    assert "unknown key ceilngs" in refused(pytester, "--device", "fake", f"--roofline-fake={truth}")


def test_a_chart_that_exists_needs_an_equals_sign(pytester):
    """Pytest would take the lone path for a place to collect tests from, and move its root there."""
    (pytester.path / "roof.svg").touch()
    assert "write --roofline-chart=roof.svg" in refused(pytester, "--device", "fake", "--roofline-chart", "roof.svg")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"benchmarks": []}'])
def test_a_damaged_newest_baseline_stops_the_run(pytester, content):
    """An older baseline never silently takes the place of a damaged newer one."""
    storage = f"--benchmark-storage=file://{pytester.path}/store"
    assert pytester.runpytest_inprocess(*SUITE, "--device", "fake", storage, "--benchmark-save=good").ret == 0
    (good,) = (pytester.path / "store").glob("*/*.json")
    good.with_name("0002_damaged.json").write_text(content)
    assert "0002_damaged.json" in refused(pytester, "--device", "fake", storage)


@pytest.mark.parametrize("value", ["0", "-1", "nan", "soon"])
def test_a_budget_that_is_no_time_is_refused(pytester, value):
    assert "give seconds" in refused(pytester, "--device", "fake", f"--roofline-budget={value}")


def test_blocking_pytest_benchmark_is_refused_with_the_reason(pytester):
    assert "-p no:benchmark" in refused(pytester, "--device", "fake", "-p", "no:benchmark")
