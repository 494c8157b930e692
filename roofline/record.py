"""The record of one run: a pytest-benchmark JSON file that also holds the device, the ceilings and the claims.

Writing and reading go through `roofline.layout`, so a file that is written can be read, and one that cannot be read
says which key and value is wrong.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import isclose
from pathlib import Path
from typing import Any

from roofline.benchmarks import benchmark_entry, small
from roofline.diagnose import diagnoses
from roofline.escaping import one_line
from roofline.layout import (
    RULES,
    SAME_RATE,
    MachineInfo,
    Row,
    Section,
    absent_entry,
    absent_of,
    claim_entry,
    claim_of,
    measurement_of,
    point_of,
    row_of,
)
from roofline.model import (
    Absent,
    Ceiling,
    Claim,
    Device,
    Diagnosis,
    Environment,
    Estimate,
    Measurement,
    Point,
    RowKey,
)
from roofline.privacy import TELLING, Names, unit_hash
from roofline.schema import DocumentError, decode, encode, read

# History of the format; fields that are only added do not raise it.
# 1: pytest-benchmark JSON with machine_info {schema, device, unit, environment}, rows in extra_info, and `roofline`.
#    Added: point_level and intensities of a row, and the slopes of every level among its nearest.
#    Added: algorithmic and achieved_bytes of a row; its diagnosis, null until then, is an object.
#    Added: launches and launch_mode of a row.
SCHEMA = 1

# By these keys a benchmark's extra_info is known to be a row; other people's benchmarks hold what they like.
ROW_MARKS = {"experiment", "samples_s"}
COMMIT_KEYS = ("id", "time", "author_time", "dirty")

Fact = str | float | int | bool | None


class RecordError(Exception):
    """A file is no record that can be used. One or two lines: the file, the key, its value, what is allowed."""


@dataclass(frozen=True)
class Run:
    """What one session found out about one device.

    `unit` is the unit's own id before the run is written, its hash afterwards, empty where unknown. `missing` says in
    words what an incomplete run lacks, `ridges` holds intensities by name ("fp32/dram"), `floors` the learnt noise by
    `str(RowKey)`.
    """

    device: Device
    environment: Environment
    unit: str
    ceilings: Mapping[str, Ceiling] = field(default_factory=dict)
    measurements: tuple[Measurement, ...] = ()
    points: Mapping[RowKey, Point] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    absent: tuple[Absent, ...] = ()
    complete: bool = True
    selection: str = ""
    missing: tuple[str, ...] = ()
    ridges: Mapping[str, Estimate] = field(default_factory=dict)
    floors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """A run as it was read from a file; it answers what a claim asks of a baseline (`claims.Known`)."""

    run: Run
    created: datetime
    path: Path

    @property
    def name(self) -> str:
        """The file with its folder: where an expectation came from."""
        return f"{self.path.parent.name}/{self.path.name}"

    def ceiling(self, resource: str) -> Ceiling | None:
        """A stored ceiling, None where there is none."""
        return self.run.ceilings.get(resource)

    def ridge(self, name: str) -> Estimate | None:
        """A stored ridge, by name ("fp32/dram")."""
        return self.run.ridges.get(name)

    def state(self, name: str) -> str | float | bool | None:
        """A value of the environment's state when it was recorded, None where it is unknown."""
        return self.run.environment.state.get(name)

    def measurement(self, key: RowKey) -> Measurement | None:
        """The row of that key."""
        return next((measurement for measurement in self.run.measurements if measurement.key == key), None)


def extra_info(measurement: Measurement, point: Point | None, diagnosis: Diagnosis | None = None) -> dict[str, Any]:
    """What a benchmark's `extra_info` holds of one measurement, with its diagnosis where it was placed.

    Raises:
        ValueError: the measurement has no figure, or its point is another one's.
    """
    row: dict[str, Any] = encode(replace(row_of(measurement, point), diagnosis=diagnosis))
    try:
        decode(Row, row, "extra_info", RULES)
    except DocumentError as wrong:
        raise ValueError(f"{measurement.key}: {wrong}") from None
    return row


def machine_info(device: Device, environment: Environment, unit: str) -> dict[str, Any]:
    """What stands in place of pytest-benchmark's `machine_info`: nothing in it tells whose machine this is.

    Of `unit`, an id or its hash, the hash is written; facts named in `privacy.TELLING` are left out.
    """
    kept = Environment(_untelling(environment.state), _untelling(environment.facts))
    info: dict[str, Any] = encode(MachineInfo(SCHEMA, device, unit_hash(unit), kept))
    info["device"]["slug"] = device.slug
    return info


