"""The fixtures: a bench module reads as the experiment it is (parametrize, measure, claim)."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from roofline.baseline import StoreError
from roofline.changes import NEIGHBOURS
from roofline.claims import settle
from roofline.devices.base import Backend, Buffers, DeviceUnavailable
from roofline.kernel import Kernel
from roofline.model import Estimate, Measurement, Timer
from roofline.plugin.run import Run
from roofline.plugin.selection import prediction_of
from roofline.record import RecordError
from roofline.report import progress
from roofline.rooflines import Roofline
from roofline.session import Session, disturbance


def _run_of(config: pytest.Config) -> Run:
    run = config.pluginmanager.get_plugin("roofline-run")
    assert isinstance(run, Run)
    return run


@pytest.fixture(scope="session")
def roofline_session(request: pytest.FixtureRequest) -> Session:
    """The measuring session of this run (`roofline.session.Session`); asking for it opens the device."""
    if hasattr(request.config, "workerinput"):
        pytest.fail("measurements need the device to themselves and cannot run under xdist: add -n 0", pytrace=False)
    try:
        return _run_of(request.config).session
    except (DeviceUnavailable, RecordError, StoreError) as reason:
        pytest.exit(str(reason), returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.fixture(scope="session")
def device(roofline_session: Session) -> Backend:
    """The opened device (`roofline.devices.base.Backend`); `device.device` says what it is."""
    return roofline_session.backend


@pytest.fixture(scope="session")
def buffers(roofline_session: Session) -> Callable[[Kernel], Buffers]:
    """`buffers(kernel)`: this session's arrays for a kernel, larger than the last cache where it wants DRAM."""
    return roofline_session.buffers


@pytest.fixture(scope="session")
def timer(roofline_session: Session) -> Timer:
    """The device's clock (`roofline.model.Timer`): its name and its tick in seconds."""
    return roofline_session.backend.timer


@pytest.fixture
def _device_clock(request: pytest.FixtureRequest) -> None:
    """Give this test's `benchmark` fixture the device's clock, which advances by device time only."""
    request.node.add_marker(pytest.mark.benchmark(timer=_run_of(request.config).clock))


@pytest.fixture
def measure(
    request: pytest.FixtureRequest, roofline_session: Session, _device_clock: None, benchmark: Any
) -> Callable[[Kernel], Measurement]:
    """`measure(kernel)`: check a kernel, find its best variant, time it on the device, record and return the row."""
    run = _run_of(request.config)

    def measure(kernel: Kernel) -> Measurement:
        if not isinstance(kernel, Kernel):
            pytest.fail(f"measure() takes a roofline.kernel.Kernel, not {kernel!r}", pytrace=False)
        _refuse_second(request, run)
        if benchmark.disabled:
            run.guarded(request, lambda: roofline_session.binaries(kernel))
            pytest.skip("checked but not timed: --benchmark-disable")
        return run.take(request, benchmark, lambda: roofline_session.measure(kernel), kernel)

    return measure


def _refuse_second(request: pytest.FixtureRequest, run: Run) -> None:
    """One test is one row: what was measured first stays."""
    if request.node.nodeid in run.timed:
        pytest.fail("one test measures one kernel: parametrize it, or write a second test", pytrace=False)
    run.timed.add(request.node.nodeid)


@pytest.fixture
def measure_launches(
    request: pytest.FixtureRequest, roofline_session: Session, _device_clock: None, benchmark: Any
) -> Callable[[str], Measurement]:
    """`measure_launches(mode)`: time empty launches in one of `roofline.kernels.launch.MODES`, and record the row."""
    run = _run_of(request.config)

    def measure_launches(mode: str) -> Measurement:
        _refuse_second(request, run)
        if benchmark.disabled:
            pytest.skip("not timed: --benchmark-disable")
        return run.take(request, benchmark, lambda: roofline_session.measure_launches(mode))

    return measure_launches


@pytest.fixture
def rows(roofline_session: Session) -> Callable[..., list[Measurement]]:
    """`rows(experiment, kernel=None)`: what this session measured of an experiment; skips where that is nothing."""

    def rows(experiment: str, kernel: str | None = None) -> list[Measurement]:
        found = [
            measurement
            for key, measurement in roofline_session.measurements.items()
            if key.experiment == experiment and kernel in (None, key.kernel)
        ]
        if not found:
            pytest.skip(f"nothing of {experiment} {kernel or ''} was measured in this session")
        return found

    return rows


@pytest.fixture
def roofline(roofline_session: Session) -> Roofline:
    """The roofline of this session's device as measured so far."""
    return roofline_session.roofline()


@pytest.fixture
def counters(request: pytest.FixtureRequest, roofline_session: Session) -> None:
    """Bytes that hardware counters saw, in `.achieved` of this session's rows; skips where `--counters` read none."""
    why = _run_of(request.config).counting.read(roofline_session)
    if why:
        pytest.skip(why)


@pytest.fixture
def claim(request: pytest.FixtureRequest, roofline_session: Session) -> Callable[..., None]:
    """`claim(measured, rows=…)`: judge what was measured against this test's prediction, stated before the run.

    On a guest no sample says what unseen neighbours did, and they were seen to halve a rate for minutes: what would be
    refuted there is inconclusive, but for figures without noise, which are counts.
    """
    run = _run_of(request.config)
    prediction = prediction_of(request.node)
    if prediction is None:
        pytest.fail("the claim fixture needs @pytest.mark.predicts(Prediction(…)) on the test", pytrace=False)

    def judge(measured: Estimate | float | None, rows: Sequence[Measurement] = (), note: str = "") -> None:
        if request.node.nodeid in run.unstated:
            pytest.fail(run.unstated[request.node.nodeid], pytrace=False)
        expected = run.expected[request.node.nodeid]
        if isinstance(measured, (int, float)):
            measured = Estimate(measured, measured, measured)
        noisy = measured is not None and measured.low < measured.high
        unseen = NEIGHBOURS if noisy and roofline_session.environment.state.get("virtualised") else ""
        settled = settle(prediction, expected, measured, disturbance(rows) or unseen, note)
        roofline_session.claims.append(settled)
        line = progress.claim_line(settled)
        request.node.user_properties.append(("roofline", progress.verdict(settled)))
        if settled.outcome == "refuted" and not request.config.option.roofline_report_only:
            pytest.fail(line, pytrace=False)
        if settled.outcome in ("inconclusive", "not-applicable"):
            pytest.skip(line)

    return judge
