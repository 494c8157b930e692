"""Which device a selector means (C31), what its key holds (C32), and nominal rates by formula (C22)."""

from dataclasses import replace

import pytest

from roofline.devices.base import DeviceUnavailable
from roofline.devices.cuda.nominal import Properties, nominal, tensor_per_clock
from roofline.devices.cuda.selection import Found, device, memory_class, pick, uuid_text

pytestmark = pytest.mark.correctness

GIB = 1 << 30
H200 = Properties("NVIDIA H200", (9, 0), 132, 150_000_000_000, 60 << 20, 6016, 3201e6, 1980e6, 2048)
A100 = Properties("NVIDIA A100-SXM4-80GB", (8, 0), 108, 80 * GIB, 40 << 20, 5120, 1593e6, 1410e6, 2048)
RTX5070 = Properties("NVIDIA GeForce RTX 5070", (12, 0), 48, 12 * GIB, 48 << 20, 192, 14001e6, 2512e6, 1536)
# CUDA's order is not the order of the PCI addresses.
MIXED = (
    Found(0, "GPU-aaaa1111-0000-0000-0000-000000000001", "0000:02:00.0", H200),
    Found(1, "GPU-aaaa2222-0000-0000-0000-000000000002", "0000:17:00.0", H200),
    Found(2, "GPU-bbbb3333-0000-0000-0000-000000000003", "0000:01:00.0", A100),
)


@pytest.mark.parametrize(
    ("selector", "index"),
    [
        ("0", 0),
        ("2", 2),
        ("GPU-bbbb3333-0000-0000-0000-000000000003", 2),
        ("gpu-AAAA2222", 1),
        ("0000:01:00.0", 2),
        ("00000000:17:00.0", 1),
        ("17:00.0", 1),
    ],
)
def test_a_number_a_uuid_or_an_address_means_one_device(selector, index):
    """C31: the number is CUDA's, the address the bus's, and both end at the same card."""
    assert pick(selector, MIXED).index == index


@pytest.mark.parametrize("selector", ["3", "GPU-cccc", "0000:03:00.0", "MIG-aaaa", "first", ""])
def test_what_is_not_there_is_refused_with_what_is(selector):
    with pytest.raises(DeviceUnavailable, match=r"is no CUDA device here: .*0000:17:00\.0"):
        pick(selector, MIXED)


def test_a_beginning_that_fits_two_devices_is_refused():
    with pytest.raises(DeviceUnavailable, match="means several devices"):
        pick("GPU-aaaa", MIXED)


def test_a_uuid_is_written_as_nvidias_tools_write_it():
    raw = bytes(range(16))
    assert uuid_text(raw) == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert uuid_text(raw, mig=True).startswith("MIG-")


@pytest.mark.parametrize(
    ("card", "gb_per_s", "tflops"),
    [
        (A100, 2039.0, 19.5),
        (H200, 4814.3, 66.9),
        (replace(H200, memory_hz=2619e6, bus_bits=6144), 4022.8, 66.9),
        (replace(H200, memory_hz=3996e6, bus_bits=7680), 7672.0, 66.9),
        (RTX5070, 672.0, 30.9),
    ],
)
def test_nominal_rates_follow_from_the_attributes(card, gb_per_s, tflops):
    """C22: within half a percent of what the makers print."""
    rates = nominal(card)
    assert rates["dram"].rate == pytest.approx(gb_per_s * 1e9, rel=0.005)
    assert rates["fp32"].rate == pytest.approx(tflops * 1e12, rel=0.005)
    assert f"{card.bus_bits} bit" in rates["dram"].formula
    assert f"{card.sms} SMs" in rates["fp32"].formula


@pytest.mark.parametrize(
    ("card", "fp32acc", "fp16acc"),
    [(A100, 312, 312), (replace(H200, clock_hz=1830e6), 989, 989), (RTX5070, 61.7, 123.5)],
)
def test_tensor_rates_are_dense_and_know_the_family(card, fp32acc, fp16acc):
    """B2, C21: one accumulator rate on data-centre cards, two on GeForce."""
    rates = nominal(card)
    assert rates["tensor_fp16_fp32acc"].rate == pytest.approx(fp32acc * 1e12, rel=0.005)
    assert rates["tensor_fp16_fp16acc"].rate == pytest.approx(fp16acc * 1e12, rel=0.005)


@pytest.mark.parametrize(
    ("card", "tera"),
    [
        (A100, {"bf16": 312, "tf32": 156, "int8": 624, "fp64": 19.5}),
        (replace(H200, clock_hz=1830e6), {"bf16": 989, "tf32": 494.7, "fp8": 1979, "int8": 1979}),
        (H200, {"fp64": 66.9}),
        (RTX5070, {"bf16": 61.7, "tf32": 30.9, "fp8": 123.5, "int8": 246.9, "fp4": 493.9}),
    ],
)
def test_every_tensor_type_has_the_makers_dense_rate(card, tera):
    """R8, C21: as the data sheets print them without sparsity, INT8 in operations; what a card lacks has no rate."""
    rates = nominal(card)
    for kind, rate in tera.items():
        assert rates[f"tensor_{kind}"].rate == pytest.approx(rate * 1e12, rel=0.005)
    assert rates["tensor_int8"].unit == "OP/s"
    assert ("tensor_fp8" in rates) == (card is not A100)


def test_a_workstation_card_of_a_geforce_architecture_runs_in_full():
    """L40S: 362 TFLOP/s dense, where a GeForce of that architecture has half."""
    l40s = Properties("NVIDIA L40S", (8, 9), 142, 48 * GIB, clock_hz=2520e6)
    assert nominal(l40s)["tensor_fp16_fp32acc"].rate == pytest.approx(362e12, rel=0.02)


def test_what_a_device_does_not_say_has_no_nominal_rate():
    """C34: a Tegra that says neither memory clock nor boost has no rates, and no error."""
    assert nominal(Properties("Orin (nvgpu)", (8, 7), 16, 32 * GIB)) == {}
    unknown = Properties("NVIDIA Next", (15, 0), 200, 300 * GIB, bus_bits=8192, memory_hz=5e9, clock_hz=2e9)
    assert set(nominal(unknown)) == {"dram", "dram_read", "dram_write", "clock", "shared"}
    assert tensor_per_clock(unknown, "fp16_fp16acc") is None


def test_the_key_of_a_slice_holds_its_profile_and_not_the_cards():
    """C32: a slice never matches a baseline of the whole card."""
    whole, part = device(H200), device(replace(H200, name="NVIDIA H200 MIG 2g.35gb", sms=32))
    assert (part.name, part.mig_profile) == ("NVIDIA H200", "2g.35gb")
    assert part.key != whole.key
    assert part.slug == "nvidia-h200-2g-35gb"
    assert whole.slug == "nvidia-h200"


@pytest.mark.parametrize(
    ("gib", "expected"),
    [
        (139.8, "140 GiB"),
        (79.25, "80 GiB"),
        (39.4, "40 GiB"),
        (23.5, "24 GiB"),
        (11.6, "12 GiB"),
        (7.8, "8 GiB"),
        (0.4, "1 GiB"),
    ],
)
def test_memory_of_one_class_is_one_class(gib, expected):
    """What ECC and the driver keep does not change the class."""
    assert memory_class(int(gib * GIB)) == expected
