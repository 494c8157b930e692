"""`roofline calibrate`: the suite in turn, in processes of its own, and what that taught."""

import shutil

import pytest

from roofline import foreground
from roofline.cli import calibrate
from roofline.noise import FEWEST_RUNS

pytestmark = pytest.mark.correctness


@pytest.fixture
def pytest_runs(monkeypatch, another, slowed):
    """Stands for pytest: each run stores a record in which a copy takes a little longer than in the one before."""
    commands = []

    def run(command):
        commands.append(command)
        another(calibrate.NAME, slowed("copy-plain", 1 + 0.01 * len(commands)))
        return 1 if len(commands) == 2 else 0

    monkeypatch.setattr(foreground, "exit_code", run)
    return commands


def test_it_runs_the_suite_so_many_times_and_prints_what_it_learnt(roofline, pytest_runs, store):
    """A run in which a claim failed is a measurement all the same."""
    code, out, _ = roofline("calibrate", "-n", "4", "--device", "cuda:1", "-k", "dram or dial")
    assert code == 0
    assert len(pytest_runs) == 4
    assert pytest_runs[0][1:5] == ["-m", "pytest", "-m", "bench"]
    assert pytest_runs[0][5:7] == ["--benchmark-save=calibration", f"--benchmark-storage=file://{store}"]
    assert pytest_runs[0][7:] == ["--device", "cuda:1", "-k", "dram or dial"]
    assert "run 4 of 4" in out
    row = next(line for line in out.splitlines() if "copy-plain" in line)
    assert "learnt from 4 runs" in row
    assert "NOISE   NVIDIA H200" in out


def test_options_after_two_dashes_go_to_pytest_too(roofline, pytest_runs):
    assert roofline("calibrate", "-n", "3", "--", "-x", "-n", "0")[0] == 0
    assert pytest_runs[0][7:] == ["-x", "-n", "0"]


@pytest.mark.parametrize("option", ["--benchmark-storage=elsewhere", "--benchmark-save=mine"])
def test_it_stores_under_its_own_name_where_it_looks_for_the_runs(roofline, pytest_runs, option):
    code, _, err = roofline("calibrate", option)
    assert (code, pytest_runs) == (2, [])
    assert "is calibrate's own" in err


@pytest.mark.parametrize("number", ["0", "2", "-1", "many"])
def test_too_few_runs_teach_nothing(roofline, pytest_runs, number):
    code, _, err = roofline("calibrate", "-n", number)
    assert (code, pytest_runs) == (2, [])
    assert "3 or more" in err or "expected one argument" in err


def test_the_fewest_runs_are_those_that_noise_is_learnt_from():
    assert calibrate.FEWEST == FEWEST_RUNS


def test_a_run_that_could_not_measure_ends_it(roofline, monkeypatch):
    """Exit code 4 of pytest is a usage error: another run would end the same."""
    commands = []
    monkeypatch.setattr(foreground, "exit_code", lambda command: commands.append(command) or 4)
    code, _, err = roofline("calibrate")
    assert (code, len(commands)) == (2, 1)
    assert "exit code 4" in err


def test_runs_that_stored_nothing_taught_nothing(roofline, monkeypatch, store):
    shutil.rmtree(store / "nvidia-h200")
    monkeypatch.setattr(foreground, "exit_code", lambda command: 0)
    code, _, err = roofline("calibrate")
    assert code == 2
    assert "nothing was stored" in err


def test_ctrl_c_ends_it_and_says_what_became_of_the_runs(roofline, monkeypatch):
    def pressed(command):
        raise KeyboardInterrupt

    monkeypatch.setattr(foreground, "exit_code", pressed)
    code, _, err = roofline("calibrate")
    assert code == 2
    assert err == "roofline: interrupted: runs that ended are stored as 'calibration' and count\n"
