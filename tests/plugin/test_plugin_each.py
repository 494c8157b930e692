"""`--device cuda:all` runs one card after the other."""

import pytest

from roofline.devices.base import DeviceUnavailable
from roofline.plugin import each

pytestmark = pytest.mark.correctness

ARGUMENTS = ("--pyargs", "roofline.bench", "-m", "bench", "--device", "cuda:all", "-p", "no:cacheprovider")


@pytest.fixture
def commands(monkeypatch):
    """The commands that were run, on a machine of two cards of which the second has a refuted claim."""
    run = []

    def note(command, _):
        run.append(command)
        return len(run) - 1

    monkeypatch.setattr(each, "list_cuda", lambda: ["GPU-one", "GPU-two"])
    monkeypatch.setattr(each, "exit_code", note)
    return run


def test_each_card_gets_a_run_of_its_own(pytester, commands):
    """The same command, with the device named by its UUID; the worst exit code is that of the whole."""
    result = pytester.runpytest_inprocess(*ARGUMENTS, "--benchmark-save=all")
    assert result.ret == 1
    assert [command[-1] for command in commands] == ["--roofline-device=cuda:GPU-one", "--roofline-device=cuda:GPU-two"]
    assert all("--benchmark-save=all" in command for command in commands)


def test_each_card_gets_a_chart_of_its_own(pytester, commands):
    pytester.runpytest_inprocess(*ARGUMENTS, "--roofline-chart=roof.svg")
    assert [command[-1] for command in commands] == ["--roofline-chart=roof-0.svg", "--roofline-chart=roof-1.svg"]


def test_without_cuda_it_is_refused_with_the_cause(pytester, monkeypatch):
    def none():
        raise DeviceUnavailable("no NVIDIA driver (libcuda not found): install one")

    monkeypatch.setattr(each, "list_cuda", none)
    result = pytester.runpytest_inprocess(*ARGUMENTS)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no NVIDIA driver*"])
