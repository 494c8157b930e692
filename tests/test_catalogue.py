"""The catalogue: what a store holds, and the record that a name means."""

from dataclasses import replace
from pathlib import Path

import pytest

from roofline import catalogue, headers, repeats
from roofline.baseline import Store
from roofline.catalogue import NoSuchRecord, find, listing
from roofline.model import Device, Environment
from roofline.noise import MOST_RUNS
from roofline.privacy import Names
from roofline.record import Record, RecordError, Run, assemble, load

pytestmark = pytest.mark.correctness

CARD = Device("NVIDIA RTX 3060", "cuda", "sm_86", 28, memory_class="12 GiB")
SMALLER = replace(CARD, memory_class="8 GiB")
OTHER = Device("NVIDIA A100-SXM4-80GB", "cuda", "sm_80", 108)
PLAIN = {"machine_info": {}, "benchmarks": [], "datetime": "", "version": "5.1.0"}


def record(device: Device = CARD, day: int = 1, complete: bool = True, **environment) -> dict:
    run = Run(device, Environment(environment, {"driver": "580"}), "", complete=complete, selection="-m bench")
    return assemble(PLAIN | {"datetime": f"2025-01-{day:02d}T12:00:00+00:00"}, run, Names())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "baselines")


def states(store: Store, **how) -> dict[str, str]:
    return {listed.path.stem: listed.state for listed in listing(store, **how)}


class TestListing:
    """Every file stands in the list, the newest first."""

    def test_an_empty_store_lists_nothing(self, store):
        assert listing(store) == []

    def test_the_newest_complete_record_of_each_model_is_its_baseline(self, store):
        """Two models that share a folder have one each."""
        store.save(record(day=1), CARD, "old")
        store.save(record(SMALLER, day=2), SMALLER, "other-model")
        store.save(record(day=3), CARD, "new")
        store.save(record(day=4, complete=False), CARD, "partial")
        assert states(store) == {
            "0004_partial": "incomplete",
            "0003_new": "baseline",
            "0002_other-model": "baseline",
            "0001_old": "complete",
        }

    def test_what_the_list_calls_the_baseline_is_what_a_run_is_judged_by(self, store):
        for day, complete in ((1, True), (2, True), (3, False)):
            store.save(record(day=day, complete=complete), CARD, f"day-{day}")
        (named,) = [listed for listed in listing(store) if listed.state == "baseline"]
        assert store.latest(CARD).path == named.path

    def test_behind_a_damaged_file_there_is_no_baseline(self, store):
        """A newer run may stand; what is older than the damage may not take its place."""
        store.save(record(day=1), CARD, "old")
        (store.folder(CARD) / "0002_cut.json").write_text("{")
        assert states(store) == {"0002_cut": "damaged", "0001_old": "complete"}
        with pytest.raises(RecordError):
            store.latest(CARD)
        store.save(record(day=3), CARD, "new")
        assert states(store)["0003_new"] == "baseline"
        assert store.latest(CARD).path.stem == "0003_new"

    def test_a_damaged_file_of_one_number_with_a_sound_one_stops_both(self, store):
        """As `Store.find` does: of two files with one number the later run counts, and nobody knows which it is."""
        store.save(record(), CARD, "a")
        (store.folder(CARD) / "0001_b.json").write_text("")
        assert states(store) == {"0001_b": "damaged", "0001_a": "complete"}
        with pytest.raises(RecordError):
            store.latest(CARD)

    def test_of_two_files_with_one_number_the_later_run_is_the_baseline(self, store):
        store.save(record(day=2), CARD, "a")
        earlier = store.save(record(day=1), CARD, "b")
        earlier.rename(earlier.with_name("0001_b.json"))
        assert states(store) == {"0001_a": "baseline", "0001_b": "complete"}

    def test_files_that_are_no_records_are_not_listed(self, store):
        path = store.save(record(), CARD, "x")
        for name in ("README.md", ".0002.partial", "notes.json"):
            (path.parent / name).touch()
        (store.root / "empty").mkdir()
        assert states(store) == {"0001_x": "baseline"}


