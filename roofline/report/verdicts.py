"""What a run says of itself: its ceilings, its claims, what is absent, and what lies above its roof."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from roofline.diagnose import situation_of
from roofline.model import Absent, Ceiling, Claim, Measurement, Point
from roofline.report import Report
from roofline.report.lines import GROUPS, group_of, in_order
from roofline.report.tables import Column, Style, Table
from roofline.report.text import between, estimate, figure, listed, row_name, shortened, spread
from roofline.symptoms import above
from roofline.units import UNKNOWN, percent, si

NOTHING = "-"
OUTCOMES: Mapping[str, Style] = {
    "refuted": "bad",
    "inconclusive": "warn",
    "confirmed": "good",
    "not-applicable": "faint",
}
# What makes most claims inconclusive, which is said once below them.
ACROSS = re.compile(r"^its noise reaches across the (?:lower|upper) edge of what was expected(?:; )?")


def ceilings_table(report: Report) -> Table:
    """The best that each resource did, who reached it, and how that compares with what the maker promises."""
    return Table(
        title="CEILINGS   the best of the kernels and variants that were searched",
        columns=[
            Column("\nresource", 20),
            Column("\nbest", 12, "right"),
            Column("\nspread", 7, "right"),
            Column("% of\nnominal", 7, "right"),
            Column("\nreached by", 20),
            Column("\nclock", 8, "right"),
            Column("at rated\nclock", 12, "right"),
        ],
        rows=list(_ceiling_rows(report.ceilings.values())),
        notes=list(_above_nominal(report.ceilings.values())),
        styles=dict.fromkeys(GROUPS, "heading"),
    )


def _ceiling_rows(ceilings: Iterable[Ceiling]) -> Iterator[tuple[str, ...]]:
    """Group by group, each under its name where there is more than one."""
    groups = {group: list(members) for group, members in groupby(in_order(ceilings), group_of)}
    for group, members in groups.items():
        if len(groups) > 1:
            yield (group, *[""] * 6)
        yield from map(_ceiling_row, members)


def _ceiling_row(ceiling: Ceiling) -> tuple[str, ...]:
    reached = " ".join(filter(None, (shortened(ceiling.kernel, 48), ceiling.variant)))
    if ceiling.source != "measured":
        reached += f" ({ceiling.source})"
    return (
        ceiling.resource,
        figure(ceiling.rate, ceiling.unit),
        spread(ceiling.estimate),
        percent(ceiling.rate / ceiling.nominal.rate) if ceiling.nominal else UNKNOWN,
        reached,
        si(ceiling.clock_hz, "Hz"),
        figure(ceiling.at_rated_clock, ceiling.unit) if ceiling.at_rated_clock else NOTHING,
    )


def _above_nominal(ceilings: Iterable[Ceiling]) -> Iterator[str]:
    for ceiling in ceilings:
        if ceiling.nominal and ceiling.unit != "s" and ceiling.rate > ceiling.nominal.rate:
            at_rated = figure(ceiling.at_rated_clock, ceiling.unit)
            yield (
                f"{ceiling.resource} is above nominal ({figure(ceiling.nominal.rate, ceiling.unit)} = "
                f"{ceiling.nominal.formula}, {ceiling.nominal.source}): scaled to the rated clock it is {at_rated}"
            )


def claims_table(report: Report) -> Table:
    """Every claim: what was expected before the run and from where, what was measured, and the outcome."""
    counts = Counter[str](claim.outcome for claim in report.claims)
    summary = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES)
    return Table(
        title=f"CLAIMS   {summary}" if report.claims else "CLAIMS",
        columns=[
            Column("id", 6),
            Column("outcome", 14),
            Column("claim", 30),
            Column("expected", 13),
            Column("from", 14),
            Column("measured", 13),
        ],
        rows=[_claim_row(claim) for claim in report.claims],
        styles=OUTCOMES,
    )


def _claim_row(claim: Claim) -> tuple[str, ...]:
    expected = claim.expected
    unit = expected.unit if expected else ""
    statement = f"{claim.statement} — {claim.reason}" if claim.reason else claim.statement
    return (
        claim.id,
        claim.outcome,
        statement,
        between(expected.low, expected.high, unit) if expected else "-",
        expected.source if expected else "-",
        estimate(claim.measured, unit),
    )


def claims_summary(report: Report) -> Table:
    """The claims in as few lines as they take, what failed first; `claims_table` has a column for each part."""
    order = list(OUTCOMES)
    claims = sorted(report.claims, key=lambda claim: order.index(claim.outcome))
    return Table(
        title=claims_table(report).title,
        columns=[
            Column("id", 5),
            Column("outcome", 14),
            Column("measured", 14),
            Column("expected", 13),
            Column("claim, and where the expectation is from", 44),
        ],
        rows=[_brief_claim(claim) for claim in claims],
        notes=[
            "inconclusive: the noise of what was measured reaches across an edge of what was expected, or as said",
            "what a claim is about, how it is counted, what a low value means: roofline explain ID",
        ],
        styles=OUTCOMES,
    )


def _brief_claim(claim: Claim) -> tuple[str, ...]:
    reason = ACROSS.sub("", claim.reason)
    id_, outcome, statement, expected, source, measured = _claim_row(replace(claim, reason=reason))
    if claim.outcome == "not-applicable":
        return id_, outcome, measured if claim.measured else NOTHING, expected, statement
    return id_, outcome, measured, expected, f"{statement} ({source})"


def absent_summary(absent: Sequence[Absent]) -> Table:
    """Rows that have no figure, those of one experiment that share the reason in one line."""
    groups: dict[tuple[str, str, str], list[Absent]] = {}
    for row in absent:
        groups.setdefault((row.key.experiment, row.status, row.reason), []).append(row)
    return Table(
        title="ABSENT   meant to be measured, and was not",
        columns=[Column("rows", 40), Column("status", 11), Column("reason", 45)],
        rows=[(_names(rows), status, reason) for (_, status, reason), rows in groups.items()],
        styles={"error": "bad"},
    )


def _names(rows: Sequence[Absent]) -> str:
    first, *others = [shortened(row.key.kernel, 60) for row in rows]
    return ", ".join([f"{shortened(rows[0].key.experiment, 40)}/{first}", *others])


def absent_table(absent: Sequence[Absent]) -> Table:
    """Rows that were meant and have no figure, with the reason."""
    return Table(
        title="ABSENT   meant to be measured, and was not",
        columns=[Column("row", 40), Column("status", 11), Column("reason", 45)],
        rows=[(shortened(str(row.key), 118), row.status, row.reason) for row in absent],
        styles={"error": "bad"},
    )


def above_roof_table(report: Report) -> Table:
    """Points above their roof, each with what is likely to have caused it. They are findings, never clipped."""
    rows = []
    for measurement in report.measurements:
        point = report.points.get(measurement.key)
        if point and point.regime == "above-roof":
            causes = "; ".join(likely_causes(measurement, point, report))
            name = shortened(row_name(measurement.key), 64)
            rows.append((name, percent(point.fraction), point.bound_by, causes))
    return Table(
        title="ABOVE THE ROOF   faster than the model allows: the count, the clock or the roof is wrong",
        columns=[Column("kernel", 24), Column("of roof", 8, "right"), Column("roof", 19), Column("likely cause", 43)],
        rows=rows,
    )


def likely_causes(measurement: Measurement, point: Point, report: Report) -> Sequence[str]:
    """Why a point can lie above its roof, the causes that have evidence first; a wrong count is always possible."""
    return above(measurement, point.bound_by, situation_of(report))


def flagged(measurements: Sequence[Measurement]) -> Iterator[tuple[str, str]]:
    """Each flag that a series of samples was given, with the kernels that have it."""
    flags = sorted({flag for measurement in measurements for flag in measurement.samples.flags})
    for flag in flags:
        names = [_with_fill(m) for m in measurements if flag in m.samples.flags]
        yield flag, f"{len(names)} of {len(measurements)} rows: {listed(names)}"


def _with_fill(measurement: Measurement) -> str:
    """A kernel by name, and by what its arrays hold where that is not the rule."""
    name, fill = shortened(measurement.key.kernel, 40), measurement.key.fill
    return name if fill in ("random", "none") else f"{name} ({shortened(fill, 12)})"
