"""`--roofline-compare` and `--roofline-fail`, through pytester: a run against a stored one, and when it fails."""

import json
import shutil

import pytest
import scipy

pytestmark = pytest.mark.correctness

# SciPy imports parts of itself in its first test, and pytester takes out again what a run inside it imported.
scipy.stats.mannwhitneyu([1, 2], [3, 4])

# One that measures fp32 is among them, so that no run has to probe for it.
KERNELS = ("copy-nt", "read", "chains-12")
MODULE = """
    import pytest
    from roofline.kernels import chains, dram

    KERNELS = [kernel for kernel in [*dram.every_kernel(), *chains.every_kernel()] if kernel.name in {names}]

    @pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
    def test_mine(kernel, measure):
        measure(kernel)
"""
LONG = """
    @pytest.mark.full
    @pytest.mark.parametrize("kernel", [k for k in dram.every_kernel() if k.name == "write-nt"], ids=lambda k: k.name)
    def test_long(kernel, measure):
        measure(kernel)
"""
SLOWER_COPY = {"faults": {"dishonest": "copy-nt", "moved": 1.3}}
SLOWER_MEMORY = {"ceilings": {"dram": 70e9, "l2": 400e9, "fp32": 1e12}}


@pytest.fixture
def mine(pytester):
    """Run somebody's own tests of three kernels on a fake device, storing below the test's own folder."""

    def mine(*arguments, truth=None, names=KERNELS, more=""):
        pytester.makepyfile(test_mine=MODULE.format(names=list(names)) + more)
        path = pytester.path / "truth.json"
        path.write_text(json.dumps(truth or {}))
        storage = f"--benchmark-storage=file://{pytester.path}/store"
        options = ("--device=fake", f"--roofline-fake={path}", storage, "-p", "no:cacheprovider")
        return pytester.runpytest_inprocess(*options, *arguments)

    return mine


@pytest.fixture(scope="module")
def kept():
    """The text of the first record, once a test has made it."""
    return []


@pytest.fixture
def first(mine, pytester, kept):
    """The stored record of a run in which all was well."""
    path = pytester.path / "store" / "fake-device-fake-4c" / "0001_first.json"
    if not kept:
        mine("--benchmark-save=first")
        kept.append(path.read_text())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(kept[0])
    return path


def stored(pytester):
    """The files that were saved, in order."""
    return sorted((pytester.path / "store").glob("*/*.json"))


def test_a_run_that_changed_nothing_is_the_same_as_the_stored_one(mine, first):
    result = mine("--roofline-compare", "--roofline-fail")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*compared with *0001_first.json*", "*copy-nt*+0.0 % time*", "CHANGES*: 3 same"])


def test_a_slower_kernel_fails_the_run_where_that_was_asked_for(mine, first):
    result = mine("--roofline-compare=first", truth=SLOWER_COPY)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["CHANGES*: 1 slower, 2 same", "dram/copy-nt*slower*+30.0 %*kernel*"])
    result = mine("--roofline-compare=first", "--roofline-fail", truth=SLOWER_COPY)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*--roofline-fail: the run fails: 1 slower, 2 same*"])


def test_a_run_is_compared_before_it_is_stored_itself(mine, pytester, first):
    """Else it would be the newest, and the same as itself."""
    result = mine("--roofline-compare", "--roofline-fail", "--benchmark-save=second", truth=SLOWER_COPY)
    assert [path.name for path in stored(pytester)] == ["0001_first.json", "0002_second.json"]
    result.stdout.fnmatch_lines(["CHANGES*against *0001_first.json*: 1 slower*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_memory_that_became_slower_as_a_whole_is_shown_and_fails_nothing(mine, first):
    result = mine("--roofline-compare", "--roofline-fail", truth=SLOWER_MEMORY)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["CHANGES*: 2 slower, 1 same", "dram/copy-nt*slower*machine*"])


def test_a_test_that_vanished_fails_the_run_and_one_that_was_not_selected_does_not(mine, first):
    """C42: nobody notices otherwise that a kernel is not measured any more."""
    result = mine("--roofline-compare", "--roofline-fail", names=KERNELS[:2])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["CHANGES*: 1 gone, 2 same", "chains/chains-12*gone*"])
    result = mine("--roofline-compare", "--roofline-fail", "-k", "copy")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["CHANGES*: 1 same"])


