"""A measuring session on the fake device: what is kept, what is judged by what, and what others may not spoil."""

from dataclasses import replace

import pytest

from roofline.checking import IncorrectResult
from roofline.devices.base import DeviceFault, KernelUnsupported, WrongMachineCode
from roofline.devices.fake import FakeBackend, FakeFaults, FakeSeries, FakeTruth
from roofline.kernel import InvalidKernel
from roofline.kernels import chains, dial, dram
from roofline.session import Session, disturbance

pytestmark = pytest.mark.correctness

COPY = dram.kernel(next(pattern for pattern in dram.PATTERNS if pattern.name == "copy-nt"))
DIAL = dial.kernel(1, "nt")


def session(**truth):
    """A session on a fake device of that truth."""
    return Session(FakeBackend(FakeTruth(**truth)))


def test_a_row_is_kept_with_its_winner_and_every_contender():
    run = session(variants={"8x8*": 0.5})
    row = run.measure(COPY)
    assert row.variant == "8x8"
    assert set(row.searched) == {variant.name for variant in COPY.variants(run.backend.target)}
    assert run.measurements[row.key] is row


def test_ceilings_come_from_the_rows_that_measure_them():
    run = session()
    run.measure(COPY)
    assert run.ceilings()["dram_copy_nt"].rate == pytest.approx(100e9, rel=0.01)
    assert run.ceilings()["dram"].kernel == "copy-nt"


def test_a_missing_ceiling_is_probed_and_called_a_probe():
    run = session()
    assert run.ensure(["dram_copy_nt", "fp32"]) == ["dram_copy_nt", "fp32"]
    assert run.ceilings()["dram_copy_nt"].source == "probe"
    assert run.ensure(["dram_copy_nt"]) == []
    run.measure(COPY)
    assert run.ceilings()["dram_copy_nt"].source == "measured"


def test_a_dial_is_measured_beside_the_kernel_that_set_its_slope():
    run = session(series=FakeSeries(drift_per_launch=0.001, drift_limit=4.0))
    run.measure(chains.kernel(8))
    run.measure(COPY)
    row = run.measure(DIAL)
    assert row.beside.value == pytest.approx(1.0, rel=0.02)
    assert run.points()[row.key].fraction == pytest.approx(1.0, rel=0.02)
    assert row.bytes_per_s().value < 0.98 * run.ceilings()["dram_copy_nt"].rate


def test_what_memory_has_no_say_in_is_not_measured_beside_it():
    run = session()
    run.measure(COPY)
    run.measure(chains.kernel(8))
    far = run.measure(dial.kernel(512, "nt"))
    assert (far.beside, far.beside_roof.value) == (None, pytest.approx(1.0, rel=0.02))
    near = run.measure(dial.kernel(1, "nt"))
    assert (near.beside.value, near.beside_roof) == (pytest.approx(1.0, rel=0.02), None)
    assert run.measure(chains.kernel(4)).beside_roof is None


def test_a_roof_that_neighbours_lower_meanwhile_moves_no_point_off_it():
    """A point past the ridge is judged by the arithmetic roof of its own moment."""
    run = session(series=FakeSeries(drift_per_launch=0.0005, drift_limit=4.0))
    run.measure(COPY)
    run.measure(chains.kernel(8))
    row = run.measure(dial.kernel(512, "nt"))
    assert row.flop_per_s.value < 0.98 * run.ceilings()["fp32"].rate
    assert run.points()[row.key].fraction == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize(
    ("faults", "error"),
    [
        (FakeFaults(fail_kernels="copy-nt"), DeviceFault),
        (FakeFaults(wrong="copy-nt"), IncorrectResult),
        (FakeFaults(wrong_code="copy-nt"), WrongMachineCode),
    ],
)
def test_a_row_that_fails_is_absent_with_the_reason_and_others_stand(faults, error):
    """A9: what is not right is not timed; what was measured before it stays."""
    run = session(faults=faults)
    run.measure(chains.kernel(8))
    with pytest.raises(error):
        run.measure(COPY)
    (absent,) = run.absent.values()
    assert (absent.key.kernel, absent.status) == ("copy-nt", "error")
    assert absent.reason
    assert [key.kernel for key in run.measurements] == ["chains-08"]


