"""The tables of the batch dial and of attention: the faster way of each batch, and what each share is of."""

import pytest
from sample import ENVIRONMENT, GPU, measured, row

from roofline.kernels import attention, attention_cuda, batch
from roofline.kernels.attention import WIDTH
from roofline.model import Measurement, Work
from roofline.report import Report
from roofline.report.experiments import experiment_tables
from roofline.report.serving import attention_table, batch_table
from roofline.report.tables import WIDTH as TERMINAL
from roofline.report.tables import formatted
from roofline.units import UNKNOWN

pytestmark = pytest.mark.correctness

LAYERS = batch.LAYERS * batch.SIDE**2


def layer(size: int, library: bool, seconds: float) -> Measurement:
    key = row("batch", batch.name(size, library), n=LAYERS, unit=batch.UNIT)
    return measured(key, batch.work(LAYERS, size), seconds)


def attended(name: str, work: Work, seconds: float) -> Measurement:
    return measured(row("attention", name, n=1, unit=attention.UNIT), work, seconds)


def report(*rows: Measurement) -> Report:
    return Report(GPU, ENVIRONMENT, {}, rows, {})


def test_a_batch_is_shown_once_by_its_faster_way():
    """K5: a row a batch, smallest first, with the time of one layer."""
    table = batch_table(report(layer(16, False, 640e-6), layer(16, True, 320e-6), layer(1, False, 320e-6)))
    assert [cells[0] for cells in table.rows] == ["1", "16"]
    assert [cells[2] for cells in table.rows] == ["10.0 µs", "10.0 µs"]
    assert [cells[1] for cells in table.rows] == ["1.00", "15.9"]


def test_attention_is_held_against_its_instruction():
    """K7: the instruction is no row of its own; what each reaches of it stands beside the share of the roof."""
    prefill = attention.prefill_work(attention.LENGTH * WIDTH, causal=False)
    bare = attended(attention_cuda.instruction().name, prefill, 1e-3)
    table = attention_table(report(attended("prefill-full", prefill, 2e-3), bare))
    assert [cells[0] for cells in table.rows] == ["prefill-full"]
    assert table.rows[0][6] == "50.0"
    assert "mma.sync" in table.notes[0]


def test_without_its_instruction_attention_has_no_share_of_it():
    """An unknown is said to be unknown."""
    step = attention.decoding_work(attention.CORE_DECODING.size, attention.CORE_DECODING)
    table = attention_table(report(attended("decode-08", step, 1e-3)))
    assert table.rows[0][6] == UNKNOWN
    assert not table.notes


def test_both_are_tables_of_a_report_and_fit_a_terminal():
    """They stand among the others, and their rows in no other table."""
    step = attention.decoding_work(attention.CORE_DECODING.size, attention.CORE_DECODING)
    shown = list(experiment_tables(report(layer(1, False, 3e-4), attended("decode-64-grouped", step, 1e-3))))
    assert [table.title.split()[0] for table in shown] == ["BATCH", "ATTENTION"]
    assert max(len(line) for table in shown for line in formatted(table).splitlines()) <= TERMINAL
