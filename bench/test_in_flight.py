"""R7: bandwidth against bytes in flight, and the latency that Little's law makes of it."""

import pytest

from roofline.claims import NotApplicable, Prediction, within
from roofline.kernels import in_flight
from roofline.model import Device, Expectation

pytestmark = [pytest.mark.bench, pytest.mark.full]

# The share of the read ceiling that counts as full.
FULL = 0.9


@pytest.mark.parametrize("kernel", list(in_flight.every_kernel()), ids=lambda kernel: kernel.name)
def test_in_flight(kernel, measure):
    """So many warps and loads of each thread, or cores and dependent streams."""
    measure(kernel)


@pytest.fixture
def settings(rows, device):
    """The rows with a set number of bytes in flight, as (bytes, row), fewest bytes first."""
    cores = device.device.cores
    known = [(in_flight.bytes_in_flight(row.key.kernel, cores), row) for row in rows("in_flight")]
    return sorted(((there, row) for there, row in known if there), key=lambda pair: pair[0])


def climbs(device: Device):
    """More on its way is never less bandwidth, but for noise; a CPU's rows are seconds apart, and neighbours come."""
    least = {"cuda": 0.9, "cpu": 0.7}.get(device.kind)
    if least is None:
        return NotApplicable("the fake device has no latency")
    return Expectation(least, float("inf"), "formula: bytes in flight / latency, up to the ceiling")


@pytest.mark.predicts(Prediction("R7", "bandwidth over the best with fewer bytes in flight: least", family=climbs))
def test_bandwidth_climbs_with_the_bytes_in_flight(claim, settings):
    """R7: warps and loads, or cores and streams, are all the same to the memory: bytes on their way."""
    ratios = []
    for there, row in settings:
        fewer = [other.bytes_per_s() for less, other in settings if less < there]
        if fewer:
            ratios.append(row.bytes_per_s().over(max(fewer, key=lambda rate: rate.value)))
    claim(min(ratios, key=lambda ratio: ratio.value, default=None), [row for _, row in settings])


def straight(device: Device):
    """Far from the ceiling latency is the same, however much is on its way."""
    slack = {"cuda": 0.15, "cpu": 0.4}.get(device.kind)
    if slack is None:
        return NotApplicable("the fake device has no latency")
    return Expectation(1 - slack, 1 + slack, "formula: bandwidth = bytes in flight / latency")


@pytest.mark.predicts(
    Prediction(
        "R7", "latency by Little's law: with four times the least in flight over with the least", family=straight
    )
)
def test_far_from_the_ceiling_four_times_the_bytes_are_four_times_the_bandwidth(claim, settings, device):
    """R7: the low end is a straight line, and its slope is the latency."""
    few, more = (next((row for there, row in settings if there == times * settings[0][0]), None) for times in (1, 4))
    if few is None or more is None:
        claim(None)
    first, second = (in_flight.latency_by_law(row, device.device.cores) for row in (few, more) if row)
    claim(second.over(first), [few, more])


@pytest.mark.devices("cuda")
@pytest.mark.predicts(
    Prediction(
        "R7",
        "latency by Little's law, with the least in flight, over that of a load that waits for the last",
        formula=within(0.85, 1.25, "both are one latency; a loop adds a few instructions to each of its turns"),
    )
)
def test_the_latency_by_law_is_that_of_dependent_loads(claim, settings, rows, device):
    """R7: bytes in flight over bandwidth, and a chase of one load after another, find the same latency."""
    (chased,), (_, least) = rows("in_flight", in_flight.CHASE), settings[0]
    claim(
        in_flight.latency_by_law(least, device.device.cores).over(in_flight.latency_of_a_hop(chased)), [least, chased]
    )


@pytest.mark.devices("cuda")
@pytest.mark.predicts(
    Prediction(
        "R7",
        f"bytes in flight for {FULL:.0%} of the read ceiling over latency × that bandwidth",
        formula=within(0.95, 3, "Little's law; at a memory that is nearly full loads also wait for one another"),
    )
)
def test_full_bandwidth_needs_latency_times_bandwidth_in_flight(claim, settings, rows, roofline):
    """R7: fewer bytes in flight than latency × bandwidth cannot reach it, and a few times as many do."""
    (chased,) = rows("in_flight", in_flight.CHASE)
    wanted = FULL * roofline.ceiling("dram_read").rate
    needed = in_flight.bytes_needed([(there, row.bytes_per_s().value) for there, row in settings], wanted)
    if needed is None:
        claim(None, note=f"no setting reached {FULL:.0%} of the ceiling")
    claim(in_flight.latency_of_a_hop(chased).inverse(needed / wanted), [chased, *(row for _, row in settings)])
