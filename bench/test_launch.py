"""C: launch overhead. An empty launch in every way this device has, and proof that each one ran."""

import pytest

from roofline.claims import NotApplicable, Prediction, within
from roofline.kernels.launch import MODES
from roofline.model import Device, Estimate, Expectation

pytestmark = pytest.mark.bench


@pytest.mark.parametrize("mode", MODES)
def test_launch(mode, device, measure_launches):
    """C1 … C3: seconds that a launch costs when it does nothing."""
    if mode not in device.launch_modes:
        pytest.skip(f"a {device.device.kind} device has no such way to launch")
    measure_launches(mode)


@pytest.mark.predicts(
    Prediction(
        "C2",
        "waiting for each launch costs more than queueing it: ratio",
        formula=within(1.0, float("inf"), "a round trip holds a launch"),
    )
)
def test_waiting_for_a_launch_costs_more_than_queueing_it(claim, rows):
    """C2: launch and synchronise takes longer than launches back to back."""
    (queued,), (waited,) = rows("launch", "launch"), rows("launch", "launch_sync")
    claim(waited.seconds.over(queued.seconds), [queued, waited])


def graphs(device: Device):
    """A graph is something that only some devices have."""
    if device.kind == "cpu":
        return NotApplicable("a CPU has no launch graphs")
    return Expectation(0.0, 0.8, "formula: a graph is submitted once for all its launches")


@pytest.mark.predicts(Prediction("C3", "a launch in a graph over a launch back to back", family=graphs))
def test_a_graph_is_cheaper_than_launches(claim, rows, device):
    """C3: the same launches replayed from a graph cost clearly less."""
    if "launch_graph" not in device.launch_modes:
        claim(None)
    (queued,), (replayed,) = rows("launch", "launch"), rows("launch", "launch_graph")
    claim(replayed.seconds.over(queued.seconds), [queued, replayed])


@pytest.mark.predicts(
    Prediction(
        "C4", "of the launches that were asked for, ran (share)", formula=within(1, 1, "each launch counts itself")
    )
)
def test_every_launch_really_ran(claim, device, roofline_session):
    """C4: counters prove that each launch ran, in every way there is to launch."""
    shares = {}
    for mode in device.launch_modes:
        asked, ran = roofline_session.count_launches(mode)
        shares[mode] = ran / asked
    worst = min(shares, key=lambda mode: shares[mode])
    claim(Estimate(shares[worst], shares[worst], shares[worst]), note=f"{len(shares)} ways to launch")
