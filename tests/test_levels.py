"""Reads that one memory level serves, and reads of growing sets: how they are counted, sized, named and compiled."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from roofline.checking import IncorrectResult, check
from roofline.devices.cpu import machine_code, open_cpu
from roofline.devices.cpu.jit import assembly_for
from roofline.devices.cuda.nominal import Properties, nominal
from roofline.devices.fake import FakeBackend, FakeTruth
from roofline.kernel import Target
from roofline.kernels import footprint, footprint_cuda, kernels_of, levels, levels_cpu, levels_cuda
from roofline.model import Device
from roofline.session import Session

pytestmark = pytest.mark.correctness

CPU = Device("a CPU", "cpu", "znver3", cores=4, cache_bytes=32 << 20)
CARD = Device("a card", "cuda", "sm_90a", cores=132, cache_bytes=60 << 20)
AVX2 = Target("cpu", "x86-64-v3", lanes=8, registers=16, has_fma=True)
L1, L2, L3 = levels.CACHES


@pytest.mark.parametrize("kernel", kernels_of("levels"), ids=lambda kernel: kernel.name)
def test_a_level_counts_what_it_hands_out_and_nothing_further_out(kernel):
    """H1: the bytes are those of all passes at that level; that the set is first brought in is not counted."""
    n = kernel.size(0)
    work = kernel.work(n)
    assert kernel.measures == (kernel.level,)
    moved = work.traffic[kernel.level]
    assert moved.written == 0
    assert moved.read >= 4 * n
    assert moved.read % (4 * n if kernel.arrays == 2 else 4 * levels_cuda.read_of(n)) == 0
    assert sum(work.moved(level) for level in work.traffic if level != kernel.level) == 0


def test_each_cpu_cache_is_read_from_a_set_that_the_one_before_does_not_hold():
    """H1: a core's share is 24 KiB, then 120 KiB, then a quarter of the last cache."""
    sizes = [4 * levels.fitted(cache, CPU).size(0) for cache in levels.CACHES]
    assert sizes == [4 * 24 << 10, 4 * 120 << 10, 8 << 20]


@pytest.mark.parametrize(("cores", "set_bytes"), [(2, 8 << 20), (8, 12 << 20), (64, 24 << 20)])
def test_a_core_shares_more_of_the_last_cache_than_its_second_holds_as_far_as_there_is_room(cores, set_bytes):
    assert 4 * levels.fitted(L3, replace(CPU, cores=cores)).size(0) == set_bytes


@pytest.mark.parametrize("cache", [L1, L2], ids=lambda cache: cache.resource)
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_a_set_of_a_core_is_whole_blocks_of_every_form(cache, lanes):
    """No core has a rest that it would add up one by one while the others wait."""
    target = replace(AVX2, lanes=lanes)
    for form in levels_cpu.variants(target):
        assert cache.set_bytes // 4 % levels_cpu.source(target, form, cache.passes).block == 0


def test_a_card_reads_a_quarter_of_its_l2():
    kernel = levels_cuda.l2().fitted(CARD)
    assert 4 * levels_cuda.read_of(kernel.size(0)) == pytest.approx(15 << 20, rel=0.01)
    assert kernel.work(kernel.size(0)).moved("l2") == pytest.approx(levels_cuda.BYTES_A_LAUNCH, rel=0.01)


@pytest.mark.parametrize(
    ("n", "read"), [(1, 0), (2, 1), (1023, 511), (4096, 2048), (8192, 4096), (1 << 20, (1 << 20) - 4096)]
)
def test_the_end_of_an_array_holds_sums_and_is_not_read(n, read):
    assert levels_cuda.read_of(n) == read


def test_what_a_launch_reads_is_what_its_sums_gain():
    kernel = levels_cuda.whole("k", 32 << 20)
    ones = [np.ones(kernel.size(0), np.float32)]
    (after,) = kernel.reference(ones, 1)
    assert float(after) - ones[0].size == kernel.work(ones[0].size).moved("l2") / 4


@pytest.fixture(scope="module")
def cpu():
    with open_cpu() as backend:
        yield backend


@pytest.mark.parametrize("cache", levels.CACHES, ids=lambda cache: cache.resource)
def test_every_pass_reads_the_whole_set_and_its_rest(cpu, cache):
    """A9: sizes of several blocks for each core, with and without a rest, launched twice."""
    kernel = levels.kernel(cache)
    for binary in cpu.build(kernel, kernel.variants(cpu.target)):
        check(cpu, binary, sizes=(7 * binary.block * cpu.device.cores, 5 * binary.block + 13), launches=2)


