"""The main job on the fake device, through pytester: measure, judge, save, compare, be interrupted."""

import json

import pytest

pytestmark = pytest.mark.correctness

SUITE = ("--pyargs", "roofline.bench", "-m", "bench", "--device", "fake", "-p", "no:cacheprovider")


@pytest.fixture
def run(pytester):
    """Run the suite on the fake device, storing below the test's own folder."""

    def run(*arguments, truth=None):
        told = []
        if truth is not None:
            path = pytester.path / "truth.json"
            path.write_text(json.dumps(truth))
            told = [f"--roofline-fake={path}"]
        return pytester.runpytest_inprocess(
            *SUITE, *told, f"--benchmark-storage=file://{pytester.path}/store", *arguments
        )

    return run


@pytest.fixture
def stored(pytester):
    """The records that were saved, in order, as (file name, JSON)."""

    def stored():
        paths = sorted((pytester.path / "store").glob("*/*.json"))
        return [(path.name, json.loads(path.read_text())) for path in paths]

    return stored


def test_the_suite_measures_judges_and_summarises(run):
    """X4, X5: predictions come before the first figure; ceilings, dial, launches, claims and pasteable lines after."""
    result = run()
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "*predictions, stated before the run*",
            "*[[]  1/*left]*",
            "*CEILINGS*",
            "*DIAL*",
            "*LAUNCH*",
            "*CLAIMS*",
            "PASTE dial *",
        ]
    )
    assert "[100%]" not in result.stdout.str().split("PASTE")[1]


def test_a_bare_save_names_the_file_after_the_day(run, stored):
    """`--benchmark-save` needs no name, although pytest-benchmark itself demands one."""
    assert run("--benchmark-save").ret == pytest.ExitCode.OK
    ((name, record),) = stored()
    assert name.startswith("0001_20")
    assert record["roofline"]["complete"] is True


def test_a_save_with_a_name_keeps_it_and_counts_up(run, stored):
    run("-k", "launch", "--benchmark-save=first")
    run("-k", "launch", "--benchmark-save=second")
    assert [name for name, _ in stored()] == ["0001_first.json", "0002_second.json"]


def test_the_next_run_is_judged_by_the_stored_baseline(run):
    """Each ceiling and ridge of the card is then a claim of its own, expected where the baseline has it."""
    run("--benchmark-save=first")
    result = run()
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*judged by *0001_first.json*", "*fp32 is no worse than in*at least*baseline*"])


def test_a_card_that_lost_bandwidth_is_refuted_by_its_baseline(run):
    """M12: a refuted claim fails its test and the run, and names what was expected and measured."""
    run("--benchmark-save=first")
    slower = {"ceilings": {"dram": 50e9, "l2": 400e9, "fp32": 1e12}}
    result = run("-k", "dram", truth=slower)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*M12 refuted: dram is no worse than in this model's baseline; measured 50*below*"])


def test_report_only_shows_a_refuted_claim_and_does_not_fail(run):
    run("--benchmark-save=first")
    slower = {"ceilings": {"dram": 50e9, "l2": 400e9, "fp32": 1e12}}
    result = run("-k", "dram", "--roofline-report-only", truth=slower)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*M12 refuted*"])


def test_a_disturbed_machine_refutes_nothing(run):
    """What a noisy neighbour may have caused is inconclusive: a skip with the numbers."""
    run("--benchmark-save=first")
    slower = {"ceilings": {"dram": 50e9, "l2": 400e9, "fp32": 1e12}, "others_busy": 0.4}
    result = run("-k", "dram", truth=slower)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*M12 inconclusive*"])
    assert "others used 40" in result.stdout.str()


def test_times_in_the_file_are_device_times_under_a_stable_timer(run, stored):
    """pytest-benchmark's statistics are those of the device's clock, whose name stays the same in every file."""
    run("--benchmark-save=first", "-k", "launch")
    ((_, record),) = stored()
    row = next(row for row in record["benchmarks"] if row["extra_info"]["kernel"] == "launch_sync")
    assert row["options"]["timer"] == "device_time"
    assert row["stats"]["median"] == pytest.approx(6e-6, rel=0.01)
    assert row["stats"]["median"] == pytest.approx(row["extra_info"]["seconds"], rel=0.01)


def test_a_selection_is_stored_but_is_no_baseline(run, stored):
    """A partial run is kept, says what it lacks, and never becomes the latest."""
    run("--benchmark-save=part", "-k", "dial-000")
    ((_, record),) = stored()
    assert record["roofline"]["complete"] is False
    assert any("test_dram" in missing for missing in record["roofline"]["missing"])
    run("-k", "launch").stdout.fnmatch_lines(["*judged by no baseline*"])


def test_a_module_selected_alone_takes_its_ceilings_from_a_quick_probe(run):
    result = run("-k", "dial-000")
    result.stdout.fnmatch_lines(["*ceilings from a quick probe, not measured in full: *"])
    assert result.ret == pytest.ExitCode.OK


