"""What goes wrong in the middle: one line that names it, and everything measured before it kept."""

import json
import signal
import sys
import time

import pytest

pytestmark = pytest.mark.correctness

SUITE = ("--pyargs", "roofline.bench", "-m", "bench", "--device", "fake", "-p", "no:cacheprovider")
COPY = """
    import dataclasses
    import pytest
    from roofline.claims import Prediction, within
    from roofline.kernels import dram
    from roofline.model import Traffic, Work

    COPY = next(kernel for kernel in dram.every_kernel() if kernel.name == "copy-nt")
"""


@pytest.fixture
def suite(pytester):
    """Run experiments on a fake device of that truth, storing below the test's own folder."""

    def suite(*arguments, truth=None, subprocess=False):
        path = pytester.path / "truth.json"
        path.write_text(json.dumps(truth or {}))
        storage = f"--benchmark-storage=file://{pytester.path}/store"
        run = pytester.runpytest_subprocess if subprocess else pytester.runpytest_inprocess
        return run(*SUITE, f"--roofline-fake={path}", storage, *arguments)

    return suite


@pytest.fixture
def guest(pytester):
    """Run a test module of somebody's own kernel on the fake device."""

    def guest(body, *arguments, device="fake"):
        pytester.makepyfile(COPY + body)
        storage = f"--benchmark-storage=file://{pytester.path}/store"
        result = pytester.runpytest_inprocess(f"--device={device}", storage, "-p", "no:cacheprovider", *arguments)
        assert "During handling of the above" not in result.stdout.str()
        assert "INTERNALERROR" not in result.stdout.str()
        return result

    return guest


def stored(pytester):
    """The records that were saved."""
    return [json.loads(path.read_text()) for path in sorted((pytester.path / "store").glob("*/*.json"))]


def test_a_hang_in_a_probe_is_ended_too(suite):
    """Checks and probes run on the device as well, so the same time limit holds for them."""
    truth = {"faults": {"hang_kernels": "chains-02", "hang": "native"}}
    result = suite("-k", "test_dram", "--roofline-timeout=2", truth=truth, subprocess=True)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*quick probe of chains/chains-02 hung*"])


def test_a_fault_in_a_probe_is_one_line(suite):
    result = suite("-k", "test_dram and read", truth={"faults": {"fail_kernels": "chains-02"}})
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "roofline/timing.py" not in result.stdout.str()


def test_a_run_that_is_told_to_end_keeps_what_it_measured(pytester):
    """A CI that ends a job sends SIGTERM: what was measured is saved, as for Ctrl-C."""
    pytester.makepyfile(
        ender=f"""
        import os, signal, pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_setup(item):
            if "dial-0016-nt" in item.nodeid:
                os.kill(os.getpid(), {int(signal.SIGTERM)})
        """
    )
    storage = f"--benchmark-storage=file://{pytester.path}/store"
    result = pytester.runpytest_subprocess(*SUITE, storage, "--benchmark-save=ended", "-p", "ender")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    (record,) = stored(pytester)
    assert record["benchmarks"]
    assert record["roofline"]["complete"] is False


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('experiment=""', "needs an experiment and a name"),
        ('unit="fp64"', "counted in 'fp32' and the kernel says 'fp64'"),
        ('work=lambda n: Work(1.0, "fp32", {"dram": Traffic(-4.0 * n, 0.0)})', "bytes read at dram"),
        ('work=lambda n: Work(float("nan"), "fp32", {"dram": Traffic(4.0 * n, 0.0)})', "flops of * elements are nan"),
        ("reference=lambda arrays, launches: []", "its reference gives 0 arrays, 1 are observed"),
    ],
)
def test_a_kernel_that_contradicts_itself_costs_its_own_row_only(pytester, guest, change, said):
    """The row of the good kernel beside it is measured and saved."""
    body = f"""
    def test_bad(measure): measure(dataclasses.replace(COPY, {change}))

    def test_good(measure): measure(COPY)
    """
    result = guest(body, "--benchmark-save=both")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([f"*{said}*"])
    (record,) = stored(pytester)
    assert [row["extra_info"]["kernel"] for row in record["benchmarks"]] == ["copy-nt"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("define rubbish", "*dram/copy-nt: LLVM cannot build its IR*"),
        ("define void @k() {ret void}", "*dram/copy-nt: LLVM cannot build its IR: it defines no function 'k__rest'"),
    ],
)
def test_source_that_does_not_build_is_named(guest, text, said):
    body = f"""
    from roofline.kernel import Source
    BROKEN = dataclasses.replace(COPY, sources={{"cpu": lambda target, variant: Source({text!r}, "k")}})

    def test_broken(measure): measure(BROKEN)
    """
    result = guest(body, "--roofline-budget=0.01", device="cpu")
    result.stdout.fnmatch_lines([said])
    assert "cpu/backend.py" not in result.stdout.str()