def test_a_row_that_stands_is_not_measured_over():
    """A record has each row once: a second kernel of the same name is refused, and the first row stays."""
    run = session()
    row = run.measure(COPY)
    with pytest.raises(InvalidKernel, match="measured before in this run"):
        run.measure(replace(COPY, scalars=(0.5, 0.0)))
    assert (run.measurements, run.absent) == ({row.key: row}, {})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"memory": "own", "size": lambda _: 0}, "a launch handles 0 elements"),
        ({"memory": "own", "size": lambda _: -5}, "a launch handles -5 elements"),
        ({"memory": "own", "size": lambda _: 1e6}, "a launch handles 1000000.0 elements"),
        ({"dtype": "float128"}, "its arrays are of 'float128'"),
        ({"measures": ("l2",)}, "measures 'l2' and its work counts nothing of that"),
        ({"measures": ("launch",)}, "measures 'launch' and its work counts nothing of that"),
        ({"measures": ("",)}, "measures '' and its work counts nothing of that"),
        ({"work": lambda n: replace(COPY.work(n), flops=0.0), "measures": ("fp32",)}, "measures 'fp32' and its work"),
    ],
)
def test_a_kernel_that_has_no_size_type_or_count_is_refused(change, said):
    run = session()
    with pytest.raises(InvalidKernel, match=said):
        run.measure(replace(COPY, **change))
    (absent,) = run.absent.values()
    assert isinstance(absent.key.size, int)


def test_a_ceiling_whose_arrays_are_gone_judges_without_taking_turns():
    """Arrays of its own are given back once measured: what it set stands, and nothing can run beside it."""
    run = session()
    run.measure(chains.kernel(8))
    run.measure(replace(COPY, name="own-copy", memory="own", size=lambda _: 1 << 22))
    row = run.measure(DIAL)
    assert row.beside is None
    assert run.points()[row.key].bound_by == "dram_copy_nt"


def test_the_kernel_that_set_a_ceiling_runs_beside_not_another_of_its_name():
    """A name is unique within its experiment alone; the row that has the ceiling's rate set it."""
    run = session()
    run.measure(chains.kernel(8))
    run.measure(replace(COPY, experiment="mine", memory="own", size=lambda _: 1 << 12))
    run.measure(COPY)
    assert run.measure(DIAL).beside.value == pytest.approx(1.0, rel=0.02)


def test_a_way_to_launch_that_a_device_lacks_is_unsupported():
    run = session(launch_s={"launch": 1e-6})
    with pytest.raises(KernelUnsupported):
        run.measure_launches("launch_graph")
    assert [row.status for row in run.absent.values()] == ["unsupported"]


def test_every_launch_is_counted():
    """C4: asked for and really ran."""
    assert session().count_launches("launch") == (1000, 1000)
    assert session(faults=FakeFaults(lost_launches=3)).count_launches("launch") == (1000, 997)


def test_a_disturbed_row_says_how_much_and_a_quiet_one_says_nothing():
    noisy, quiet = session(others_busy=0.4), session()
    assert disturbance([noisy.measure(COPY)]) == "others used 40% of the machine meanwhile"
    assert disturbance([quiet.measure(COPY)]) == ""


def test_ridges_are_those_of_the_slopes_that_judge_something():
    run = session()
    for kernel in (COPY, chains.kernel(8), DIAL):
        run.measure(kernel)
    assert set(run.ridges()) == {"fp32/dram", "fp32/dram_copy_nt"}
    assert run.ridges()["fp32/dram_copy_nt"].value == pytest.approx(10, rel=0.02)


def test_the_day_of_the_run_is_in_its_environment():
    assert len(session().environment.facts["date"].split("-")) == 3
