"""Bytes in flight: how many, how they are kept on their way, and what Little's law makes of them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.checking import check
from roofline.devices.base import Launch
from roofline.devices.cpu import CpuBackend, open_cpu
from roofline.kernel import Target
from roofline.kernels import in_flight, in_flight_cpu, in_flight_cuda
from roofline.model import Estimate, Measurement, RowKey, Samples, Timer, Traffic, Work

pytestmark = pytest.mark.correctness

STREAMS = [kernel for kernel in in_flight.every_kernel() if "cpu" in kernel.sources]
READS = [kernel for kernel in in_flight.every_kernel() if kernel.name.startswith("warps-")]


@pytest.fixture(scope="module")
def cpu() -> Iterator[CpuBackend]:
    with open_cpu() as backend:
        yield backend


def row(kernel: str, size: int, moved: float, seconds: float) -> Measurement:
    key = RowKey("in_flight", kernel, size, "none", "dram")
    work = Work(0.0, "none", {"dram": Traffic(moved, 0.0)})
    return Measurement(key, work, "v", Samples((seconds,) * 3, Timer("t", 1e-9)), Estimate(seconds, seconds, seconds))


@pytest.mark.parametrize("kernel", STREAMS, ids=lambda kernel: kernel.name)
def test_streams_meet_every_line_once(cpu, kernel):
    """R7: whole yards of every stream on every worker, with what they leave over, against the plain sum."""
    (binary,) = cpu.build(kernel, kernel.variants(cpu.target))
    check(cpu, binary, sizes=(binary.block, 2 * binary.block + 77), launches=2)


def test_the_order_of_a_yard_meets_every_line_once():
    assert sorted(map(in_flight_cpu.place, range(in_flight_cpu.YARD))) == list(range(in_flight_cpu.YARD))


def test_the_order_of_a_yard_is_one_that_no_prefetcher_guesses():
    """Few hops lead to a line next to one that was met just before, and no step between hops is a common one."""
    order = [in_flight_cpu.place(hop) for hop in range(in_flight_cpu.YARD)]
    near = [min(abs(order[hop] - before) for before in order[hop - 4 : hop]) <= 1 for hop in range(4, len(order))]
    assert np.mean(near) < 0.05
    steps = np.diff(order)
    assert max(np.unique(steps, return_counts=True)[1]) < len(order) / 20


def test_where_a_stream_goes_next_depends_on_what_it_found(cpu):
    """R7: with bits of the data let through, a line that holds such a bit moves the rest of the walk on by a line.

    So no next load can begin before the last one has arrived, which is what makes one line in flight a stream.
    """
    kernel = replace(in_flight.streams("one-core", 1), scalars=(0.0, 64.0))
    (binary,) = cpu.build(kernel, kernel.variants(cpu.target))
    lines = np.zeros((in_flight_cpu.YARD + 1, in_flight_cpu.ELEMENTS), np.float32)
    lines[:, 1] = np.arange(in_flight_cpu.YARD + 1)
    lines.view(np.uint32)[in_flight_cpu.place(0), 0] = 64
    buffers = cpu.bind([lines.ravel(), np.zeros(lines.size, np.float32)])
    cpu.run(Launch(binary, buffers, binary.block), 1)
    _, sums = cpu.read_back(buffers)
    cpu.free(buffers)
    met = [in_flight_cpu.place(hop) + (hop > 0) for hop in range(in_flight_cpu.YARD)]
    assert sums.sum() == sum(met)


@pytest.mark.parametrize(
    ("kernel", "cores", "there"),
    [
        ("warps-04-loads-01", 132, 132 * 4 * 32 * 4),
        ("warps-64-loads-16", 132, 132 * 64 * 16 * 128),
        ("one-core-streams-08", 64, 8 * 64),
        ("all-cores-streams-08", 64, 64 * 8 * 64),
        ("chase", 132, None),
        ("warps-04", 132, None),
    ],
)
def test_the_name_of_a_kernel_says_what_is_on_its_way(kernel, cores, there):
    """R7: warps × 32 × loads × 4 bytes on each SM, a line a stream on each core."""
    assert in_flight.bytes_in_flight(kernel, cores) == there


def test_every_read_but_the_chase_has_a_set_number_of_bytes_in_flight():
    without = [k.name for k in in_flight.every_kernel() if in_flight.bytes_in_flight(k.name, 2) is None]
    assert without == [in_flight.CHASE]


def test_latency_by_law_is_bytes_in_flight_over_bandwidth():
    """R7: 67.6 kB on their way at 184 GB/s have been under way for 367 ns."""
    measured = row("warps-04-loads-01", 1000, moved=184e9, seconds=1.0)
    assert in_flight.latency_by_law(measured, 132).value == pytest.approx(132 * 4 * 128 / 184e9)


def test_what_has_no_set_number_in_flight_has_no_latency_by_law():
    with pytest.raises(ValueError, match="only reads with a set number of bytes in flight"):
        in_flight.latency_by_law(row("chase", 1000, moved=0.0, seconds=1.0), 132)


def test_the_latency_of_a_hop_is_the_time_over_the_hops():
    measured = row("chase", in_flight.HOPS * in_flight.SPACING, moved=0.0, seconds=in_flight.HOPS * 350e-9)
    assert in_flight.latency_of_a_hop(measured).value == pytest.approx(350e-9)


@pytest.mark.parametrize(
    ("settings", "rate", "needed"),
    [
        ([(100, 10), (400, 40)], 20, 200),
        ([(400, 40), (100, 10)], 40, 400),
        ([(100, 10)], 5, 50),
        ([(100, 10), (200, 8), (400, 12)], 11, 350),
        ([(100, 10)], 11, None),
        ([], 1, None),
    ],
)
def test_bytes_needed_lie_on_the_line_between_the_settings_around_the_rate(settings, rate, needed):
    assert in_flight.bytes_needed(settings, rate) == needed


@given(latency=st.floats(1e-8, 1e-5), ceiling=st.floats(1e9, 1e13), share=st.floats(0.1, 0.99))
def test_an_ideal_memory_needs_exactly_latency_times_bandwidth(latency, ceiling, share):
    """R7: where nothing waits for anything else, Little's law is all there is."""
    product = latency * ceiling
    settings = [(times * product, min(1.0, times) * ceiling) for times in (0.125, 0.25, 0.5, 1, 2, 4)]
    assert in_flight.bytes_needed(settings, share * ceiling) == pytest.approx(share * product)


def test_warps_that_an_sm_cannot_hold_are_absent():
    """Fewer warps than the name says would be a wrong count of bytes in flight."""
    for kernel in READS:
        many = kernel.name.startswith("warps-64")
        assert bool(kernel.variants(Target("cuda", "sm_86"))) != many
        assert len(kernel.variants(Target("cuda", "sm_90a"))) == 1
        assert kernel.unsupported["cuda"]


@pytest.mark.parametrize("kernel", READS, ids=lambda kernel: kernel.name)
def test_blocks_of_an_sm_hold_exactly_the_warps_of_the_name(kernel):
    (variant,) = kernel.variants(Target("cuda", "sm_90a"))
    source = in_flight_cuda.read(variant)
    warps = source.blocks_per_sm * source.threads // 32
    assert in_flight.bytes_in_flight(kernel.name, 1) == warps * 128 * source.block // source.threads
