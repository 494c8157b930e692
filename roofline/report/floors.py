"""What repeated runs of one card taught about its noise: what each row's time may differ by with nothing changed."""

from collections import Counter
from collections.abc import Sequence

from roofline.noise import FEWEST_RUNS, Floors, learn
from roofline.record import Record
from roofline.report.tables import Column, Paint, Table, formatted, unpainted
from roofline.report.text import shortened
from roofline.units import percent


def text(records: Sequence[Record], paint: Paint = unpainted) -> str:
    """The floors that these runs of one card show, the largest first, and from what each is."""
    return formatted(floors_table(records, learn(records)), paint)


def floors_table(records: Sequence[Record], floors: Floors) -> Table:
    """A row for each row that was measured in any of the runs."""
    keys = {row.key: None for record in records for row in record.run.measurements}
    rows = sorted(keys, key=lambda key: (-floors.of(key), key))
    return Table(
        title=f"NOISE   {shortened(records[0].run.device.name, 60)}: a change must be larger than this to be a verdict",
        columns=[Column("row", 56), Column("floor", 8, "right"), Column("from", 30)],
        rows=[(shortened(str(key), 112), percent(floors.of(key), 2), floors.source(key)) for key in rows],
        notes=_notes(records),
    )


def _notes(records: Sequence[Record]) -> list[str]:
    times = Counter(row.key for record in records for row in record.run.measurements)
    seldom = sum(count < FEWEST_RUNS for count in times.values())
    partial = sum(not record.run.complete for record in records)
    notes = [f"{seldom} rows were measured in fewer than {FEWEST_RUNS} runs, which is too little"] if seldom else []
    if partial:
        notes.append(
            f"{partial} of {len(records)} runs were not complete, so no verdict learns from them: `roofline baselines` "
            "says what they lack (what was not selected, or a quiet machine)"
        )
    return notes
