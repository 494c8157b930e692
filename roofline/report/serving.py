"""Tables of what a language model is made of: a layer by its batch, attention by step and by prompt (K5 to K7)."""

from roofline.kernels import attention, batch
from roofline.model import Measurement
from roofline.report import Report
from roofline.report.tables import Column, Table
from roofline.report.text import shortened
from roofline.units import UNKNOWN, percent_number, scaled, si

INSTRUCTION = "instruction"


def batch_table(report: Report) -> Table:
    """The faster way of each batch: how often a byte is used, at what pace, and what binds it."""
    best = batch.best_of(report.of(batch.EXPERIMENT))
    return Table(
        title=f"BATCH   layers of {batch.SIDE} × {batch.SIDE} weights in FP16: the faster way for each batch",
        columns=[
            Column("batch", 6, "right"),
            Column("FLOP/B", 7, "right"),
            Column("a layer", 9, "right"),
            Column("TB/s", 7, "right"),
            Column("TFLOP/s", 8, "right"),
            Column("% roof", 7, "right"),
            Column("bound by", 19),
            Column("way", 22),
        ],
        rows=[_batch_row(report, size, row) for size, row in best.items()],
    )


def _batch_row(report: Report, size: int, row: Measurement) -> tuple[str, ...]:
    point = report.points.get(row.key)
    return (
        str(size),
        scaled(row.work.intensity(), "FLOP/B"),
        si(row.seconds.value / batch.layers(row.key.size), "s"),
        scaled(row.bytes_per_s().value, "TB/s"),
        scaled(row.flop_per_s.value, "TFLOP/s"),
        percent_number(point.fraction if point else None),
        point.bound_by if point else UNKNOWN,
        row.variant,
    )


def attention_table(report: Report) -> Table:
    """Each attention: its intensity, bytes and FLOPs a second, and the share of its roof and of its instruction."""
    rows = report.of(attention.EXPERIMENT)
    bare = next((row for row in rows if row.key.kernel == INSTRUCTION), None)
    judged = [row for row in rows if row.key.kernel != INSTRUCTION]
    return Table(
        title="ATTENTION   FP16, heads 128 wide: a step of a batch of sequences, and a whole prompt",
        columns=[
            Column("kernel", 18),
            Column("a launch", 9, "right"),
            Column("FLOP/B", 7, "right"),
            Column("TB/s", 7, "right"),
            Column("TFLOP/s", 8, "right"),
            Column("% roof", 7, "right"),
            Column("% of its\ninstruction", 11, "right"),
            Column("variant", 14),
        ],
        rows=[_attention_row(report, row, bare) for row in judged],
        notes=[f"its instruction: mma.sync alone, {si(bare.flop_per_s.value, 'FLOP/s')}"] if bare and judged else [],
    )


def _attention_row(report: Report, row: Measurement, bare: Measurement | None) -> tuple[str, ...]:
    point = report.points.get(row.key)
    return (
        shortened(row.key.kernel, 40),
        si(row.seconds.value, "s"),
        scaled(row.work.intensity(), "FLOP/B"),
        scaled(row.bytes_per_s().value, "TB/s"),
        scaled(row.flop_per_s.value, "TFLOP/s"),
        percent_number(point.fraction if point else None),
        percent_number(row.flop_per_s.value / bare.flop_per_s.value if bare else None),
        row.variant,
    )
