"""The table of chains × warps or workers: its cells, its knee, and the cycles that an FMA takes."""

from dataclasses import replace

import pytest
from sample import CPU, ENVIRONMENT, GPU, ceiling, measured, row

from roofline.model import Spread, Traffic, Work
from roofline.report import Report
from roofline.report.experiments import experiment_tables
from roofline.report.independence import cells, cycles_of_an_fma, independence_table, knee
from roofline.report.tables import formatted

pytestmark = pytest.mark.correctness

WORK = Work(1e9, "fp32", {"dram": Traffic(0.0, 0.0)})
CLOCK = 1.98e9
ROOF = 132 * 128 * 2 * CLOCK
LATENCY = 4.0


def cell(experiment, name, rate, variant="u4", clock=CLOCK):
    """A row of that rate, at that clock."""
    made = measured(row(experiment, name, 4096, level="l1"), WORK, WORK.flops / rate, 0.001)
    return replace(made, variant=variant, samples=replace(made.samples, clock_hz=Spread(clock, clock, clock)))


def card_rate(chains, warps):
    """What Little's law allows: a scheduler begins 32 lanes a cycle, each chain of a warp one every latency."""
    return min(chains * warps * 32 / LATENCY, 128) * 132 * 2 * CLOCK


SWEEP = [
    cell("independence", f"independence-{chains:02d}-{warps}-warps", card_rate(chains, warps))
    for chains in (1, 2, 4)
    for warps in (1, 2, 4, 8, 16)
    if (chains, warps) != (1, 4)
]
EDGES = [
    cell("chains", "chains-01-4-warps", card_rate(1, 4)),
    *(cell("chains", f"chains-{chains:02d}-full", ROOF) for chains in (1, 2, 4, 8)),
]


def report(measurements, device=GPU):
    ceilings = {"fp32": ceiling("fp32", ROOF, device=device)}
    return Report(device, ENVIRONMENT, ceilings, measurements, points={})


def test_each_cell_is_a_share_of_the_roof_and_what_chains_measured_completes_it():
    """R4: rows chains, columns warps, the last one a full SM; other numbers of chains are no row."""
    table = independence_table(report([*EDGES, *SWEEP]))
    assert [column.head for column in table.columns] == ["chains", "1", "2", "4", "8", "16", "full"]
    assert table.rows == [
        ["1", "6.25", "12.5", "25.0", "50.0", "100", "100"],
        ["2", "12.5", "25.0", "50.0", "100", "100", "100"],
        ["4", "25.0", "50.0", "100", "100", "100", "100"],
    ]


def test_what_was_not_measured_leaves_a_gap_and_never_a_zero():
    assert independence_table(report(SWEEP)).rows[0] == ["1", "6.25", "12.5", "-", "50.0", "100", "-"]


def test_without_the_sweep_there_is_no_table():
    """The core's rows of `chains` alone are no sweep."""
    assert independence_table(report(EDGES)).rows == []
    assert not any("INDEPENDENCE" in table.title for table in experiment_tables(report(EDGES)))


def test_the_sweep_stands_in_its_own_table_alone():
    titles = [table.title.split()[0] for table in experiment_tables(report([*EDGES, *SWEEP]))]
    assert titles == ["CHAINS", "INDEPENDENCE"]


def test_the_knee_has_the_fewest_chains_times_warps():
    """R4: latency × schedulers = 16 chains × warps, whichever way they come."""
    turning = knee(cells([*EDGES, *SWEEP]))
    assert turning.chains * turning.runners == 16
    assert "95% of the best from 1 × 16 = 16 chains × warps on" in formatted(independence_table(report(SWEEP)))


def test_a_knee_needs_rows():
    assert knee([]) is None
    assert knee(cells(EDGES[1:])) is None  # a full SM's warps are not counted


@pytest.mark.parametrize("rows", [SWEEP, [*EDGES, *SWEEP]])
def test_cycles_come_from_one_chain_that_has_a_unit_to_itself(rows):
    """A8: lanes × 2 × clock over the rate; eight warps share a scheduler and would tell half of it."""
    assert cycles_of_an_fma(cells(rows), GPU) == pytest.approx(LATENCY)
    assert "an FMA takes 4.00 cycles" in formatted(independence_table(report(rows)))


def test_without_a_clock_no_cycles_are_told():
    made = replace(SWEEP[0], samples=replace(SWEEP[0].samples, clock_hz=None))
    assert cycles_of_an_fma(cells([made]), GPU) is None


def test_a_cpu_has_workers_and_the_lanes_of_its_vectors():
    """A8 on a CPU: one chain of 8 lanes on one core, and on all of them, at 4 cycles an FMA."""
    each = 8 * 2 * CLOCK / LATENCY
    rows = [
        cell("independence", "independence-01-1-workers", each, "8x1"),
        cell("chains", "chains-01", 2 * each, "8x1"),
        cell("chains", "chains-08-scalar", each, "1x8"),
    ]
    table = independence_table(report(rows, CPU))
    assert [column.head for column in table.columns] == ["chains", "1", "all"]
    assert [len(line) for line in table.rows] == [3]
    assert cycles_of_an_fma(cells(rows), CPU) == pytest.approx(LATENCY)
    assert "workers" in table.title
    assert not any("of the best" in note for note in table.notes)
