"""How large buffers are: from the device's cache, within its memory, never silently in the cache."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.buffers import CACHE_FACTOR, LEAST_ARRAY_BYTES, LEAST_CACHE_FACTOR, TooLittleMemory, plan
from roofline.model import Device

pytestmark = pytest.mark.correctness

MIB, GIB = 1 << 20, 1 << 30


def device(cache, kind="cpu"):
    """A device with a last cache of `cache` bytes."""
    return Device("d", kind, "x", 2, cache_bytes=cache)


@pytest.mark.parametrize("cache", [4 * MIB, 60 * MIB, 126 * MIB, 512 * MIB])
def test_arrays_exceed_the_last_cache_by_the_stated_factor(cache):
    """A1: with room enough, each array is at least eight times the last cache."""
    assert plan(device(cache), 64 * GIB).array_bytes >= CACHE_FACTOR["cpu"] * cache


@pytest.mark.parametrize("cache", [0, None])
def test_an_unknown_cache_is_assumed_large(cache):
    """C17: a device that says 0 still gets arrays far beyond any likely cache."""
    assert plan(device(cache), 64 * GIB).array_bytes >= LEAST_ARRAY_BYTES


def test_little_memory_costs_allocations_before_it_costs_size():
    """C37: one allocation of full size is better than three of half."""
    full = plan(device(32 * MIB), 64 * GIB)
    less = plan(device(32 * MIB), 3 * full.array_bytes)
    assert (full.placements, less.placements, less.array_bytes) == (3, 1, full.array_bytes)


def test_still_less_memory_shrinks_the_arrays_down_to_four_caches():
    """C37: never below four times the cache."""
    small = plan(device(128 * MIB), 3 * 600 * MIB)
    assert LEAST_CACHE_FACTOR * 128 * MIB <= small.array_bytes <= 600 * MIB


def test_too_little_memory_is_an_error_with_both_figures_and_a_way_out():
    with pytest.raises(TooLittleMemory, match=r"3 arrays of 0\.54 GB.*only 0\.10 GB may be used.*-k"):
        plan(device(128 * MIB), 100_000_000)


@given(st.integers(0, 600 * MIB), st.integers(0, 100 * GIB), st.sampled_from(["cpu", "cuda"]))
def test_a_plan_never_takes_more_than_it_may(cache, limit, kind):
    """For any device and limit: it fits, or it is refused."""
    try:
        planned = plan(device(cache, kind), limit)
    except TooLittleMemory:
        return
    assert planned.total_bytes <= limit
    assert planned.array_bytes >= LEAST_CACHE_FACTOR * (cache or 1)
