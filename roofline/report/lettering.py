"""Text on a chart: what its font can draw, how wide it is, and how it fits. Needs matplotlib once it is called."""

from collections.abc import Callable, Iterator
from functools import cache

from roofline.report.text import one_line, shortened

FONT = "DejaVu Sans"
TITLE, BODY, SMALL, TINY = 13.0, 9.0, 8.0, 7.0

Measure = Callable[[str, float], tuple[float, float]]
"""Width and height in pixels of the layout of a text in a font size in points."""


def measured_by(renderer: object) -> Measure:
    """How wide and high a text is with one of matplotlib's renderers."""
    from matplotlib.font_manager import FontProperties

    def size(text: str, points: float) -> tuple[float, float]:
        width, height, _ = renderer.get_text_width_height_descent(  # type: ignore[attr-defined]
            text, FontProperties(family=FONT, size=points), False
        )
        return float(width), float(height)

    return size


def drawable(text: str) -> str:
    """`text` with every character that the font lacks written as its escape, so that nothing is lost."""
    known = _characters()
    return "".join(c if ord(c) in known else c.encode("unicode_escape").decode("ascii") for c in one_line(text))


@cache
def _characters() -> frozenset[int]:
    """The code points that the font has a shape for."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(FONT)).get_charmap())


def fitted(text: str, points: float, width: float, measure: Measure) -> str:
    """`text` as far as it fits `width` pixels, its middle left out where it does not."""
    text = drawable(text)
    kept = len(text)
    while measure(shown := shortened(text, kept), points)[0] > width and kept > 12:
        kept = kept * 9 // 10
    return shown


def broken(text: str, points: float, width: float, measure: Measure) -> Iterator[str]:
    """`text` in lines of at most `width` pixels, broken between words; a word that is longer is broken within."""
    line = ""
    for word in drawable(text).split():
        longer = f"{line} {word}".strip()
        if measure(longer, points)[0] <= width:
            line = longer
            continue
        if line:
            yield line
        *full, line = _pieces(word, points, width, measure)
        yield from full
    if line:
        yield line


def _pieces(word: str, points: float, width: float, measure: Measure) -> Iterator[str]:
    piece = ""
    for character in word:
        if piece and measure(piece + character, points)[0] > width:
            yield piece
            piece = ""
        piece += character
    yield piece
