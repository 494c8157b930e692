"""What stands below a chart: in full where that is short, else in brief, with the tables that have the rest."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from roofline.report.naming import line_name, needs_number
from roofline.report.scene import LeftOut, Mark, Scene
from roofline.units import si

# A caption of more lines than these is a text of its own, and the tables say it better.
MOST_LINES = 4
MOST_NAMES = 2


def caption(shown: Scene, numbered: frozenset[str], lines_of: Callable[[str], Iterable[str]]) -> list[str]:
    """The lines below the chart. `lines_of` breaks a text into lines."""
    full = [line for text in _in_full(shown, numbered) for line in lines_of(text)]
    return full if len(full) <= MOST_LINES else [line for text in _in_brief(shown, numbered) for line in lines_of(text)]


def spoken(shown: Scene) -> list[str]:
    """What is said of a chart where it is not seen: everything but the keys to names."""
    full = list(shown.remarks)
    return full if len(full) <= MOST_LINES else list(_brief_remarks(shown))


def _in_full(shown: Scene, numbered: frozenset[str]) -> Iterator[str]:
    """The names that stand below the chart instead of on it, then what else there is to say."""
    keys = [
        f"{number}={mark.name} ({si(mark.intensity, 'FLOP/B')}, {si(mark.flop_per_s.value, 'FLOP/s')})"
        for number, mark in _keyed(shown, numbered)
    ]
    if keys:
        yield "; ".join(keys)
    yield from (f"slope without a name: {line_name(line)}" for line in shown.slopes if line.resource in numbered)
    yield from shown.remarks


def _in_brief(shown: Scene, numbered: frozenset[str]) -> Iterator[str]:
    """One paragraph."""
    keys = [f"{number}={mark.name}" for number, mark in _keyed(shown, numbered)]
    keys += [f"slope without a name: {line_name(line)}" for line in shown.slopes if line.resource in numbered]
    yield "; ".join([*keys, *_brief_remarks(shown)])


def _keyed(shown: Scene, numbered: frozenset[str]) -> Iterator[tuple[int, Mark]]:
    named = [mark for mark in shown.marks if mark.named]
    return ((n, mark) for n, mark in enumerate(named, start=1) if needs_number(mark, numbered))


def _brief_remarks(shown: Scene) -> Iterator[str]:
    """Points above their roof by name; all else by its number, and where its names are."""
    yield from shown.above
    parts = []
    if any(mark.elsewhere for mark in shown.marks):
        parts.append("small markers: the same kernel at its other memory levels (HIERARCHY)")
    if shown.unmarked:
        parts.append(f"{_counted(shown.unmarked, 'ridge')} not marked")
    if shown.roomless:
        parts.append(f"{_counted(shown.roomless, 'roof')} not drawn for want of room (CEILINGS)")
    yield "; ".join([*parts, *shown.asides, *_not_drawn(shown.left_out)])


def _counted(names: Sequence[str], what: str) -> str:
    return f"{len(names)} {what}{'s' if len(names) > 1 else ''}"


def _not_drawn(left_out: Sequence[LeftOut]) -> Iterator[str]:
    """Every row that has no point, in one list by reason, by name where they are few."""
    groups = Counter(each.group for each in left_out)
    named = {group: [each.name for each in left_out if each.group == group] for group in groups}
    if named:
        parts = [
            f"{', '.join(names) if len(names) <= MOST_NAMES else f'{len(names)} rows'} ({group})"
            for group, names in named.items()
        ]
        yield f"not drawn, but in the tables: {', '.join(parts)}"
