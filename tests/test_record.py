"""The record: what goes into a file comes out again, nothing private does, and wrong files say what is wrong."""

import json
from contextlib import suppress
from dataclasses import replace
from math import inf, isfinite, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.model import (
    Absent,
    Ceiling,
    Claim,
    Device,
    Environment,
    Estimate,
    Expectation,
    Measurement,
    Nominal,
    Point,
    RowKey,
    Samples,
    Spread,
    Timer,
    Traffic,
    Work,
)
from roofline.privacy import TELLING, Names, unit_hash
from roofline.record import Record, RecordError, Run, assemble, extra_info, load, machine_info, roofline_section
from roofline.schema import LARGEST_BYTES, encode, text_of

pytestmark = pytest.mark.correctness

DEVICE = Device("Fake 9000", "fake", "fake-v1", 4, cache_bytes=2**20, nominal={"dram": Nominal(1e11, "B/s", "f", "s")})
KEY = RowKey("dial", "dial-0008", 1023, "fp32", "dram")
MEASUREMENT = Measurement(
    key=KEY,
    work=Work(16.0 * 1023, "fp32", {"dram": Traffic(4.0 * 1023, 4.0 * 1023)}, {"dram": "dram_copy_nt"}),
    variant="wide",
    samples=Samples((2e-6, 2.5e-6, 2e-6), Timer("fake", 1e-9), clock_hz=Spread(1e9, 2e9, 3e9), flags=("drifting",)),
    seconds=Estimate(2e-6, 1.9e-6, 2.6e-6),
    measures=("fp32", "fp32_straight"),
    searched={"wide": 2e-6, "narrow": 3e-6},
)
POINT = Point(2.0, 16 * 1023 / 2e-6, 1e10, "dram_copy_nt", 0.8184, "memory", (("dram_copy_nt", 0.8184), ("fp32", 0.1)))
RUN = Run(
    device=DEVICE,
    environment=Environment({"power_limit_w": 700.0, "ecc": True}, {"driver": "570.1", "threads": 4, "load": None}),
    unit=unit_hash("GPU-0"),
    ceilings={"dram": Ceiling("dram", 1e10, 0.9e10, 1.1e10, "B/s", "copy-nt", "wide", nominal=DEVICE.nominal["dram"])},
    measurements=(MEASUREMENT,),
    points={KEY: POINT},
    claims=(Claim("A2", "flat", Expectation(0.9, inf, "formula: x"), Estimate(1.0, 0.9, 1.1), "confirmed"),),
    absent=(Absent(replace(KEY, unit="fp64"), "unsupported", "no FP64 unit"),),
    selection="bench and dial",
    ridges={"fp32/dram": Estimate(46.0, 45.0, 47.0)},
    floors={str(KEY): 0.01},
)
NOBODY = Names()


def pytest_benchmark_json(*benchmarks: dict) -> dict:
    """What pytest-benchmark hands over, with everything private that it puts in by itself."""
    return {
        "machine_info": {"node": "planted-host", "processor": "x", "cpu": {"brand_raw": "y"}},
        "commit_info": {"id": "abc", "dirty": False, "project": "planted-project", "branch": "planted-user/branch"},
        "benchmarks": list(benchmarks),
        "datetime": "2025-01-31T12:00:00+00:00",
        "version": "5.1.0",
    }


def document(run: Run = RUN) -> dict:
    return assemble(pytest_benchmark_json(), run, NOBODY)


def saved(folder: Path, content: object) -> Path:
    path = folder / "0001_x.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def changed(keys: tuple[str | int, ...], value: object) -> dict:
    """The valid document with one value replaced, or removed where it is `...`."""
    whole = json.loads(json.dumps(document()))
    owner = whole
    for key in keys[:-1]:
        owner = owner[key]
    if value is ...:
        del owner[keys[-1]]
    else:
        owner[keys[-1]] = value
    return whole


# Round trip

