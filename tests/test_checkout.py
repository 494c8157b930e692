"""The commands of the README, as they are typed in a checkout."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.correctness

ROOT = Path(__file__).parents[1]
WITHOUT_HYPOTHESIS = "import sys; sys.modules['hypothesis'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"


def collected(*arguments):
    """What pytest would run with these arguments, in an environment without the packages that only tests need."""
    command = [sys.executable, "-c", WITHOUT_HYPOTHESIS, *arguments, "--collect-only", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run([*command, "-p", "no:hypothesispytest"], capture_output=True, text=True, cwd=ROOT, check=False)
    return ran.returncode, ran.stdout


@pytest.mark.parametrize("expression", ["bench", "bench and full", "bench and not full"])
def test_measuring_needs_nothing_that_only_tests_need(expression):
    """`tox -e bench` installs what measures; collecting tests/ there would fail for want of hypothesis."""
    code, said = collected("-m", expression)
    assert code == pytest.ExitCode.OK, said
    assert "bench/test_dial.py::" in said
    assert "tests/" not in said


def test_plain_pytest_is_correctness():
    """Without an expression the tests are collected and no experiment is."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == pytest.ExitCode.OK, ran.stdout[-500:]
    assert "tests/test_model.py::" in ran.stdout
    assert "bench/test_dial.py::" not in ran.stdout
