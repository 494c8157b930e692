"""The store of baselines: numbered, never overwritten, and nothing damaged is passed over in silence."""

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import date
from importlib.metadata import entry_points
from itertools import count
from pathlib import Path

import pytest

from roofline import baseline
from roofline.baseline import Store, StoreError, check_name, default_name, writable
from roofline.model import Device, Environment, Estimate, Measurement, RowKey, Samples, Timer, Traffic, Work
from roofline.privacy import Names
from roofline.record import RecordError, Run, assemble, load

pytestmark = pytest.mark.correctness

CARD = Device("NVIDIA RTX 3060", "cuda", "sm_86", 28, memory_class="12 GiB")
OTHER_MEMORY = replace(CARD, memory_class="8 GiB")
PLAIN = {"machine_info": {}, "benchmarks": [], "datetime": "2025-01-31T12:00:00+00:00", "version": "5.1.0"}


def row(size: int) -> Measurement:
    return Measurement(
        key=RowKey("dram", "copy", size, "fp32", "dram"),
        work=Work(0.0, "fp32", {"dram": Traffic(4.0 * size, 4.0 * size)}),
        variant="wide",
        samples=Samples((1e-3, 1.1e-3, 1.2e-3), Timer("fake", 1e-9)),
        seconds=Estimate(1.1e-3, 1e-3, 1.2e-3),
    )


def record(device: Device = CARD, complete: bool = True, day: str = "31", selection: str = "") -> dict:
    run = Run(device, Environment(), "", measurements=(row(64), row(128)), complete=complete, selection=selection)
    return assemble(PLAIN | {"datetime": f"2025-01-{day}T12:00:00+00:00"}, run, Names())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "baselines")


# Saving


def test_records_are_numbered_within_the_folder_of_their_model(store: Store) -> None:
    first, second = store.save(record(), CARD, "first"), store.save(record(), CARD, "second")
    assert first == store.root / "nvidia-rtx-3060" / "0001_first.json"
    assert second == store.root / "nvidia-rtx-3060" / "0002_second.json"


def test_what_was_saved_is_what_is_loaded(store: Store) -> None:
    path = store.save(record(selection="dial"), CARD, "x")
    assert json.loads(path.read_text(encoding="utf-8")) == record(selection="dial")
    assert load(path).run.selection == "dial"


def test_nothing_but_the_record_is_left_in_the_folder(store: Store) -> None:
    path = store.save(record(), CARD, "x")
    assert list(path.parent.iterdir()) == [path]


def test_numbers_go_on_past_9999(store: Store) -> None:
    store.folder(CARD).mkdir(parents=True)
    (store.folder(CARD) / "9999_x.json").write_text("damaged", encoding="utf-8")
    path = store.save(record(), CARD, "y")
    assert path.name == "10000_y.json"
    assert store.latest(CARD).path == path
    assert store.save(record(), CARD, "z").name == "10001_z.json"


def test_a_number_that_a_killed_run_left_claimed_is_left_out(store: Store) -> None:
    store.folder(CARD).mkdir(parents=True)
    claim = store.folder(CARD) / ".0001.partial"
    claim.touch()
    assert store.save(record(), CARD, "x").name == "0002_x.json"
    assert claim.exists()


SAVE_TEN = """
import json, sys
from pathlib import Path
from roofline import baseline
from roofline.baseline import Store
from roofline.record import parse

record = json.loads(Path("record.json").read_text(encoding="utf-8"))
record["roofline"]["selection"] = sys.argv[1]
device = parse(record, Path()).run.device
print("ready", flush=True)
sys.stdin.readline()
for _ in range(10):
    Store(Path("baselines")).save(record, device, sys.argv[1])
"""


def test_jobs_that_save_at_once_never_collide_nor_overwrite(store: Store, tmp_path: Path) -> None:
    """Four processes wait for each other, then save ten records each."""
    (tmp_path / "record.json").write_text(json.dumps(record()), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", SAVE_TEN, name],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "abcd"
    ]
    assert [job.stdout.readline() for job in jobs] == ["ready\n"] * 4
    for job in jobs:
        job.stdin.write("go\n")
        job.stdin.flush()
    for job in jobs:
        job.communicate(timeout=60)
    assert [job.returncode for job in jobs] == [0, 0, 0, 0]
    files = sorted(store.folder(CARD).iterdir())
    assert [path.name[:5] for path in files] == [f"{number:04d}_" for number in range(1, 41)]
    owners = [load(path).run.selection for path in files]
    assert [owners.count(name) for name in "abcd"] == [10, 10, 10, 10]