def test_a_pass_too_few_is_noticed(cpu):
    """The result tells how often the set was read."""
    kernel = levels.kernel(L3)
    claimed = replace(kernel, reference=levels.sum_of_passes(L3.passes + 1))
    with pytest.raises(IncorrectResult):
        check(cpu, cpu.build(claimed, kernel.variants(cpu.target)[:1])[0], sizes=(1023,))


@pytest.mark.parametrize("form", levels_cpu.variants(AVX2), ids=lambda form: form.name)
def test_the_loop_loads_a_vector_with_each_addition_and_stores_nothing(form):
    """H1: nothing but loads, in the machine code that is timed; sums stay in registers until the end."""
    source = levels_cpu.source(AVX2, form, L1.passes)
    text = machine_code.functions(assembly_for(source.text, "x86_64-unknown-linux-gnu", "haswell"))[source.entry]
    loops = re.findall(r"^(\.LBB\d+_\d+):[^\n]*\n((?:\t[^\n]*\n)*?)\tjb\t\1\n", text, re.M)
    (body,) = [body for _, body in loops if "vaddps" in body]
    lines = body.splitlines()
    assert len(re.findall(r"vaddps\t\d*\(%r\w+,%r\w+,4\), (%ymm\d+), \1", body)) == form.integer("vectors")
    assert len(lines) <= form.integer("vectors") + 3


def test_shared_memory_hands_out_all_its_banks_each_clock():
    """H1: 32 banks × 4 B × SMs × clock."""
    card = Properties("a card", (9, 0), sms=132, memory_bytes=1 << 37, clock_hz=1.98e9)
    assert nominal(card)["shared"].rate == 132 * 32 * 4 * 1.98e9
    assert "shared" not in nominal(replace(card, clock_hz=None))


def test_names_tell_the_set_and_sort_by_it():
    kernels = [kernel for kernel in kernels_of("footprint") if footprint.order_of(kernel.name) in ("", "plain")]
    for kind in ("cpu", "cuda"):
        names = [kernel.name for kernel in kernels if kind in kernel.sources]
        sizes = [footprint.set_bytes(name) for name in names]
        assert names == sorted(names)
        assert sizes == sorted(set(sizes))


@pytest.mark.parametrize("kernel", kernels_of("footprint")[::5], ids=lambda kernel: kernel.name)
def test_a_set_is_as_large_as_its_name_says(kernel):
    n = kernel.size(0)
    read = n if "cpu" in kernel.sources else levels_cuda.read_of(n)
    assert 4 * read == footprint.set_bytes(kernel.name)


@pytest.mark.parametrize("name", ["read-plain", "read-12", "l1-read", "copy-00000016K"])
def test_other_names_tell_no_set(name):
    assert footprint.set_bytes(name) is None


def test_a_cpu_reads_from_its_nearest_cache_to_far_beyond_its_last():
    names = [kernel.name for kernel in footprint.every_kernel() if footprint.in_reach(kernel.name, CPU)]
    sizes = [footprint.set_bytes(name) for name in names]
    assert min(sizes) == 4 * 16 << 10
    assert max(sizes) == 8 * 32 << 20
    assert all(after / before < 1.5 for before, after in pairwise(sizes))


def test_a_card_reads_densely_around_its_l2_and_then_as_far_as_its_memory_goes():
    """H1: from an eighth of L2 to five times as much a quarter octave apart, then up to 64 GiB."""
    names = [k.name for k in footprint_cuda.every_kernel() if footprint.in_reach(k.name, CARD)]
    sizes = [footprint.set_bytes(name) for name in names if footprint.order_of(name) == "plain"]
    near = [size for size in sizes if size < footprint.FAR_FROM]
    assert near[0] < CARD.cache_bytes / 6
    assert 4 * CARD.cache_bytes < near[-1] <= 5 * CARD.cache_bytes
    assert all(after / before < 1.22 for before, after in pairwise(near))
    assert sizes[len(near) :] == [(1 << 30) * 4**step for step in range(4)]
    assert len(names) < 30


def test_a_device_that_does_not_say_how_large_its_cache_is_reads_every_set():
    unknown = replace(CPU, cache_bytes=None)
    assert all(footprint.in_reach(kernel.name, unknown) for kernel in footprint.every_kernel())


def test_a_session_measures_and_probes_in_the_size_that_suits_its_device():
    """The row says how large the set was; a quick probe reads the same set."""
    session = Session(FakeBackend(FakeTruth(cores=3)))
    row = session.measure(levels.kernel(L1))
    assert row.key.size == 3 * L1.set_bytes // 4
    session.ensure(["l3"])
    (probed,) = [key for key in session.probes if key.level == "l3"]
    assert probed.size == session.device.cache_bytes * 3 // 4 // 4
