"""DRAM ceilings: how fast this device reads, writes, copies, updates in place and does a triad, by kind of store."""

import pytest

from roofline.claims import NotApplicable, Prediction, within
from roofline.kernels import dram, dram_cuda
from roofline.model import Device, Estimate, Expectation

pytestmark = pytest.mark.bench


@pytest.mark.parametrize("kernel", [*dram.every_kernel(), *dram_cuda.every_kernel()], ids=lambda kernel: kernel.name)
def test_dram(kernel, measure):
    """One pattern of access over arrays far larger than the last cache."""
    measure(kernel)


FAR_BEYOND_THE_CACHE = within(4, float("inf"), "arrays exceed the last cache at least 4 times")


@pytest.mark.predicts(Prediction("A1", "each array is far larger than the last cache", formula=FAR_BEYOND_THE_CACHE))
def test_arrays_are_far_larger_than_the_last_cache(claim, device, roofline_session, rows):
    """A1: bytes come from DRAM, since an array exceeds the last cache several times."""
    cache = device.device.cache_bytes
    measured = rows("dram")
    if not cache:
        claim(None, note="this device does not say how large its last cache is")
    ratio = roofline_session.buffer_plan.array_bytes / cache
    claim(Estimate(ratio, ratio, ratio), measured)


def _practical_share(device: Device):
    if "dram" not in device.nominal:
        return NotApplicable("the nominal bandwidth of this device's memory is unknown")
    return Expectation(0.8, 0.95, "family: practical DRAM bandwidth is 80 to 95 % of nominal on GPUs")


@pytest.mark.predicts(Prediction("M12", "practical DRAM bandwidth over nominal", family=_practical_share))
def test_practical_bandwidth_is_below_nominal(claim, device, roofline, rows):
    """M12: the measured ceiling, some 10 to 20 % under the data sheet, is the one to judge by."""
    nominal = device.device.nominal.get("dram")
    claim(roofline.ceiling("dram").estimate.over(nominal.rate) if nominal else None, rows("dram"))
