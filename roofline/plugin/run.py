"""One pytest run that measures: opens the device, orders and follows the tests, and makes the record at the end."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from roofline import record, report
from roofline.baseline import Store, StoreError, writable
from roofline.buffers import TooLittleMemory
from roofline.checking import IncorrectResult
from roofline.claims import Expected, NotApplicable
from roofline.devices.base import DeviceFault, DeviceUnavailable, KernelUnsupported, WrongMachineCode
from roofline.devices.choose import open_device
from roofline.kernel import Kernel
from roofline.model import Device, Measurement
from roofline.plugin.selection import (
    asks_for_full,
    concerns,
    kernel_of,
    left_out_modules,
    long_ones,
    measures,
    prediction_of,
    rank,
    times,
)
from roofline.plugin.storage import RecordStorage, is_row
from roofline.report import chart, progress, terminal
from roofline.session import Session
from roofline.timing import Budget, DeviceClock, TimerFault
from roofline.watchdog import Watchdog

DEFAULT_STORAGE = "file://./.benchmarks"  # pytest-benchmark's own
FAULTS = (DeviceFault, DeviceUnavailable, IncorrectResult, TimerFault, TooLittleMemory, WrongMachineCode)


class Run:
    """What one pytest run measures; registered as a plugin, so its methods are hooks."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.clock = DeviceClock()
        self.expected: dict[str, Expected] = {}
        self.items: list[pytest.Item] = []
        self.left_out: list[str] = []
        self.finished: set[str] = set()
        self.rows: list[tuple[Any, Measurement]] = []
        self.storage: RecordStorage | None = None
        self.interrupted = ""
        self._own_nodeids: set[str] = set()
        self._path_unwritten = False
        self._session: Session | None = None
        self._opened_because = ""
        self._notes: tuple[str, ...] = ()

    # -- the device ---------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The measuring session, opening the device at the first call.

        Raises:
            DeviceUnavailable: the device that was asked for cannot be had.
            RecordError, StoreError: the newest stored baseline of this model is damaged.
        """
        if self._session is None:
            option = self.config.option
            opened = open_device(option.roofline_device, option.roofline_fake)
            budget = Budget(seconds=option.roofline_budget) if option.roofline_budget else Budget()
            self._opened_because = opened.reason
            self._session = Session(opened.backend, budget)
            found = self.store.find(opened.backend.device)
            self._session.baseline = found.record
            self._notes = (*opened.backend.notes, *found.notes)
        return self._session

    @property
    def store(self) -> Store:
        """Where the baselines of this run are read from and written to."""
        given = getattr(self.config.option, "benchmark_storage", DEFAULT_STORAGE)
        if given == DEFAULT_STORAGE:
            import platformdirs

            return Store(platformdirs.user_data_path("pytest-roofline", appauthor=False) / "baselines")
        parsed = urlparse(given)
        return Store(Path(parsed.netloc + parsed.path if parsed.scheme == "file" else given).absolute())

    @property
    def saving(self) -> bool:
        """Whether this run is to be stored."""
        option = self.config.option
        return bool(getattr(option, "benchmark_save", None) or getattr(option, "benchmark_autosave", None))

    # -- before the run -----------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        """Leave long experiments out unless asked for; then open the device and put what it measures in order."""
        self._leave_out_long(items)
        collected = [item for item in items if measures(item)]
        result = yield
        if any(measures(item) for item in items) and not self.config.option.collectonly:
            with _usage_errors(self._nothing_to_save):
                self._prepare(items, collected)
        return result

    def _nothing_to_save(self) -> None:
        """Keep pytest-benchmark from remarking, after a refusal, that nothing was measured."""
        theirs = getattr(self.config, "_benchmarksession", None)
        if theirs is not None:
            theirs.save = theirs.autosave = theirs.json = None

    def _leave_out_long(self, items: list[pytest.Item]) -> None:
        """`-m "bench and full"` runs the core too; without `full` in the expression the long ones are left out."""
        long = long_ones(items)
        if asks_for_full(self.config.option.markexpr):
            for item in items:
                if measures(item) and item not in long:
                    item.add_marker(pytest.mark.full)
        else:
            self._deselect(items, long)

    def _deselect(self, items: list[pytest.Item], which: list[pytest.Item]) -> None:
        if which:
            self.config.hook.pytest_deselected(items=which)
            items[:] = [item for item in items if item not in which]

    def _prepare(self, items: list[pytest.Item], collected: list[pytest.Item]) -> None:
        if getattr(self.config, "_benchmarksession", None) is None:
            raise pytest.UsageError("measurements go through pytest-benchmark, which -p no:benchmark blocks: drop that")
        session = self.session
        if self.saving:
            self._check_saving(session.device)
        for item in collected:
            prediction = prediction_of(item)
            if prediction:
                self.expected[item.nodeid] = prediction.expectation(session.device, session.baseline)
        applicable = [item for item in collected if self._applies(item)]
        self._deselect(items, [item for item in items if measures(item) and item not in applicable])
        items.sort(key=rank)
        self.items = [item for item in items if measures(item)]
        self._own_nodeids = {item.nodeid for item in self.items}
        self.left_out = [item.nodeid for item in applicable if item not in self.items]
        self.left_out += [f"all of {name}" for name in left_out_modules(collected)]
        if any(kernel and kernel.memory == "dram" for kernel in map(kernel_of, self.items)):
            _ = session.buffer_plan

    def _applies(self, item: pytest.Item) -> bool:
        """Whether a test is about this kind of device, and not about a baseline that there is not."""
        prediction = prediction_of(item)
        unknown = isinstance(self.expected.get(item.nodeid), NotApplicable)
        return concerns(item, self.session.device.kind) and not (prediction and prediction.needs_baseline and unknown)

    def _check_saving(self, device: Device) -> None:
        folder = self.config.getini("roofline_baselines")
        own = f"file://{self.config.rootpath / folder}" if folder else DEFAULT_STORAGE
        if device.kind == "fake" and self.config.option.benchmark_storage == own:
            raise pytest.UsageError(
                "--device fake measures nothing, so its results are no baseline: to try the saving itself, name a "
                "folder with --benchmark-storage"
            )
        writable(self.store.root)

    def pytest_collection_finish(self) -> None:
        """Say which device is measured and why, and what is expected of it, before anything runs."""
        if not self.items:
            return
        session = self.session
        self.say(f"roofline: {session.device.name} ({session.device.slug}), {self._opened_because}")
        for note in self._notes:
            self.say(f"roofline: note: {note}")
        against = session.baseline.name if session.baseline else "no baseline: families and formulas judge"
        self.say(f"roofline: judged by {against}")
        stated = [
            (prediction, self.expected[item.nodeid])
            for item in self.items
            if (prediction := prediction_of(item)) and item.nodeid in self.expected
        ]
        if stated:
            self.say(progress.predictions(stated))

    def say(self, text: str) -> None:
        """Write lines to the terminal, outside what pytest captures."""
        reporter = self._reporter
        if reporter is not None:
            if self._path_unwritten:
                reporter.currentfspath = None
                self._path_unwritten = False
            reporter.ensure_newline()
            for line in text.splitlines():
                reporter.write_line(line)

    @property
    def _reporter(self) -> Any:
        return self.config.pluginmanager.get_plugin("terminalreporter")

    # -- while it runs ------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Keep pytest from writing the module's path before each of our lines, as if it stood there already."""
        if self._reporter is not None and self._is_ours(nodeid) and self.config.get_verbosity() <= 0:
            if not self._path_unwritten:
                self._reporter.ensure_newline()
            self._reporter.currentfspath = self._reporter.startpath / nodeid.partition("::")[0]
            self._path_unwritten = True

    def _is_ours(self, nodeid: str) -> bool:
        return nodeid in self._own_nodeids

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """No letter for a test that gets a line of its own."""
        if self._told(report) and self.config.get_verbosity() <= 0:
            return report.outcome, "", ""
        return None

    def _told(self, report: Any) -> bool:
        if not isinstance(report, pytest.TestReport) or not self._is_ours(report.nodeid):
            return False
        return report.when == "call" or report.outcome != "passed"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One line an experiment: how far, what, the figure."""
        if not self._told(report) or report.nodeid in self.finished:
            return
        self.finished.add(report.nodeid)
        done, total = len(self.finished), len(self.items)
        line = str(dict(report.user_properties).get("roofline") or _first_line(report))
        name = _short_name(report.nodeid)
        self.say(f"[{done:3d}/{total}, {total - done} left] {progress.progress(name, line, report.outcome)}")

    def take(self, request: pytest.FixtureRequest, benchmark: Any, run: Callable[[], Measurement]) -> Measurement:
        """Measure under the watchdog, hand the samples to pytest-benchmark, and keep the row."""
        told = request.node.user_properties
        try:
            with Watchdog(self.config.option.roofline_timeout, self._hung):
                measurement = run()
        except KernelUnsupported as reason:
            told.append(("roofline", f"absent: {reason}"))
            pytest.skip(str(reason))
        except FAULTS as fault:
            told.append(("roofline", str(fault)))
            pytest.fail(str(fault), pytrace=False)
        self._replay(benchmark, measurement)
        self.rows.append((benchmark, measurement))
        told.append(("roofline", progress.figures(measurement)))
        return measurement

    def _replay(self, benchmark: Any, measurement: Measurement) -> None:
        """Advance the device's clock by each sample under pytest-benchmark's eyes: its statistics are device time."""
        samples = iter(measurement.samples.seconds)
        benchmark.pedantic(lambda: self.clock.advance(next(samples)), rounds=len(measurement.samples.seconds))

    def _hung(self) -> None:
        """Called from the watchdog's thread: keep what was measured, name the kernel, and leave."""
        self.interrupted = (
            f"{self.session.current} hung: it did not end within {self.config.option.roofline_timeout:g} s"
        )
        capture = self.config.pluginmanager.get_plugin("capturemanager")
        if capture:
            capture.suspend_global_capture(in_=False)
        self.say(f"roofline: {self.interrupted}, so the run was ended (--roofline-timeout sets the limit)")
        storage = self._seal()
        if self.saving and self.rows:
            self.config._benchmarksession.handle_saving()  # type: ignore[attr-defined]
            self.say(f"roofline: what was measured before is in {storage.saved}, marked incomplete")
        if self._reporter is not None:
            self._reporter.flush()  # nothing else will, when the process ends like this
        os._exit(pytest.ExitCode.TESTS_FAILED)

    def ensure_roofs_of(self, kernel: Kernel) -> None:
        """Probe the roofs above a kernel that no test of this run is going to measure."""
        coming = {resource for k in map(kernel_of, self.items) if k for resource in k.measures}
        work = kernel.work(1)
        wanted = {work.unit, work.slope()} if kernel.level == "dram" else {work.unit}
        probed = self.session.ensure(sorted(wanted - coming - {"none"}))
        if probed:
            self.say(f"roofline: ceilings from a quick probe, not measured in full: {', '.join(probed)}")

    # -- after the run ------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, object, object]:
        """Make the record before pytest-benchmark saves it; a run that measured nothing is no success."""
        if self._session is not None:
            if exitstatus == pytest.ExitCode.INTERRUPTED:
                self.interrupted = "the run was interrupted"
            self._seal()
            if any(map(times, self.items)) and not self._session.measurements and exitstatus == pytest.ExitCode.OK:
                self.say("roofline: nothing was measured, which is no success")
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def _seal(self) -> RecordStorage:
        """Place every row under the final roofline and hand pytest-benchmark the place to save to."""
        points = self.session.points()
        for benchmark, measurement in self.rows:
            benchmark.extra_info.update(record.extra_info(measurement, points.get(measurement.key), None))
        theirs = self.config._benchmarksession  # type: ignore[attr-defined]
        self.storage = RecordStorage(theirs.storage, self.store, self.session.device, self.outcome, self.say)
        theirs.storage = self.storage
        if len(self.rows) == len(theirs.benchmarks) and not theirs.verbose:
            theirs.quiet = True  # the summary shows every row in its own terms: the table would show each again
        return self.storage

    @pytest.hookimpl(optionalhook=True)
    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        """Make the JSON of a run that is all ours our record, for --benchmark-json and for saving alike."""
        if self._session is not None and output_json["benchmarks"] and all(map(is_row, output_json["benchmarks"])):
            output_json.update(record.assemble(output_json, self.outcome()))

    def outcome(self) -> record.Run:
        """Everything this run measured, as the record wants it."""
        session = self.session
        missing = self.left_out + [item.nodeid for item in self.items if item.nodeid not in self.finished]
        missing += [str(key) for key, absent in session.absent.items() if absent.status == "error"]
        if self.interrupted:
            missing.insert(0, self.interrupted)
        return record.Run(
            device=session.device,
            environment=session.environment,
            unit=session.backend.unit,
            ceilings=session.ceilings(),
            measurements=tuple(session.measurements.values()),
            points=session.points(),
            claims=tuple(session.claims),
            absent=tuple(session.absent.values()),
            complete=not missing,
            selection=self._selection(),
            missing=tuple(missing),
            ridges=session.ridges(),
            floors={},
        )

    def _selection(self) -> str:
        """What was selected, as one would type it."""
        option = self.config.option
        parts = [f"-m {option.markexpr!r}"] if option.markexpr else []
        parts += [f"-k {option.keyword!r}"] if option.keyword else []
        return " ".join(parts)

    def pytest_terminal_summary(self) -> None:
        """Print what was measured, and draw the chart."""
        if self._session is None or not self._session.measurements:
            return
        shown = self._report()
        self.say(terminal.summary(shown))
        target = self.config.option.roofline_chart
        if target:
            for line in chart.draw(shown, target):
                self.say(f"roofline: {line}")
            self.say(f"roofline: chart in {target}")
        if self.storage and self.storage.saved:
            self.say(f"roofline: saved {self.storage.saved}")

    def _report(self) -> report.Report:
        run = self.outcome()
        return report.Report(
            device=run.device,
            environment=run.environment,
            ceilings=run.ceilings,
            measurements=run.measurements,
            points=run.points,
            ridges=run.ridges,
            claims=run.claims,
            absent=run.absent,
            complete=run.complete,
            missing=run.missing,
            notes=self._notes,
            baseline=self.session.baseline.name if self.session.baseline else None,
        )

    def pytest_unconfigure(self) -> None:
        """Give the device back."""
        if self._session is not None:
            self._session.close()


def _short_name(nodeid: str) -> str:
    """A test by what it is about: its parameter where it has one, else its own name."""
    name, bracket, parameter = nodeid.rpartition("::")[2].partition("[")
    return parameter.rstrip("]") if bracket else name.removeprefix("test_").replace("_", " ")


def _first_line(report: pytest.TestReport) -> str:
    """What a report says of itself when the test left no line: the reason of a skip, the first line of an error."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    return str(report.longrepr or report.outcome).splitlines()[0]


@contextmanager
def _usage_errors(before: Callable[[], None]) -> Iterator[None]:
    """Turns what a person can put right into a usage error: one or two lines, exit code 4."""
    try:
        yield
    except pytest.UsageError:
        before()
        raise
    except (DeviceUnavailable, record.RecordError, StoreError, TooLittleMemory, OSError) as fault:
        before()
        raise pytest.UsageError(str(fault)) from None
