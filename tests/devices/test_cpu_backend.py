"""The CPU device as a whole: its team, its buffers, its launches, its refusals."""

import dataclasses
import os
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

import numpy as np
import pytest

from roofline.devices.base import DeviceFault, DeviceUnavailable, KernelUnsupported, Launch, WrongMachineCode
from roofline.devices.cpu import CpuBackend, filling, open_cpu, team
from roofline.kernels import chains, dial, dram

pytestmark = pytest.mark.correctness


@pytest.fixture(scope="module")
def cpu() -> Iterator[CpuBackend]:
    with open_cpu() as backend:
        yield backend


@pytest.fixture
def own_cpu() -> Iterator[CpuBackend]:
    """A device of the test's own, to be closed or damaged."""
    with open_cpu() as backend:
        yield backend


def first_binary(backend, kernel):
    return backend.build(kernel, kernel.variants(backend.target)[:1])[0]


@pytest.fixture(scope="module")
def small_launch(cpu) -> Iterator[Launch]:
    binary = first_binary(cpu, dial.kernel(16, "inplace"))
    buffers = cpu.bind([np.ones(64 * binary.block, np.float32)])
    yield Launch(binary, buffers, 64 * binary.block)
    cpu.free(buffers)


def workers_of(backend) -> list[threading.Thread]:
    return list(backend._team._threads)


def test_the_device_says_what_it_is(cpu):
    assert cpu.device.kind == "cpu"
    assert cpu.device.cores == len(workers_of(cpu)) + 1
    assert cpu.device.cache_bytes > 0
    assert cpu.target.kind == "cpu"
    assert 0 < cpu.timer.tick_s < 1e-5
    assert cpu.environment().state["workers"] == cpu.device.cores


def test_a_launch_is_timed_and_its_clock_measured(cpu, small_launch):
    timing = cpu.run(small_launch, launches=50)
    assert timing.launches == 50
    assert timing.seconds > 0
    assert 2e8 < timing.clock_hz < 1e10  # a frequency that a CPU can have


def test_time_grows_with_the_steps(cpu):
    """C30: work that was removed would not take longer; in turns, so that neighbours slow both alike."""
    buffers = cpu.bind([np.ones(48 * 256, np.float32)] * 2)
    few, many = (Launch(first_binary(cpu, dial.kernel(steps, "ordinary")), buffers, 48 * 256) for steps in (512, 2048))
    try:
        ratios = [cpu.run(many, launches=4).seconds / cpu.run(few, launches=4).seconds for _ in range(41)]
        assert median(ratios) == pytest.approx(4.0, rel=0.25)
    finally:
        cpu.free(buffers)


@pytest.mark.parametrize("mode", ["launch", "launch_sync"])
def test_every_launch_ran_on_every_worker(cpu, mode):
    """C4: 1000 of 1000."""
    assert cpu.count_launches(mode, 1000) == 1000
    assert [job.count for job in cpu._team.jobs] == [1000] * cpu.device.cores


@pytest.mark.parametrize("mode", ["launch", "launch_sync"])
def test_empty_launches_take_time(cpu, mode):
    timing = cpu.time_launches(mode, 100)
    assert timing.launches == 100
    assert timing.seconds > 0


def test_waiting_for_each_launch_costs_more_than_queueing_them(cpu):
    """C2: least of some tries, since neighbours only add."""
    queued = min(cpu.time_launches("launch", 500).seconds for _ in range(20))
    waited = min(cpu.time_launches("launch_sync", 500).seconds for _ in range(20))
    assert waited > queued


def test_an_unknown_way_to_launch_is_refused_with_those_there_are(cpu):
    with pytest.raises(ValueError, match="'launch_graph' is not one of the CPU device's: launch, launch_sync"):
        cpu.time_launches("launch_graph", 1)


def test_the_caller_gets_its_own_affinity_back(cpu, small_launch):
    before = os.sched_getaffinity(0)
    cpu.run(small_launch, 1)
    assert os.sched_getaffinity(0) == before


def test_between_runs_the_workers_burn_no_time(cpu, small_launch):
    """Their own clocks stand still while this thread is busy."""
    cpu.run(small_launch, 1)
    clocks = [time.pthread_getcpuclockid(thread.ident) for thread in workers_of(cpu)]
    settle = time.monotonic() + 0.05  # they may still be on their way out
    while time.monotonic() < settle:
        pass
    before = [time.clock_gettime(clock) for clock in clocks]
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass
    assert all(time.clock_gettime(clock) - old < 0.05 for clock, old in zip(clocks, before, strict=True))


def test_an_interrupt_inside_a_measurement_leaves_the_team_usable(cpu, small_launch):
    with pytest.raises(KeyboardInterrupt), cpu._team.gathered():
        raise KeyboardInterrupt
    assert cpu.count_launches("launch", 10) == 10
    assert cpu.run(small_launch, 1).seconds > 0