finite = st.floats(min_value=1e-9, max_value=1e15)
maybe = st.none() | finite
text = st.text(max_size=12)
named = st.text(min_size=1, max_size=12)
anything = st.floats(allow_nan=False)
scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | anything | text
kept = named.filter(lambda name: not name.endswith("_reason") and name.lower() not in TELLING)
facts = st.dictionaries(kept, scalars, max_size=3)
estimates = st.builds(Estimate, anything, anything, anything)
timed = st.lists(finite, min_size=3, max_size=3).map(sorted).map(lambda three: Estimate(three[1], three[0], three[2]))
nominals = st.builds(Nominal, finite, st.sampled_from(["B/s", "FLOP/s", "s", "Hz"]), text, text)
devices = st.builds(
    Device,
    named,
    st.sampled_from(["cuda", "cpu", "fake"]),
    text,
    st.integers(1, 999),
    st.none() | st.integers(0, 2**40),
)
keys = st.builds(RowKey, named, named, st.integers(0, 2**50), named, st.sampled_from(["dram", "l2"]), text)
samples = st.builds(
    Samples,
    seconds=st.lists(finite, min_size=1, max_size=4).map(tuple),
    timer=st.builds(Timer, text, finite),
    launches=st.integers(1, 9),
    cold=st.booleans(),
    placements=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    clock_hz=st.none() | st.builds(Spread, finite, finite, finite),
    power_w=maybe,
    throttle=st.none() | text,
    disturbed=maybe,
    flags=st.lists(text, max_size=2).map(tuple),
    burst_s=maybe,
    sustained_s=maybe,
)
ceilings = st.builds(
    Ceiling,
    resource=named,
    rate=finite,
    low=finite | st.just(0.0),
    high=finite | st.just(inf),
    unit=st.sampled_from(["B/s", "FLOP/s", "s"]),
    kernel=text,
    variant=text,
    clock_hz=maybe,
    nominal=st.none() | nominals,
    source=st.sampled_from(["measured", "probe", "baseline"]),
)
expectations = st.builds(Expectation, anything, anything, text, st.sampled_from(["", "FLOP/B", "s", "B/s"]))
outcomes = st.sampled_from(["confirmed", "refuted", "inconclusive", "not-applicable"])
claims = st.builds(Claim, text, text, st.none() | expectations, st.none() | estimates, outcomes, text)
absents = st.builds(Absent, keys, st.sampled_from(["unsupported", "skipped", "error"]), text)


@st.composite
def measurements(draw: st.DrawFn) -> Measurement:
    key = draw(keys)
    traffic = draw(st.dictionaries(st.sampled_from(["dram", "l2"]), st.builds(Traffic, finite | st.just(0.0), finite)))
    work = Work(
        draw(finite | st.just(0.0)), key.unit, traffic, draw(st.dictionaries(text, text, max_size=2)), draw(text)
    )
    return Measurement(
        key,
        work,
        draw(text),
        draw(samples),
        draw(timed),
        measures=draw(st.lists(named, max_size=2).map(tuple)),
        footprint_bytes=draw(st.integers(0, 2**40)),
        compile_s=draw(finite),
        searched=draw(st.dictionaries(text.filter(lambda name: not name.endswith("_reason")), finite, max_size=2)),
        beside=draw(st.none() | st.builds(Estimate, finite, finite, finite)),
        beside_roof=draw(st.none() | st.builds(Estimate, finite, finite, finite)),
    )


@st.composite
def points(draw: st.DrawFn, measurement: Measurement) -> Point:
    intensity, roof = draw(finite | st.just(inf)), draw(finite | st.just(inf))
    regime = draw(st.sampled_from(["memory", "compute", "overhead", "above-roof"]))
    nearest = draw(st.lists(st.tuples(text, finite), max_size=2).map(tuple))
    return Point(
        intensity=intensity,
        flop_per_s=measurement.work.flops / measurement.seconds.value,
        roof=roof,
        bound_by=draw(text),
        fraction=draw(finite),
        regime=regime,
        nearest=nearest,
        level=draw(named),
        intensities=draw(st.dictionaries(named.filter(lambda name: not name.endswith("_reason")), finite, max_size=3)),
    )