class Reading:
    """Counts what is read of files: whole ones, and bytes of the ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.whole: list[Path] = []
        self.ends = 0
        monkeypatch.setattr(catalogue, "load", self.load)
        monkeypatch.setattr(headers, "load", self.load)
        monkeypatch.setattr(repeats, "load", self.load)
        ends = headers._ends
        monkeypatch.setattr(headers, "_ends", lambda path: self.noted(ends(path)))

    def load(self, path: Path) -> Record:
        self.whole.append(path)
        return load(path)

    def noted(self, ends):
        self.ends += 1
        return ends


@pytest.fixture
def thousand(store: Store) -> Store:
    """A store of a thousand real records of one card."""
    real = Path(__file__).with_name("records") / "nvidia-h200" / "0001_cuda13.json"
    folder = store.root / "nvidia-h200"
    folder.mkdir(parents=True)
    for number in range(1, 1001):
        (folder / f"{number:04d}_x.json").symlink_to(real)
    return store


class TestThousand:
    """A thousand files are listed by their ends, and one is compared with by reading one."""

    def test_a_list_reads_the_ends_of_each_and_the_whole_of_one(self, thousand, monkeypatch):
        reading = Reading(monkeypatch)
        assert len(listing(thousand)) == 1000
        assert [path.name for path in reading.whole] == ["1000_x.json"]
        assert reading.ends == 1000

    def test_a_name_reads_the_one_file_that_it_means(self, thousand, monkeypatch):
        reading = Reading(monkeypatch)
        assert find(thousand, "nvidia-h200/0500").path.name == "0500_x.json"
        assert find(thousand, "x").path.name == "1000_x.json"
        assert thousand.newest("nvidia-h200").record.path.name == "1000_x.json"
        assert (len(reading.whole), reading.ends) == (2, 0)

    def test_noise_is_learnt_from_the_newest_alone(self, thousand, monkeypatch):
        run = find(thousand, "x").run
        reading = Reading(monkeypatch)
        assert len(repeats.repeats(thousand, run)) == MOST_RUNS
        assert len(reading.whole) == MOST_RUNS


class TestNames:
    """What a person types is matched with what there is, and is never a path into it."""

    @pytest.fixture(autouse=True)
    def filled(self, store):
        store.save(record(day=1), CARD, "first")
        store.save(record(day=2), CARD, "again")
        store.save(record(day=3), CARD, "again")
        store.save(record(OTHER), OTHER, "first")

    @pytest.mark.parametrize(
        ("name", "file"),
        [
            ("nvidia-rtx-3060", "0003_again"),
            ("again", "0003_again"),
            ("nvidia-rtx-3060/again", "0003_again"),
            ("0002_again", "0002_again"),
            ("0002_again.json", "0002_again"),
            ("0002", "0002_again"),
            ("2", "0002_again"),
            ("nvidia-rtx-3060/1", "0001_first"),
            ("nvidia-rtx-3060/first", "0001_first"),
        ],
    )
    def test_a_card_a_number_or_a_name_means_a_record(self, store, name, file):
        assert find(store, name).path.stem == file

    def test_a_name_of_several_cards_is_refused_with_what_tells_them_apart(self, store):
        with pytest.raises(NoSuchRecord, match=r"several cards \(nvidia-a100.*/0001_first, nvidia-rtx-3060/0001_first"):
            find(store, "first")

    @pytest.mark.parametrize(
        "name", ["../baselines", "nvidia-rtx-3060/../x", "/", "", "*", "nvidia-*", "\0", "x" * 9999]
    )
    def test_no_name_leads_out_of_the_store(self, store, name, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(NoSuchRecord, match="is no file, card or record in"):
            find(store, name)

    def test_near_names_are_offered(self, store):
        with pytest.raises(NoSuchRecord, match="there are: nvidia-rtx-3060"):
            find(store, "nvidia-rtx-306")

    def test_a_card_without_a_complete_record_says_so(self, store):
        path = store.save(record(replace(CARD, name="New"), complete=False), replace(CARD, name="New"), "x")
        with pytest.raises(NoSuchRecord, match="holds no complete record"):
            find(store, "new")
        assert find(store, "new/x").path == path

    def test_a_folder_name_with_escapes_is_shown_escaped(self, store):
        folder = store.root / "evil\x1b[2J"
        folder.mkdir()
        (folder / "0001_first.json").write_text("{}")
        with pytest.raises(NoSuchRecord) as refused:
            find(store, "first")
        assert "\x1b" not in str(refused.value)


class TestRepeats:
    """Noise is learnt from runs that were made alike, whatever else lies among them."""

    def test_only_complete_runs_in_the_same_state_repeat_one_another(self, store):
        for device, day, complete, limit in (
            (CARD, 1, True, 200.0),
            (CARD, 2, True, 150.0),
            (CARD, 3, False, 200.0),
            (SMALLER, 4, True, 200.0),
            (CARD, 5, True, 200.0),
        ):
            store.save(record(device, day, complete, power_limit_w=limit), device, f"day-{day}")
        (store.folder(CARD) / "0006_cut.json").write_text("{")
        found = repeats.repeats(store, find(store, "day-1").run)
        assert [repeat.path.stem for repeat in found] == ["0005_day-5", "0001_day-1"]

    def test_what_was_saved_since_is_told_by_card(self, store):
        there = {store.save(record(), CARD, "before")}
        store.save(record(), CARD, "after")
        store.save(record(OTHER), OTHER, "after")
        found = repeats.saved_since(store, there)
        assert {slug: [saved.path.stem for saved in records] for slug, records in found.items()} == {
            "nvidia-a100-sxm4-80gb": ["0001_after"],
            "nvidia-rtx-3060": ["0002_after"],
        }
