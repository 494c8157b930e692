"""R4, A8: chains of FMAs times the warps or cores that run them climb to the roof, where Little's law says."""

import pytest

from roofline.claims import NotApplicable, Prediction
from roofline.devices.cpu.topology import granted_by_system, usable_cores
from roofline.kernels import independence, independence_cuda
from roofline.model import Device, Estimate, Expectation
from roofline.report.independence import LANES_OF_A_WARP, cells, cycles_of_an_fma, knee

pytestmark = pytest.mark.bench

CORES = len(usable_cores(granted_by_system()).used)
KERNELS = [*independence.kernels_below(CORES), *independence_cuda.every_kernel()]


@pytest.mark.full
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_independence(kernel, measure):
    """So many chains in each thread, and so many warps on each SM or cores at work."""
    measure(kernel)


def swept(rows):
    """The cells of the sweep, with what `chains` measured at its edges where that ran too."""
    found = rows("independence")
    chains = {row.key.kernel.split("-")[1] for row in found}
    try:
        edges = [row for row in rows("chains") if row.key.kernel.split("-")[1] in chains]
    except pytest.skip.Exception:
        edges = []
    return cells([*found, *edges])


def climbing(device: Device):
    """Rows of a CPU are seconds apart, in which a neighbour may come or go."""
    if device.kind == "fake":
        return NotApplicable("the fake device has no pipes")
    least = 0.8 if device.kind == "cpu" else 0.97
    return Expectation(least, float("inf"), "formula: more independent work keeps more units busy, never fewer")


@pytest.mark.full
@pytest.mark.predicts(
    Prediction("R4", "no step to more chains or more runners lowers the rate: least ratio", formula=climbing)
)
def test_more_independent_work_is_never_slower(claim, rows):
    """R4: the rate climbs with chains × warps, or × cores, until it meets the roof."""
    found = swept(rows)
    steps = [more.measurement.flop_per_s.over(fewer.measurement.flop_per_s) for fewer, more in neighbours(found)]
    if not steps:
        claim(None, note="no two cells beside each other were measured")
    claim(min(steps, key=lambda step: step.value), [cell.measurement for cell in found])


def neighbours(found):
    """Pairs of cells that differ by one step in one direction; all there can be is the last step of runners."""
    counts = [*sorted({cell.runners for cell in found if cell.runners}), None]
    chains = sorted({cell.chains for cell in found})
    at = {(cell.chains, cell.runners): cell for cell in found}
    for here, cell in at.items():
        beyond = [(following(chains, here[0]), here[1]), (here[0], following(counts, here[1]))]
        yield from ((cell, at[there]) for there in beyond if there in at and there != here)


def following(values, value):
    """The next of some values, the last one itself."""
    return values[min(values.index(value) + 1, len(values) - 1)]


def reaches_the_roof(device: Device):
    """The best of the sweep is the roof, or as near to it as a few of its rows come."""
    if device.kind == "fake":
        return NotApplicable("the fake device has no pipes")
    if device.kind == "cpu":
        return NotApplicable("the sweep leaves out some of the cores, whose roof is that of all")
    return Expectation(0.97, 1.02, "formula: enough chains × warps keep every unit busy")


@pytest.mark.full
@pytest.mark.predicts(Prediction("R4", "the best of the sweep over the FP32 roof", formula=reaches_the_roof))
def test_enough_of_both_reaches_the_roof(claim, rows, roofline):
    """R4: what the sweep climbs to is the roof itself."""
    found = rows("independence")
    best = max(found, key=lambda row: row.flop_per_s.value)
    claim(best.flop_per_s.over(roofline.ceiling("fp32").estimate), found, note=best.key.kernel)


def enough_by_littles_law(device: Device):
    """What was tried goes in steps of two, of which the first may just miss; the latency holds the cost of its loop."""
    if device.kind != "cuda":
        return NotApplicable("how many instructions each core of a CPU begins a cycle is not known")
    return Expectation(0.9, 2.1, "formula: Little's law, work in flight = latency × rate, in steps of two")


@pytest.mark.full
@pytest.mark.predicts(
    Prediction(
        "R4",
        "chains × warps × 32 lanes that first reach 95 % of the best, over latency × lanes begun a cycle",
        formula=enough_by_littles_law,
    )
)
def test_the_work_in_flight_that_is_needed_is_latency_times_lanes(claim, rows, device):
    """R4: Little's law for arithmetic: an SM that begins 128 FMAs a cycle, each taking 4, has 512 under way."""
    found = swept(rows)
    turning, cycles = knee(found), cycles_of_an_fma(found, device.device)
    begun = lanes_begun_a_cycle(found, device.device)
    if not turning or not turning.runners or not cycles or not begun:
        claim(None, note="the knee or the clock is unknown")
        return
    in_flight = turning.chains * turning.runners * LANES_OF_A_WARP
    ratio = in_flight / (cycles * begun)
    claim(Estimate(ratio, ratio, ratio), [cell.measurement for cell in found], note=turning.measurement.key.kernel)


def lanes_begun_a_cycle(found, device):
    """FMAs that an SM begins each cycle at the best rate there is: nearly its lanes, whatever their number."""
    best = max(found, key=lambda cell: cell.rate)
    clock = best.measurement.samples.clock_hz
    return best.rate / (2 * device.cores * clock.median) if clock else None
