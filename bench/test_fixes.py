"""C7: a chain of small kernels: waited for, streamed, replayed from a graph, fused, batched. Each fix is cheaper."""

import pytest

from roofline.claims import NotApplicable, Prediction, within
from roofline.kernels import kernels_of
from roofline.kernels.fixes import BATCH, BY_NAME, EXPERIMENT, STEPS
from roofline.model import Device, Expectation

pytestmark = pytest.mark.bench


@pytest.mark.parametrize("kernel", kernels_of(EXPERIMENT), ids=lambda kernel: kernel.name)
def test_fixes(kernel, measure):
    """The same steps on the same small array, run one way."""
    measure(kernel)


def over_streamed(rows, name):
    """Seconds of a problem that way over those where its launches are streamed."""
    (way,), (streamed,) = rows(EXPERIMENT, name), rows(EXPERIMENT, "chain-streamed")
    return way.seconds.over(BY_NAME[name].problems).over(streamed.seconds), [way, streamed]


@pytest.mark.predicts(
    Prediction("C7", "waiting for each launch over streaming them", formula=within(1.0, float("inf"), "no less to do"))
)
def test_waiting_for_each_launch_costs_more(claim, rows):
    """C7: what not to do: a host that looks at every result before it goes on."""
    claim(*over_streamed(rows, "chain-waited"))


def graphs(device: Device):
    """A graph is something that only some devices have."""
    if device.kind == "cpu":
        return NotApplicable("a CPU has no launch graphs")
    return Expectation(0.0, 0.8, "formula: a graph is submitted once for all its launches")


@pytest.mark.predicts(Prediction("C7", "the chain as a graph over streamed", family=graphs))
def test_a_graph_of_the_chain_is_cheaper(claim, rows, device):
    """C7: the same launches, submitted once."""
    if "launch_graph" not in device.chain_modes:
        claim(None)
    claim(*over_streamed(rows, "chain-replayed"))


def fewer(share: float, formula: str):
    """On a GPU launching is nearly all of it; on a CPU about half, and the rest stays."""

    def known(device: Device):
        return Expectation(0.0, share if device.kind == "cuda" else 0.8, f"formula: {formula}")

    return known


@pytest.mark.predicts(
    Prediction("C7", "the chain fused over streamed", family=fewer(0.25, f"1 launch instead of {STEPS}"))
)
def test_a_fused_chain_is_cheaper(claim, rows):
    """C7: fewer, larger kernels."""
    claim(*over_streamed(rows, "chain-fused"))


@pytest.mark.predicts(
    Prediction(
        "C7",
        f"a chain of {BATCH} at once over streamed",
        family=fewer(0.25, f"{STEPS} launches for {BATCH} problems"),
    )
)
def test_a_batch_of_chains_is_cheaper(claim, rows):
    """C7: as many launches, for many problems."""
    claim(*over_streamed(rows, "chain-batched"))
