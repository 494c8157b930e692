"""Capacities out of sweeps whose truth is known: cliffs, slopes, several levels, noise, and nothing to find."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.capacity import HELD, Reading, edges

pytestmark = pytest.mark.correctness

MB = 1e6


def sizes(first: float, last: float, octave: int = 4) -> list[float]:
    """Sets from `first` to `last`, `octave` of them in each doubling."""
    return [first * 2 ** (step / octave) for step in range(int(octave * math.log2(last / first)) + 1)]


def kept_at_random(size: float, levels: list[tuple[float, float]], beyond: float) -> float:
    """The rate of caches (capacity, rate) that each keep a random part of a set: times of the parts add up."""
    time, inside = 0.0, 0.0
    for capacity, rate in levels:
        held = min(1.0, capacity / size)
        time += max(0.0, held - inside) / rate
        inside = max(inside, held)
    return 1 / (time + (1 - inside) / beyond)


def kept_in_order(size: float, levels: list[tuple[float, float]], beyond: float) -> float:
    """The rate of caches that drop what was used longest ago: a set that is too large finds nothing of itself."""
    return next((rate for capacity, rate in levels if size <= capacity), beyond)


def sweep(model, levels, beyond, first, last, octave=4) -> list[Reading]:
    return [Reading(size, model(size, levels, beyond)) for size in sizes(first, last, octave)]


@pytest.mark.parametrize("model", [kept_at_random, kept_in_order])
@pytest.mark.parametrize("capacity", [33 * MB, 44 * MB, 63 * MB])
def test_the_capacity_of_one_cache_is_found(model, capacity):
    """H1: within 20 % of the truth at four sets an octave, whether reads fall off gradually or at once."""
    (edge,) = edges(sweep(model, [(capacity, 10e12)], 4.6e12, 7.5 * MB, 512 * MB))
    assert edge.capacity.value == pytest.approx(capacity, rel=0.2)
    assert edge.capacity.low < edge.capacity.value <= edge.capacity.high
    assert edge.rate == pytest.approx(10e12)


def test_a_cliff_lies_between_the_two_sets_at_its_edge():
    (edge,) = edges(sweep(kept_in_order, [(44 * MB, 10e12)], 4.6e12, 7.5 * MB, 512 * MB))
    assert edge.capacity.low <= 44 * MB <= edge.capacity.high


@pytest.mark.parametrize("model", [kept_at_random, kept_in_order])
def test_every_level_of_a_cpu_is_found(model):
    """H1: three caches, two sets an octave: each within half an octave, and with the rate of its own level."""
    levels = [(64e3, 400e9), (1e6, 220e9), (32e6, 120e9)]
    found = edges(sweep(model, levels, 31e9, 32e3, 256e6, octave=2))
    assert [edge.capacity.value for edge in found] == pytest.approx([64e3, 1e6, 32e6], rel=2**0.5 - 1)
    assert [edge.rate for edge in found] == pytest.approx([400e9, 220e9, 120e9], rel=0.15)


def test_rates_that_never_fall_off_have_no_edge():
    assert edges([Reading(size, 5e9) for size in sizes(1e3, 1e9)]) == []


def test_a_gentle_slope_is_no_edge():
    """A tenth over five octaves is what a level loses as its set grows: it still holds it."""
    gentle = [Reading(size, 10e12 * (size / 4e6) ** -0.03) for size in sizes(4e6, 128e6)]
    assert edges(gentle) == []


def test_one_slow_set_between_fast_ones_is_noise():
    readings = sweep(kept_in_order, [(44 * MB, 10e12)], 4.6e12, 7.5 * MB, 512 * MB)
    readings[3] = Reading(readings[3].set_bytes, 0.5 * readings[3].rate)
    assert len(edges(readings)) == 1


def test_a_slow_last_set_alone_proves_nothing():
    assert edges([*(Reading(size, 10e12) for size in sizes(1e6, 8e6)), Reading(10e6, 1e12)]) == []


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_sets_have_no_edge(count):
    assert edges([Reading(1e6 * (1 + at), 1e12 / (1 + at)) for at in range(count)]) == []


def test_the_order_of_the_readings_does_not_matter():
    readings = sweep(kept_at_random, [(64e3, 400e9), (1e6, 220e9)], 31e9, 32e3, 64e6, octave=2)
    assert edges(reversed(readings)) == edges(readings)


@given(
    st.lists(
        st.tuples(st.floats(1, 1e12), st.floats(1e3, 1e13)), min_size=1, max_size=40, unique_by=lambda pair: pair[0]
    )
)
def test_an_edge_lies_in_a_gap_and_edges_rise(pairs):
    """Whatever the readings: a capacity lies between two neighbouring sets, and no two levels end in one gap."""
    readings = [Reading(*pair) for pair in pairs]
    found = edges(readings)
    gaps = {(a, b) for a, b in zip(*(sorted(size for size, _ in pairs)[at:] for at in (0, 1)), strict=False)}
    assert all((edge.capacity.low, edge.capacity.high) in gaps for edge in found)
    assert all(edge.capacity.low <= edge.capacity.value <= edge.capacity.high for edge in found)
    lows = [edge.capacity.low for edge in found]
    assert lows == sorted(set(lows))


@given(st.floats(1e-3, 1e3))
def test_a_faster_machine_has_the_same_capacities(factor):
    readings = sweep(kept_at_random, [(44 * MB, 10e12)], 4.6e12, 7.5 * MB, 512 * MB)
    faster = [Reading(reading.set_bytes, factor * reading.rate) for reading in readings]
    assert edges(faster)[0].capacity.value == pytest.approx(edges(readings)[0].capacity.value)


@pytest.mark.parametrize("held", [0.0, 1.0, -1.0, math.nan])
def test_a_share_that_is_none_is_refused(held):
    with pytest.raises(ValueError, match="give a share"):
        edges([Reading(1, 1)], held)


@pytest.mark.parametrize("reading", [Reading(0, 1), Reading(1, 0), Reading(1, math.nan), Reading(math.inf, 1)])
def test_a_reading_without_size_or_rate_is_refused(reading):
    with pytest.raises(ValueError, match="a size and a rate"):
        edges([reading])


def test_the_share_is_where_the_capacity_lies():
    """A stricter share puts the edge of a gradual fall at a smaller set."""
    readings = sweep(kept_at_random, [(44 * MB, 10e12)], 4.6e12, 7.5 * MB, 512 * MB)
    assert edges(readings, held=0.95)[0].capacity.value < edges(readings, held=HELD)[0].capacity.value


def test_the_tail_of_a_gradual_fall_is_no_further_edge():
    """Rates fall on for octaves while a cache keeps less and less of a set: one edge, however far the sweep goes."""
    near = sweep(kept_at_random, [(63 * MB, 9.5e12)], 4.6e12, 8 * MB, 256 * MB)
    far = [Reading(size, kept_at_random(size, [(63 * MB, 9.5e12)], 4.6e12)) for size in (1e9, 4e9, 16e9, 64e9)]
    assert len(edges([*near, *far])) == 1


def test_a_fall_between_sets_more_than_an_octave_apart_is_not_called_an_edge():
    """Where it lies could not be told better than by a factor."""
    assert edges([Reading(1e6 * 4**step, 1e12 / 2**step) for step in range(6)]) == []
