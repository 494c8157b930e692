"""Every baseline in the repository can be read, lies in its own folder, and tells nobody whose machine it was."""

import re
from pathlib import Path

import pytest

from roofline.record import load

pytestmark = pytest.mark.correctness

FILES = sorted((Path(__file__).parents[1] / "baselines").glob("*/*.json"))


def test_there_are_baselines():
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_committed_baseline_is_a_complete_run_of_the_device_it_lies_under(path):
    record = load(path)
    assert record.run.complete
    assert record.run.device.slug == path.parent.name
    assert record.run.device.kind != "fake"
    assert record.run.environment.facts["date"]
    assert not [claim for claim in record.run.claims if claim.outcome == "refuted"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_committed_baseline_names_no_machine_and_nobody(path):
    text = path.read_text()
    assert not re.search(r"GPU-[0-9a-f]{8}|MIG-[0-9a-f]{8}|/home/|/root/|/Users/", text)
    assert '"node"' not in text