@st.composite
def runs(draw: st.DrawFn) -> Run:
    rows = draw(st.lists(measurements(), max_size=3, unique_by=lambda row: row.key).map(tuple))
    tops = draw(st.lists(ceilings, max_size=2))
    return Run(
        device=draw(devices),
        environment=Environment(draw(facts), draw(facts)),
        unit=unit_hash(draw(text)),
        ceilings={ceiling.resource: ceiling for ceiling in tops},
        measurements=rows,
        points={row.key: draw(points(row)) for row in rows if draw(st.booleans())},
        claims=draw(st.lists(claims, max_size=2).map(tuple)),
        absent=draw(st.lists(absents, max_size=2).map(tuple)),
        complete=draw(st.booleans()),
        selection=draw(text),
        missing=draw(st.lists(text, max_size=2).map(tuple)),
        ridges=draw(st.dictionaries(named, timed, max_size=2)),
        floors=draw(st.dictionaries(named, finite, max_size=2)),
    )


QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(run=runs())
def test_a_run_comes_out_of_its_file_as_it_went_in(run: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "0001_round-trip.json"
    path.write_text(text_of(assemble(pytest_benchmark_json(), run, NOBODY)), encoding="utf-8")
    assert load(path).run == run


def test_what_the_device_key_leaves_out_is_kept_too(tmp_path: Path) -> None:
    assert load(saved(tmp_path, document())).run.device.nominal == DEVICE.nominal


def non_plain(value: object) -> list[object]:
    """Every value inside a document that plain JSON does not have."""
    if type(value) is dict:
        return [item for key in value for item in ([] if type(key) is str else [key]) + non_plain(value[key])]
    if type(value) is list:
        return [item for element in value for item in non_plain(element)]
    plain = value is None or type(value) in (bool, int, str) or (type(value) is float and isfinite(value))
    return [] if plain else [value]


numbers = (
    st.floats()
    | st.floats(width=32).map(np.float32)
    | st.floats().map(np.longdouble)
    | st.integers(0, 255).map(np.uint8)
    | st.booleans().map(np.bool_)
    | st.lists(st.floats(), max_size=3).map(np.array)
)
trees = st.recursive(
    numbers | st.text() | st.none() | st.just(object()),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
)


@QUICK
@given(value=trees)
def test_any_value_becomes_plain_json(value: object) -> None:
    plain = encode(value)
    assert non_plain(plain) == []
    json.dumps(plain, allow_nan=False)


@QUICK
@given(run=runs())
def test_every_value_of_a_record_is_plain_json(run: Run) -> None:
    assert non_plain(assemble(pytest_benchmark_json(), run, NOBODY)) == []


@pytest.mark.parametrize(
    ("number", "reason"),
    [(inf, "infinite"), (-inf, "minus infinite"), (nan, "not a number"), (np.float32(nan), "not a number")],
)
def test_a_number_that_json_lacks_is_null_with_a_reason_beside_it(number: float, reason: str) -> None:
    assert encode({"rate": number}) == {"rate": None, "rate_reason": reason}


def test_a_list_with_such_a_number_names_the_item() -> None:
    assert encode({"rates": [1.0, inf]}) == {"rates": [1.0, None], "rates_reason": "item 1: infinite"}


# What stands where

ROW_KEYS = {
    "experiment",
    "kernel",
    "size",
    "unit",
    "level",
    "fill",
    "variant",
    "flops",
    "counting",
    "bytes",
    "samples_s",
    "seconds",
    "flop_per_s",
    "bytes_per_s",
    "intensity",
    "ceiling",
    "fraction",
    "bound_by",
    "nearest",
    "diagnosis",
    "clock_hz",
    "power_w",
    "throttle",
    "burst_s",
    "sustained_s",
    "cold",
    "footprint_bytes",
    "timer",
    "math_mode",
    "binary",
    "searched",
    "beside",
    "beside_roof",
    "compile_s",
    "placements",
    "flags",
    "disturbed",
    "interval",
}


def test_a_row_has_every_key_that_tools_read() -> None:
    info = extra_info(MEASUREMENT, POINT)
    assert info.keys() >= ROW_KEYS
    assert info["bytes"] == {"dram": {"read": 4092.0, "written": 4092.0}}
    assert info["timer"] == {"name": "fake", "tick_s": 1e-9, "launches_per_sample": 1}
    assert (info["ceiling"], info["measures"]) == ("fp32", ["fp32", "fp32_straight"])
    assert (info["bytes_per_s"], info["flop_per_s"]) == (8184 / 2e-6, 16 * 1023 / 2e-6)


def test_a_row_without_a_point_has_its_intensity_and_no_fraction() -> None:
    info = extra_info(MEASUREMENT, None)
    assert (info["intensity"], info["fraction"], info["bound_by"]) == (2.0, None, None)


def test_a_kernel_that_moves_nothing_has_an_infinite_intensity_with_its_reason() -> None:
    still = replace(MEASUREMENT, work=replace(MEASUREMENT.work, traffic={"dram": Traffic(0.0, 0.0)}))
    info = extra_info(still, None)
    assert (info["intensity"], info["intensity_reason"]) == (None, "infinite")


@pytest.mark.parametrize("seconds", [nan, inf, 0.0, -1.0])
def test_a_row_without_a_time_is_refused_when_it_is_made(seconds: float) -> None:
    with pytest.raises(ValueError, match="a row without a figure is Absent"):
        extra_info(replace(MEASUREMENT, seconds=Estimate(seconds, seconds, seconds)), None)


def test_a_sample_that_is_not_a_number_is_refused_when_the_row_is_made() -> None:
    broken = replace(MEASUREMENT, samples=replace(MEASUREMENT.samples, seconds=(2e-6, nan)))
    with pytest.raises(ValueError, match=r"dial-0008.*samples_s\[1\] is null; allowed: a number"):
        extra_info(broken, None)


def test_a_point_of_another_measurement_is_refused() -> None:
    with pytest.raises(ValueError, match="its point is at"):
        extra_info(MEASUREMENT, replace(POINT, flop_per_s=1.0))


def test_the_section_has_every_key_that_tools_read() -> None:
    section = roofline_section(RUN)
    assert {"complete", "selection", "ceilings", "ridges", "claims", "absent", "floors", "missing"} <= section.keys()
    assert {"rate", "low", "high", "kernel", "variant", "nominal", "at_rated_clock"} <= section["ceilings"][
        "dram"
    ].keys()
    assert section["claims"][0]["expected"] == {"low": 0.9, "high": None, "high_reason": "infinite", "unit": ""}
    assert section["claims"][0]["expected_from"] == "formula: x"
    assert section["absent"][0] | {"status": "unsupported", "unit": "fp64"} == section["absent"][0]


def test_a_record_answers_what_claims_ask_of_a_baseline(tmp_path: Path) -> None:
    record = load(saved(tmp_path, document()))
    assert record.name == f"{tmp_path.name}/0001_x.json"
    assert record.ceiling("dram") == RUN.ceilings["dram"]
    assert record.ridge("fp32/dram") == RUN.ridges["fp32/dram"]
    assert record.ceiling("fp64") is None
    assert record.ridge("fp64/dram") is None
    assert record.measurement(KEY) == MEASUREMENT


# Assembling

FOREIGN = {"name": "test_theirs", "fullname": "x.py::test_theirs", "extra_info": {"size": [1], "experiment": "theirs"}}


def test_a_benchmark_of_the_row_gets_the_final_point() -> None:
    bench = {"name": "test_dial", "fullname": "bench/x.py::test_dial", "extra_info": extra_info(MEASUREMENT, None)}
    whole = assemble(pytest_benchmark_json(bench), RUN, NOBODY)
    assert [entry["name"] for entry in whole["benchmarks"]] == ["test_dial"]
    assert whole["benchmarks"][0]["extra_info"] == extra_info(MEASUREMENT, POINT)


def test_a_measurement_without_a_benchmark_gets_an_entry_with_statistics_of_its_own() -> None:
    (entry,) = document()["benchmarks"]
    assert entry["extra_info"]["experiment"] == "dial"
    assert (entry["stats"]["min"], entry["stats"]["max"], entry["stats"]["rounds"]) == (2e-6, 2.5e-6, 3)


def test_benchmarks_of_other_people_stay_and_are_no_rows(tmp_path: Path) -> None:
    whole = assemble(pytest_benchmark_json(FOREIGN), RUN, NOBODY)
    assert whole["benchmarks"][0] == FOREIGN
    assert load(saved(tmp_path, whole)).run.measurements == (MEASUREMENT,)


def test_giant_parameters_and_names_are_cut_and_stay_distinct() -> None:
    giant = FOREIGN | {"params": {"a": "x" * 10**6, "b": list(range(10**5)), "c": 7}, "name": "n" * 5000}
    other = giant | {"name": "n" * 4999 + "m"}
    first, second = assemble(pytest_benchmark_json(giant, other), RUN, NOBODY)["benchmarks"][:2]
    assert len(json.dumps(first)) < 5000
    assert first["params"]["c"] == 7
    assert first["name"] != second["name"]


def test_assembling_leaves_its_input_as_it_was() -> None:
    given_json = pytest_benchmark_json(FOREIGN)
    before = json.dumps(given_json)
    assemble(given_json, RUN, NOBODY)
    assert json.dumps(given_json) == before


def test_assembling_what_is_assembled_changes_nothing() -> None:
    bench = {"name": "test_dial", "fullname": "bench/x.py::test_dial", "extra_info": extra_info(MEASUREMENT, None)}
    once = assemble(pytest_benchmark_json(bench, FOREIGN), RUN, NOBODY)
    assert assemble(once, RUN, NOBODY) == once


def test_one_row_key_measured_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="same row key"):
        document(replace(RUN, measurements=(MEASUREMENT, MEASUREMENT)))


