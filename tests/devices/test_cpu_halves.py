"""Arrays of halves on a CPU: filled by words of two, for kernels that move or convert them."""

from collections.abc import Iterator

import numpy as np
import pytest

from roofline.devices.cpu import CpuBackend, open_cpu

pytestmark = pytest.mark.correctness

MANTISSA_BITS = 10


@pytest.fixture(scope="module")
def cpu() -> Iterator[CpuBackend]:
    with open_cpu() as backend:
        yield backend


@pytest.mark.parametrize("n", [1, 1023, 20_001])
def test_random_halves_are_normal_and_the_same_each_time(cpu, n):
    """C19: values in [1, 2), also the last one where a word of four bytes has only one of them."""
    buffers = [cpu.allocate(1, n, "float16", placements=1, fill="random") for _ in "12"]
    (first,), (second,) = (cpu.read_back(each) for each in buffers)
    for each in buffers:
        cpu.free(each)
    assert first.dtype == np.float16
    assert first.size == n
    assert ((first >= 1) & (first < 2)).all()
    np.testing.assert_array_equal(first, second)


def test_random_halves_use_every_bit_of_the_mantissa_and_differ_between_neighbours_and_arrays(cpu):
    """C19: full mantissas; neither the two halves of a word nor two arrays hold the same."""
    buffers = cpu.allocate(2, 20_000, "float16", placements=1, fill="random")
    first, second = cpu.read_back(buffers)
    cpu.free(buffers)
    bits = first.view(np.uint16)
    assert all(0.4 < (bits >> bit & 1).mean() < 0.6 for bit in range(MANTISSA_BITS))
    assert abs(np.corrcoef(first[::2].astype(float), first[1::2].astype(float))[0, 1]) < 0.1
    assert abs(np.corrcoef(first.astype(float), second.astype(float))[0, 1]) < 0.1


def test_halves_can_be_zeros(cpu):
    buffers = cpu.allocate(1, 1025, "float16", placements=1, fill="zeros")
    (values,) = cpu.read_back(buffers)
    cpu.free(buffers)
    assert not values.any()


def test_a_type_that_nothing_fills_is_refused_with_those_that_are(cpu):
    with pytest.raises(ValueError, match="the CPU device fills float32 and float16"):
        cpu.allocate(1, 8, "float64", placements=1, fill="random")
