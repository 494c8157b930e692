"""Which CuPy extra tox installs for which driver."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.correctness

TOXFILE = Path(__file__).parents[1] / "toxfile.py"


@pytest.fixture
def toxfile(monkeypatch) -> ModuleType:
    monkeypatch.setenv("ROOFLINE_CUPY", "none")
    specification = importlib.util.spec_from_file_location("toxfile", TOXFILE)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("version", "cards", "extra"),
    [
        (0, [], ""),
        (11080, [90], ""),
        (12000, [90], "cuda12"),
        (12090, [75, 90], "cuda12"),
        (13000, [70, 90], "cuda12"),
        (13000, [75], "cuda13"),
        (14000, [120], "cuda13"),
        (13000, [], ""),
    ],
)
def test_the_extra_fits_driver_and_oldest_card(toxfile, version, cards, extra):
    assert toxfile.extra(version, cards) == extra


@pytest.mark.parametrize(("forced", "extra"), [("cuda12", "cuda12"), ("cuda13", "cuda13"), ("none", "")])
def test_what_is_forced_wins(toxfile, forced, extra):
    assert toxfile.extra(13000, [90], forced) == extra


def test_an_unknown_choice_is_refused_with_the_choices(toxfile):
    with pytest.raises(SystemExit, match=r"ROOFLINE_CUPY=cuda11: give one of cuda12, cuda13, none"):
        toxfile.extra(13000, [90], "cuda11")