def test_what_could_not_be_read_again_is_not_written() -> None:
    nameless = replace(RUN, ceilings={"dram": replace(RUN.ceilings["dram"], unit="GB/s")})
    with pytest.raises(ValueError, match=r'roofline.ceilings.dram.unit is "GB/s"; allowed: "B/s" or'):
        document(nameless)


def test_a_list_of_numbers_stands_on_one_line_and_texts_are_untouched() -> None:
    plain = {"samples_s": [1.0, 2.0], "text": "[\n 1.0,\n  2.0 ]", "nested": [["a", 1.0]]}
    written = text_of(plain)
    assert '"samples_s": [ 1.0, 2.0 ]' in written
    assert json.loads(written) == plain


# Privacy

UUID = "GPU-12345678-9abc-def0-1234-56789abcdef0"
PLANTED = Names("planted-host.example.org", "planted-user", "/home/planted-user")


def test_no_host_user_home_or_unit_gets_into_a_file() -> None:
    sentence = f"planted-user@planted-host: {UUID} failed in /home/planted-user/x.py"
    bench = FOREIGN | {"fullname": "../home/planted-user/x.py::test", "cprofile": [{"function_name": PLANTED.home}]}
    run = replace(
        RUN,
        unit=UUID,
        environment=Environment({}, {"note": sentence}),
        absent=(replace(RUN.absent[0], reason=sentence),),
        claims=(Claim("A2", "flat", Expectation(0, 1, sentence), None, "inconclusive", sentence),),
        selection=sentence,
        missing=(sentence,),
    )
    written = text_of(assemble(pytest_benchmark_json(bench), run, PLANTED))
    assert "planted" not in written
    assert UUID[4:12] not in written
    assert "<user>@<host>: <uuid> failed in ~/x.py" in written


