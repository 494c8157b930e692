"""What the documents say is what there is: the commands, the example, the claims, the links and the code."""

import inspect
import re
import runpy
from pathlib import Path

import pytest
import scipy.stats  # noqa: F401  # pytester forgets what was first imported within it, and scipy is imported but once

from roofline import explaining
from roofline.checking import check
from roofline.devices.cpu import open_cpu
from roofline.kernels.dram import PATTERNS
from roofline.plugin import fixtures, options
from roofline.record import load

pytestmark = pytest.mark.correctness

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
DOCUMENTS = [ROOT / "README.md", ROOT / "baselines/README.md", ROOT / "CHANGELOG.md", *PAGES]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def relative(path):
    return str(path.relative_to(ROOT))


def links(path):
    """What a page links to within the repository: the file, and the part of it."""
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            file, _, part = target.partition("#")
            yield (path.parent / file).resolve() if file else path, part


def anchors(path):
    """The parts of a page that can be linked to, as a repository's browser names them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_every_link_leads_somewhere(document):
    found = list(links(document))
    assert [str(file) for file, _ in found if not file.exists()] == []
    assert [part for file, part in found if part and part not in anchors(file)] == []


def test_every_page_is_in_the_navigation():
    """The built documentation takes its navigation from the links of these two pages."""
    listed = {file for page in (DOCS / "index.md", DOCS / "experiments/README.md") for file, _ in links(page)}
    assert [relative(page) for page in PAGES if page not in listed | {DOCS / "index.md"}] == []


def test_every_experiment_has_a_page_that_says_what_another_value_means():
    """Its page names its module, and `roofline explain` finds the paragraph."""
    for name in explaining.names():
        page = explaining.page_of(name)
        assert page, f"bench/test_{name}.py has no page: write docs/experiments/{name.replace('_', '-')}.md"
        assert f"test_{name}.py" in page.path.read_text(encoding="utf-8")
        assert page.otherwise, f"{page.path.name} has no paragraph that begins with **If …**"


@pytest.mark.parametrize("name", explaining.names())
def test_every_experiment_is_in_the_table_of_experiments(name):
    page = (DOCS / "experiments/README.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| \[[\w-]+\]\({name.replace('_', '-')}\.md\) \| \S.* \|", page, re.MULTILINE)


def code_of_the_pages():
    example = (ROOT / "examples/test_scale.py").read_text(encoding="utf-8").rstrip()
    for page in (ROOT / "README.md", *PAGES):
        for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)):
            if code.rstrip() != example:
                yield pytest.param(code, id=f"{page.stem}-{number}")


@pytest.mark.parametrize("code", [*code_of_the_pages()])
def test_code_in_the_pages_runs(code, monkeypatch, capsys):
    """As it stands, in a checkout, given what the page says is at hand: a record, and rows of several kernels."""
    monkeypatch.chdir(ROOT)
    record = load(ROOT / "baselines/nvidia-h200/0001_cuda13.json")
    rows = [row for row in record.run.measurements if row.work.moved("dram")]
    exec(compile(code, "page", "exec"), {"record": record, "six_rows": rows[:6]})
    assert capsys.readouterr().out.strip()


def known_options(config):
    """Every option of pytest as it runs here, with those of our plugin and of pytest-benchmark."""
    parser = config._parser
    groups = [parser._anonymous, *parser._groups]
    return {name for group in groups for option in group.options for name in option.names()}


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_options_of_pytest_in_the_documents_are_those_that_there_are(document, pytestconfig):
    text = document.read_text(encoding="utf-8")
    typed = re.findall(r"(?:^ {4}|`)pytest ([^`#\n|]+)", text, re.MULTILINE)
    named = {option for command in typed for option in re.findall(r"(?<!\S)--[a-z][a-z-]+", command)}
    named |= set(re.findall(r"--(?:roofline|benchmark)-[a-z-]+", text))
    assert named - known_options(pytestconfig) == set()


def rows_under(heading):
    """The table below a heading of the reference: the first column by the second."""
    page = (DOCS / "reference.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)[1]
    return dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", section, re.MULTILINE))


def test_the_reference_has_every_fixture_with_what_it_says_of_itself():
    source = inspect.getsource(fixtures)
    found = re.findall(r'@pytest\.fixture[^\n]*\ndef ([a-z]\w+)\(.*?"""(.*?)[\n"]', source, re.DOTALL)
    assert rows_under("Fixtures") == dict(found)


def test_the_reference_has_every_marker_and_option(pytestconfig):
    assert rows_under("Markers") == dict(line.split(": ", 1) for line in options.MARKERS)
    listed = {re.split(r"[=\[]", option)[0] for option in rows_under("Options")}
    assert listed == {name for name in known_options(pytestconfig) if name.startswith("--roofline-")}


def test_the_names_of_the_reference_exist_and_say_what_they_are():
    page = (DOCS / "reference.md").read_text(encoding="utf-8")
    found = re.findall(r"^- \[`([\w.]+)`\]\(\.\./([\w/.]+)\)$", page, re.MULTILINE)
    assert len(found) > 20
    for name, file in found:
        module, _, attribute = name.rpartition(".")
        value = getattr(__import__(module, fromlist=[attribute]), attribute)
        assert value.__doc__, name
        assert (ROOT / file).is_file()
        assert Path(inspect.getsourcefile(value)).as_posix().endswith(f"/{file}"), f"{name} stands elsewhere"


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
