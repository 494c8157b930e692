"""One pytest run that measures: opens the device, orders and follows the tests, and makes the record at the end."""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from roofline import page, record
from roofline._version import VERSION
from roofline.baseline import Store, StoreError, folder_of, user_folder, writable
from roofline.buffers import TooLittleMemory
from roofline.checking import IncorrectResult
from roofline.claims import Expected, NotApplicable
from roofline.devices.base import BuildFailed, DeviceFault, DeviceUnavailable, KernelUnsupported, WrongMachineCode
from roofline.devices.choose import open_device
from roofline.diagnose import diagnoses
from roofline.kernel import InvalidKernel, Kernel
from roofline.model import Device, Measurement
from roofline.plugin.compare import Comparing
from roofline.plugin.counting import Counting
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
from roofline.report import Report, chart, progress, terminal
from roofline.report.stored import report_on
from roofline.report.text import one_line
from roofline.session import Session, runs_on
from roofline.timing import Budget, DeviceClock, TimerFault
from roofline.watchdog import Watchdog

Result = TypeVar("Result")

DEFAULT_STORAGE = "file://./.benchmarks"  # pytest-benchmark's own
# What a measurement may end in and a person can act on: one line, no traceback of ours.
FAULTS = (
    BuildFailed,
    DeviceFault,
    DeviceUnavailable,
    IncorrectResult,
    InvalidKernel,
    MemoryError,
    TimerFault,
    TooLittleMemory,
    WrongMachineCode,
)
# Once a hang was noticed, this long for reports to be written before the process ends all the same.
LAST_WORDS_S = 10.0