def test_an_interrupt_while_workers_gather_leaves_the_team_usable(cpu, monkeypatch):
    pins = iter([KeyboardInterrupt, None, None, None, None, None])

    def interrupted(cores):
        if (error := next(pins)) is not None:
            raise error

    monkeypatch.setattr(team, "pin_caller", interrupted)
    with pytest.raises(KeyboardInterrupt), cpu._team.gathered():
        pytest.fail("the interrupt came before this")
    assert cpu.count_launches("launch", 10) == 10


def test_the_team_meets_again_and_again(cpu):
    for number in range(1, 200):
        assert cpu.count_launches("launch", number) == number


def test_a_worker_that_does_not_come_is_a_fault_and_not_a_hang(own_cpu, monkeypatch):
    if own_cpu.device.cores == 1:
        pytest.skip("one core has no other worker to wait for")
    monkeypatch.setattr(team, "GATHERING_LIMIT_S", 0.05)
    monkeypatch.setattr(own_cpu._team, "_wake", [threading.Semaphore(0) for _ in workers_of(own_cpu)])
    with pytest.raises(DeviceFault, match=r"workers did not come in 0\.05 s"):
        own_cpu.count_launches("launch", 1)
    monkeypatch.undo()
    assert own_cpu.count_launches("launch", 3) == 3


