"""Units: what is written can be read back, and GB is never GiB."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.units import RANGES, SYMBOLS, factor_of, parse, percent, prefixed, scaled, si

pytestmark = pytest.mark.correctness

units = st.sampled_from(list(RANGES))
values = st.floats(min_value=1e-15, max_value=1e20) | st.floats(min_value=-1e20, max_value=-1e-15)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (55.1e9, "B/s", "55.1 GB/s"),
        (220e9, "FLOP/s", "220 GFLOP/s"),
        (1.52e-6, "s", "1.52 µs"),
        (12.5, "FLOP/B", "12.5 FLOP/B"),
        (0.0833, "FLOP/B", "0.0833 FLOP/B"),
        (3.63e9, "Hz", "3.63 GHz"),
        (0.4, "W", "400 mW"),
        (33554432, "B", "33.6 MB"),
        (90.0, "s", "90.0 s"),
        (0.5, "B", "0.500 B"),
        (0.0, "s", "0 s"),
        (-0.0, "s", "0 s"),
        (0.97, "", "0.970"),
    ],
)
def test_a_figure_is_written_with_the_prefix_that_people_use(value, unit, text):
    assert si(value, unit) == text


def test_rounding_that_carries_moves_to_the_next_prefix():
    assert si(999.96e9, "B/s") == "1.00 TB/s"
    assert si(999.4e9, "B/s") == "999 GB/s"


def test_what_is_no_figure_is_said_to_be_unknown_or_infinite():
    assert si(None, "B/s") == "unknown"
    assert si(math.nan, "B/s") == "unknown"
    assert si(math.inf, "FLOP/B") == "∞ FLOP/B"
    assert si(-math.inf, "FLOP/B") == "-∞ FLOP/B"
    assert scaled(None, "GB/s") == "unknown"
    assert scaled(math.inf, "GB/s") == "∞"
    assert percent(math.nan) == "unknown"


@given(values, units, st.integers(1, 15))
def test_what_is_written_is_read_back_within_its_digits(value, unit, digits):
    read, base = parse(si(value, unit, digits))
    assert base == unit
    assert abs(read - value) <= abs(value) * 0.51 * 10 ** (1 - digits)


@given(values, units, st.integers(1, 6))
def test_writing_what_was_read_changes_nothing(value, unit, digits):
    text = si(value, unit, digits)
    assert si(parse(text)[0], unit, digits) == text


@given(values, st.sampled_from(sorted(SYMBOLS)))
def test_a_column_shows_the_same_number_as_the_figure_in_its_unit(value, symbol):
    shown, unit = parse(f"{scaled(value, symbol)} {symbol}".strip())
    assert unit == SYMBOLS[symbol][1]
    assert math.isclose(shown, value, rel_tol=6e-3)


@given(values, units)
def test_a_prefix_is_a_power_of_ten_and_keeps_the_number_short(value, unit):
    factor = factor_of(prefixed(unit, value))
    assert math.isclose(math.log10(factor) % 3, 0, abs_tol=1e-9)


def test_decimal_and_binary_bytes_are_never_confused():
    """C25: 3500 GB/s and 3259.6 GiB/s are one figure; the same number with the other prefix is 7.37 % off."""
    decimal, binary = parse("3500 GB/s"), parse("3259.629 GiB/s")
    assert decimal[1] == binary[1] == "B/s"
    assert decimal[0] == pytest.approx(binary[0], rel=1e-7)
    assert parse("3500 GiB/s")[0] / parse("3500 GB/s")[0] == pytest.approx(1.0737, abs=1e-4)


def test_text_never_has_a_binary_prefix():
    assert si(2.0**30, "B") == "1.07 GB"


def test_the_same_time_in_two_units_is_equal():
    """C51: milliseconds against microseconds of the same value is no difference."""
    assert parse("1.5 ms") == parse("1500 us") == parse("1500 µs") == parse("1500 μs")


@pytest.mark.parametrize(
    "text", ["5 Gb/s", "5 GFLOPS", "5 TFLOPS/s", "5 gB/s", "5 KB/s", "5 mB", "5 Ms", "5 GiFLOP/s", "5 kFLOP/B", "5 %"]
)
def test_an_unknown_unit_is_an_error_that_lists_the_known_ones(text):
    """C51: unknown unit is an error."""
    with pytest.raises(ValueError, match=r"unknown unit .*allowed: s, B, FLOP"):
        parse(text)


@pytest.mark.parametrize("text", ["", " ", "GB/s", "nan s", "inf s", "∞ s", "unknown", "5  GB/s", "5 GB/s 3", "0x10 s"])
def test_what_is_no_figure_is_an_error_that_shows_one(text):
    with pytest.raises(ValueError, match=r"is not a figure.*55.1 GB/s"):
        parse(text)


def test_a_figure_beyond_any_float_is_an_error():
    with pytest.raises(ValueError, match="must be finite"):
        parse("1e400 s")


def test_a_prefixed_unit_is_no_base_unit():
    with pytest.raises(ValueError, match="'GB/s' is not a base unit"):
        si(1.0, "GB/s")


def test_no_digits_at_all_are_an_error():
    with pytest.raises(ValueError, match="at least 1"):
        si(1.0, "s", digits=0)


def test_percent_is_never_clamped():
    assert percent(1.043) == "104 %"
    assert percent(0.884) == "88.4 %"
