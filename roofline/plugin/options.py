"""Options, markers and what is refused before anything runs."""

import argparse
import contextlib
import os
import re
from collections.abc import Generator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from roofline import page
from roofline.baseline import check_name, default_name
from roofline.devices.choose import SELECTORS
from roofline.plugin import compare
from roofline.plugin.each import EVERY_CARD, run_each
from roofline.plugin.run import DEFAULT_STORAGE, Run
from roofline.report import chart

PYTEST_BENCHMARK = "benchmark"  # the name of its entry point

MARKERS = (
    "bench: measures the device (an experiment, or a claim about what was measured)",
    "correctness: checks kernels, library and plugin; needs no quiet machine",
    "full: a long experiment, left out unless the -m expression asks for it",
    "devices(*kinds): the kinds of device that this test is about (cpu, cuda); others leave it out",
    "predicts(prediction): what this test expects, known before anything is measured",
)

COUNTERS_OPTION: dict[str, Any] = {
    "dest": "roofline_counters",
    "action": "store_true",
    "help": "run each row once more under a GPU's hardware counters and record the bytes that moved (needs ncu)",
}
DEVICE_OPTION: dict[str, Any] = {
    "dest": "roofline_device",
    "metavar": "DEVICE",
    "default": "auto",
    "help": f"the device to measure: {SELECTORS} (default: auto)",
}


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Load pytest-benchmark, make its --benchmark-save usable bare, and add our own options."""
    if not pluginmanager.has_plugin(PYTEST_BENCHMARK) and not pluginmanager.is_blocked(PYTEST_BENCHMARK):
        import pytest_benchmark.plugin

        pluginmanager.register(pytest_benchmark.plugin, PYTEST_BENCHMARK)
    _make_save_name_optional(parser)
    group = parser.getgroup("roofline", "roofline: measure this device and judge what is measured")
    group.addoption("--roofline-device", **DEVICE_OPTION)
    group.addoption("--roofline-counters", **COUNTERS_OPTION)
    group.addoption("--roofline-chart", metavar="FILE", type=Path, help="draw the measured roofline (.svg, .png, .pdf)")
    group.addoption("--roofline-report", metavar="FILE", type=Path, help="write a page of this run (.html)")
    group.addoption(
        "--roofline-budget",
        metavar="SECONDS",
        type=_positive,
        help="time to sample a row (default: 0.2; search, check and turns come on top)",
    )
    group.addoption(
        "--roofline-timeout", metavar="SECONDS", type=_positive, default=120.0, help="end a test that hangs this long"
    )
    group.addoption("--roofline-report-only", action="store_true", help="show what claims come to; never fail on it")
    group.addoption(
        compare.OPTION,
        metavar="RECORD",
        nargs="?",
        const=compare.NEWEST,
        help="compare with a stored run: the newest complete one of this model, or =FILE, =NAME",
    )
    group.addoption(
        compare.GATE, action="store_true", help=f"fail the run where a row of {compare.OPTION} is slower or gone"
    )
    group.addoption("--roofline-fake", metavar="FILE", type=Path, help="the truth of --device fake, as JSON")
    parser.addini("roofline_baselines", "folder of stored baselines, relative to the rootdir", default="")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> Generator[None, object, object]:
    """Offer `--device` and `--counters` too, unless a conftest has options of that name: then they stay theirs."""
    result = yield
    for name, option in (("--device", DEVICE_OPTION), ("--counters", COUNTERS_OPTION)):
        with contextlib.suppress(ValueError, argparse.ArgumentError):
            parser.getgroup("roofline").addoption(name, **option)
    return result


def _make_save_name_optional(parser: pytest.Parser) -> None:
    """`--benchmark-save` alone names the file after the day; pytest-benchmark itself demands a NAME."""
    for action in parser.optparser._actions:
        if "--benchmark-save" in action.option_strings:
            action.nargs = "?"
            action.const = default_name(date.today())
            action.type = _save_name


def _save_name(value: str) -> str:
    try:
        return check_name(value)
    except ValueError as wrong:
        raise argparse.ArgumentTypeError(str(wrong)) from None


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no time: give seconds, greater than 0")
    return value


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, refuse what cannot work, and register the state of this run."""
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    folder = config.getini("roofline_baselines")
    if folder and getattr(config.option, "benchmark_storage", None) == DEFAULT_STORAGE:
        config.option.benchmark_storage = f"file://{config.rootpath / folder}"
    _refuse_xdist(config)
    _refuse_lone_path(config, "--roofline-chart", config.option.roofline_chart)
    _refuse_lone_path(config, "--roofline-report", config.option.roofline_report)
    _refuse_lone_path(config, "--roofline-fake", config.option.roofline_fake)
    given = config.option.roofline_compare
    _refuse_lone_path(config, compare.OPTION, Path(given) if given else None)
    compare.refuse(config)
    _refuse_chart(config.option.roofline_chart)
    _refuse_page(config.option.roofline_report)
    config.pluginmanager.register(Run(config), "roofline-run")


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Run once a card where all of them were asked for; else as ever."""
    return run_each(config) if config.option.roofline_device == EVERY_CARD else None


def _refuse_lone_path(config: pytest.Config, option: str, path: Path | None) -> None:
    """Before it knows our options pytest takes any argument that exists for a place of tests, and its root from it."""
    there = path is not None and os.path.exists(path)  # noqa: PTH110 - a path that is too long is none, not an error
    if there and option in config.invocation_params.args:
        raise pytest.UsageError(
            f"{option} {path}: the file exists, so pytest would collect there: write {option}={path}"
        )


def _refuse_chart(target: Path | None) -> None:
    try:
        if target:
            chart.check(target)
    except (ValueError, chart.ChartUnavailable) as wrong:
        raise pytest.UsageError(f"--roofline-chart: {wrong}") from None


def _refuse_page(target: Path | None) -> None:
    try:
        if target:
            page.check(target)
    except ValueError as wrong:
        raise pytest.UsageError(f"--roofline-report: {wrong}") from None


def _refuse_xdist(config: pytest.Config) -> None:
    spread = getattr(config.option, "numprocesses", None) or getattr(config.option, "dist", "no") != "no"
    suite = config.getini("roofline_baselines") or "roofline.bench" in config.args
    if spread and suite and re.search(r"(?<!not )\bbench\b", config.option.markexpr):
        raise pytest.UsageError("benchmarks need the device to themselves and cannot run under xdist: add -n 0")
