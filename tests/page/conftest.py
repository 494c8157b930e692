"""Pages of real and of constructed records, and a browser that looks at them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Page, browser, installed
from pages import EPYC, H200

from roofline import page
from roofline.page.card import Source
from roofline.record import Record, load


@pytest.fixture(scope="session")
def h200() -> Record:
    """A GPU's run."""
    return load(H200)


@pytest.fixture(scope="session")
def epyc() -> Record:
    """A CPU's run."""
    return load(EPYC)


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab of a headless Chromium."""
    executable = installed()
    if executable is None:
        pytest.skip("no Chromium on PATH: apt-get install chromium")
    with browser(executable, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def shown(tab: Page, tmp_path: Path) -> Callable[..., Page]:
    """`shown(record, …, width=400)`: the page of these sources, open in the browser."""

    def show(*sources: Source, **window: Any) -> Page:
        target = tmp_path / "page.html"
        page.write(sources, target)
        tab.open(target, **window)
        return tab

    return show