def test_a_second_measurement_in_one_test_is_refused_and_the_first_stays(pytester, guest):
    body = """
    def test_twice(measure):
        measure(COPY)
        measure(COPY)
    """
    result = guest(body, "--benchmark-save=twice")
    result.stdout.fnmatch_lines(["*one test measures one kernel*"])
    (record,) = stored(pytester)
    assert len(record["benchmarks"]) == 1


def test_something_that_is_no_kernel_is_refused(guest):
    guest("    def test_word(measure): measure('scale')").stdout.fnmatch_lines(["*takes a roofline.kernel.Kernel*"])


def test_a_plain_number_may_be_claimed(guest):
    body = """
    @pytest.mark.predicts(Prediction("Z1", "a half", formula=within(0.4, 0.6, "a half")))
    def test_half(claim): claim(0.5)
    """
    guest(body).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("prediction", "said"),
    [
        ('Prediction("Z1", "x", formula=lambda device: 1 / 0)', "cannot be stated: ZeroDivisionError"),
        ('"near"', "needs @pytest.mark.predicts"),
    ],
)
def test_a_prediction_that_cannot_be_stated_fails_its_own_test(guest, prediction, said):
    body = f"""
    @pytest.mark.predicts({prediction})
    def test_claim(claim): claim(1.0)

    def test_other(measure): measure(COPY)
    """
    result = guest(body)
    assert result.parseoutcomes()["passed"] == 1
    result.stdout.fnmatch_lines([f"*{said}*"])


def test_a_slope_that_nothing_measures_is_said(guest):
    body = """
    work = lambda n: Work(1.0 * n, "fp32", {"dram": Traffic(4.0 * n, 4.0 * n)}, {"dram": "dram_copie"})

    def test_typo(measure): measure(dataclasses.replace(COPY, work=work, measures=()))
    """
    guest(body).stdout.fnmatch_lines(["*copy-nt is not judged by dram_copie: no kernel here measures that*"])


def test_a_clock_that_is_held_down_throughout_is_a_failure_with_a_plain_verdict(pytester, suite):
    """C11: what a throttled device did is shown, is no success, and never becomes the baseline."""
    truth = {"clock": {"throttle_share": 0.57, "throttle_every": 1}}
    result = suite("--benchmark-save=slow", truth=truth)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*clock stayed at 57 % of nominal in most rows*"])
    (record,) = stored(pytester)
    assert record["roofline"]["complete"] is False


def test_a_point_far_above_its_roof_refutes_the_model(suite):
    """M5: a kernel that moves less than it counts must not pass because the others are near their roofs."""
    result = suite("-k", "dial or dram", truth={"faults": {"dishonest": "dial-0024-nt", "moved": 0.3}})
    result.stdout.fnmatch_lines(["*M2 refuted*furthest: dial-0024-nt*"])


def test_nothing_measured_and_a_save_is_one_line(suite):
    result = suite("-k", "launch_graph", "--benchmark-save=none", truth={"launch_s": {"launch": 2e-6}})
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "Traceback" not in result.stdout.str()


