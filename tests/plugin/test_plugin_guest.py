"""In a stranger's repository: inert until used, and a good neighbour when used."""

import json

import pytest

pytestmark = pytest.mark.correctness

THEIR_BENCHMARK = """
    def test_theirs(benchmark):
        benchmark(sum, range(10))
"""

OUR_KERNEL = """
    from roofline.kernels import dram

    def test_ours(measure):
        measure(dram.kernel(next(p for p in dram.PATTERNS if p.name == "copy-nt")))
"""


def test_a_benchmark_of_theirs_is_left_as_it_is(pytester):
    """No timer, storage or output of a benchmark that is not ours is changed."""
    pytester.makepyfile(THEIR_BENCHMARK)
    result = pytester.runpytest_inprocess("--benchmark-save=theirs", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.OK
    assert "roofline:" not in result.stdout.str()
    (saved,) = (pytester.path / ".benchmarks").glob("*/0001_theirs.json")
    record = json.loads(saved.read_text())
    assert "roofline" not in record
    assert "node" in record["machine_info"]
    assert record["benchmarks"][0]["options"]["timer"] == "perf_counter"


def test_an_option_named_device_stays_theirs(pytester):
    """A conftest that has `--device` already keeps it; ours is then --roofline-device."""
    pytester.makeconftest("def pytest_addoption(parser): parser.addoption('--device', default='board')")
    pytester.makepyfile("def test_device(request): assert request.config.getoption('--device') == 'jtag'")
    assert pytester.runpytest_inprocess("--device=jtag", "-p", "no:cacheprovider").ret == pytest.ExitCode.OK


def test_fixtures_named_like_ours_stay_theirs(pytester):
    """A conftest's fixture wins over a plugin's, and a test that uses it opens no device."""
    pytester.makeconftest("import pytest\n@pytest.fixture\ndef measure(): return 42")
    pytester.makepyfile("def test_measure(measure): assert measure == 42")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.OK
    assert "roofline:" not in result.stdout.str()


def test_their_kernel_is_measured_with_our_fixture(pytester):
    """One fixture in a plain test is all it takes; the roof above the kernel is probed."""
    pytester.makepyfile(OUR_KERNEL)
    result = pytester.runpytest_inprocess("--device=fake", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*copy-nt*GB/s*"])


def test_what_is_said_in_the_middle_of_a_test_is_not_captured(pytester):
    """A probe is said to be one, on the terminal, while the test that needs it runs and passes."""
    pytester.makepyfile(OUR_KERNEL)
    result = pytester.runpytest_subprocess("--device=fake", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*ceilings from a quick probe*fp32*"])


def test_every_level_that_a_kernel_of_theirs_counts_is_judged(pytester):
    """A kernel on DRAM buffers may count inner levels: their slopes are probed as well, and an unknown one is named."""
    pytester.makepyfile(
        """
        from dataclasses import replace
        from roofline.kernels import dram
        from roofline.model import Traffic

        COPY = next(kernel for kernel in dram.every_kernel() if kernel.name == "copy-nt")

        def work(n):
            inner = {"l2": Traffic(400.0 * n, 0.0), "l9": Traffic(n, 0.0)}
            return replace(COPY.work(n), flops=float(n), traffic={**COPY.work(n).traffic, **inner})

        def test_levels(measure): measure(replace(COPY, name="mine", measures=(), work=work))
        """
    )
    result = pytester.runpytest_inprocess("--device=fake", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*quick probe*l2*", "*mine is not judged by l9*", "HIERARCHY *", "* l2 * limits"])


def test_our_rows_and_theirs_are_stored_apart(pytester):
    """In a mixed run our rows become a record of the device, theirs go where they always went."""
    pytester.makepyfile(test_theirs=THEIR_BENCHMARK, test_ours=OUR_KERNEL)
    storage = f"--benchmark-storage=file://{pytester.path}/store"
    result = pytester.runpytest_inprocess("--device=fake", storage, "--benchmark-save=both", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.OK
    records = {path.parent.name: json.loads(path.read_text()) for path in (pytester.path / "store").glob("*/*.json")}
    ours = next(record for folder, record in records.items() if "fake" in folder)
    theirs = next(record for folder, record in records.items() if "fake" not in folder)
    assert [row["extra_info"]["kernel"] for row in ours["benchmarks"]] == ["copy-nt"]
    assert [row["name"] for row in theirs["benchmarks"]] == ["test_theirs"]
    assert "roofline" not in theirs
    assert theirs["benchmarks"][0]["options"]["timer"] == "perf_counter"


def test_a_long_experiment_waits_until_it_is_asked_for(pytester):
    """`-m bench` leaves `full` out; `-m "bench and full"` adds it to the core."""
    pytester.makepyfile(
        """
        import pytest
        from roofline.kernels import dram

        KERNELS = {pattern.name: dram.kernel(pattern) for pattern in dram.PATTERNS}

        @pytest.mark.bench
        def test_core(measure): measure(KERNELS["read"])

        @pytest.mark.bench
        @pytest.mark.full
        def test_long(measure): measure(KERNELS["copy-nt"])
        """
    )
    arguments = ("--device=fake", "-p", "no:cacheprovider", "-m")
    pytester.runpytest_inprocess(*arguments, "bench").assert_outcomes(passed=1, deselected=1)
    pytester.runpytest_inprocess(*arguments, "bench and full").assert_outcomes(passed=2)
    pytester.runpytest_inprocess(*arguments, "bench and not full").assert_outcomes(passed=1, deselected=1)


def test_collecting_opens_no_device(pytester):
    pytester.makepyfile(OUR_KERNEL)
    result = pytester.runpytest_inprocess("--collect-only", "--device=nonsense", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.OK


def test_a_claim_without_a_prediction_says_what_it_needs(pytester):
    pytester.makepyfile("def test_claim(claim): claim(None)")
    result = pytester.runpytest_inprocess("--device=fake", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*needs @pytest.mark.predicts*"])


@pytest.mark.parametrize(
    ("value", "spread", "outcome"),
    [(0.5, 0.0, "passed"), (0.9, 0.0, "failed"), (0.6, 0.2, "skipped")],
)
def test_a_claim_passes_fails_or_skips_as_it_is_judged(pytester, value, spread, outcome):
    """Confirmed passes, refuted fails, inconclusive skips with the numbers."""
    pytester.makepyfile(
        f"""
        import pytest
        from roofline.claims import Prediction, within
        from roofline.model import Estimate

        @pytest.mark.predicts(Prediction("Z1", "about a half", formula=within(0.4, 0.6, "a half")))
        def test_half(claim):
            claim(Estimate({value}, {value - spread}, {value + spread}))
        """
    )
    result = pytester.runpytest_inprocess("--device=fake", "-p", "no:cacheprovider", "-rs")
    result.assert_outcomes(**{outcome: 1})


@pytest.mark.parametrize(
    ("virtualised", "noise", "outcome"), [(True, 0.01, "skipped"), (True, 0.0, "failed"), (False, 0.01, "failed")]
)
def test_on_a_guest_only_counts_are_refuted(pytester, virtualised, noise, outcome):
    """Unseen neighbours may have taken any rate's half; a count is a count, and a machine of one's own has none."""
    truth = pytester.path / "truth.json"
    truth.write_text(json.dumps({"state": {"virtualised": virtualised}}))
    pytester.makepyfile(
        f"""
        import pytest
        from roofline.claims import Prediction, within
        from roofline.model import Estimate

        @pytest.mark.predicts(Prediction("Z1", "about a half", formula=within(0.4, 0.6, "a half")))
        def test_half(claim):
            claim(Estimate(0.25, 0.25 - {noise}, 0.25 + {noise}))
        """
    )
    result = pytester.runpytest_inprocess("--device=fake", f"--roofline-fake={truth}", "-p", "no:cacheprovider", "-rs")
    result.assert_outcomes(**{outcome: 1})
    if outcome == "skipped":
        result.stdout.fnmatch_lines(["*Z1 inconclusive*a guest cannot see its neighbours*"])
