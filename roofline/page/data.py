"""What the page's scripts draw and compute with, as JSON in base SI units; counts and places are the library's."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from roofline.diagnose import diagnoses
from roofline.model import Ceiling, Estimate, Measurement, Point, Work
from roofline.page.card import Card
from roofline.page.embedding import finite
from roofline.page.plots import Plot, plots
from roofline.page.presets import Preset, presets
from roofline.report.lines import group_of, in_order, is_lower
from roofline.report.scene import Mark, Scene, scene
from roofline.report.text import figure, shortened
from roofline.rooflines import ARITHMETIC, MEMORY_LEVELS, MissingCeiling
from roofline.units import PREFIXES, RANGES

NAME_WIDTH = 60
Json = dict[str, Any]


def document(cards: Sequence[Card]) -> Json:
    """Everything that the scripts know."""
    return {
        "units": {"prefixes": {str(power): prefix for power, prefix in PREFIXES.items()}, "ranges": dict(RANGES)},
        "levels": list(MEMORY_LEVELS),
        "arithmetic": list(ARITHMETIC),
        "presets": [_preset(preset) for preset in presets()],
        "cards": [_card(card) for card in cards],
    }


def _preset(preset: Preset) -> Json:
    return {
        "name": preset.name,
        "about": preset.about,
        "setting": preset.setting,
        "first": preset.first,
        "steps": [{"label": step.label, "work": work_data(step.work)} for step in preset.steps],
    }


def work_data(work: Work) -> Json:
    """What a launch computes and moves."""
    return {
        "flops": work.flops,
        "unit": work.unit,
        "moved": {level: traffic.total for level, traffic in work.traffic.items() if traffic.total},
        "slopes": dict(work.slopes),
        "convention": work.convention,
    }


def _card(card: Card) -> Json:
    shown = scene(card.report)
    return {
        "letter": card.letter,
        "label": card.label,
        "measured": card.measured,
        "ceilings": list(_ceilings(card, shown)),
        "marks": list(_marks(card, shown)),
        "ridges": [{"name": c.name, "intensity": c.intensity, "rate": c.flop_per_s} for c in shown.corners],
        "limits": {"x": shown.x_limits, "y": shown.y_limits},
        "plots": [_plot(plot) for plot in plots(card.report)],
    }


def _ceilings(card: Card, shown: Scene) -> Iterator[Json]:
    """All ceilings that are positive numbers, in the order of the tables; `drawn` are those a chart begins with."""
    judging = {line.resource for line in (*shown.slopes, *shown.roofs) if line.primary}
    drawn = {line.resource for line in (*shown.slopes, *shown.roofs)}
    for ceiling in in_order(card.report.ceilings.values()):
        if math.isfinite(ceiling.rate) and ceiling.rate > 0:
            yield {
                "resource": shortened(ceiling.resource, NAME_WIDTH),
                "rate": ceiling.rate,
                "low": finite(ceiling.low),
                "high": finite(ceiling.high),
                "unit": ceiling.unit,
                "nominal": _nominal(card, ceiling),
                "group": group_of(ceiling),
                "lower": is_lower(ceiling.resource),
                "primary": ceiling.resource in judging,
                "drawn": ceiling.resource in drawn,
                "reached": _reached(ceiling),
            }


def _nominal(card: Card, ceiling: Ceiling) -> float | None:
    """What the maker promises of the resource: of a specification, the figure itself."""
    if ceiling.source == "specification":
        return ceiling.rate
    nominal = ceiling.nominal or card.report.device.nominal.get(ceiling.resource)
    return nominal.rate if nominal else None


def _reached(ceiling: Ceiling) -> str:
    by = " ".join(filter(None, (shortened(ceiling.kernel, NAME_WIDTH), shortened(ceiling.variant, NAME_WIDTH))))
    return f"{by} ({ceiling.source})"


def _marks(card: Card, shown: Scene) -> Iterator[Json]:
    rows = {measurement.key: measurement for measurement in card.report.measurements}
    told = diagnoses(card.report)
    for mark in shown.marks:
        if mark.key is not None:
            diagnosis = told.get(mark.key)
            found = f"{diagnosis.finding} {diagnosis.advice}" if diagnosis else ""
            yield {**_mark(card, mark, rows[mark.key], card.report.points[mark.key]), "diagnosis": found}


def _mark(card: Card, mark: Mark, measurement: Measurement, point: Point) -> Json:
    return {
        "name": mark.name,
        "group": mark.group,
        "named": mark.named,
        "size": measurement.key.size,
        "variant": shortened(measurement.variant, NAME_WIDTH),
        "rate": _estimate(measurement.flop_per_s),
        "seconds": figure(measurement.seconds.value, "s"),
        "regime": point.regime,
        "above": mark.above,
        "level": point.level,
        "nearest": [[line, finite(share)] for line, share in point.nearest],
        "places": dict(_places(card, measurement, point)),
        "work": work_data(measurement.work),
        "flags": list(measurement.samples.flags),
    }


def _places(card: Card, measurement: Measurement, point: Point) -> Iterator[tuple[str, Json]]:
    """Where a measurement lies at each level, and the roof above it; at the one that judges it, as it was judged."""
    try:
        places: Mapping[str, Point] = card.roofline.place_by_level(measurement)
    except (MissingCeiling, ValueError):
        places = {}
    for level, place in {**places, point.level: point}.items():
        if math.isfinite(place.intensity) and place.intensity > 0:
            yield (
                level,
                {
                    "intensity": place.intensity,
                    "roof": finite(place.roof),
                    "bound": place.bound_by,
                    "fraction": finite(place.fraction),
                },
            )


def _estimate(estimate: Estimate) -> Json:
    return {"value": estimate.value, "low": finite(estimate.low), "high": finite(estimate.high)}


def _plot(plot: Plot) -> Json:
    return {
        "title": plot.title,
        "about": plot.about,
        "x": {"name": plot.x.name, "unit": plot.x.unit},
        "y": {"name": plot.y.name, "unit": plot.y.unit},
        "series": [
            {"name": shortened(series.name, NAME_WIDTH), "points": [[x, _estimate(y)] for x, y in series.points]}
            for series in plot.series
        ],
        "rules": [
            {"name": shortened(rule.name, NAME_WIDTH), "axis": rule.axis, "value": rule.value} for rule in plot.rules
        ],
    }
