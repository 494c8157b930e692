"""Comparisons as plain JSON, for other tools: base SI units, no number that JSON lacks, no sample."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from roofline.changes import Change, Comparison
from roofline.contrast import Contrast, KernelPair, Side, Standing
from roofline.model import Estimate, Measurement
from roofline.record import Record
from roofline.schema import encode


def comparison_document(found: Comparison, after: Record) -> dict[str, Any]:
    """Two runs of one model: the verdict on each row, the largest change first."""
    return _plain(
        {
            "kind": "verdicts",
            "before": _run(found.before),
            "after": _run(after),
            "failed": found.failed,
            "counts": Counter(change.verdict for change in found.changes),
            "differs": {name: {"before": old, "after": new} for name, (old, new) in found.differs.items()},
            "notes": found.notes,
            "changes": [_change(change) for change in found.by_size],
        }
    )


def contrast_document(found: Contrast) -> dict[str, Any]:
    """Two cards: ceilings, ridges and kernels of both, and the flips. Every ratio is of the second over the first."""
    return _plain(
        {
            "kind": "contrast",
            "first": _side(found.first),
            "second": _side(found.second),
            "notes": found.notes,
            "ceilings": [
                {
                    "resource": pair.resource,
                    "unit": pair.first.unit,
                    "first": pair.first.rate,
                    "second": pair.second.rate,
                    "times_as_fast": pair.ratio,
                }
                for pair in found.ceilings
            ],
            "ridges": [
                {"name": pair.name, "first": pair.first, "second": pair.second, "shift": pair.shift}
                for pair in found.ridges
            ],
            "kernels": [_kernel(pair) for pair in found.kernels],
        }
    )


def _plain(document: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = encode(document)
    return plain


def _run(record: Record) -> dict[str, Any]:
    run = record.run
    return {
        "file": str(record.path),
        "device": run.device.name,
        "slug": run.device.slug,
        "datetime": record.created.isoformat(),
        "complete": run.complete,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "row": change.key,
        "verdict": change.verdict,
        "cause": change.cause,
        "time_after_over_before": change.ratio,
        "floor": change.floor,
        "p": change.p,
        "reason": change.reason,
        "before_s": _seconds(change.before),
        "after_s": _seconds(change.after),
    }


def _seconds(row: Measurement | None) -> Estimate | None:
    return row.seconds if row else None


def _side(side: Side) -> dict[str, Any]:
    return {"label": side.label, "name": side.name, "specification": side.specification, "date": side.dated or None}


def _kernel(pair: KernelPair) -> dict[str, Any]:
    return {
        "row": pair.key,
        "intensity": pair.intensity,
        "first": _standing(pair.first),
        "second": _standing(pair.second),
        "times_as_fast": pair.ratio,
        "why": pair.why,
        "flips": pair.flips,
    }


def _standing(standing: Standing) -> dict[str, Any]:
    return {
        "measured": standing.measured,
        "bound_by": standing.bound_by,
        "rate": standing.rate,
        "unit": standing.unit,
        "fraction": standing.fraction,
    }
