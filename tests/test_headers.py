"""Headers: what a file says of itself at its two ends is what the whole file says, or the whole file is asked."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from roofline import headers
from roofline.headers import header_of, read_header
from roofline.model import Claim, Device, Environment, Estimate, Measurement, RowKey, Samples, Timer, Traffic, Work
from roofline.privacy import Names
from roofline.record import RecordError, Run, assemble, load
from roofline.schema import text_of

pytestmark = pytest.mark.correctness

RECORDS = sorted(Path(__file__).with_name("records").glob("*/*.json"))
QUICK = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def document() -> dict:
    row = Measurement(
        RowKey("dram", "copy", 64, "fp32", "dram"),
        Work(0.0, "fp32", {"dram": Traffic(256.0, 256.0)}),
        "wide",
        Samples((1e-3, 1.1e-3), Timer("fake", 1e-9)),
        Estimate(1.05e-3, 1e-3, 1.1e-3),
    )
    run = Run(
        Device("NVIDIA RTX 3060", "cuda", "sm_86", 28),
        Environment({"ecc": False}, {"driver": "580.1"}),
        "",
        measurements=(row,),
        claims=(Claim("A2", "flat", None, None, "refuted"), Claim("A3", "x", None, None, "confirmed")),
        complete=False,
        missing=("all of test_dial.py",),
    )
    plain = {"machine_info": {}, "benchmarks": [], "datetime": "2025-01-31T12:00:00+00:00", "version": "5.1.0"}
    return assemble(plain, run, Names())


WHOLE = text_of(document()).encode()


@pytest.fixture
def opened(monkeypatch):
    """The files that were read whole."""
    whole = []

    def noted(path):
        whole.append(path)
        return load(path)

    monkeypatch.setattr(headers, "load", noted)
    return whole


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_the_header_of_a_record_is_that_of_the_whole_file(path, opened):
    header = read_header(path)
    assert header == header_of(load(path))
    assert opened == [], "and nothing was read whole for it"


def test_it_says_what_a_list_shows(tmp_path):
    path = tmp_path / "0001_x.json"
    path.write_bytes(WHOLE)
    header = read_header(path)
    assert (header.driver, header.rows, header.refuted) == ("580.1", 1, ("A2",))
    assert (header.run.complete, header.run.missing) == (False, ("all of test_dial.py",))
    assert header.run.device.slug == "nvidia-rtx-3060"


def test_ends_that_are_longer_than_usual_are_found_all_the_same(tmp_path, monkeypatch, opened):
    monkeypatch.setattr(headers, "END_BYTES", 16)
    path = tmp_path / "0001_x.json"
    path.write_bytes(WHOLE)
    assert read_header(path) == header_of(load(path))
    assert opened == []


@pytest.mark.parametrize("written", [json.dumps, lambda plain: json.dumps(plain, indent=4, sort_keys=True)])
def test_a_file_that_is_laid_out_otherwise_is_read_whole(written, tmp_path, opened):
    """Other tools may have rewritten it."""
    path = tmp_path / "0001_x.json"
    path.write_text(written(document()))
    assert read_header(path) == header_of(load(path))
    assert opened == [path]


WRONG: Mapping[str, bytes] = {
    "empty": b"",
    "cut": WHOLE[: len(WHOLE) // 2],
    "cut in the end": WHOLE[:-40],
    "foreign": b'{"a": 1}',
    "a later version": WHOLE.replace(b'"schema": 1', b'"schema": 2'),
    "no device": WHOLE.replace(b'"cores": 28,', b""),
    "not UTF-8": WHOLE.replace(b"RTX", b"\xff\xfe"),
    "NaN": WHOLE.replace(b'"rows": 1', b'"rows": NaN'),
    "a key at both ends": WHOLE.replace(b'"version": "5.1.0"', b'"machine_info": {}'),
    "a key twice": WHOLE.replace(b'"version": "5.1.0"', b'"datetime": "2025-01-31T12:00:00+00:00"'),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_damaged_at_an_end_is_refused_in_the_words_of_the_whole_file(name, tmp_path):
    path = tmp_path / "0001_x.json"
    path.write_bytes(WRONG[name])
    with pytest.raises(RecordError) as whole:
        load(path)
    with pytest.raises(RecordError) as ends:
        read_header(path)
    assert str(ends.value) == str(whole.value)


def test_what_a_file_calls_its_keys_acts_on_no_terminal_and_fills_no_screen(tmp_path):
    """C56: the dotted path in a message is text of the file."""
    path = tmp_path / "0001_x.json"
    hostile = document()
    hostile["roofline"]["ceilings"]["\x1b[2J\u202e" + "k" * 100_000] = 5
    path.write_text(json.dumps(hostile))
    with pytest.raises(
        RecordError, match=r"ceilings\.\\x1b\[2J\\u202ekkk.*… .*kkk is 5; allowed: an object"
    ) as refused:
        load(path)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 600


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(RecordError, match="cannot be read"):
        read_header(tmp_path / "none.json")


def agree(content: bytes, folder: Path) -> None:
    """A file gives a header or a RecordError; where the whole file is sound, the header is its own."""
    path = folder / "0001_fuzzed.json"
    path.write_bytes(content)
    try:
        record = load(path)
    except RecordError:
        record = None
    try:
        header, refusal = read_header(path), ""
    except RecordError as wrong:
        header, refusal = None, str(wrong)
    assert "\x1b" not in refusal
    assert len(refusal) < 1000
    if record is not None:
        assert header == header_of(record), refusal


@QUICK
@given(content=st.binary(max_size=200) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(content=b'\n "benchmarks": [\n ],\n "datetime": ')
@example(content=b'{\n "machine_info": 1,\n "benchmarks": [\n ],\n "datetime": "x"}')
def test_any_bytes_give_a_header_or_a_refusal(content, tmp_path):
    agree(content, tmp_path)


@QUICK
@given(
    at=st.integers(0, len(WHOLE) - 1),
    length=st.integers(0, 40),
    put=st.binary(max_size=6) | st.sampled_from([b'"', b"}", b"]", b"null", b"1e999", b"NaN", b"\\u001b[2J", b"\n "]),
)
def test_a_mutated_record_never_misleads(at, length, put, tmp_path):
    """Bytes of a sound file replaced anywhere: its header is refused, or what the file says."""
    agree(WHOLE[:at] + put + WHOLE[at + length :], tmp_path)
