"""What a person sees of a run, as text and pictures; who prints or opens them is decided elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from roofline.model import Absent, Ceiling, Claim, Device, Environment, Estimate, Measurement, Point, RowKey


@dataclass(frozen=True)
class Report:
    """A finished or interrupted run, with everything that a summary or a chart shows of it.

    `points` places measurements under the roofline; a measurement without one has no ceiling above it. `ridges` maps
    "UNIT/SLOPE" ("fp32/dram_update") to FLOP per byte. `missing` says what an incomplete run lacks; `notes` what a
    person should know of how the device was opened; `baseline` the file that the run was judged against.
    """

    device: Device
    environment: Environment
    ceilings: Mapping[str, Ceiling]
    measurements: Sequence[Measurement]
    points: Mapping[RowKey, Point]
    ridges: Mapping[str, Estimate] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    absent: Sequence[Absent] = ()
    complete: bool = True
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()
    baseline: str | None = None

    def of(self, experiment: str) -> list[Measurement]:
        """The measurements of one experiment, in the order they were made."""
        return [measurement for measurement in self.measurements if measurement.key.experiment == experiment]