def test_words_that_only_contain_a_name_stay() -> None:
    assert Names("dram", "ai", "/root").out_of("dram_read waits, needs root") == "dram_read waits, needs root"


@pytest.mark.parametrize("key", ["hostname", "User", "uuid", "serial"])
def test_what_tells_whose_machine_it_is_stays_out_of_the_environment(key: str) -> None:
    info = machine_info(DEVICE, Environment({key: "planted"}, {key: "planted", "driver": "570"}), "")
    assert info["environment"] == {"state": {}, "facts": {"driver": "570"}}


def test_of_a_unit_only_its_hash_is_written() -> None:
    written = machine_info(DEVICE, Environment(), UUID)["unit"]
    assert written == unit_hash(UUID)
    assert UUID not in written


def test_units_are_told_apart_by_a_short_stable_hash() -> None:
    assert unit_hash("abc") == "sha256:ba7816bf8f01"
    assert unit_hash("GPU-0") != unit_hash("GPU-1")


def test_an_unknown_unit_stays_unknown_and_a_hash_stays_itself() -> None:
    assert unit_hash("") == ""
    assert unit_hash(unit_hash("abc")) == unit_hash("abc")


# Files that are wrong

WRONG_KIND = {
    "": "is empty",
    " \n": "is empty",
    "\0\0\0": "is empty",
    "[1]": "holds a list",
    "null": "holds null",
    "3": "holds a number",
    '{"a": 1, "b": 2}': "JSON of another tool (keys: a, b)",
    '{"benchmarks": [], "machine_info": {"node": "x"}}': "plain pytest-benchmark file",
    '{"benchmarks": [], "machine_info": {"schema": 2}}': "schema is 2; allowed: 1 to 1 in this version; upgrade",
    '{"benchmarks": [], "machine_info": {"schema": "1"}}': 'machine_info.schema is "1"; allowed: an integer',
    '{"benchmarks": [], "machine_info": {"schema": true}}': "machine_info.schema is true; allowed: an integer",
    '{"benchmarks": [], "machine_info": {"schema": 1}}': "roofline is missing",
    '{"benchmarks": [], "machine_info": {}, "roofline": {}}': "machine_info.schema is null; allowed: an integer",
    "{'a': 1}": "is not JSON",
    "[" * 100_000: "nested too deeply",
    '{"a": 1, "a": 2}': "key 'a' stands twice",
    '{"a": {"b": [1, NaN]}}': "a.b[1] is NaN or infinite",
    '{"a": -Infinity}': "a is NaN or infinite",
    '{"a": 1e400}': "a is NaN or infinite",
    '{"a": ' + "1" * 5000 + "}": "an integer of 5000 digits",
}


