"""Every kernel in every variant on the CPU at hand, on sizes that nothing divides, against its float64 reference."""

import platform
from collections.abc import Iterator

import numpy as np
import pytest

from roofline.checking import check
from roofline.devices.base import KernelUnsupported, Launch
from roofline.devices.cpu import CpuBackend, open_cpu
from roofline.devices.cpu.target import X86_MACHINES
from roofline.kernel import Kernel, Target
from roofline.kernels import dial, dram, every_kernel

pytestmark = pytest.mark.correctness

KERNELS = [kernel for kernel in every_kernel() if "cpu" in kernel.sources]
# one element; a block less one and more one, with workers that get nothing; and blocks for each worker with a remainder
SIZES = (1, 1023, 1025, 5 * 3 * 64 + 7)


@pytest.fixture(scope="module")
def cpu() -> Iterator[CpuBackend]:
    with open_cpu() as backend:
        yield backend


@pytest.fixture(scope="module")
def without_fma() -> Iterator[CpuBackend]:
    if platform.machine().lower() not in X86_MACHINES:
        pytest.skip("every AArch64 CPU has FMA")
    with open_cpu(Target("cpu", "x86-64-v2", lanes=4, registers=16, has_fma=False)) as backend:
        yield backend


def identity(kernel: Kernel) -> str:
    return f"{kernel.experiment}/{kernel.name}"


def check_every_variant(backend: CpuBackend, kernel: Kernel, launches: int) -> None:
    forms = kernel.variants(backend.target)
    if not forms:
        pytest.skip(f"{kernel.name} needs more than {backend.target.registers} vector registers")
    for binary in backend.build(kernel, forms):
        check(backend, binary, SIZES, launches)


@pytest.mark.parametrize("kernel", KERNELS, ids=identity)
def test_every_variant_computes_its_reference(cpu, kernel):
    """A9, A7, A8: each point of the dial, each DRAM pattern, each number of chains; F steps add F/4 exactly."""
    check_every_variant(cpu, kernel, launches=1)


@pytest.mark.parametrize("kernel", KERNELS[:: len(KERNELS) // 12], ids=identity)
def test_launches_add_up(cpu, kernel):
    check_every_variant(cpu, kernel, launches=3)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel.experiment == "dram"], ids=identity)
def test_every_dram_pattern_counts_each_launch(cpu, kernel):
    check_every_variant(cpu, kernel, launches=2)


@pytest.mark.parametrize("kernel", [dial.kernel(steps, "ordinary") for steps in (1, 12, 24, 2048)], ids=identity)
def test_a_cpu_without_fma_computes_the_same(without_fma, kernel):
    """R1: separate multiplies and adds give the same x + F/4."""
    check_every_variant(without_fma, kernel, launches=1)


@pytest.mark.parametrize("pattern", dram.PATTERNS, ids=lambda pattern: pattern.name)
def test_a_cpu_without_fma_moves_the_same(without_fma, pattern):
    check_every_variant(without_fma, dram.kernel(pattern), launches=2)


def test_windows_together_cover_the_arrays_and_wrap_round(cpu):
    kernel = dial.kernel(2, "inplace")
    (binary, *_) = cpu.build(kernel, kernel.variants(cpu.target))
    size, windows = 2 * binary.block, 5
    start = np.arange(size * windows + 3, dtype=np.float32)
    buffers = cpu.bind([start])
    try:
        cpu.run(Launch(binary, buffers, size, windows), launches=windows + 2, first_window=4)
        (after,) = cpu.read_back(buffers)
    finally:
        cpu.free(buffers)
    visits = np.repeat([2, 1, 1, 1, 2, 0], [size] * windows + [3])  # 4, 0, 1, 2, 3, 4, 0
    np.testing.assert_array_equal(after, start + visits * kernel.scalars[0] * kernel.scalars[1] * 2)


def test_repeats_apply_the_kernel_again_within_one_launch(cpu):
    kernel = dial.kernel(1, "inplace")
    (binary, *_) = cpu.build(kernel, kernel.variants(cpu.target))
    buffers = cpu.bind([np.zeros(1025, np.float32)])
    try:
        cpu.run(Launch(binary, buffers, 1025, repeats=7), launches=2)
        (after,) = cpu.read_back(buffers)
    finally:
        cpu.free(buffers)
    assert (after == 14 / 4).all()


def test_a_kernel_that_the_registers_cannot_hold_is_unsupported_with_a_reason(without_fma):
    kernel = next(kernel for kernel in KERNELS if kernel.name == "chains-16")
    with pytest.raises(KernelUnsupported, match="no form of chains-16 fits the 16 vector registers of x86-64-v2"):
        without_fma.build(kernel, kernel.variants(without_fma.target))
