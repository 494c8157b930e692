"""The line under small launches, on constructed cases: what was put in comes out, and what is no floor is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.floor import Timed, end_of_flat, fit, share_at_the_end_of_flat
from roofline.kernels import floor
from roofline.model import Device

pytestmark = pytest.mark.correctness

T0, BETA = 4e-6, 590e9
SIZES = [768 * 2**octave for octave in range(24)]


def added(t0=T0, beta=BETA, sizes=SIZES):
    """Launches of which the overhead is added to the moving."""
    return [Timed(size, t0 + size / beta) for size in sizes]


def overlapped(t0=T0, beta=BETA, sizes=SIZES):
    """Launches that are queued while others move: the longer of both counts."""
    return [Timed(size, max(t0, size / beta)) for size in sizes]


@settings(max_examples=40)
@given(st.floats(1e-7, 1e-4), st.floats(1e10, 1e13))
def test_what_a_line_was_made_of_is_found_again(t0, beta):
    sizes = [t0 * beta * 4.0**power for power in range(-5, 6)]
    found = fit(added(t0, beta, sizes))
    assert found.overhead_s.value == pytest.approx(t0, rel=1e-6)
    assert found.bytes_per_s.value == pytest.approx(beta, rel=1e-6)
    assert found.crossing_bytes.value == pytest.approx(t0 * beta, rel=1e-5)


def test_the_crossing_of_the_chapters_card_is_two_megabytes():
    """C5: 4 µs at 590 GB/s."""
    assert fit(added()).crossing_bytes.value == pytest.approx(2.36e6, rel=0.01)


def test_six_sizes_are_enough_even_where_launching_and_moving_overlap():
    """C5: the line of the short run still names the overhead and the rate: what overlaps does not pull it."""
    found = fit(overlapped(sizes=[12 * size for size in floor.CORE]))
    assert found.overhead_s.value == pytest.approx(T0, rel=0.05)
    assert found.bytes_per_s.value == pytest.approx(BETA, rel=0.05)


def test_one_odd_launch_decides_nothing_and_noise_widens_the_interval():
    odd = added()
    odd[4] = Timed(odd[4].bytes, 1.5 * odd[4].seconds)
    assert fit(odd).overhead_s.high == pytest.approx(T0, rel=0.01)
    noisy = [Timed(timed.bytes, timed.seconds * (1.1 if place % 2 else 1)) for place, timed in enumerate(added())]
    found = fit(noisy).overhead_s
    assert T0 * 0.99 <= found.low <= found.value <= found.high <= T0 * 1.11
    assert found.low < found.high


@pytest.mark.parametrize(("launches", "share"), [(added, 0.5), (overlapped, 1.5)])
def test_where_the_flat_part_ends_says_whether_launching_and_moving_overlap(launches, share):
    """C5: half the crossing where they add up, one and a half where they overlap."""
    end = end_of_flat(launches(), T0)
    assert end.value / (T0 * BETA) == pytest.approx(share, rel=0.2)
    assert end.low < end.value < end.high == 2 * end.low


def test_a_launch_that_something_held_up_leaves_open_where_the_flat_part_ends():
    """Nothing in the model makes a launch longer than the line: one that is says something of the machine."""
    sweep = added()
    assert share_at_the_end_of_flat(sweep, fit(sweep)).low == pytest.approx(0.5, rel=0.2)
    held_up = [Timed(t.bytes, t.seconds * (1.6 if t.bytes == SIZES[3] else 1)) for t in sweep]
    share = share_at_the_end_of_flat(held_up, fit(held_up))
    assert share.value < 0.1
    assert (share.low, share.high) == (share.value, pytest.approx(0.5, rel=0.2))


def test_a_sweep_that_stays_flat_has_no_end():
    assert end_of_flat(added(sizes=SIZES[:6]), T0) is None


@pytest.mark.parametrize(
    ("launches", "message"),
    [
        (added(sizes=[1e3, 1e6]), "from 3 different sizes on"),
        ([Timed(size, size / BETA) for size in SIZES], "no floor shows"),
        ([Timed(size, T0 * (1 - 1e-9 * place)) for place, size in enumerate(SIZES)], "no floor shows"),
        ([*added(), Timed(10.0, 0.0)], "greater than 0"),
    ],
)
def test_what_is_no_floor_is_refused(launches, message):
    with pytest.raises(ValueError, match=message):
        fit(launches)


@pytest.mark.parametrize("kind", ["cuda", "cpu"])
@pytest.mark.parametrize("size", floor.SIZES)
def test_lines_are_cold_wherever_bytes_matter(kind, size):
    """C5: launches go through arrays that exceed the cache, but for sizes that take no time either way."""
    device = Device("d", kind, "a", 132, cache_bytes=60 << 20)
    fitted = floor.kernel(size).fitted(device)
    room = fitted.size(0)
    assert fitted.size(room) == size
    assert room % size == 0
    arrays = floor.BYTES_OF_AN_ELEMENT * room
    assert arrays >= 4 * device.cache_bytes or floor.BYTES_OF_AN_ELEMENT * size <= device.cache_bytes / 250


def test_names_sort_by_size():
    names = [floor.name_of(size) for size in floor.SIZES]
    assert names == sorted(names)
