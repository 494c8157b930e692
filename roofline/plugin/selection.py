"""Which tests measure, what they are about, in what order they run, and what a selection leaves out."""

import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from roofline.claims import Prediction
from roofline.kernel import Kernel
from roofline.session import runs_on


def measures(item: pytest.Item) -> bool:
    """Whether a test works with the measured device: it uses one of the plugin's fixtures, directly or not."""
    return "roofline_session" in getattr(item, "fixturenames", ())


def times(item: pytest.Item) -> bool:
    """Whether a test times something itself, rather than judging what others timed."""
    return not {"measure", "measure_launches"}.isdisjoint(getattr(item, "fixturenames", ()))


def kernel_of(item: pytest.Item) -> Kernel | None:
    """The kernel that a test is parametrized with."""
    callspec = getattr(item, "callspec", None)
    kernel = callspec.params.get("kernel") if callspec else None
    return kernel if isinstance(kernel, Kernel) else None


def prediction_of(item: pytest.Item) -> Prediction | None:
    """The prediction that a test carries."""
    marker = item.get_closest_marker("predicts")
    stated = marker.args[0] if marker and marker.args else None
    return stated if isinstance(stated, Prediction) else None


def concerns(item: pytest.Item, kind: str) -> bool:
    """Whether a test is about this kind of device: its kernel runs there, or says why it does not."""
    marker, kernel = item.get_closest_marker("devices"), kernel_of(item)
    if marker and kind not in marker.args:
        return False
    return kernel is None or runs_on(kernel, kind) or kind in kernel.unsupported


def asks_for_full(markexpr: str) -> bool:
    """Whether a -m expression asks for the long experiments: it names `full`, and not as `not full`."""
    return re.search(r"(?<!not )\bfull\b", markexpr) is not None


def long_ones(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The long experiments among `items`."""
    return [item for item in items if measures(item) and item.get_closest_marker("full")]


def rank(item: pytest.Item) -> int:
    """Ceilings first, then what they judge; what lowers the clock for others after them; claims over all of it last."""
    kernel = kernel_of(item)
    if prediction_of(item):
        return 3
    if kernel and kernel.sustained:
        return 2
    return 0 if kernel and kernel.measures else 1


def suite_modules() -> set[str]:
    """The file names of the suite's own experiments. Found, not imported: pytest imports them under its own names."""
    spec = find_spec("roofline.bench")
    assert spec is not None
    assert spec.origin is not None
    return {path.name for path in Path(spec.origin).parent.glob("test_*.py")}


def left_out_modules(items: Sequence[pytest.Item]) -> list[str]:
    """Modules of the suite of which nothing was collected; none where the suite is not what is run."""
    modules = suite_modules()
    collected = {item.path.name for item in items if item.path.parent.name == "bench"}
    return sorted(modules - collected) if modules & collected else []