def test_where_a_folder_of_tests_is_named_only_what_it_held_can_be_gone(mine, pytester, first):
    """Rows of other folders were not asked for."""
    other = pytester.mkdir("other")
    (other / "test_else.py").write_text("def test_else():\n    pass\n")
    result = mine("--roofline-compare", "test_mine.py", "other", names=KERNELS[:2])
    assert result.ret == pytest.ExitCode.USAGE_ERROR  # the first folder would be taken for a record
    result = mine("test_mine.py", "--roofline-compare", names=KERNELS[:2])
    result.stdout.fnmatch_lines(["CHANGES*: 1 gone, 2 same"])


def test_long_experiments_that_were_not_asked_for_are_not_gone(mine):
    mine("--benchmark-save=first", "-m", "full or not full", more=LONG)
    result = mine("--roofline-compare", "--roofline-fail", more=LONG)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["CHANGES*: 3 same"])


def test_a_kernel_that_fails_is_gone_with_its_reason(mine, first):
    result = mine("--roofline-compare", "--roofline-fail", truth={"faults": {"wrong": "read"}})
    result.stdout.fnmatch_lines(["CHANGES*: 1 gone, 2 same", "dram/read*gone*error*"])


def test_another_state_is_not_compared_and_does_not_pass(mine):
    mine("--benchmark-save=first", truth={"state": {"power_limit_w": 300.0}})
    result = mine("--roofline-compare", "--roofline-fail", truth={"state": {"power_limit_w": 200.0}})
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["CHANGES*: 3 incomparable", "power_limit_w differs: 300 before, 200 now*"])


def test_a_run_that_measures_nothing_does_not_pass_a_gate(mine, pytester, first):
    pytester.makepyfile(test_plain="def test_plain(): pass")
    result = mine("--roofline-compare", "--roofline-fail", "-k", "plain")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*nothing was compared, which is no success*"])
    assert mine("--roofline-compare", "-k", "plain").ret == pytest.ExitCode.OK
    assert mine("--roofline-compare", "--roofline-fail", "--benchmark-disable").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--roofline-compare"], "*no baseline of Fake device in *make one first*"),
        (["--roofline-compare=nobody"], "*'nobody' is no file, card or record*"),
        (["--roofline-fail"], "*add --roofline-compare*"),
        (["--roofline-compare", "test_mine.py"], "*write --roofline-compare=*"),
        (["--roofline-compare", "test_mine.py::test_mine"], "*write --roofline-compare=*"),
    ],
)
def test_what_cannot_be_compared_is_a_usage_error(mine, arguments, said):
    result = mine(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {said}"])


def test_a_record_of_another_model_is_refused(mine, pytester):
    """C41: there is no slower or faster between two cards."""
    mine("--benchmark-save=first", truth={"name": "Other device"})
    (path,) = stored(pytester)
    result = mine(f"--roofline-compare={path}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*Other device*verdicts are for one model*"])


def test_floors_are_learnt_from_the_stored_repeats_and_kept_with_each_record(mine, pytester, first):
    for number in (2, 3):
        shutil.copy(first, first.with_name(f"{number:04d}_again.json"))
    result = mine("--roofline-compare", "--benchmark-save=last")
    result.stdout.fnmatch_lines(["floors: 3 learnt from 3 runs"])
    floors = json.loads(stored(pytester)[-1].read_text())["roofline"]["floors"]
    assert sorted(key.split()[0] for key in floors) == ["chains/chains-12", "dram/copy-nt", "dram/read"]
    assert set(floors.values()) == {0.01}
    assert not json.loads(first.read_text())["roofline"]["floors"]


def test_a_name_that_is_too_long_for_a_file_is_no_record(mine, first):
    result = mine("--roofline-compare=" + "x" * 5000)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*is no file, card or record in *"])


def test_a_stored_run_may_vanish_while_another_is_compared_with_it(mine, first):
    """A branch was changed meanwhile; what was read at the start is what counts."""
    more = f"""
    def test_vanishing():
        __import__("os").unlink({str(first)!r})
"""
    result = mine("--roofline-compare=first", "--benchmark-save=second", more=more)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["CHANGES*: 3 same", "*saved *_second.json*"])


def test_benchmarks_of_others_beside_the_rows_are_passed_over(mine, first):
    document = json.loads(first.read_text())
    document["benchmarks"].append({"name": "foreign", "extra_info": ["a", "list"]})
    first.write_text(json.dumps(document))
    result = mine("--roofline-compare=first")
    result.stdout.fnmatch_lines(["CHANGES*: 3 same"])


def test_a_run_whose_clock_was_held_down_is_compared_all_the_same(mine, first):
    """It fails and is no baseline, and the comparison says that the clock is what changed."""
    result = mine("--roofline-compare", truth={"clock": {"throttle_share": 0.8, "throttle_every": 1}})
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["CHANGES*: 1 inconclusive, 2 same", "chains/chains-12*clock: throttled after*"])