def _untelling(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    return {key: value for key, value in facts.items() if key.lower() not in TELLING}


def roofline_section(run: Run) -> dict[str, Any]:
    """What stands at the top level under `roofline`."""
    section = Section(
        complete=run.complete,
        selection=run.selection,
        rows=len(run.measurements),
        ceilings=run.ceilings,
        missing=run.missing,
        ridges=run.ridges,
        claims=tuple(map(claim_entry, run.claims)),
        absent=tuple(map(absent_entry, run.absent)),
        floors=run.floors,
    )
    entry: dict[str, Any] = encode(section)
    for ceiling in entry["ceilings"].values():
        del ceiling["resource"]  # it is the key
    return entry


def assemble(pytest_benchmark_json: Mapping[str, Any], run: Run, names: Names | None = None) -> dict[str, Any]:
    """The record of `run`, out of the JSON that pytest-benchmark made of the same session.

    A benchmark whose `extra_info` holds the row key of a measurement gets that measurement's row; a measurement that no
    benchmark holds (a quick probe) gets an entry of its own. `names` (None: this machine's) are taken out of texts.

    Raises:
        ValueError: the record could not be read back; the message names the key.
    """
    names = names or Names.here()
    commit = pytest_benchmark_json.get("commit_info") or {}
    document = {
        "machine_info": machine_info(run.device, _without(run.environment, names), run.unit),
        "commit_info": {key: commit[key] for key in COMMIT_KEYS if key in commit},
        "benchmarks": [names.home_out_of(entry) for entry in _benchmarks(pytest_benchmark_json["benchmarks"], run)],
        "datetime": pytest_benchmark_json["datetime"],
        "version": pytest_benchmark_json["version"],
        "roofline": roofline_section(_texts_without(run, names)),
    }
    plain: dict[str, Any] = encode(document)
    parse(plain, Path("record"))
    return plain


def _without(environment: Environment, names: Names) -> Environment:
    facts = {key: names.out_of(value) if isinstance(value, str) else value for key, value in environment.facts.items()}
    return replace(environment, facts=facts)


def _texts_without(run: Run, names: Names) -> Run:
    """The run with this machine's names taken out of every sentence; figures and keys stay as they are."""

    def cleaned(claim: Claim) -> Claim:
        expected = claim.expected and replace(claim.expected, source=names.out_of(claim.expected.source))
        return replace(claim, expected=expected, reason=names.out_of(claim.reason))

    return replace(
        run,
        claims=tuple(map(cleaned, run.claims)),
        absent=tuple(replace(absent, reason=names.out_of(absent.reason)) for absent in run.absent),
        selection=names.out_of(run.selection),
        missing=tuple(map(names.out_of, run.missing)),
    )


def _benchmarks(benchmarks: Iterable[Mapping[str, Any]], run: Run) -> list[dict[str, Any]]:
    told = diagnoses(run)
    rows = {m.key: extra_info(m, run.points.get(m.key), told.get(m.key)) for m in run.measurements}
    if len(rows) < len(run.measurements):
        raise ValueError("two measurements have the same row key; a row is measured once in a record")
    entries = [small(benchmark) for benchmark in benchmarks]
    for entry in entries:
        key = _key_of(entry, rows)
        if key:
            entry["extra_info"] = rows.pop(key)
    return entries + [benchmark_entry(m, rows[m.key]) for m in run.measurements if m.key in rows]


def _key_of(entry: Mapping[str, Any], keys: Iterable[RowKey]) -> RowKey | None:
    """Which of `keys` the benchmark of an entry said that it measures."""
    info = entry.get("extra_info") or {}
    return next((key for key in keys if encode(key).items() <= info.items()), None)


def parse(document: Any, path: Path) -> Record:
    """The record that a document holds; `path` is where it was read from.

    Raises:
        DocumentError: it is something else, or a value in it is wrong.
    """
    check_kind(document)
    machine = decode(MachineInfo, document["machine_info"], "machine_info", RULES)
    section = decode(Section, _with_resources(document["roofline"]), "roofline", RULES)
    rows = _rows(document["benchmarks"])
    if len(rows) != section.rows:
        raise DocumentError.value(
            "roofline.rows", section.rows, f"{len(rows)}, the number of benchmarks with a row in their extra_info"
        )
    points = {row.key: point for row in rows if (point := point_of(row))}
    run = Run(
        device=machine.device,
        environment=machine.environment,
        unit=machine.unit,
        ceilings=section.ceilings,
        measurements=tuple(map(measurement_of, rows)),
        points=points,
        claims=tuple(map(claim_of, section.claims)),
        absent=tuple(map(absent_of, section.absent)),
        complete=section.complete,
        selection=section.selection,
        missing=section.missing,
        ridges=section.ridges,
        floors=section.floors,
    )
    return Record(run, created_of(document.get("datetime")), path)


def check_kind(document: Any) -> None:
    """Tell apart what is no record at all, what pytest-benchmark wrote alone, and what a later version wrote.

    Raises:
        DocumentError: it is one of these.
    """
    if not isinstance(document, dict):
        raise DocumentError(
            f"holds {_kind(document)}, not a record (an object with machine_info, benchmarks, roofline)"
        )
    machine = document.get("machine_info")
    if not isinstance(document.get("benchmarks"), list) or not isinstance(machine, dict):
        keys = ", ".join(sorted(document)[:5])[:80] or "none"
        raise DocumentError(
            f"is JSON of another tool (keys: {keys}), not a record with machine_info and a list of benchmarks"
        )
    schema = machine.get("schema")
    if schema is None and "roofline" not in document:
        raise DocumentError(
            "is a plain pytest-benchmark file: it has no `roofline` section, so no device and no ceilings\n"
            "make a record with: pytest -m bench --benchmark-save=NAME"
        )
    if type(schema) is not int or schema < 1:
        raise DocumentError.value("machine_info.schema", schema, f"an integer from 1 to {SCHEMA}")
    if schema > SCHEMA:
        raise DocumentError.value(
            "machine_info.schema", schema, f"1 to {SCHEMA} in this version; upgrade pytest-roofline"
        )
    if "roofline" not in document:
        raise DocumentError("roofline is missing; allowed: an object with complete, selection, rows, ceilings")


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", type(None): "null", bool: "true or false"}.get(type(value), "a number")


def _with_resources(section: Any) -> Any:
    """The section as the dataclasses have it: each ceiling also knows its own name."""
    if not isinstance(section, dict) or not isinstance(section.get("ceilings"), dict):
        return section
    ceilings = {
        name: entry | {"resource": name} if isinstance(entry, dict) else entry
        for name, entry in section["ceilings"].items()
    }
    return section | {"ceilings": ceilings}


def _rows(benchmarks: list[Any]) -> list[Row]:
    """The rows of all benchmarks that are rows; other tests' benchmarks may stand between them."""
    found: dict[RowKey, int] = {}
    rows = []
    for index, benchmark in enumerate(benchmarks):
        where = f"benchmarks[{index}].extra_info"
        if not isinstance(benchmark, dict):
            raise DocumentError.value(f"benchmarks[{index}]", benchmark, "an object")
        info = benchmark.get("extra_info")
        if not isinstance(info, dict) or not info.keys() >= ROW_MARKS:
            continue
        row = decode(Row, info, where, RULES)
        _check_figures(row, where)
        if row.key in found:
            raise DocumentError(
                f"{where} has the row key of benchmarks[{found[row.key]}]: {row.key}; allowed: each key once"
            )
        found[row.key] = index
        rows.append(row)
    return rows


def _check_figures(row: Row, where: str) -> None:
    """The median lies in its interval, and rates follow from counts and seconds: else of other units."""
    if not row.interval.low <= row.seconds <= row.interval.high:
        raise DocumentError.value(
            f"{where}.seconds", row.seconds, f"{row.interval.low:.6g} to {row.interval.high:.6g}, the row's interval"
        )
    expected = {"flop_per_s": row.flops / row.seconds}
    if row.level in row.bytes:
        expected["bytes_per_s"] = row.bytes[row.level].total / row.seconds
    for name, rate in expected.items():
        stored = getattr(row, name)
        if stored is not None and not isclose(stored, rate, rel_tol=SAME_RATE):
            unit = "FLOP" if name == "flop_per_s" else "B"
            raise DocumentError.value(
                f"{where}.{name}", stored, f"{rate:.6g} {unit}/s, the row's own count over its seconds"
            )


def created_of(value: Any) -> datetime:
    """When a run ended, with its time zone.

    Raises:
        DocumentError: the value is no date and time.
    """
    try:
        created = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise DocumentError.value("datetime", value, "a date and time as ISO 8601 writes it") from None
    return created if created.tzinfo else created.replace(tzinfo=UTC)


def load(path: Path) -> Record:
    """Read and check a record.

    Raises:
        RecordError: it cannot be read, is no record, or holds a wrong value.
    """
    try:
        return parse(read(path), path)
    except DocumentError as wrong:
        raise RecordError(f"{one_line(path)}: {wrong}") from None
