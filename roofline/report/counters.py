"""A table of what hardware counters saw: the bytes that moved beside those counted, and both intensities."""

from roofline.counters import achieved_intensity, over_counted
from roofline.model import Measurement
from roofline.report import Report
from roofline.report.tables import Column, Table
from roofline.report.text import row_name, shortened
from roofline.units import scaled, si

NOTHING = "-"


def counters_table(report: Report) -> Table:
    """Every row whose bytes were counted by hardware."""
    return Table(
        title="COUNTERS   bytes that crossed each level in one launch, by hardware counters, caches empty before it",
        columns=[
            Column("kernel", 22),
            Column("counted\nDRAM", 9, "right"),
            Column("achieved\nDRAM", 9, "right"),
            Column("÷", 6, "right"),
            Column("achieved\nL2", 9, "right"),
            Column("achieved\nL1", 9, "right"),
            Column("counted\nFLOP/B", 8, "right"),
            Column("achieved\nFLOP/B", 8, "right"),
        ],
        rows=[_row(measurement) for measurement in report.measurements if measurement.achieved],
        notes=["written lines that are still in L2 when a launch ends have not crossed DRAM"],
    )


def _row(measurement: Measurement) -> tuple[str, ...]:
    work, share = measurement.work, over_counted(measurement)
    moved = work.moved("dram")
    return (
        shortened(row_name(measurement.key), 60),
        si(moved, "B") if moved else NOTHING,
        *(_crossed(measurement, "dram"), scaled(share, "") if share else NOTHING),
        *(_crossed(measurement, level) for level in ("l2", "l1")),
        scaled(work.flops / moved, "FLOP/B") if moved and work.flops else NOTHING,
        scaled(achieved_intensity(measurement), "FLOP/B") if work.flops else NOTHING,
    )


def _crossed(measurement: Measurement, level: str) -> str:
    achieved = measurement.achieved.get(level)
    return si(achieved.total, "B") if achieved else NOTHING