def test_a_number_that_another_run_took_under_another_name_is_not_used_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other run saves between this one's look at the folder and its claim."""
    store.save(record(), CARD, "other")
    real, looks = baseline._numbered, count()
    monkeypatch.setattr(baseline, "_numbered", lambda folder: real(folder) if next(looks) else [])
    assert store.save(record(), CARD, "mine").name == "0002_mine.json"


def test_it_works_where_there_are_no_hard_links(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(self: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", unsupported)
    first, second = store.save(record(), CARD, "x"), store.save(record(), CARD, "x")
    assert sorted(store.folder(CARD).iterdir()) == [first, second]
    assert load(second).run.complete


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_somebody_else_makes_meanwhile_stays(
    links: bool, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number is free when it is looked for, and taken when the record is to get its name."""
    real_sync, real_link = os.fsync, Path.hardlink_to
    intruder = store.folder(CARD) / "0001_x.json"

    def sync_and_intrude(handle: int) -> None:
        real_sync(handle)
        if not intruder.exists():
            intruder.write_text("theirs", encoding="utf-8")

    def link(self: Path, target: Path) -> None:
        if not links:
            raise OSError(errno.EPERM, "Operation not permitted")
        real_link(self, target)

    monkeypatch.setattr(os, "fsync", sync_and_intrude)
    monkeypatch.setattr(Path, "hardlink_to", link)
    assert store.save(record(), CARD, "x").name == "0002_x.json"
    assert intruder.read_text(encoding="utf-8") == "theirs"


def test_a_full_disk_leaves_no_file_and_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"nvidia-rtx-3060: the record cannot be written: No space left"):
        store.save(record(), CARD, "x")
    assert list(store.folder(CARD).iterdir()) == []


def test_a_record_of_another_model_is_not_saved_under_this_one(store: Store) -> None:
    with pytest.raises(ValueError, match="of another model than NVIDIA RTX 3060"):
        store.save(record(OTHER_MEMORY), CARD, "x")


def test_what_is_no_record_is_not_saved(store: Store) -> None:
    with pytest.raises(ValueError, match="plain pytest-benchmark file"):
        store.save(PLAIN, CARD, "x")
    assert not store.root.exists()


def test_a_name_that_is_a_path_is_not_saved(store: Store) -> None:
    with pytest.raises(ValueError, match="no path"):
        store.save(record(), CARD, "../x")


# Finding the latest


def test_an_empty_store_has_no_latest(store: Store) -> None:
    assert store.latest(CARD) is None


def test_the_latest_is_the_one_with_the_highest_number(store: Store) -> None:
    for name in ("zzz", "aaa"):
        store.save(record(selection=name), CARD, name)
    assert store.latest(CARD).run.selection == "aaa"


def test_of_two_records_with_one_number_the_later_run_is_the_latest(store: Store) -> None:
    """Two branches that each saved a record, merged."""
    store.save(record(day="30", selection="later"), CARD, "a")
    earlier = store.save(record(day="29", selection="earlier"), CARD, "b")
    earlier.rename(earlier.with_name("0001_b.json"))
    assert store.latest(CARD).run.selection == "later"


def test_an_incomplete_run_is_saved_and_never_the_latest(store: Store) -> None:
    whole = store.save(record(), CARD, "whole")
    partial = store.save(record(complete=False), CARD, "partial")
    found = store.find(CARD)
    assert found.record.path == whole
    assert found.notes == (f"{partial} was passed over: the run was not complete",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ('{"a": ', "ends in the middle"),
        ("[]", "holds a list"),
        (json.dumps(PLAIN), "plain pytest-benchmark"),
    ],
    ids=["empty", "truncated", "foreign", "pytest-benchmark"],
)
def test_a_damaged_newest_file_is_an_error_and_no_older_one_takes_its_place(
    content: str, message: str, store: Store
) -> None:
    store.save(record(), CARD, "good")
    (store.folder(CARD) / "0002_bad.json").write_text(content, encoding="utf-8")
    with pytest.raises(RecordError, match=rf"0002_bad.json: .*{message}"):
        store.latest(CARD)


def test_files_that_are_not_numbered_are_no_records(store: Store) -> None:
    path = store.save(record(), CARD, "x")
    for name in ("notes.json", "12_x.json", "0003_x.json.bak", "README.md"):
        (path.parent / name).write_text("x", encoding="utf-8")
    assert store.latest(CARD).path == path


def test_a_model_with_the_same_folder_name_is_passed_over_and_said(store: Store) -> None:
    ours = store.save(record(), CARD, "ours")
    theirs = store.save(record(OTHER_MEMORY), OTHER_MEMORY, "theirs")
    assert theirs.parent == ours.parent
    found = store.find(CARD)
    assert found.record.path == ours
    assert found.notes == (
        f"{theirs} was passed over: it is of another model with the same folder name: "
        "memory_class '8 GiB' (here '12 GiB')",
    )


def test_where_there_is_no_baseline_similar_names_are_offered(store: Store) -> None:
    near = replace(CARD, name="NVIDIA RTX 3060 Ti")
    store.save(record(near), near, "x")
    far = replace(CARD, name="Tesla V100")
    store.save(record(far), far, "x")
    (note,) = store.find(CARD).notes
    assert note == f"no baseline of NVIDIA RTX 3060 in {store.folder(CARD)}; similar names there: nvidia-rtx-3060-ti"


def test_of_a_thousand_files_only_the_newest_is_read(store: Store) -> None:
    folder = store.folder(CARD)
    folder.mkdir(parents=True)
    for number in range(1, 1000):
        (folder / f"{number:04d}_old.json").write_text("unreadable on purpose", encoding="utf-8")
    path = store.save(record(), CARD, "new")
    assert path.name == "1000_new.json"
    assert store.latest(CARD).path == path


def test_a_file_in_the_place_of_the_folder_is_said(store: Store) -> None:
    store.root.mkdir()
    store.folder(CARD).write_text("x", encoding="utf-8")
    with pytest.raises(StoreError, match="is a file where a folder of baselines should be"):
        store.latest(CARD)
    with pytest.raises(StoreError, match="cannot be written"):
        store.save(record(), CARD, "x")


# Where and under which name


def test_a_folder_that_can_be_written_is_made_and_left_empty(tmp_path: Path) -> None:
    writable(tmp_path / "new" / "baselines")
    assert list((tmp_path / "new" / "baselines").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"baselines cannot be written there: .*--benchmark-storage=FOLDER"):
        writable(tmp_path / "file" / "baselines")


def test_a_record_without_a_name_is_named_after_its_day() -> None:
    assert default_name(date(2025, 1, 31)) == check_name("2025-01-31")


@pytest.mark.parametrize("name", ["h200", "2025-01-31", "v1.2_final", "A", "x" * 100, "console", "com"])
def test_a_good_name_is_taken_as_it_is(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert check_name(name) == name


WRONG_NAMES = {
    "bench/test_x.py": "no path",
    "..": "is an existing path",
    "../x": "no path",
    "a\\b": "is no name",
    "/": "is an existing path",
    "a\0b": "is no name",
    "": "",
    "a b": "is no name",
    "-k": "is no name",
    ".hidden": "is no name",
    "naïve": "is no name",
    "a\n": "is no name",
    "CON": "Windows keeps",
    "nul.txt": "Windows keeps",
    "lpt1": "Windows keeps",
    "x" * 101: "101 characters long; allowed: up to 100",
    "x" * 100_000: "100000 characters long",
}


@pytest.mark.parametrize(("name", "message"), WRONG_NAMES.items(), ids=range(len(WRONG_NAMES)))
def test_a_wrong_name_is_answered_in_one_line_that_asks_for_another(
    name: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="--benchmark-save=NAME") as refused:
        check_name(name)
    text = str(refused.value)
    assert message in text
    assert "\n" not in text
    assert len(text) < 250


def test_an_existing_path_may_be_what_to_test_and_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`pytest --benchmark-save bench` would otherwise save under the name "bench" and test everything."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench").mkdir()
    with pytest.raises(ValueError, match=r"'bench' is an existing path.*--benchmark-save=NAME"):
        check_name("bench")


# Together with pytest-benchmark


def run(*command: str, folder: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    result = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=clean, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_compare_command_of_pytest_benchmark_reads_a_record(store: Store, tmp_path: Path) -> None:
    store.save(record(), CARD, "first")
    store.save(record(), CARD, "second")
    shown = run("pytest_benchmark", "--storage", str(store.root), "compare", f"{CARD.slug}/0001", folder=tmp_path)
    assert "2 tests" in shown
    assert "copy[64-fp32-dram-random]" in shown
    assert "(time in ms)" in shown
    assert "1.0000 (1.0)" in shown
    both = run("pytest_benchmark", "--storage", str(store.root), "compare", "--columns=min,ops", folder=tmp_path)
    assert "4 tests" in both


BENCH = """
def test_ours(benchmark):
    benchmark.extra_info.update(experiment="dram", kernel="copy", size=64, unit="fp32", level="dram", fill="random")
    benchmark.pedantic(int, rounds=3)

def test_theirs(benchmark):
    benchmark.extra_info["note"] = {1, 2}
    benchmark.pedantic(int, rounds=3)
"""


def test_the_json_that_pytest_benchmark_writes_becomes_a_record(store: Store, tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(BENCH, encoding="utf-8")
    options = ("-p", "no:roofline", "-p", "no:cacheprovider", "--benchmark-json=out.json", "-q")
    run("pytest", "-c", os.devnull, "--rootdir=.", *options, "test_x.py", folder=tmp_path)
    theirs = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    whole = assemble(theirs, Run(CARD, Environment(), "", measurements=(row(64), row(128))), Names())
    path = store.save(whole, CARD, "real")
    assert load(path).run.measurements == (row(64), row(128))
    names = [entry["name"] for entry in whole["benchmarks"]]
    assert names == ["test_ours", "test_theirs", "copy[128-fp32-dram-random]"]
    shown = run("pytest_benchmark", "--storage", str(store.root), "compare", f"{CARD.slug}/0001", folder=tmp_path)
    assert "benchmark: 2 tests" in shown
    assert "benchmark 'dram': 1 tests" in shown


ANY = """
def test_any(benchmark):
    benchmark.pedantic(int, rounds=3)
"""


@pytest.mark.parametrize("where", ["outside", "inside"])
def test_pytest_benchmark_compares_with_a_record_wherever_it_lies(where: str, store: Store, tmp_path: Path) -> None:
    """C48: of itself pytest-benchmark fails where the store lies outside the working folder."""
    store.save(record(), CARD, "first")
    folder = tmp_path / "project" if where == "outside" else tmp_path
    folder.mkdir(exist_ok=True)
    (folder / "test_any.py").write_text(ANY, encoding="utf-8")
    options = (f"--benchmark-storage=file://{store.root}", f"--benchmark-compare={CARD.slug}/0001", "-q")
    plugins = ("-p", "no:cacheprovider", *(() if is_installed() else ("-p", "roofline")))
    shown = run("pytest", "-c", os.devnull, "--rootdir=.", *plugins, *options, "test_any.py", folder=folder)
    assert "1 passed" in shown


def is_installed() -> bool:
    """Whether pytest finds the plugin by itself."""
    return bool(entry_points(group="pytest11", name="roofline"))


class TestNewest:
    """By the name of its folder a card's newest complete record is found, whichever model of that slug it is of."""

    def test_the_newest_of_all_models_of_a_folder_is_taken(self, store: Store) -> None:
        store.save(record(), CARD, "ours")
        theirs = store.save(record(OTHER_MEMORY), OTHER_MEMORY, "theirs")
        store.save(record(complete=False), CARD, "partial")
        found = store.newest(CARD.slug)
        assert found.record.path == theirs
        assert found.notes[0].endswith("was passed over: the run was not complete")

    def test_a_damaged_newest_file_is_an_error(self, store: Store) -> None:
        store.save(record(), CARD, "good")
        (store.folder(CARD) / "0002_bad.json").write_text("{", encoding="utf-8")
        with pytest.raises(RecordError, match=r"0002_bad\.json"):
            store.newest(CARD.slug)

    def test_folders_without_a_numbered_file_are_no_cards(self, store: Store) -> None:
        store.save(record(), CARD, "x")
        (store.root / "empty").mkdir()
        (store.root / "README.md").touch()
        assert store.slugs() == [CARD.slug]
        assert [path.name for path in store.files(CARD.slug)] == ["0001_x.json"]

    def test_a_store_that_cannot_be_listed_is_said(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        store.save(record(), CARD, "x")

        def refused(self: Path) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(Path, "iterdir", refused)
        for look in (store.slugs, lambda: store.files(CARD.slug)):
            with pytest.raises(StoreError, match="baselines cannot be listed: Permission denied"):
                look()


class TestUserFolder:
    """Outside a checkout baselines go where the platform keeps a user's data."""

    def test_the_environment_decides_where_it_may(self, monkeypatch, tmp_path):
        monkeypatch.setattr(baseline.sys, "platform", "linux")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        assert baseline.user_folder() == tmp_path / "pytest-roofline" / "baselines"

    @pytest.mark.parametrize(
        ("platform", "folder"),
        [("linux", ".local/share"), ("darwin", "Library/Application Support"), ("win32", "AppData/Local")],
    )
    def test_each_platform_has_its_own_custom(self, monkeypatch, tmp_path, platform, folder):
        for variable in ("XDG_DATA_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setattr(baseline.sys, "platform", platform)
        monkeypatch.setattr(baseline.Path, "home", lambda: tmp_path)
        assert baseline.user_folder() == tmp_path / folder / "pytest-roofline" / "baselines"
