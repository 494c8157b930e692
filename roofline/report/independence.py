"""Chains of FMAs times those that run them, warps of an SM or cores: where enough of both keeps every unit busy."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from roofline.model import Device, Measurement
from roofline.report import Report
from roofline.report.tables import Column, Table
from roofline.units import percent_number, scaled, si

NOTHING = "-"
# The knee: the least work in flight that reaches this share of the best.
NEARLY_ALL = 0.95
# "independence-04-8-warps", "chains-04-full" (an SM as full as it gets), "chains-04" (every core)
_NAME = re.compile(r"(?:independence|chains)-(\d+)(?:-(\d+)-(?:warps|workers)|-full)?")
_LANES = re.compile(r"(\d+)x\d+")
LANES_OF_A_WARP = 32
SCHEDULERS = 4  # of an SM: so many warps share no unit


@dataclass(frozen=True)
class Cell:
    """`chains` in each of so many warps or workers, `runners`; None is all there can be."""

    chains: int
    runners: int | None
    measurement: Measurement

    @property
    def rate(self) -> float:
        """FLOP/s."""
        return self.measurement.flop_per_s.value


def cells(measurements: Sequence[Measurement]) -> list[Cell]:
    """The rows of both experiments that have a place in the table."""
    found = []
    for measurement in measurements:
        match = _NAME.fullmatch(measurement.key.kernel)
        if match and measurement.key.experiment in ("independence", "chains"):
            runners = int(match.group(2)) if match.group(2) else None
            found.append(Cell(int(match.group(1)), runners, measurement))
    return found


def knee(found: Sequence[Cell]) -> Cell | None:
    """The cell with the fewest chains × runners that reaches nearly the best, of those whose runners are counted."""
    best = max((cell.rate for cell in found), default=0.0)
    near = [cell for cell in found if cell.runners and cell.rate >= NEARLY_ALL * best]
    return min(near, key=lambda cell: (cell.chains * (cell.runners or 0), cell.chains), default=None)


def cycles_of_an_fma(found: Sequence[Cell], device: Device) -> float | None:
    """From one chain that shares its units with nobody: lanes × clock × 2 over the rate; the middle of such cells."""
    cycles = [alone for cell in found if (alone := _cycles(cell, device))]
    return median(cycles) if cycles else None


def _cycles(cell: Cell, device: Device) -> float | None:
    clock, lanes = cell.measurement.samples.clock_hz, _lanes_beginning(cell, device)
    if cell.chains != 1 or not clock or not lanes:
        return None
    return 2 * lanes * clock.median / cell.rate


def _lanes_beginning(cell: Cell, device: Device) -> int | None:
    """Lanes of all the instructions that can be under way with one chain: a warp's or a vector's for each runner."""
    if device.kind == "cuda":
        alone = cell.runners if cell.runners and cell.runners <= SCHEDULERS else 0
        return LANES_OF_A_WARP * alone * device.cores or None
    vector = _LANES.fullmatch(cell.measurement.variant) if device.kind == "cpu" else None
    return int(vector.group(1)) * (cell.runners or device.cores) if vector else None


def independence_table(report: Report) -> Table:
    """Rows chains, columns warps or workers, cells the share of the roof; empty where the sweep was not measured."""
    swept = report.of("independence")
    found = cells([*swept, *report.of("chains")]) if swept else []
    counts = sorted({cell.runners for cell in found if cell.runners})
    sweeping = {cell.chains for cell in found if cell.measurement.key.experiment == "independence"}
    shown = [cell for cell in found if cell.chains in sweeping]
    roof = report.ceilings.get("fp32")
    best = roof.rate if roof else max((cell.rate for cell in shown), default=0.0)
    runners, all_of_them = ("warps", "full") if report.device.kind == "cuda" else ("workers", "all")
    return Table(
        title=f"INDEPENDENCE   % of the roof, {si(best, 'FLOP/s')}: chains of FMAs × {runners}{_each(report.device)}",
        columns=[
            Column("chains", 6, "right"),
            *(Column(str(count), 7, "right") for count in counts),
            Column(all_of_them, 7, "right"),
        ],
        rows=_rows(shown, [*counts, None], best),
        notes=_notes(shown, report.device, runners),
    )


def _each(device: Device) -> str:
    return " on each SM" if device.kind == "cuda" else ""


def _rows(shown: Sequence[Cell], counts: Sequence[int | None], best: float) -> list[list[str]]:
    shares = {(cell.chains, cell.runners): percent_number(cell.rate / best) for cell in shown}
    return [
        [str(chains), *(shares.get((chains, count), NOTHING) for count in counts)]
        for chains in sorted({cell.chains for cell in shown})
    ]


def _notes(shown: Sequence[Cell], device: Device, runners: str) -> list[str]:
    notes = []
    turning, cycles = knee(shown), cycles_of_an_fma(shown, device)
    if device.kind == "cuda" and turning and turning.runners:
        product = turning.chains * turning.runners
        notes.append(
            f"{NEARLY_ALL:.0%} of the best from {turning.chains} × {turning.runners} = {product} chains × {runners} on"
        )
    if cycles:
        notes.append(f"an FMA takes {scaled(cycles, '')} cycles: one chain, and nothing beside it on the same unit")
    return notes
