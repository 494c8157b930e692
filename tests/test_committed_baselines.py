"""Every baseline in the repository can be read, lies in its own folder, and tells nobody whose machine it was."""

import json
import re
from datetime import date, timedelta
from pathlib import Path

import pytest

from roofline.baseline import Store
from roofline.catalogue import listing
from roofline.privacy import COMMON_NAMES, TELLING, UUID, Names
from roofline.record import load
from roofline.schema import text_of

pytestmark = pytest.mark.correctness

BASELINES = Path(__file__).parents[1] / "baselines"
FILES = sorted(BASELINES.glob("*/*.json"))
# Measured on a machine without version control, before this was asked for; the commit that added it says from what.
WITHOUT_COMMIT = {"nvidia-h200/0001_cuda13.json"}
each = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")


def test_there_are_baselines():
    assert FILES


@each
def test_a_committed_baseline_is_a_complete_run_of_the_device_it_lies_under(path):
    record = load(path)
    assert record.run.complete
    assert record.run.device.slug == path.parent.name
    assert record.run.device.kind != "fake"
    assert record.run.environment.facts["date"]
    assert not [claim for claim in record.run.claims if claim.outcome == "refuted"]


@each
def test_a_committed_baseline_names_no_machine_and_nobody(path):
    text = path.read_text()
    assert not re.search(r"GPU-[0-9a-f]{8}|MIG-[0-9a-f]{8}|/home/|/root/|/Users/", text)
    assert '"node"' not in text


@each
def test_a_committed_baseline_says_from_what_how_and_when_it_came(path):
    """Its provenance: the commit that was measured, without changes of its own; the selection, as typed; the day."""
    document, record = json.loads(path.read_text()), load(path)
    commit = document["commit_info"]
    if f"{path.parent.name}/{path.name}" not in WITHOUT_COMMIT:
        assert re.fullmatch(r"[0-9a-f]{40}", commit["id"])
        assert commit["dirty"] is False
    assert "bench" in record.run.selection
    day = date.fromisoformat(str(record.run.environment.facts["date"]))
    assert abs(day - record.created.date()) <= timedelta(days=1), "the one is of the place, the other of Greenwich"


def texts(value):
    """Every text of a document, keys and values."""
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


@each
def test_a_committed_baseline_holds_no_id_address_or_name(path):
    document = json.loads(path.read_text())
    here = {name for name in (Names.here().host, Names.here().user) if name not in COMMON_NAMES}
    for text in texts(document):
        assert not UUID.search(text)
        assert not re.search(r"[\w.]+@[\w-]+\.\w+|\b(?:\d{1,3}\.){3}\d{1,3}\b", text), text
        assert text not in here
    assert not {key.lower() for key in document["machine_info"]["environment"]["facts"]} & TELLING


@each
def test_a_committed_baseline_is_laid_out_as_it_was_written(path):
    """No editor reformatted it: lists of baselines stay quick, and changes to it stay readable."""
    assert path.read_text(encoding="utf-8") == text_of(json.loads(path.read_text(encoding="utf-8")))


def test_nothing_but_records_lies_in_the_folders_and_each_card_has_a_baseline():
    folders = [path for path in BASELINES.iterdir() if path.is_dir()]
    assert {path for folder in folders for path in folder.iterdir()} == set(FILES)
    listed = listing(Store(BASELINES), whole=True)
    assert {file.slug for file in listed if file.state == "baseline"} == {folder.name for folder in folders}
    assert not [file for file in listed if file.state in ("damaged", "incomplete")]
