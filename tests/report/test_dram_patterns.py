"""The tables of strides and of bytes in flight: each figure beside what it is to be held against."""

from dataclasses import replace

import pytest
from sample import GPU, cpu_report, gpu_report, measured, placed, row

from roofline.kernels import in_flight, sectors
from roofline.model import Traffic, Work
from roofline.report.dram_patterns import in_flight_table, sectors_table
from roofline.report.experiments import experiment_tables
from roofline.report.paste import paste_lines
from roofline.report.tables import formatted
from roofline.rooflines import Roofline

pytestmark = pytest.mark.correctness

N = 2**28


def strided(stride: int, rate: float, writes: bool = False):
    """A row of a stride that reached `rate` useful bytes a second."""
    work = sectors.kernel(stride, writes).work(N)
    key = row("sectors", sectors.name(stride, writes), N, "none")
    return measured(key, work, work.traffic["dram"].total / rate, 0.001)


def flying(name: str, rate: float):
    """A row of bytes in flight that reached `rate`."""
    work = Work(0.0, "none", {"dram": Traffic(4.0 * N, 0.0)}, {"dram": "dram_read"})
    return measured(row("in_flight", name, N, "none"), work, 4.0 * N / rate, 0.001)


def chased(seconds: float):
    """A row of the chase whose hops take `seconds`."""
    work = Work(0.0, "none", {"dram": Traffic(0.0, 0.0)})
    size = in_flight.HOPS * in_flight.SPACING
    return measured(row("in_flight", in_flight.CHASE, size, "none"), work, in_flight.HOPS * seconds, 0.001)


def reported(base, *rows):
    return replace(base, measurements=rows, points=placed(rows, Roofline(base.ceilings)))


def cells(table, name: str) -> list[str]:
    (found,) = [list(cells) for cells in table.rows if cells[0] == name]
    return found


def test_a_stride_stands_beside_what_sectors_and_what_everything_would_leave():
    """R6: 552.5 of 4420 GB/s are the 12.5 % that sectors of 32 bytes leave, at any wider stride."""
    table = sectors_table(reported(gpu_report(), strided(8, 552.5e9), strided(32, 276.25e9)))
    assert cells(table, "stride-08")[1] == "552"
    assert cells(table, "stride-08")[3:6] == ["12.5", "12.5", "12.5"]
    assert cells(table, "stride-32")[3:6] == ["6.25", "12.5", "3.12"]
    assert "32 at once" in table.title


def test_a_cpu_moves_lines():
    table = sectors_table(reported(cpu_report(), strided(16, 2.325e9)))
    assert cells(table, "stride-16")[3:6] == ["6.25", "6.25", "6.25"]
    assert "64 at once" in table.title


def test_only_writes_need_the_note_on_writes():
    reads = [strided(8, 552e9)]
    writes = [*reads, strided(8, 265e9, writes=True)]
    assert not sectors_table(reported(gpu_report(), *reads)).notes
    assert sectors_table(reported(gpu_report(), *writes)).notes


def test_bytes_in_flight_stand_beside_the_latency_that_they_make():
    """R7: 67.6 kB in flight at 177 GB/s are 382 ns by Little's law; the chase has a latency and nothing else."""
    table = in_flight_table(reported(gpu_report(), flying("warps-04-loads-01", 177e9), chased(364e-9)))
    assert cells(table, "warps-04-loads-01")[1:] == ["67.6 kB", "177", "<0.1 %", "4.00", "382"]
    assert cells(table, "chase")[1:3] == ["-", "-"]
    assert cells(table, "chase")[4:] == ["-", "364"]


def test_streams_on_a_cpu_are_lines_of_all_its_cores():
    table = in_flight_table(reported(cpu_report(), flying("all-cores-streams-04", 4e9)))
    assert cells(table, "all-cores-streams-04")[1] == "512 B"
    assert cells(table, "all-cores-streams-04")[5] == "128"


def test_both_stand_in_the_report_once_and_fit_its_width():
    report = reported(gpu_report(), strided(8, 552e9), flying("warps-64-loads-16", 4e12), chased(364e-9))
    titles = [table.title.split()[0] for table in experiment_tables(report)]
    assert titles == ["SECTORS", "IN"]
    for table in experiment_tables(report):
        assert max(map(len, formatted(table).splitlines())) <= 100


def test_lines_to_paste_give_bytes_a_second_and_the_time_of_what_moves_none():
    lines = "\n".join(paste_lines(reported(gpu_report(), strided(8, 552e9), chased(364e-9))))
    assert "stride-08 552 GB/s (12.5 % of roof)" in lines
    assert "chase 745 µs" in lines
    assert GPU.slug in lines
