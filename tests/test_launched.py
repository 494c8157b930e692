"""Kernels that whoever launches them times: every launch of a chain runs, and goes on to the next window."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from roofline.devices.base import DeviceFault, KernelUnsupported, Launch
from roofline.devices.cpu import CpuBackend, open_cpu
from roofline.devices.fake import FakeBackend, FakeFaults, FakeTruth
from roofline.kernel import Launched
from roofline.kernels import fixes, floor
from roofline.session import Session

pytestmark = pytest.mark.correctness

STEP = fixes.kernel(fixes.BY_NAME["chain-streamed"])
A_STEP = 0.25


@pytest.fixture(scope="module")
def cpu() -> Iterator[CpuBackend]:
    with open_cpu() as backend:
        yield backend


def after(backend, launched: Launched, chains: int, windows: int = 1, first: int = 0):
    """Zeros after so many chains of steps."""
    (binary,) = backend.build(STEP, STEP.variants(backend.target))
    buffers = backend.bind([np.zeros(1024 * windows, np.float32)])
    timing = backend.time_chains(Launch(binary, buffers, 1024, windows), launched, chains, first)
    assert timing.launches == chains
    (array,) = backend.read_back(buffers)
    backend.free(buffers)
    return array


@pytest.mark.parametrize("mode", ["launch", "launch_sync"])
def test_every_launch_of_a_chain_runs(cpu, mode):
    """C4, C7: 7 chains of 16 steps."""
    assert (after(cpu, Launched(mode, 16), chains=7) == 7 * 16 * A_STEP).all()


@pytest.mark.parametrize("mode", ["launch", "launch_sync"])
def test_launches_of_a_chain_go_on_from_window_to_window(cpu, mode):
    """C5: so that lines are cold, also where each launch is waited for by itself."""
    visits = np.repeat([2, 1, 2, 2], 1024)  # 2, 3, 0, 1, 2, 3, 0
    assert (after(cpu, Launched(mode, 1), chains=7, windows=4, first=2) == visits * A_STEP).all()


def test_a_launch_mode_that_a_cpu_has_not_is_refused(cpu):
    with pytest.raises(ValueError, match="launch_graph"):
        after(cpu, Launched("launch_graph", 16), chains=1)


def fake_session(**truth) -> Session:
    return Session(FakeBackend(FakeTruth(**truth)))


@pytest.mark.parametrize("way", fixes.WAYS, ids=lambda way: way.name)
def test_a_row_is_the_time_of_a_whole_chain(way):
    """C7: launches of a chain times what each costs that way, beside its work."""
    run = fake_session(ceilings={"dram": 1e11, "fp32": 1e18})
    row = run.measure(fixes.kernel(way))
    assert row.seconds.value == pytest.approx(way.launches * run.backend.truth.launch_s[way.mode], rel=1e-3)
    assert row.work.flops == 2 * fixes.STEPS * row.key.size


def test_a_launched_row_is_timed_by_the_clock_of_its_mode(cpu):
    """C5: whoever waits for a launch can only look at the host's clock."""
    row = Session(cpu).measure(floor.kernel(1 << 8))
    assert row.samples.timer == cpu.launch_timers["launch_sync"]


def test_the_floor_of_a_fake_device_is_what_its_truth_tells():
    """C5: T = t0 + bytes/β."""
    run = fake_session()
    rows = [run.measure(floor.kernel(size)) for size in (1 << 10, 1 << 24)]
    for row in rows:
        assert row.seconds.value == pytest.approx(2e-6 + row.work.moved("dram") / 100e9, rel=0.03)


def test_a_mode_that_a_device_has_not_makes_a_row_absent_with_its_reason(cpu):
    run = Session(cpu)
    graph = fixes.kernel(fixes.BY_NAME["chain-replayed"])
    with pytest.raises(KernelUnsupported, match="a CPU has no launch graphs"):
        run.measure(graph)
    assert run.absent[run.row_key(graph)].status == "unsupported"
    with pytest.raises(KernelUnsupported, match=r"launches no chain that way \(launch_graph\)"):
        run.measure(replace(graph.fitted(cpu.device), unsupported={}))


def test_a_chain_that_fails_names_its_kernel():
    run = fake_session(faults=FakeFaults(fail_at=200))
    with pytest.raises(DeviceFault, match="fixes/chain-streamed failed"):
        run.measure(STEP)
