"""The commands of the README, as they are typed in a checkout."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.correctness

ROOT = Path(__file__).parents[1]


@pytest.fixture
def collected(tmp_path):
    """What pytest would run with these arguments, where a package that only tests need cannot be imported."""
    (tmp_path / "hypothesis.py").write_text("raise ImportError('hypothesis is not installed here')")

    def collected(*arguments):
        command = [sys.executable, "-m", "pytest", *arguments, "--collect-only", "-q", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command += ["-p", "no:hypothesispytest"]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
        return ran.returncode, ran.stdout + ran.stderr

    return collected


@pytest.mark.parametrize("expression", ["bench", "bench and full"])
def test_measuring_needs_nothing_that_only_tests_need(collected, expression):
    """`tox -e bench` installs what measures; collecting tests/ there would fail for want of hypothesis."""
    code, said = collected("-m", expression)
    assert code == pytest.ExitCode.OK, said
    assert "bench/test_dial.py::" in said
    assert "tests/" not in said


def test_the_stand_in_for_a_missing_package_works(collected):
    """The test above would notice: collecting the tests fails without what they need."""
    code, said = collected("-m", "correctness")
    assert code == pytest.ExitCode.INTERRUPTED
    assert "hypothesis is not installed here" in said


def test_plain_pytest_is_correctness():
    """Without an expression the tests are collected and no experiment is."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == pytest.ExitCode.OK, ran.stdout[-500:]
    assert "tests/test_model.py::" in ran.stdout
    assert "bench/test_dial.py::" not in ran.stdout
