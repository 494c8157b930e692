"""What the documents say is what there is: the commands, the example, the claims."""

import re
import runpy
from pathlib import Path

import pytest

from roofline.checking import check
from roofline.devices.cpu import open_cpu
from roofline.kernels.dram import PATTERNS

pytestmark = pytest.mark.correctness

ROOT = Path(__file__).parents[1]


def test_the_example_in_the_page_is_the_example_that_runs():
    assert (ROOT / "examples/test_scale.py").read_text().rstrip() in (ROOT / "docs/adding-a-kernel.md").read_text()


def test_the_example_runs(pytester):
    """A newcomer's kernel goes through the whole pipeline (on the fake device, which judges nothing)."""
    pytester.makepyfile((ROOT / "examples/test_scale.py").read_text())
    result = pytester.runpytest_inprocess("--device=fake", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*quick probe*dram_copy_nt*", "*scaling reaches its roof*"])


def test_the_example_is_correct_on_this_cpu():
    """Its machine code is what it says, and its result is right on sizes that nothing divides."""
    example = runpy.run_path(str(ROOT / "examples/test_scale.py"))["SCALE"]
    backend = open_cpu()
    try:
        for binary in backend.build(example, example.variants(backend.target)):
            check(backend, binary)
    finally:
        backend.close()


def test_continuous_integration_runs_the_command_of_the_readme():
    """One line of the README runs the tests, and `.ci/run` is that line and more."""
    commands = re.findall(r"^    (python3 -m venv .*tox -e correctness)$", (ROOT / "README.md").read_text(), re.M)
    assert len(commands) == 1
    assert commands[0] in (ROOT / ".ci/run").read_text().splitlines()


def test_every_ceiling_is_explained():
    """The page on the method names each ceiling that a DRAM pattern measures."""
    page = (ROOT / "docs/method.md").read_text()
    assert [r for pattern in PATTERNS for r in pattern.measures if f"`{r}`" not in page] == []


@pytest.mark.parametrize(
    "claim",
    [
        *("A1", "A2", "A3", "A4", "A5", "A7", "A8", "A9", "C1", "C2", "C3", "C4"),
        *("C5", "C6", "C7", "W1", "W2", "M11"),
        *("H1", "H2", "H3", "H4", "K1", "K2", "K3", "K4", "K5", "K6", "K7", "K8", "T7", "T8"),
        *("L1", "L2", "T1", "T2", "T3", "T4", "T5", "T6"),
        *("M2", "M9", "M12", "M13", "R1", "R2", "R5", "R6", "R7", "R8"),
    ],
)
def test_a_claim_is_asserted_where_one_would_look_for_it(claim):
    """Each claim id of the chapter that the experiments assert stands in the docstring of its test."""
    texts = "".join(path.read_text() for path in (ROOT / "bench").glob("test_*.py"))
    assert re.search(rf'"""[^"]*\b{claim}\b', texts)
