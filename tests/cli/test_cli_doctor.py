"""`roofline doctor` on this machine, whatever it has: it ends with a finding for each thing, never with an error."""

import pytest

from roofline import doctor
from roofline.doctor import Finding

pytestmark = pytest.mark.correctness


def test_it_says_what_this_machine_has(roofline, store):
    code, out, _ = roofline("doctor")
    assert code in (0, 1)
    assert "CPU" in out
    assert f"2 records of 2 cards in {store}" in " ".join(out.split())


@pytest.mark.parametrize(("state", "code"), [("works", 0), ("missing", 0), ("broken", 1)])
def test_the_exit_code_says_whether_a_device_cannot_be_measured(roofline, monkeypatch, state, code):
    """C38."""
    monkeypatch.setattr(doctor, "examine", lambda store: [Finding("GPU", state, "said", "costs", "helps")])
    assert roofline("doctor")[0] == code
