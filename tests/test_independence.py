"""Independence: which numbers of chains, warps and workers are swept, and that each does its work."""

import pytest

from roofline.checking import check
from roofline.devices.cpu import open_cpu
from roofline.kernel import Target
from roofline.kernels import chains, chains_cuda, independence, independence_cuda, kernels_of

pytestmark = pytest.mark.correctness

CARD = Target("cuda", "sm_90a", registers=255)
CPUS = (Target("cpu", "x86-64-v4", 16, 32), Target("cpu", "x86-64-v3", 8, 16), Target("cpu", "aarch64", 4, 32))


@pytest.mark.parametrize(
    ("cores", "workers"), [(1, []), (2, [1]), (3, [1, 2]), (8, [1, 2, 4]), (9, [1, 2, 4, 8]), (32, [1, 2, 4, 8, 16])]
)
def test_workers_double_as_long_as_some_are_left_out(cores, workers):
    """R4: what all of them do is a row of the experiment `chains`."""
    swept = [kernel.name for kernel in independence.kernels_below(cores)]
    assert swept == [f"independence-{c:02d}-{k}-workers" for k in workers for c in independence.CHAINS]


def test_every_number_of_workers_computes_the_reference():
    """R4: on sizes that leave some of the workers without a block."""
    with open_cpu() as cpu:
        for kernel in independence.kernels_below(cpu.device.cores + 1):
            for binary in cpu.build(kernel, kernel.variants(cpu.target)):
                assert binary.workers == int(kernel.name.split("-")[2])
                check(cpu, binary)


def test_each_worker_gets_as_many_blocks_as_the_others():
    """A block more for one of them would show as time that the others wait."""
    for target in CPUS:
        for kernel in independence.kernels_below(8):
            source = kernel.sources["cpu"](target, kernel.variants(target)[0])
            assert kernel.size(0) % (source.block * source.workers) == 0


def test_nothing_is_measured_twice():
    """What the core measures with full SMs and four warps is no row of the sweep, and no kernel has another's code."""
    sources = [
        (source.entry, source.blocks_per_sm)
        for kernel in (*chains_cuda.every_kernel(), *independence_cuda.every_kernel())
        for source in (kernel.sources["cuda"](CARD, variant) for variant in kernel.variants(CARD))
    ]
    assert len(set(sources)) == len(sources)


def test_every_sm_gets_exactly_the_warps_that_the_row_names():
    """R4: one block of so many warps on each SM, so occupancy is exact wherever a block of 1024 threads fits."""
    for kernel in independence_cuda.every_kernel():
        (variant,) = kernel.variants(CARD)
        source = kernel.sources["cuda"](CARD, variant)
        assert source.blocks_per_sm == 1
        assert source.threads == 32 * int(kernel.name.split("-")[2])


def test_a_launch_shares_out_over_any_number_of_sms_to_one_percent():
    """What one block has to do more than the others is a turn of at least a hundred."""
    for kernel in independence_cuda.every_kernel():
        source = kernel.sources["cuda"](CARD, kernel.variants(CARD)[0])
        turns = kernel.size(0) // source.block * kernel.repeats
        for sms in (20, 46, 84, 132, 148, 170, 188):
            assert -(-turns // sms) * sms <= 1.01 * turns


def test_the_sweep_sets_no_roof_of_a_cpu_which_all_cores_do():
    assert all(kernel.measures == () for kernel in independence.every_kernel())
    assert {resource for kernel in chains.every_kernel() for resource in kernel.measures} == {"fp32", "fp32_one_chain"}


def test_the_sweep_is_found_by_its_name():
    found = [kernel.name for kernel in kernels_of("independence")]
    assert len(found) == len(set(found)) == len(independence.CHAINS) + 4 * 6 - 1
