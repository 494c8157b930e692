"""Tables of what launching costs: the floor under small launches, the ways to run a chain, and waves of blocks."""

from collections.abc import Sequence

from roofline import floor as line
from roofline.kernels.fixes import BY_NAME
from roofline.kernels.waves import block_of, grid_of, places
from roofline.model import Measurement
from roofline.report import Report
from roofline.report.tables import Column, Table
from roofline.report.text import shortened, spread
from roofline.units import percent, scaled, si
from roofline.waves import idle, waves_of

NOTHING = "-"


def floor_table(report: Report) -> Table:
    """Bytes of a launch, its time, and that of the fitted line."""
    rows = sorted(report.of("floor"), key=lambda row: row.key.size)
    fitted = _fitted(rows)
    return Table(
        title="FLOOR   time of a launch by the bytes it moves: flat where launching takes longer than moving",
        columns=[
            Column("bytes", 9, "right"),
            Column("µs", 9, "right"),
            Column("spread", 9, "right"),
            Column("t0 + bytes/β\nµs", 12, "right"),
            Column("GB/s", 8, "right"),
        ],
        rows=[_floor_row(row, fitted) for row in rows],
        notes=[_fit_note(fitted)] if fitted else [],
    )


def _fitted(rows: Sequence[Measurement]) -> line.Floor | None:
    """The line through the rows, None where too few of them were measured or none shows."""
    try:
        return line.fit(line.Timed(row.work.moved("dram"), row.seconds.value) for row in rows)
    except ValueError:
        return None


def _floor_row(row: Measurement, fitted: line.Floor | None) -> tuple[str, ...]:
    moved = row.work.moved("dram")
    return (
        si(moved, "B"),
        scaled(row.seconds.value, "µs"),
        spread(row.seconds),
        scaled(fitted.seconds(moved), "µs") if fitted else NOTHING,
        scaled(row.bytes_per_s().value, "GB/s"),
    )


def _fit_note(fitted: line.Floor) -> str:
    crossing = si(fitted.crossing_bytes.value, "B")
    t0, rate = si(fitted.overhead_s.value, "s"), si(fitted.bytes_per_s.value, "B/s")
    return f"fitted t0 {t0}, β {rate}: below {crossing} a launch takes as long as launching does"


def fixes_table(report: Report) -> Table:
    """The chain run in every way: what one problem costs, and how much less than launch after launch."""
    rows = [row for row in report.of("fixes") if row.key.kernel in BY_NAME]
    each = {row.key.kernel: row.seconds.value / BY_NAME[row.key.kernel].problems for row in rows}
    streamed = each.get("chain-streamed")
    return Table(
        title="FIXES   a chain of small kernels, by how it is run: time of one problem",
        columns=[
            Column("way", 20),
            Column("what is done", 44),
            Column("µs a problem", 12, "right"),
            Column("of streamed", 11, "right"),
        ],
        rows=[
            (
                name,
                BY_NAME[name].what,
                scaled(seconds, "µs"),
                percent(seconds / streamed) if streamed else NOTHING,
            )
            for name, seconds in each.items()
        ],
    )


def waves_table(report: Report) -> Table:
    """Grids by their blocks: waves, idle places, time, and time over that of one wave."""
    block, room = block_of(report.device), places(report.device)
    rows = sorted((row for row in report.of("waves") if grid_of(row.key.kernel)), key=lambda row: row.key.size)
    blocks = {row.key: row.key.size // block for row in rows}
    one = next((row.seconds.value for row in rows if blocks[row.key] == room), None)
    return Table(
        title=f"WAVES   grids of equal blocks on {room} places: a wave is full or not, it takes as long",
        columns=[
            Column("grid", 22),
            Column("blocks", 8, "right"),
            Column("waves", 6, "right"),
            Column("idle", 9, "right"),
            Column("µs", 9, "right"),
            Column("of a wave", 9, "right"),
        ],
        rows=[
            (
                shortened(row.key.kernel, 40),
                str(blocks[row.key]),
                str(waves_of(blocks[row.key], room)),
                percent(idle(blocks[row.key], room)),
                scaled(row.seconds.value, "µs"),
                scaled(row.seconds.value / one, "") if one else NOTHING,
            )
            for row in rows
        ],
    )
