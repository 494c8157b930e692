"""One float of every few: what is read, what is counted, and where the figure is placed."""

import re
from collections.abc import Iterator

import numpy as np
import pytest

from roofline import llvm
from roofline.checking import check
from roofline.devices.base import Launch
from roofline.devices.cpu import CpuBackend, open_cpu
from roofline.devices.fake import FakeBackend, FakeTruth
from roofline.kernel import Target
from roofline.kernels import dram, sectors, sectors_cpu
from roofline.llvm import Block, Vectors
from roofline.rooflines import unit_of
from roofline.session import Session

pytestmark = pytest.mark.correctness

X86 = Target("cpu", "x86-64-v3", lanes=8, registers=16, has_fma=True)


@pytest.fixture(scope="module")
def cpu() -> Iterator[CpuBackend]:
    with open_cpu() as backend:
        yield backend


@pytest.mark.parametrize("kernel", list(sectors.every_kernel()), ids=lambda k: k.name)
def test_blocks_and_what_they_leave_over_hold_every_element_asked_for_and_no_other(cpu, kernel):
    """R6: the small sizes that every kernel is checked with fill no block of a wide stride; these fill several."""
    for binary in cpu.build(kernel, kernel.variants(cpu.target)):
        check(cpu, binary, sizes=(binary.block, 5 * binary.block + binary.block // 2 + 1), launches=2)


def test_a_write_leaves_everything_between_as_it_was(cpu):
    kernel = sectors.kernel(16, writes=True)
    (binary, *_) = cpu.build(kernel, kernel.variants(cpu.target))
    before = [np.arange(4099, dtype=np.float32), np.arange(4099, dtype=np.float32) + 0.25]
    buffers = cpu.bind(before)
    cpu.run(Launch(binary, buffers, 4099), 1)
    _, after = cpu.read_back(buffers)
    cpu.free(buffers)
    changed = np.flatnonzero(after != before[1])
    assert list(changed) == list(range(0, 4099, 16))


@pytest.mark.parametrize(("stride", "n", "asked_for"), [(1, 100, 100), (8, 64, 8), (8, 65, 9), (32, 1, 1)])
def test_only_what_is_asked_for_is_counted(stride, n, asked_for):
    """R6: 4 bytes an element, whatever moves with it; the convention says so."""
    read, written = sectors.kernel(stride).work(n), sectors.kernel(stride, writes=True).work(n)
    assert (read.traffic["dram"].read, read.traffic["dram"].written) == (4 * asked_for, 0)
    assert (written.traffic["dram"].read, written.traffic["dram"].written) == (0, 4 * asked_for)
    assert "bytes asked for" in read.convention


def test_each_stride_read_is_a_ceiling_of_its_own_and_no_write_is():
    measured = [resource for kernel in sectors.every_kernel() for resource in kernel.measures]
    assert measured == [f"dram_stride_{stride}" for stride in sectors.STRIDES]
    assert {unit_of(resource) for resource in measured} == {"B/s"}


def test_a_stride_is_judged_by_the_read_ceiling():
    """R6: its place under the roofline is the lesson: an eighth of what a read of everything reaches."""
    slower = {variant.name: 8.0 for variant in sectors_cpu.variants(writes=False)}
    session = Session(FakeBackend(FakeTruth(variants=slower)))
    session.measure(next(kernel for kernel in dram.every_kernel() if kernel.name == "read"))
    row = session.measure(sectors.kernel(8))
    point = session.points()[row.key]
    assert (point.bound_by, point.regime) == ("dram_read", "memory")
    assert point.fraction == pytest.approx(1 / 8, rel=0.02)


def test_the_name_of_a_kernel_says_its_stride():
    for stride in sectors.STRIDES:
        for writes in (False, True):
            assert sectors.stride_of(sectors.name(stride, writes)) == stride


def test_elements_passed_over_are_neither_loaded_nor_stored():
    """One load and one store of the four that a block holds, that far apart, and no line asked for twice."""
    vectors = Vectors(lanes=1, count=4, stride=16)

    def body(block: Block) -> None:
        block.prefetch("x", 2048)
        block.store("y", block.load("x"))

    entry, rest = llvm.streaming_kernel("k__s", X86, vectors, body).split("define ")[1:]
    assert vectors.block == 64
    assert entry.count("load float") == entry.count("store float") == 4
    assert entry.count(f"call void @{llvm.PREFETCH}") == 4 == llvm.expected_prefetches(vectors, 2048)["prefetch"]
    assert [f", i64 {64 * number}\n" in entry for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert re.search(r"add i64 %i\d+, 64\n", entry)
    assert re.search(r"add i64 %i\d+, 16\n", rest)


def test_lines_further_apart_than_a_line_are_asked_for_once_each():
    assert llvm.expected_prefetches(Vectors(1, 4, stride=32), 2048) == {"prefetch": 4}
    assert llvm.expected_prefetches(Vectors(1, 4, stride=4), 2048) == {"prefetch": 1}


def test_whole_vectors_cannot_pass_others_over():
    with pytest.raises(ValueError, match="only vectors of one lane can pass others over"):
        Vectors(lanes=8, count=1, stride=2)
