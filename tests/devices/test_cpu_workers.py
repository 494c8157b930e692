"""Launches that only some of the CPU's workers share out among them."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from roofline.checking import check
from roofline.devices.base import KernelUnsupported, Launch
from roofline.devices.cpu import CpuBackend, open_cpu, regions
from roofline.kernel import InvalidKernel, Kernel
from roofline.kernels import dial, dram

pytestmark = pytest.mark.correctness

READ = next(kernel for kernel in dram.every_kernel() if kernel.name == "read")


@pytest.fixture(scope="module")
def cpu() -> Iterator[CpuBackend]:
    with open_cpu() as backend:
        yield backend


@pytest.fixture
def several(cpu) -> CpuBackend:
    """The device, where it has workers to leave out."""
    if cpu.device.cores == 1:
        pytest.skip("one worker is all there are")
    return cpu


def shared_by(workers: int | None, kernel: Kernel) -> Kernel:
    """The same kernel for so many workers."""
    write = kernel.sources["cpu"]
    sources = {"cpu": lambda target, variant: dataclasses.replace(write(target, variant), workers=workers)}
    return dataclasses.replace(kernel, sources=sources)


def first_binary(backend, kernel):
    return backend.build(kernel, kernel.variants(backend.target)[:1])[0]


@pytest.mark.parametrize("kernel", [dial.kernel(16, "inplace"), READ], ids=lambda kernel: kernel.name)
def test_one_worker_does_the_whole_launch_and_does_it_right(cpu, kernel):
    """On awkward sizes, sums too, whose parts differ with the number of workers."""
    check(cpu, first_binary(cpu, shared_by(1, kernel)))


def test_the_first_so_many_workers_get_all_and_the_others_nothing(cpu):
    for workers in range(1, cpu.device.cores + 1):
        cpu._share_out(1000, 96, workers)
        spans = [(job.first, job.length, job.left) for job in cpu._team.jobs]
        assert sum(length for _, length, _ in spans) == 960
        assert spans[workers - 1][2] == 40
        assert all(length > 0 for _, length, _ in spans[:workers])
        assert all((length, left) == (0, 0) for _, length, left in spans[workers:])


def test_who_has_nothing_to_do_waits_at_the_barrier(several):
    """Idle workers repeat nothing, so that they neither prolong a launch nor take power from those that work."""
    binary = first_binary(several, shared_by(1, dial.kernel(16, "inplace")))
    buffers = several.bind([np.ones(64 * binary.block, np.float32)])
    several.run(Launch(binary, buffers, 64 * binary.block, repeats=1000), 2)
    several.free(buffers)
    assert [job.repeats for job in several._team.jobs] == [1000] + [1] * (several.device.cores - 1)


def test_only_those_that_work_are_timed(several):
    first, *others = several._team.jobs
    first.started, first.ended = 100, 150
    for job in others:
        job.started, job.ended = 10, 900
    assert several._team.ticks_taken(1) == 50
    assert several._team.ticks_taken() == 890


def test_the_clock_is_that_of_the_workers_that_worked(several):
    first, *others = several._team.jobs
    first.cycle_ticks = 1000
    for job in others:
        job.cycle_ticks = 10**9
    assert several._clock_hz(1) == pytest.approx(regions.CHAIN_CYCLES / several._clock.seconds(1000))
    assert several._clock_hz(None) < several._clock_hz(1)


def test_all_the_workers_may_be_asked_for_by_their_number(cpu):
    assert first_binary(cpu, shared_by(cpu.device.cores, READ)).workers == cpu.device.cores


def test_one_compilation_serves_any_number_of_workers(cpu):
    alone, together = (first_binary(cpu, shared_by(workers, dial.kernel(16, "inplace"))) for workers in (1, None))
    assert alone.handle is together.handle
    assert (alone.workers, together.workers) == (1, None)


def test_more_workers_than_cores_are_unsupported_and_the_reason_names_both(cpu):
    cores = cpu.device.cores
    with pytest.raises(KernelUnsupported, match=f"dram/read wants {cores + 1} workers, and there are {cores} cores"):
        first_binary(cpu, shared_by(cores + 1, READ))


def test_no_workers_at_all_are_a_mistake_of_the_kernel(cpu):
    with pytest.raises(InvalidKernel, match="wants 0 workers: give 1 or more, or None"):
        first_binary(cpu, shared_by(0, READ))
