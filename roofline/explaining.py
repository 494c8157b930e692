"""What there is to say of an experiment or a claim: from docstrings, predictions, how work is counted, and its page.

Nothing is measured and no device is opened; the modules of the suite are imported and their tests are not run.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from roofline.claims import Expected, NotApplicable, Prediction
from roofline.kernel import Kernel
from roofline.kernels import kernels_of
from roofline.model import Work
from roofline.record import Record

PREFIX = "test_"
# Claims of the chapter, a letter and a number, as they stand before a sentence ("A7, A8: …") or after it ("… (A9)").
# Elsewhere L1 and L2 are caches.
CLAIM = re.compile(r"\b[A-Z]\d{1,2}\b")
SPAN = re.compile(r"\b([A-Z])(\d{1,2}) to \1(\d{1,2})\b")
_ID = r"[A-Z]\d{0,2}(?: to [A-Z]\d{1,2})?"
IDS = rf"{_ID}(?:, {_ID})*"
NAMED = re.compile(rf"^{IDS}(?=:)|\({IDS}\)", re.MULTILINE)
# A headline shorter than this says too little, so the next sentence is taken too.
TOO_SHORT = 40
# An array of this many elements is what work is counted over, where a kernel has no size of its own.
ELEMENTS = 1 << 24
LEAD = re.compile(r"\*\*(?P<lead>[^*]+?)\.?\*\*\s*(?P<rest>.*)", re.DOTALL)
# How the paragraph of a page begins that says what a value means which is not the expected one.
OTHERWISE = ("If ", "Above it")


class NothingToExplain(LookupError):
    """A name that is no experiment and no claim; the message says which are near."""


@dataclass(frozen=True)
class Stated:
    """A prediction, and the test that states it before the run and judges it afterwards.

    `kinds` are the kinds of device that the test is about, none for all of them.
    """

    experiment: str
    test: str
    about: str
    prediction: Prediction
    kinds: tuple[str, ...] = ()

    def expectation(self, record: Record) -> Expected:
        """What is expected of a card, judged by its record as the next run of it would be."""
        device = record.run.device
        if self.kinds and device.kind not in self.kinds:
            return NotApplicable(f"it is about {' and '.join(self.kinds)}")
        return self.prediction.expectation(device, record)


@dataclass(frozen=True)
class Counted:
    """Kernels that are counted by one convention, and the least and greatest of their FLOP per byte at each level."""

    convention: str
    kernels: Sequence[str]
    intensities: Sequence[tuple[str, float, float]]


@dataclass(frozen=True)
class Page:
    """A page of documentation: where it is, and its paragraphs by the bold words that they begin with."""

    path: Path
    paragraphs: Sequence[tuple[str, str]]

    @property
    def otherwise(self) -> Sequence[tuple[str, str]]:
        """What a low value means, or another that was not expected."""
        return [(lead, text) for lead, text in self.paragraphs if lead.startswith(OTHERWISE)]


@dataclass(frozen=True)
class Experiment:
    """A module of `bench/` with its kernels: what it says of itself, what it counts and what it predicts."""

    name: str
    about: str
    how: str
    counted: Sequence[Counted]
    measures: Sequence[str]
    stated: Sequence[Stated]
    claims: Sequence[str]
    page: Page | None

    @property
    def headline(self) -> str:
        """The first that it says of itself, without the claims that stand before it."""
        first = re.sub(rf"^{IDS}: ", "", self.about.split("\n\n")[0].replace("\n", " "))
        sentences = re.split(r"(?<=[.?!]) ", first[0].upper() + first[1:])
        return " ".join(sentences[: 1 if len(sentences[0]) > TOO_SHORT else 2])


@cache
def names() -> tuple[str, ...]:
    """The experiments of the suite, in alphabetical order."""
    spec = find_spec("roofline.bench")
    assert spec is not None
    found = iter_modules(spec.submodule_search_locations)
    return tuple(sorted(module.name.removeprefix(PREFIX) for module in found if module.name.startswith(PREFIX)))


def experiments() -> list[Experiment]:
    """Every experiment."""
    return [experiment(name) for name in names()]


@cache
def experiment(name: str) -> Experiment:
    """One experiment, by the name of its module without `test_`."""
    module = import_module(f"roofline.bench.{PREFIX}{name}")
    kernels = kernels_of(name)
    about = cleandoc(module.__doc__ or "")
    texts = [about, *(test.__doc__ or "" for _, test in _tests(module))]
    stated = list(_stated(name, module))
    return Experiment(
        name=name,
        about=about,
        how=_how(name),
        counted=list(_counted(kernels)),
        measures=sorted({resource for kernel in kernels for resource in kernel.measures}),
        stated=stated,
        claims=sorted({*(s.prediction.id for s in stated), *ids_in("\n".join(texts))}, key=in_order),
        page=page_of(name),
    )


def in_order(claim: str) -> tuple[str, int]:
    """A9 before A10."""
    return claim[0], int(claim[1:])


def ids_in(text: str) -> list[str]:
    """The claims that a docstring names, such as "A7, A8: …", "K1 to K4: …" or "… (A9)"."""
    named = " ".join(NAMED.findall(text))
    spans = [f"{letter}{n}" for letter, first, last in SPAN.findall(named) for n in range(int(first), int(last) + 1)]
    return list(dict.fromkeys([*spans, *CLAIM.findall(named)]))


def _how(name: str) -> str:
    """What the module of the kernels says of itself; nothing where an experiment has none of its own."""
    if find_spec(f"roofline.kernels.{name}") is None:
        return ""
    return cleandoc(import_module(f"roofline.kernels.{name}").__doc__ or "")


def _tests(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in vars(module).items():
        if name.startswith(PREFIX) and callable(value):
            yield name, value


def _stated(name: str, module: ModuleType) -> Iterator[Stated]:
    """The predictions that tests are marked with, and those of their parameters."""
    of_module = vars(module).get("pytestmark", ())
    of_module = of_module if isinstance(of_module, (list, tuple)) else [of_module]
    for test, function in _tests(module):
        about = cleandoc(function.__doc__ or "")
        for marks in _marked([*of_module, *getattr(function, "pytestmark", ())]):
            kinds = next((mark.args for mark in reversed(marks) if mark.name == "devices"), ())
            yield from (Stated(name, test, about, mark.args[0], kinds) for mark in marks if mark.name == "predicts")


def _marked(marks: Sequence[Any]) -> Iterator[list[Any]]:
    """The marks of a test, and those with the marks of each of its parameters where these have any."""
    yield [*marks]
    own = [mark for mark in marks if mark.name == "devices"]
    for parameters in (mark.args[1] for mark in marks if mark.name == "parametrize"):
        for value in parameters:
            yield [*own, *getattr(value, "marks", ())]


def _counted(kernels: Sequence[Kernel]) -> Iterator[Counted]:
    works = {kernel.name: kernel.work(kernel.size(ELEMENTS)) for kernel in kernels}
    for convention in dict.fromkeys(work.convention for work in works.values()):
        own = {name: work for name, work in works.items() if work.convention == convention}
        yield Counted(convention, list(own), list(_intensities(list(own.values()))))


def _intensities(works: Sequence[Work]) -> Iterator[tuple[str, float, float]]:
    """Where anything is moved and computed."""
    for level in dict.fromkeys(level for work in works for level in work.traffic):
        found = [work.intensity(level) for work in works if work.flops and work.moved(level)]
        if found:
            yield level, min(found), max(found)


def page_of(name: str) -> Page | None:
    """The page of an experiment: beside the suite in a checkout and in the wheel; None where none was installed."""
    spec = find_spec("roofline.bench")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).resolve().parents[1] / "docs/experiments" / f"{name.replace('_', '-')}.md"
    return Page(path, list(paragraphs(path.read_text(encoding="utf-8")))) if path.is_file() else None


def paragraphs(markdown: str) -> Iterator[tuple[str, str]]:
    """Paragraphs that begin with bold words, by these words, without the signs of Markdown."""
    for block in re.split(r"\n\s*\n", markdown):
        match = LEAD.fullmatch(block.strip())
        if match:
            yield match["lead"], plain(match["rest"])


def plain(markdown: str) -> str:
    """Text without links, emphasis and line ends."""
    unlinked = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", markdown)
    return " ".join(re.sub(r"\*\*([^*]+)\*\*", r"\1", unlinked).split())


def find(name: str) -> Experiment | list[Stated]:
    """The experiment, or what is stated of the claim, that a person named: `in-flight`, `test_dial.py`, `a3`.

    Raises:
        NothingToExplain: there is none of that name.
    """
    wanted = Path(name).name.removesuffix(".py").removesuffix(".md").removeprefix(PREFIX).replace("-", "_").lower()
    if wanted in names():
        return experiment(wanted)
    claim = wanted.upper()
    known = {id_ for each in experiments() for id_ in each.claims}
    if claim in known:
        return [stated for each in experiments() for stated in each.stated if stated.prediction.id == claim]
    raise NothingToExplain(_unknown(name, wanted, known))


def _unknown(name: str, wanted: str, claims: set[str]) -> str:
    near = get_close_matches(wanted, names(), n=3, cutoff=0.5)
    if re.fullmatch(r"[a-z]\d*", wanted):
        near = sorted((claim for claim in claims if claim[0] == wanted[0].upper()), key=in_order)
    hint = f"near it: {', '.join(near)}" if near else f"experiments are {', '.join(names())}"
    return f"{name!r} is no experiment and no claim; {hint}. `roofline explain` lists all"


def asserting(claim: str) -> list[tuple[str, str, str]]:
    """Each test whose docstring names a claim: its experiment, its name, and what it says."""
    found = []
    for name in names():
        module = import_module(f"roofline.bench.{PREFIX}{name}")
        for test, function in _tests(module):
            about = cleandoc(function.__doc__ or "")
            if claim in ids_in(about):
                found.append((name, test, about))
    return found