class Run:
    """What one pytest run measures; registered as a plugin, so its methods are hooks."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.clock = DeviceClock()
        self.expected: dict[str, Expected] = {}
        self.unstated: dict[str, str] = {}
        self.items: list[pytest.Item] = []
        self.left_out: list[str] = []
        self.finished: set[str] = set()
        self.timed: set[str] = set()
        self.rows: list[tuple[Any, Measurement]] = []
        self.storage: RecordStorage | None = None
        self.interrupted = ""
        self.comparing = Comparing(config)
        self.counting = Counting(config, self.say)
        self._unasked: list[pytest.Item] = []
        self._own_nodeids: set[str] = set()
        self._path_unwritten = False
        self._session: Session | None = None
        self._opened_because = ""
        self._notes: tuple[str, ...] = ()
        self._handlers: dict[int, Any] = {}

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
            self.comparing.choose(self.store, self._session, found)
            self._end_like_ctrl_c()
        return self._session

    @property
    def store(self) -> Store:
        """Where the baselines of this run are read from and written to."""
        given = getattr(self.config.option, "benchmark_storage", DEFAULT_STORAGE)
        if given == DEFAULT_STORAGE:
            return Store(user_folder())
        return Store(folder_of(given).absolute())

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
            self._unasked = long
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
            self._state(item, session)
        applicable = [item for item in collected if self._applies(item)]
        self._deselect(items, [item for item in items if measures(item) and item not in applicable])
        items.sort(key=rank)
        self.items = [item for item in items if measures(item)]
        self._own_nodeids = {item.nodeid for item in self.items}
        self.left_out = [item.nodeid for item in applicable if item not in self.items]
        self.left_out += [f"all of {name}" for name in left_out_modules([*collected, *self._unasked])]
        if any(kernel and kernel.memory == "dram" for kernel in map(kernel_of, self.items)):
            _ = session.buffer_plan

    def _state(self, item: pytest.Item, session: Session) -> None:
        """Ask a test's prediction what it expects; one that cannot say fails its own test and no other."""
        prediction = prediction_of(item)
        if prediction is None:
            return
        try:
            self.expected[item.nodeid] = prediction.expectation(session.device, session.baseline)
        except Exception as fault:  # noqa: BLE001 - a prediction is its author's code and may raise anything
            self.unstated[item.nodeid] = f"its prediction cannot be stated: {type(fault).__name__}: {fault}"

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
        writable(self.store.folder(device))

    def pytest_collection_finish(self) -> None:
        """Say which device is measured and why, and what is expected of it, before anything runs."""
        if not self.items:
            return
        session = self.session
        self.say(f"roofline: {one_line(session.device.name)} ({session.device.slug}), {self._opened_because}")
        for note in self._notes:
            self.say(f"roofline: note: {one_line(note)}")
        against = session.baseline.name if session.baseline else "no baseline: families and formulas judge"
        self.say(f"roofline: judged by {against}")
        if self.comparing.record:
            self.say(f"roofline: compared with {self.comparing.record.name}")
        stated = [
            (prediction, self.expected[item.nodeid])
            for item in self.items
            if (prediction := prediction_of(item)) and item.nodeid in self.expected
        ]
        if stated:
            self.say(progress.predictions(stated))

    def say(self, text: str) -> None:
        """Write lines to the terminal, outside what pytest captures: in the middle of a test too."""
        reporter = self._reporter
        if reporter is None:
            return
        if self._path_unwritten:
            reporter.currentfspath = None
            self._path_unwritten = False
        capture = self.config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            reporter.ensure_newline()
            for line in text.splitlines():
                reporter.write_line(line)
            reporter.flush()

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

    def take(
        self,
        request: pytest.FixtureRequest,
        benchmark: Any,
        run: Callable[[], Measurement],
        kernel: Kernel | None = None,
    ) -> Measurement:
        """Measure under the watchdog, hand the samples to pytest-benchmark, and keep the row."""

        def measured() -> Measurement:
            if kernel:
                self.ensure_roofs_of(kernel)
            return run()

        measurement = self.guarded(request, measured)
        self._replay(benchmark, measurement)
        self.rows.append((benchmark, measurement))
        line = progress.figures(measurement) + self.comparing.remark(measurement)
        request.node.user_properties.append(("roofline", line))
        return measurement

    def guarded(self, request: pytest.FixtureRequest, run: Callable[[], Result]) -> Result:
        """Run something on the device: ended when it hangs, and what a person can act on said in one line."""
        told = request.node.user_properties
        try:
            with Watchdog(self.config.option.roofline_timeout, lambda: self._hung(request.node)):
                return run()
        except KernelUnsupported as reason:
            told.append(("roofline", f"absent: {reason}"))
            unsupported, said = True, str(reason)
        except FAULTS as fault:
            told.append(("roofline", str(fault)))
            unsupported, said = False, str(fault)
        if unsupported:  # here, and not above: the cause would be shown as a second error
            pytest.skip(said)
        pytest.fail(said, pytrace=False)

    def _replay(self, benchmark: Any, measurement: Measurement) -> None:
        """Advance the device's clock by each sample under pytest-benchmark's eyes: its statistics are device time."""
        samples = iter(measurement.samples.seconds)
        # with --benchmark-cprofile it is called once more than there are samples
        benchmark.pedantic(lambda: self.clock.advance(next(samples, 0.0)), rounds=len(measurement.samples.seconds))

    def _hung(self, item: pytest.Item) -> None:
        """Called from the watchdog's thread: report the hang, let everything that was measured be saved, and leave."""
        threading.Timer(LAST_WORDS_S, os._exit, (pytest.ExitCode.TESTS_FAILED,)).start()
        limit = self.config.option.roofline_timeout
        self.interrupted = f"{self.session.current} hung: it did not end within {limit:g} s"
        capture = self.config.pluginmanager.get_plugin("capturemanager")
        if capture:
            capture.suspend_global_capture(in_=False)
        self.say(f"roofline: {self.interrupted}, so the run was ended (--roofline-timeout sets the limit)")
        item.user_properties.append(("roofline", "hung"))
        failed = pytest.TestReport(item.nodeid, item.location, {}, "failed", self.interrupted, "call")
        item.ihook.pytest_runtest_logreport(report=failed)
        item.session.exitstatus = pytest.ExitCode.TESTS_FAILED
        item.ihook.pytest_sessionfinish(session=item.session, exitstatus=item.session.exitstatus)
        if self._reporter is not None:
            self._reporter.flush()  # nothing else will, when the process ends like this
        os._exit(pytest.ExitCode.TESTS_FAILED)

    def ensure_roofs_of(self, kernel: Kernel) -> None:
        """Probe the roofs above a kernel that no test of this run is going to measure; none where it cannot run."""
        if not runs_on(kernel, self.session.device.kind):
            return
        coming = {resource for k in map(kernel_of, self.items) if k for resource in k.measures}
        work = self.session.fitted(kernel).work(1)
        own = ["dram"] if kernel.level == "dram" else []
        levels = own if kernel.measures else [level for level in work.traffic if work.moved(level) or level in own]
        wanted = {work.unit} | {work.slope(level) for level in levels}
        probed = self.session.ensure(sorted(wanted - coming - {"none"}))
        known = self.session.ceilings()
        found, nowhere = [r for r in probed if r in known], [r for r in probed if r not in known]
        if found:
            self.say(f"roofline: ceilings from a quick probe, not measured in full: {', '.join(found)}")
        if nowhere:
            self.say(f"roofline: {kernel.name} is not judged by {', '.join(nowhere)}: no kernel here measures that")

    # -- after the run ------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, object, object]:
        """Make the record before pytest-benchmark saves it; a run that measured nothing is no success."""
        if self._session is None:
            return self._unmeasured(session, exitstatus, (yield))
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            self.interrupted = "the run was interrupted"
        storage = self._seal()
        wrong = self._no_success()
        wrong = self._compared() or wrong  # compared all the same: what a clock that was held down did is shown
        result = yield
        if exitstatus == pytest.ExitCode.OK and (wrong or storage.elsewhere):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return result

    def _unmeasured(self, session: pytest.Session, exitstatus: int, result: object) -> object:
        """A run that was to compare and had nothing to measure does not pass either."""
        closed = "" if self.config.option.collectonly else self.comparing.failing()
        if closed and exitstatus == pytest.ExitCode.OK:
            self.say(f"roofline: {closed}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return result

    def _compared(self) -> str:
        """Compare with the stored run that was chosen; why the gate closes, empty where it does not."""
        left_out = [*self.left_out, *self._unfinished()]
        selected = self.comparing.selected(self.session, left_out, self._unasked)
        self.comparing.judge(self.outcome(), selected)
        return self.comparing.failing()

    def _unfinished(self) -> list[str]:
        return [item.nodeid for item in self.items if item.nodeid not in self.finished]

    def _no_success(self) -> str:
        """Why a run whose tests all passed is none, empty where it is; it is said at once."""
        theirs = self.config._benchmarksession  # type: ignore[attr-defined]
        wrong = ""
        if not self.session.measurements:
            self._nothing_to_save()
            meant = any(map(times, self.items)) and not (theirs.disabled or theirs.skip)
            wrong = "nothing was measured, which is no success" if meant else ""
        elif held := self.session.held_down():
            self.interrupted = self.interrupted or held
            wrong = f"{held} in most rows: this is not what the device can do, and no baseline"
        if wrong:
            self.say(f"roofline: {wrong}")
        return wrong

    def _seal(self) -> RecordStorage:
        """Place every row under the final roofline and hand pytest-benchmark the place to save to."""
        if not self.interrupted:
            self.counting.read(self.session)
        run = self.outcome()
        told = diagnoses(run)
        for benchmark, timed in self.rows:
            key = timed.key
            measurement = self.session.measurements.get(key, timed)  # with what counters saw of it since
            benchmark.extra_info.update(record.extra_info(measurement, run.points.get(key), told.get(key)))
        theirs = self.config._benchmarksession  # type: ignore[attr-defined]
        if self.storage is not None:
            return self.storage
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
        missing = [*self.left_out, *self._unfinished()]
        missing += [str(key) for key, absent in session.absent.items() if absent.status == "error"]
        missing = [*filter(None, (self.interrupted, session.unquiet())), *missing]
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
            floors=self.comparing.floors.plain() if self.saving else {},
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
        self.say(self.comparing.text())
        target = self.config.option.roofline_chart
        if target:
            self._draw(shown, target)
        page_target = self.config.option.roofline_report
        if page_target:
            self._write_page(page_target)
        unquiet = self._session.unquiet()
        if unquiet:
            self.say(f"roofline: {unquiet}; this run is no baseline: repeat it when the machine is idle")
        if self.storage and self.storage.saved:
            self.say(f"roofline: saved {self.storage.saved}")

    def _draw(self, shown: Report, target: Path) -> None:
        try:
            remarks = chart.draw(shown, target)
        except (OSError, ValueError, chart.ChartUnavailable) as fault:
            self.say(f"roofline: no chart: {fault}")
            return
        for line in remarks:
            self.say(f"roofline: {line}")
        self.say(f"roofline: chart in {target}")

    def _write_page(self, target: Path) -> None:
        """The page of this run, held against the stored one that it was compared with."""
        before = [self.comparing.record] if self.comparing.record else []
        try:
            page.write([*before, self._as_record()], target, lambda _: self.comparing.floors)
        except OSError as fault:
            self.say(f"roofline: no page: {fault}")
            return
        self.say(f"roofline: page in {target}")

    def _as_record(self) -> record.Record:
        """The run as a file of it would be read: what would tell whose machine this is has been taken out."""
        made = datetime.now(UTC)
        empty = {"benchmarks": [], "datetime": made.isoformat(), "version": VERSION}
        path = self.storage.saved if self.storage else None
        run = self.outcome()
        return record.parse(record.assemble(empty, run), path or Path(run.device.slug, "not stored"))

    def _report(self) -> Report:
        baseline = self.session.baseline
        return report_on(self.outcome(), baseline.name if baseline else None, self._notes)

    def pytest_unconfigure(self) -> None:
        """Give the device back."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if self._session is not None:
            self._session.close()

    def _end_like_ctrl_c(self) -> None:
        """A run that is told to end (a CI's time limit, a closed terminal) keeps what it measured, as for Ctrl-C."""
        if threading.current_thread() is not threading.main_thread():
            return
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                self._handlers[number] = signal.signal(number, signal.default_int_handler)


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
