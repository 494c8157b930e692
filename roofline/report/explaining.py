"""An experiment or a claim explained, as text of at most 100 columns."""

import re
from collections.abc import Iterator, Sequence

from roofline.claims import NotApplicable
from roofline.explaining import Experiment, Stated, asserting, experiment
from roofline.model import Claim
from roofline.record import Record
from roofline.report.tables import Column, Paint, Table, formatted, unpainted, wrapped
from roofline.report.text import between, estimate, listed
from roofline.report.verdicts import NOTHING, OUTCOMES
from roofline.units import scaled

INDENT = "  "
# More predictions of one test than these are one kind, such as each ceiling of a card against its baseline.
MOST_ALIKE = 4


def overview(found: Sequence[Experiment], paint: Paint = unpainted) -> str:
    """Every experiment in a line or two, with the claims that it asserts."""
    table = Table(
        title="EXPERIMENTS   roofline explain NAME, or a claim such as A3, says more",
        columns=[Column("name", 14), Column("what it shows", 58), Column("claims", 20)],
        rows=[(each.name, each.headline, ", ".join(each.claims)) for each in found],
    )
    return formatted(table, paint)


def experiment_text(found: Experiment, records: Sequence[Record], paint: Paint = unpainted) -> str:
    """What it does, how it is counted, what is expected of a card, what another value means, where to read on."""
    parts = [f"{paint(f'EXPERIMENT {found.name}', 'heading')}\n{prose(found.about)}"]
    if found.how and found.how != found.about:
        parts.append(f"{paint('HOW', 'heading')}\n{prose(found.how)}")
    counted = list(_counted(found))
    if counted:
        parts.append("\n".join([paint("COUNTED", "heading"), *counted]))
    if found.measures:
        parts.append(wrapped(f"CEILINGS   it measures {', '.join(found.measures)}", indent=INDENT))
    if found.stated:
        parts.append(formatted(_predictions(found.stated, records), paint))
    parts += [*_otherwise(found, paint), _more(found, paint)]
    return "\n\n".join(parts)


def claim_text(claim: str, stated: Sequence[Stated], records: Sequence[Record], paint: Paint = unpainted) -> str:
    """Who asserts a claim, what is expected of each stored card and from where, and what was measured there."""
    tests = asserting(claim)
    names = dict.fromkeys([*(each.experiment for each in stated), *(name for name, _, _ in tests)])
    title = f"CLAIM {claim}   asserted by {', '.join(f'bench/test_{name}.py' for name in names)}"
    said = [f"{name}::{test}: {' '.join(about.split())}" for name, test, about in tests]
    parts = [
        "\n".join([paint(wrapped(title, indent=INDENT), "heading"), *(wrapped(text, indent=INDENT) for text in said)])
    ]
    if stated:
        parts.append(formatted(_predictions(stated, records, every_card=True), paint))
    for name in names:
        about = experiment(name)
        parts += [*_counting(about, paint), *_otherwise(about, paint), _more(about, paint)]
    return "\n\n".join(parts)


def prose(text: str) -> str:
    """Paragraphs of a docstring, filled anew; what is laid out in lines of its own stays so."""
    return "\n\n".join(map(_filled, re.split(r"\n\s*\n", text)))


def _filled(paragraph: str) -> str:
    lines = paragraph.split("\n")
    laid_out = any(line.startswith((" ", "|", "-")) for line in lines)
    return "\n".join(wrapped(line, indent=INDENT) for line in lines) if laid_out else wrapped(" ".join(lines))


def _counting(about: Experiment, paint: Paint) -> Iterator[str]:
    counted = list(_counted(about))
    if counted:
        yield "\n".join([paint(f"COUNTED   {about.name}", "heading"), *counted])


def _counted(found: Experiment) -> Iterator[str]:
    for each in found.counted:
        ranges = [f"{level} {_range(low, high)} FLOP/B" for level, low, high in each.intensities]
        kernels = listed(each.kernels, 3)
        yield wrapped(f"{each.convention} ({'; '.join([kernels, *ranges])})", indent=INDENT)


def _range(low: float, high: float) -> str:
    least, most = scaled(low, "FLOP/B"), scaled(high, "FLOP/B")
    return least if least == most else f"{least} … {most}"


def _predictions(stated: Sequence[Stated], records: Sequence[Record], every_card: bool = False) -> Table:
    """Each prediction with what it expects: of the first stored card that it applies to, or of every one."""
    return Table(
        title="PREDICTIONS   stated before a run; measured: by the newest complete record of a card",
        columns=[
            Column("id", 4),
            Column("prediction", 30),
            Column("expected", 16),
            Column("from", 20),
            Column("measured", 18),
        ],
        rows=list(_rows(stated, records, every_card)),
        notes=[] if records else ["no record is stored here, so nothing is known of a card"],
        styles=OUTCOMES,
    )


def _rows(stated: Sequence[Stated], records: Sequence[Record], every_card: bool) -> Iterator[tuple[str, ...]]:
    for test in dict.fromkeys((each.experiment, each.test) for each in stated):
        own = [each for each in stated if (each.experiment, each.test) == test]
        for each in own[:MOST_ALIKE]:
            expected = list(_expected(each, records)) or [(NOTHING, NOTHING, NOTHING)]
            for cells in expected if every_card else _applicable(expected):
                yield each.prediction.id, each.prediction.statement, *cells
        if len(own) > MOST_ALIKE:
            yield own[0].prediction.id, f"and {len(own) - MOST_ALIKE} more such as these", *[NOTHING] * 3


def _applicable(expected: Sequence[tuple[str, str, str]]) -> Sequence[tuple[str, str, str]]:
    """The first card that a prediction applies to, or what is said of the first card."""
    return [cells for cells in expected if cells[0] != NOTHING][:1] or expected[:1]


def _expected(stated: Stated, records: Sequence[Record]) -> Iterator[tuple[str, str, str]]:
    """Of each card: the interval, where it is from, and what was measured there; or why the claim does not apply."""
    for record in records:
        expected = stated.expectation(record)
        if isinstance(expected, NotApplicable):
            yield NOTHING, f"{record.run.device.slug}: {expected.reason}", NOTHING
        else:
            unit = expected.unit or stated.prediction.unit
            yield between(expected.low, expected.high, unit), expected.source, _measured(stated, record)


def _measured(stated: Stated, record: Record) -> str:
    claim = _claim(stated, record)
    slug = record.run.device.slug
    if claim is None:
        return f"not in {slug}"
    unit = claim.expected.unit if claim.expected else stated.prediction.unit
    return f"{slug}: {estimate(claim.measured, unit)}, {claim.outcome}"


def _claim(stated: Stated, record: Record) -> Claim | None:
    of = stated.prediction
    return next((c for c in record.run.claims if (c.id, c.statement) == (of.id, of.statement)), None)


def _otherwise(found: Experiment, paint: Paint) -> Iterator[str]:
    """What the page says of values that were not expected."""
    told = found.page.otherwise if found.page else ()
    if told:
        heading = paint(f"OTHERWISE   what it means where {found.name} comes out differently", "heading")
        yield "\n".join([heading, *(wrapped(f"{lead}. {text}", indent=INDENT) for lead, text in told)])


def _more(found: Experiment, paint: Paint) -> str:
    lines = [f"bench/test_{found.name}.py" + (f", kernels/{found.name}.py" if found.how else "")]
    if found.page:
        lines.append(f"page: {found.page.path}")
    lines.append(f"run it: pytest -m bench -k test_{found.name}; all of it: -m 'bench and full'")
    return "\n".join([paint("MORE", "heading"), *(f"{INDENT}{line}" for line in lines)])