def test_threads_that_cannot_start_make_the_device_unavailable(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    if len(os.sched_getaffinity(0)) == 1:
        pytest.skip("one core needs no other thread")
    with pytest.raises(DeviceUnavailable, match=r"can't start new thread.*\n.*ulimit -u"):
        open_cpu()


def test_closing_ends_the_workers_and_can_be_done_twice(own_cpu):
    workers = workers_of(own_cpu)
    own_cpu.close()
    own_cpu.close()
    assert not any(worker.is_alive() for worker in workers)


def test_a_closed_device_says_so(own_cpu):
    binary = first_binary(own_cpu, dial.kernel(1, "inplace"))
    buffers = own_cpu.bind([np.ones(8, np.float32)])
    own_cpu.close()
    with pytest.raises(DeviceFault, match="closed: open it again"):
        own_cpu.run(Launch(binary, buffers, 8), 1)
    own_cpu.free(buffers)


def hashed(elements: int, seed: int) -> np.ndarray:
    """The fill's contents, worked out in NumPy."""
    bits = (np.arange(elements, dtype=np.uint64) + seed).astype(np.uint32)
    for factor, shift in zip((filling.WEYL, filling.MIX), filling.SHIFTS, strict=True):
        bits = bits * np.uint32(factor)
        bits ^= bits >> np.uint32(shift)
    return ((bits >> np.uint32(9)) | np.uint32(0x3F800000)).view(np.float32)


def test_random_buffers_hold_the_same_full_mantissa_values_each_time(cpu):
    """C19: values in [1, 2), all bits of the mantissa used, arrays unlike each other."""
    n = 10_007
    buffers = cpu.allocate(2, n, "float32", placements=2, fill="random")
    try:
        first, second = cpu.read_back(buffers)
    finally:
        cpu.free(buffers)
    np.testing.assert_array_equal(first, hashed(n, 0))
    np.testing.assert_array_equal(second, hashed(n, filling.SEED_STEP))
    assert (first >= 1).all()
    assert (first < 2).all()
    mantissas = first.view(np.uint32) & 0x7FFFFF
    ones = [(mantissas >> bit & 1).mean() for bit in range(23)]
    assert all(0.4 < share < 0.6 for share in ones)
    assert np.corrcoef(first, second)[0, 1] < 0.1


def test_zeros_are_zeros(cpu):
    buffers = cpu.allocate(1, 1025, "float32", placements=1, fill="zeros")
    assert not cpu.read_back(buffers)[0].any()
    cpu.free(buffers)


def test_placements_are_separate_memory(cpu):
    buffers = cpu.allocate(2, 5000, "float32", placements=3, fill="random")
    starts = sorted(handle.address for handles in buffers.handles for handle in handles)
    cpu.free(buffers)
    assert buffers.placements == 3
    assert all(later - earlier >= 20_000 for earlier, later in pairwise(starts))
    assert all(handle.freed for handles in buffers.handles for handle in handles)


def test_a_launch_uses_the_placement_asked_for(cpu):
    binary = first_binary(cpu, dial.kernel(4, "inplace"))
    buffers = cpu.allocate(1, binary.block, "float32", placements=2, fill="zeros")
    cpu.run(Launch(binary, buffers, binary.block), 1, placement=1)
    untouched = cpu.read_back(buffers)[0]
    touched = cpu.read_back(dataclasses.replace(buffers, handles=buffers.handles[1:]))[0]
    cpu.free(buffers)
    assert not untouched.any()
    assert (touched == 1.0).all()


def test_too_little_memory_is_told_with_the_sizes(cpu):
    """C37: what was asked for, what there is, what to do."""
    with pytest.raises(MemoryError, match=r"2 x 3 arrays of \d+ bytes were asked for, \d+ in all; .* ask for less"):
        cpu.allocate(3, cpu.memory_limit(), "float32", placements=2, fill="zeros")


def test_contents_that_it_cannot_make_are_refused(cpu):
    with pytest.raises(ValueError, match="one of random, zeros"):
        cpu.allocate(1, 8, "float32", 1, "ones")
    with pytest.raises(ValueError, match="'float64'"):
        cpu.allocate(1, 8, "float64", 1, "zeros")


def test_arrays_of_unequal_length_are_refused(cpu):
    with pytest.raises(ValueError, match="same number and size"):
        cpu.bind([np.ones(3, np.float32), np.ones(4, np.float32)])


@pytest.mark.parametrize(
    ("size", "windows", "message"),
    [(0, 1, "each must be 1 or more"), (8, 9, "9 windows of 8 elements do not fit"), (3, 2, "begin inside a vector")],
)
def test_launches_that_would_leave_their_arrays_or_fault_are_refused(cpu, size, windows, message):
    binary = first_binary(cpu, dial.kernel(1, "inplace"))
    buffers = cpu.bind([np.ones(64, np.float32)])
    with pytest.raises(ValueError, match=message):
        cpu.run(Launch(binary, buffers, size, windows), 1)
    cpu.free(buffers)


def test_a_kernel_takes_as_many_arrays_as_it_has_and_no_fewer(cpu):
    """An update in place writes the array it reads, whatever else lies in the buffers."""
    zeros = np.zeros(64, np.float32)
    buffers = cpu.bind([zeros, zeros])
    cpu.run(Launch(first_binary(cpu, dial.kernel(4, "inplace")), buffers, 64), 1)
    first, second = cpu.read_back(buffers)
    cpu.free(buffers)
    assert (first == 1).all()
    assert not second.any()
    single = cpu.bind([zeros])
    with pytest.raises(ValueError, match="takes 2 arrays and the buffers have 1"):
        cpu.run(Launch(first_binary(cpu, dial.kernel(4, "nt")), single, 64), 1)
    cpu.free(single)


def test_freed_buffers_are_refused(cpu):
    binary = first_binary(cpu, dial.kernel(1, "inplace"))
    buffers = cpu.bind([np.ones(64, np.float32)])
    cpu.free(buffers)
    with pytest.raises(ValueError, match="have been freed"):
        cpu.run(Launch(binary, buffers, 64), 1)


def test_machine_code_other_than_meant_is_never_built(cpu):
    kernel = dial.kernel(8, "nt")
    form = kernel.variants(cpu.target)[0]

    def dishonest(target, variant):
        source = kernel.sources["cpu"](target, variant)
        return dataclasses.replace(source, expects=source.expects | {"fma": 7, "store_nt": 0})

    broken = dataclasses.replace(kernel, sources={"cpu": dishonest})
    with pytest.raises(WrongMachineCode, match=rf"dial/dial-0008-nt, variant {form.name}: .* where 7 were meant"):
        cpu.build(broken, [form])


def test_a_kernel_without_code_for_a_cpu_gives_its_reason(cpu):
    kernel = dataclasses.replace(dial.kernel(1, "nt"), sources={}, unsupported={"cpu": "no tensor cores here"})
    with pytest.raises(KernelUnsupported, match="no tensor cores here"):
        cpu.build(kernel, kernel.variants(cpu.target))


def test_binaries_carry_their_evidence(cpu):
    first, *_ = cpu.build(chains.kernel(4), chains.kernel(4).variants(cpu.target))
    assert first.counts["spill"] == 0
    assert first.listing.startswith("chains__")
    assert len(first.digest) == 16
    assert first.build_s >= 0


def test_stores_in_place_share_the_code_of_ordinary_ones(cpu):
    """Only the pointers differ, so one compilation serves both."""
    ordinary = first_binary(cpu, dial.kernel(96, "ordinary"))
    in_place = first_binary(cpu, dial.kernel(96, "inplace"))
    assert ordinary.handle is in_place.handle


def test_whole_blocks_are_shared_out_evenly_and_the_last_worker_takes_the_rest(cpu):
    cpu._share_out(1000, 96)
    spans = [(job.first, job.length, job.left) for job in cpu._team.jobs]
    assert sum(length for _, length, _ in spans) == 960
    assert [left for *_, left in spans] == [0] * (len(spans) - 1) + [40]
    assert max(length for _, length, _ in spans) - min(length for _, length, _ in spans) <= 96
    assert all(first % 96 == 0 for first, *_ in spans)


def test_the_share_of_others_is_a_share(cpu):
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass
    assert 0 <= cpu.others_busy() <= 1


def test_a_read_proves_that_every_element_arrived(cpu):
    """Each worker adds its sum to its own part, so that launches add up."""
    kernel = dram.kernel(dram.PATTERNS[0])
    values = np.arange(777, dtype=np.float32)
    buffers = cpu.bind([values, np.zeros(777, np.float32)])
    cpu.run(Launch(first_binary(cpu, kernel), buffers, 777), launches=2)
    sums = cpu.read_back(buffers)[1]
    cpu.free(buffers)
    assert sums.sum() == 2 * values.sum()
    assert np.count_nonzero(sums) <= cpu.device.cores