def test_a_kernel_that_fails_costs_its_row_and_nothing_else(run, stored):
    """The test of the kernel fails by name, without a traceback; every other row is measured and saved."""
    result = run("-k", "dial or dram", "--benchmark-save=broken", truth={"faults": {"fail_kernels": "dial-0016-nt"}})
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    ((_, record),) = stored()
    kernels = {row["extra_info"]["kernel"] for row in record["benchmarks"]}
    assert "dial-0016-inplace" in kernels
    assert "dial-0016-nt" not in kernels
    assert record["roofline"]["complete"] is False
    absent = [row for row in record["roofline"]["absent"] if row["status"] == "error"]
    assert [row["kernel"] for row in absent] == ["dial-0016-nt"]
    assert "Traceback" not in result.stdout.str()
    assert "roofline/session.py" not in result.stdout.str()


def test_a_wrong_result_is_never_timed(run, stored):
    """A9: a kernel whose result differs from its reference has no row, and the message shows both values."""
    result = run("-k", "dram", "--benchmark-save=wrong", truth={"faults": {"wrong": "copy-nt"}})
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*dram/copy-nt*values are wrong*should be*"])
    assert "np.float64" not in result.stdout.str()
    ((_, record),) = stored()
    assert "copy-nt" not in {row["extra_info"]["kernel"] for row in record["benchmarks"]}


def test_lost_launches_refute_the_count(run):
    """C4: 999 of 1000 launches is not 1000."""
    result = run("-k", "launch", truth={"faults": {"lost_launches": 1}})
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*C4 refuted*"])


@pytest.mark.parametrize("timer", [{"frozen": True}, {"backwards": True}])
def test_a_clock_that_stands_still_or_runs_backwards_is_named(run, timer):
    """C03: the run ends, with the timer named, instead of hanging in a calibration."""
    result = run("-k", "dram", truth={"timer": timer})
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*timer*"])
    assert "PASTE dram" not in result.stdout.str()


def test_a_run_that_measured_nothing_is_no_success(run):
    """Every row unsupported is not a green run."""
    result = run("-k", "launch_graph", truth={"launch_s": {"launch": 2e-6}})
    result.stdout.fnmatch_lines(["*nothing was measured, which is no success*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_interrupting_keeps_what_was_measured(pytester, run, stored):
    """Ctrl-C in the middle: the rows so far are saved, what is missing is said, and it is no baseline."""
    pytester.makepyfile(
        interrupter="""
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_setup(item):
            if "dial-0016-nt" in item.nodeid:
                raise KeyboardInterrupt
        """
    )
    storage = f"--benchmark-storage=file://{pytester.path}/store"
    result = pytester.runpytest_subprocess(*SUITE, storage, "--benchmark-save=cut", "-p", "interrupter")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    ((_, record),) = stored()
    assert record["benchmarks"]
    assert record["roofline"]["complete"] is False
    assert "the run was interrupted" in record["roofline"]["missing"]


def test_a_hang_is_ended_and_what_was_measured_is_kept(pytester, stored):
    """A kernel that never returns is named, the rows before it are saved, and the exit code is a failure."""
    truth = pytester.path / "truth.json"
    truth.write_text(json.dumps({"faults": {"hang_kernels": "update-inplace", "hang": "native"}}))
    storage = f"--benchmark-storage=file://{pytester.path}/store"
    limits = ("--roofline-timeout", "2", f"--junitxml={pytester.path}/report.xml")
    result = pytester.runpytest_subprocess(
        *SUITE, f"--roofline-fake={truth}", storage, "--benchmark-save=hung", *limits, "-k", "dram"
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*dram/update-inplace hung: it did not end within 2 s*", "*INCOMPLETE RUN*"])
    ((_, record),) = stored()
    assert record["roofline"]["complete"] is False
    assert "read" in {row["extra_info"]["kernel"] for row in record["benchmarks"]}
    assert "did not end within 2 s" in (pytester.path / "report.xml").read_text()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_json_output_is_the_record_too(pytester, run):
    """`--benchmark-json` writes what a baseline holds (into a file that pytest-benchmark 5.2 forgets to close)."""
    run("-k", "launch", f"--benchmark-json={pytester.path}/out.json")
    written = json.loads((pytester.path / "out.json").read_text())
    assert written["machine_info"]["schema"] == 1
    assert "launch" in written["roofline"]["ceilings"]


def test_the_chart_is_drawn_where_it_was_asked_for(pytester, run):
    run("-k", "dial-00", f"--roofline-chart={pytester.path}/roof.svg")
    assert "<svg" in (pytester.path / "roof.svg").read_text()


def test_checked_but_not_timed_when_benchmarks_are_disabled(run):
    result = run("--benchmark-disable", "-k", "test_dram[copy-nt]")
    result.stdout.fnmatch_lines(["*checked but not timed*"])
