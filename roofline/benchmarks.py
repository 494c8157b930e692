"""Entries of pytest-benchmark's JSON: kept small where they come from it, made where a measurement had no fixture."""

import json
from collections.abc import Mapping
from hashlib import sha256
from statistics import fmean, median, quantiles, stdev
from typing import Any

from roofline.model import Measurement
from roofline.schema import encode

# Longer names and parameters are cut, so that a file stays small; what tells two of them apart stays.
LONGEST_TEXT = 1000
DIGITS = 12


def small(benchmark: Mapping[str, Any]) -> dict[str, Any]:
    """A benchmark of pytest-benchmark's JSON without profiles, and with giant names and parameters cut."""
    entry: dict[str, Any] = {key: item for key, item in encode(benchmark).items() if key != "cprofile"}
    for name in ("name", "fullname", "group", "param"):
        if entry.get(name) is not None:
            entry[name] = _cut(str(entry[name]))
    if entry.get("params"):
        entry["params"] = {_cut(key): _cut(item) for key, item in entry["params"].items()}
    return entry


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) <= LONGEST_TEXT:
        return value
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]
    return f"{text[: LONGEST_TEXT // 4]}… ({len(text)} characters, sha256 {digest})"


def benchmark_entry(measurement: Measurement, row: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of pytest-benchmark's JSON for a measurement that was made outside a benchmark fixture."""
    key, seconds = measurement.key, measurement.samples.seconds
    return {
        "group": key.experiment,
        "name": f"{key.kernel}[{key.size}-{key.unit}-{key.level}-{key.fill}]",
        "fullname": f"roofline::{key}",
        "params": None,
        "param": None,
        "extra_info": dict(row),
        "options": {},
        "stats": _stats(seconds) | {"iterations": measurement.samples.launches},
    }


def _stats(seconds: tuple[float, ...]) -> dict[str, Any]:
    """The statistics that every entry of pytest-benchmark's JSON has, in its words."""
    spread = stdev(seconds) if len(seconds) > 1 else 0.0
    q1, _, q3 = quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else seconds * 3
    mean, reach = fmean(seconds), 1.5 * (q3 - q1)
    inside = [second for second in seconds if q1 - reach <= second <= q3 + reach]
    far = sum(abs(second - mean) > spread for second in seconds)
    return {
        "min": min(seconds),
        "max": max(seconds),
        "mean": mean,
        "stddev": spread,
        "rounds": len(seconds),
        "median": median(seconds),
        "iqr": q3 - q1,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": len(seconds) - len(inside),
        "stddev_outliers": far,
        "outliers": f"{far};{len(seconds) - len(inside)}",
        "ld15iqr": min(inside),
        "hd15iqr": max(inside),
        "ops": 1 / mean if mean else 0.0,
        "total": sum(seconds),
    }
