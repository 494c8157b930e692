"""Tables of what lowers the DRAM slope: sectors of which little is useful, and too few bytes in flight."""

from roofline.kernels import in_flight, sectors
from roofline.model import Measurement
from roofline.report import Report
from roofline.report.tables import Column, Table
from roofline.report.text import shortened, spread
from roofline.units import UNKNOWN, percent_number, scaled, si

NOTHING = "-"


def sectors_table(report: Report) -> Table:
    """Useful bandwidth by stride, beside what is left if everything moves and if only the sectors or lines do."""
    alone = sectors.ALONE[report.device.kind]
    rows = []
    for measurement in report.of("sectors"):
        stride = sectors.stride_of(measurement.key.kernel)
        rows.append(
            (
                shortened(measurement.key.kernel, 40),
                scaled(measurement.bytes_per_s().value, "GB/s"),
                spread(measurement.bytes_per_s()),
                _share(report, measurement),
                percent_number(1 / min(stride, alone)),
                percent_number(1 / stride),
                measurement.variant,
            )
        )
    return Table(
        title=f"SECTORS   one float of every few: bytes asked for; memory moves {4 * alone} at once, or more",
        columns=[
            Column("kernel", 20),
            Column("useful\nGB/s", 7, "right"),
            Column("\nspread", 8, "right"),
            Column("% of\nslope", 7, "right"),
            Column(f"% if {4 * alone}\nbytes move", 10, "right"),
            Column("% if all\nmoves", 8, "right"),
            Column("variant", 20),
        ],
        rows=rows,
        notes=["a write of part of a sector or line also reads the rest of it, so it leaves half of that or less"]
        if any(measurement.key.kernel.startswith("write-") for measurement in report.of("sectors"))
        else [],
    )


def in_flight_table(report: Report) -> Table:
    """Bandwidth by bytes in flight, and the latency that Little's law makes of both."""
    cores = report.device.cores
    rows = []
    for measurement in report.of("in_flight"):
        there = in_flight.bytes_in_flight(measurement.key.kernel, cores)
        rate = measurement.bytes_per_s() if there else None
        latency = in_flight.latency_by_law(measurement, cores) if there else in_flight.latency_of_a_hop(measurement)
        rows.append(
            (
                shortened(measurement.key.kernel, 40),
                si(there, "B") if there else NOTHING,
                scaled(rate.value, "GB/s") if rate else NOTHING,
                spread(measurement.seconds),
                _share(report, measurement),
                scaled(latency.value, "ns"),
            )
        )
    return Table(
        title="IN FLIGHT   reads with a set number of bytes on their way: bandwidth = bytes in flight / latency",
        columns=[
            Column("kernel", 24),
            Column("bytes in\nflight", 9, "right"),
            Column("\nGB/s", 7, "right"),
            Column("\nspread", 8, "right"),
            Column("% of\nslope", 7, "right"),
            Column("latency\nns", 8, "right"),
        ],
        rows=rows,
        notes=["latency: bytes in flight over bandwidth, longer once the memory is full; chase: load after load"],
    )


def _share(report: Report, measurement: Measurement) -> str:
    if not measurement.work.moved("dram"):
        return NOTHING
    point = report.points.get(measurement.key)
    return percent_number(point.fraction) if point else UNKNOWN