def refusal(path: Path) -> str:
    """The message with which a file is refused, which is one or two lines and begins with its path."""
    with pytest.raises(RecordError) as refused:
        load(path)
    message = str(refused.value)
    assert message.startswith(f"{path}: ")
    assert message.count("\n") <= 1
    assert len(message.removeprefix(str(path))) < 300
    return message


@pytest.mark.parametrize("content", WRONG_KIND, ids=range(len(WRONG_KIND)))
def test_each_kind_of_wrong_file_is_told_apart(content: str, tmp_path: Path) -> None:
    assert WRONG_KIND[content] in refusal(saved(tmp_path, content))


def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    whole = text_of(document()).rstrip()
    for end in range(1, len(whole), len(whole) // 40):
        assert "restore it from version control or delete it" in refusal(saved(tmp_path, whole[:end]))


def test_a_truncated_file_says_that_it_ends_in_the_middle(tmp_path: Path) -> None:
    assert "ends in the middle, at line 2 column" in refusal(saved(tmp_path, '{"a": 1,\n "b'))


def test_a_giant_file_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "0001_giant.json"
    with path.open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    assert "bytes; allowed: up to" in refusal(path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "0001_binary.json"
    path.write_bytes(b'{"a": "\xff\xfe"}')
    assert "is not UTF-8 text (byte 7)" in refusal(path)


def test_a_missing_file_and_a_folder_cannot_be_read(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refusal(tmp_path / "none.json")
    assert "cannot be read: Is a directory" in refusal(tmp_path)


def test_a_byte_order_mark_is_no_damage(tmp_path: Path) -> None:
    assert load(saved(tmp_path, "\ufeff" + text_of(document()))).run == RUN


def test_old_and_unknown_fields_are_read(tmp_path: Path) -> None:
    """Fields that are added do not raise the schema: unknown ones are passed over, missing ones have their default."""
    whole = changed(("roofline", "later"), {"x": 1})
    del whole["roofline"]["floors"]
    del whole["benchmarks"][0]["extra_info"]["flags"]
    run = load(saved(tmp_path, whole)).run
    assert (run.floors, run.measurements[0].samples.flags) == ({}, ())


def test_a_point_from_before_there_were_levels_lies_at_dram(tmp_path: Path) -> None:
    """H2: a record says at which level a row has its point and what its intensity is at each; older ones meant DRAM."""
    whole = document()
    row = whole["benchmarks"][0]["extra_info"]
    assert (row.pop("point_level"), row.pop("intensities")) == ("dram", {})
    point = load(saved(tmp_path, whole)).run.points[KEY]
    assert (point.level, point.intensities) == ("dram", {"dram": POINT.intensity})


ROW = ("benchmarks", 0, "extra_info")
WRONG_VALUES = [
    ((*ROW, "seconds"), "fast", 'extra_info.seconds is "fast"; allowed: a number'),
    ((*ROW, "seconds"), 0, "extra_info.seconds is 0; allowed: a number above 0"),
    ((*ROW, "seconds"), True, "extra_info.seconds is true; allowed: a number"),
    ((*ROW, "seconds"), ..., "benchmarks[0].extra_info.seconds is missing; allowed: a number above 0"),
    ((*ROW, "flops"), -1.0, "extra_info.flops is -1.0; allowed: a number of at least 0"),
    ((*ROW, "size"), 1.5, "extra_info.size is 1.5; allowed: an integer"),
    ((*ROW, "samples_s"), [], "extra_info.samples_s is []; allowed: a list of one number or more"),
    ((*ROW, "samples_s", 1), None, "extra_info.samples_s[1] is null; allowed: a number"),
    ((*ROW, "samples_s"), 3, "extra_info.samples_s is 3; allowed: a list"),
    ((*ROW, "bytes", "dram", "read"), -4, "extra_info.bytes.dram.read is -4; allowed: a number of at least 0"),
    ((*ROW, "bytes", "dram"), 8, "extra_info.bytes.dram is 8; allowed: an object with read, written"),
    ((*ROW, "bytes_per_s"), 3.8, "extra_info.bytes_per_s is 3.8; allowed: 4.092e+09 B/s"),
    ((*ROW, "flop_per_s"), 8.0, "extra_info.flop_per_s is 8.0; allowed: 8.184e+09 FLOP/s"),
    ((*ROW, "regime"), "slow", 'extra_info.regime is "slow"; allowed: "memory" or "compute"'),
    ((*ROW, "nearest"), [["dram"]], 'extra_info.nearest[0] is ["dram"]; allowed: a list of 2 items'),
    ((*ROW, "cold"), 1, "extra_info.cold is 1; allowed: true or false"),
    ((*ROW, "timer", "launches_per_sample"), 0, "launches_per_sample is 0; allowed: an integer of at least 1"),
    ((*ROW, "experiment"), "", 'extra_info.experiment is ""; allowed: text that is not empty'),
    ((*ROW, "kernel"), ..., "extra_info.kernel is missing; allowed: text that is not empty"),
    ((*ROW, "experiment"), ..., "roofline.rows is 1; allowed: 0, the number of benchmarks with a row"),
    (("benchmarks", 0), 5, "benchmarks[0] is 5; allowed: an object"),
    (("machine_info", "unit"), UUID, 'machine_info.unit is "GPU-1234'),
    (("machine_info", "device", "kind"), "tpu", 'device.kind is "tpu"; allowed: "cuda" or "cpu" or "fake"'),
    (("machine_info", "device", "cores"), ..., "machine_info.device.cores is missing"),
    (("machine_info", "device"), [], "machine_info.device is []; allowed: an object with name, kind"),
    (("machine_info", "environment", "state", "ecc"), [1], "environment.state.ecc is [1]; allowed: text or a number"),
    (("roofline", "complete"), "yes", 'roofline.complete is "yes"; allowed: true or false'),
    (("roofline", "rows"), 2, "roofline.rows is 2; allowed: 1"),
    (("roofline", "ceilings", "dram", "rate"), 0, "ceilings.dram.rate is 0; allowed: a number above 0"),
    (("roofline", "ceilings", "dram", "rate"), None, "ceilings.dram.rate is null; allowed: a number"),
    (("roofline", "ceilings", "dram", "unit"), "GB/s", 'ceilings.dram.unit is "GB/s"; allowed: "B/s"'),
    (("roofline", "ceilings", "dram"), 4.2, "roofline.ceilings.dram is 4.2; allowed: an object with"),
    (("roofline", "ceilings"), [], "roofline.ceilings is []; allowed: an object"),
    (("roofline", "claims", 0, "expected", "unit"), "GB/s", 'claims[0].expected.unit is "GB/s"; allowed: a base unit'),
    (("roofline", "claims", 0, "outcome"), "maybe", 'claims[0].outcome is "maybe"; allowed: "confirmed"'),
    (("roofline", "absent", 0, "status"), 0, 'absent[0].status is 0; allowed: "unsupported"'),
    (("roofline",), 1, "roofline is 1; allowed: an object with complete"),
    (("datetime",), "yesterday", 'datetime is "yesterday"; allowed: a date and time'),
    (("datetime",), ..., "datetime is null; allowed: a date and time"),
]


@pytest.mark.parametrize(("keys", "value", "message"), WRONG_VALUES, ids=[case[2][:40] for case in WRONG_VALUES])
def test_a_wrong_value_is_named_with_its_key_and_what_is_allowed(
    keys: tuple[str | int, ...], value: object, message: str, tmp_path: Path
) -> None:
    assert message in refusal(saved(tmp_path, changed(keys, value)))


def test_a_row_key_that_stands_twice_names_both_places(tmp_path: Path) -> None:
    whole = document()
    whole["benchmarks"] *= 2
    assert "benchmarks[1].extra_info has the row key of benchmarks[0]: dial/dial-0008" in refusal(
        saved(tmp_path, whole)
    )


def test_a_bandwidth_in_binary_gigabytes_is_caught_by_its_own_count(tmp_path: Path) -> None:
    """A rate that was computed with 1024³ differs from bytes over seconds by 7.37 %."""
    rate = 8184 / 2e-6
    assert "bytes_per_s" in refusal(saved(tmp_path, changed((*ROW, "bytes_per_s"), rate / 1.024**3)))


@QUICK
@given(data=st.data())
def test_no_replaced_value_ever_gives_anything_but_a_record_or_a_record_error(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = json.loads(json.dumps(document()))
    owner, key = data.draw(st.sampled_from(list(places(whole))))
    owner[key] = data.draw(st.sampled_from([None, -1, 0, 1.5, "x", [], {}, True, [[1]], {"a": None}, 10**200]))
    path = saved(tmp_path_factory.getbasetemp(), whole)
    with suppress(RecordError):
        assert isinstance(load(path), Record)


def places(value: object) -> list[tuple[dict | list, str | int]]:
    """Every place in a document where a value stands."""
    if not isinstance(value, (dict, list)):
        return []
    steps = list(value) if isinstance(value, dict) else range(len(value))
    return [(value, step) for step in steps] + [place for step in steps for place in places(value[step])]