def test_the_profiler_of_pytest_benchmark_does_not_upset_the_samples(suite):
    assert suite("-k", "test_dram and read", "--benchmark-cprofile=tottime").ret == pytest.ExitCode.OK


def test_too_little_memory_for_a_small_buffer_is_one_line(suite):
    result = suite("-k", "chains-02", truth={"memory_bytes": 1000})
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "roofline/session.py" not in result.stdout.str()


def test_a_limit_beyond_what_a_timer_takes_is_no_fault(suite):
    assert suite("-k", "test_dram and read", "--roofline-timeout=1e10").ret == pytest.ExitCode.OK


def test_what_cannot_be_saved_where_it_was_meant_to_is_no_success(pytester, suite, monkeypatch):
    """The record is kept elsewhere and said to be there, and the exit code tells."""
    from roofline.baseline import Store, StoreError

    honest = Store.save

    def full(store, record, device, name):
        if store.root == pytester.path / "store":
            raise StoreError(f"{store.root}: no space left")
        return honest(store, record, device, name)

    monkeypatch.setattr(Store, "save", full)
    result = suite("-k", "launch", "--benchmark-save=full")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*no space left; saved as *instead*"])


def test_a_chart_into_a_folder_that_is_not_there_is_refused_first(suite):
    result = suite("-k", "launch", "--roofline-chart=/no/such/folder/roof.svg")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*the folder does not exist*"])


def test_a_broken_matplotlib_is_refused_first(suite, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = suite("-k", "launch", "--roofline-chart=roof.svg")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*matplotlib cannot be imported*"])


def test_a_guest_that_times_nothing_on_purpose_is_left_in_peace(guest):
    """--benchmark-disable and --benchmark-skip ask for no timing, so none is missed."""
    body = "    def test_ours(measure): measure(COPY)"
    assert guest(body, "--benchmark-disable").ret == pytest.ExitCode.OK
    assert guest(body, "--benchmark-skip").ret == pytest.ExitCode.OK


def test_a_guest_with_a_bench_marker_of_its_own_may_use_xdist(pytester):
    pytester.makepyfile("import pytest\n@pytest.mark.bench\ndef test_theirs(): pass")
    result = pytester.runpytest_subprocess("-m", "bench", "-n", "1", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.OK


def test_the_time_limit_ends_a_hang_soon_after_it(suite):
    """The process does not linger: reports are written and it ends, well within what a person would wait."""
    began = time.monotonic()
    suite("-k", "read", "--roofline-timeout=1", truth={"faults": {"hang_kernels": "read"}}, subprocess=True)
    assert time.monotonic() - began < 60


def test_a_run_on_a_busy_machine_is_kept_but_is_no_baseline(pytester, suite):
    """What others disturbed in a quarter of its rows says more about them: it is said, and never becomes the latest."""
    result = suite("--benchmark-save=busy", truth={"others_busy": 0.4})
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*the machine was not quiet: others disturbed *by up to 40%*no baseline*"])
    (record,) = stored(pytester)
    assert record["roofline"]["complete"] is False


def test_what_a_selection_leaves_out_is_one_line_a_module(suite):
    result = suite("-k", "launch")
    result.stdout.re_match_lines([r"missing: \d+ tests of .*test_dial.py"])
    assert result.stdout.str().count("test_dial.py") == 2  # above the tables, and below them again


def test_a_record_that_no_folder_takes_is_said_to_be_lost_and_the_summary_comes_all_the_same(suite, monkeypatch):
    from roofline.baseline import Store, StoreError

    def full(store, record, device, name):
        raise StoreError(f"{store.root}: no space left")

    monkeypatch.setattr(Store, "save", full)
    result = suite("-k", "launch", "--benchmark-save=full")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*no space left; nor elsewhere *: this run is not stored*", "*passed*"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
