"""`roofline report` and `--roofline-report`: a page of what was stored, and of the run itself."""

import shutil
from pathlib import Path

import pytest
import scipy.stats  # noqa: F401  # in this process for good: pytester forgets modules that its runs were first to import
from pages import RECORDS, data_of

from roofline.cli import main

pytestmark = pytest.mark.correctness


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two cards with a record each."""
    return Path(shutil.copytree(RECORDS, tmp_path / "baselines"))


def cards_in(path: Path) -> list[str]:
    return [card["label"] for card in data_of(path.read_text(encoding="utf-8"))["cards"]]


def test_without_a_name_every_stored_card_is_shown(store, tmp_path, capsys):
    target = tmp_path / "all.html"
    assert main(["report", "--storage", str(store), "-o", str(target)]) == 0
    assert capsys.readouterr().out == f"roofline: page in {target}\n"
    assert cards_in(target) == ["AMD EPYC", "NVIDIA H200"]


def test_records_and_specifications_are_shown_in_the_order_given(store, tmp_path):
    target = tmp_path / "two.html"
    assert main(["report", "rtx-5070-spec", "nvidia-h200/0001", "--storage", str(store), "-o", str(target)]) == 0
    assert cards_in(target) == ["NVIDIA GeForce RTX 5070, specification", "NVIDIA H200"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nvidia-h201"], "there are: nvidia-h200"),
        (["-o", "page.txt"], "give it a name that ends in .html or .htm"),
        (["-o", "nowhere/page.html"], "the folder does not exist"),
    ],
)
def test_what_cannot_be_written_is_refused_in_a_line(store, arguments, said, capsys):
    assert main(["report", "--storage", str(store), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_an_empty_store_says_how_to_fill_it(tmp_path, capsys):
    assert main(["report", "--storage", str(tmp_path), "-o", str(tmp_path / "x.html")]) == 2
    assert "--benchmark-save makes one" in capsys.readouterr().err


def test_a_run_writes_its_own_page(pytester):
    """What a run measured is on the page, whether it is stored or not, and nothing tells whose machine it was."""
    pytester.makepyfile((Path(__file__).parents[2] / "examples/test_scale.py").read_text())
    result = pytester.runpytest_inprocess("--device=fake", "--roofline-report=page.html", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["roofline: page in page.html"])
    html = (pytester.path / "page.html").read_text(encoding="utf-8")
    marks = data_of(html)["cards"][0]["marks"]
    assert [mark["name"] for mark in marks] == ["scale-nt"]
    assert str(pytester.path) not in html


def test_a_page_that_cannot_be_written_is_refused_before_anything_runs(pytester):
    result = pytester.runpytest_inprocess("--device=fake", "--roofline-report=page.svg")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--roofline-report: cannot write a page into 'page.svg'*"])
