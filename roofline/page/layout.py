"""The page from top to bottom: where its parts stand, and what the scripts find there to fill."""

from collections.abc import Sequence

from roofline._version import VERSION
from roofline.page import overlay, sections
from roofline.page.card import Card
from roofline.page.data import document
from roofline.page.embedding import embedded_json, policy, scripts, style
from roofline.page.markup import Child, Markup, element, joined


def page(cards: Sequence[Card], floors_of: overlay.FloorsOf) -> str:
    """The whole document."""
    title = f"Roofline of {' · '.join(card.label for card in cards)}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        style(),
    )
    data = element("script", Markup(embedded_json(document(cards))), type="application/json", id="data")
    body = element(
        "body", _header(title), element("main", list(_main(cards, floors_of)), id="main"), _footer(), data, scripts()
    )
    return "<!doctype html>\n" + element("html", head, body, lang="en") + "\n"


def _header(title: str) -> Markup:
    skip = element("a", "Skip to the chart", href="#chart-heading", class_="skip")
    links = {
        "chart-heading": "Roofline",
        "explorer-heading": "Explorer",
        "cards-heading": "Tables and claims",
        "reading-heading": "How to read this",
    }
    anchors = [element("a", text, href=f"#{anchor}") for anchor, text in links.items()]
    return element("header", skip, element("h1", title), element("nav", anchors, aria_label="Parts of this page"))


def _main(cards: Sequence[Card], floors_of: overlay.FloorsOf) -> Sequence[Markup]:
    against = list(overlay.sections(cards, floors_of))
    return [
        _part("glance", "At a glance", [sections.glance(card) for card in cards]),
        _part("chart", "Roofline", [_chart(), sections.remarks(cards)]),
        _part("explorer", "Explorer: what binds a kernel?", _explorer()),
        *([_part("against", "Cards beside one another", against)] if against else []),
        _part("plots", "Sweeps", [element("div", id="sweeps", class_="plots")], hidden=True),
        _part("cards", "Tables, claims and state", [sections.absent_note(cards), *map(sections.details, cards)]),
        _part("reading", "How to read this page", _reading()),
    ]


def _part(name: str, heading: str, children: Child, hidden: bool = False) -> Markup:
    title = element("h2", heading, id=f"{name}-heading")
    return element("section", title, children, id=name, aria_labelledby=f"{name}-heading", hidden=hidden)


def _chart() -> Markup:
    intro = (
        "Right is more arithmetic for each byte, up is faster; both axes are logarithmic, so equal distances are equal "
        "ratios. Slopes are what memory can feed, flat lines what the units can do: no kernel can pass either. Dashed "
        "lines are what a habit of code leaves of one."
    )
    keys = "Tab to a point, then arrow keys for the next. + and − zoom, 0 shows all, arrows on the chart move it."
    return joined(
        [
            element("p", intro, class_="about"),
            element(
                "noscript",
                element("p", "Chart and explorer need scripts; every figure is in the tables below."),
            ),
            element("div", id="chart-controls", class_="controls"),
            element("div", id="chart-plot", class_="plot"),
            element("p", keys, class_="about keys"),
            element("div", id="chart-legend", class_="legend"),
        ]
    )


def _explorer() -> Markup:
    intro = (
        "Choose a kernel and a roof: the point moves, and the figures are those of the same model that judges the runs."
    )
    return joined(
        [
            element("p", intro, class_="about"),
            element("div", id="explorer-controls", class_="controls"),
            element("p", id="explorer-verdict", class_="verdict", role="status"),
            element(
                "div",
                element("div", id="explorer-plot", class_="plot"),
                element("div", element("dl", id="explorer-figures", class_="facts"), class_="figures"),
                class_="beside",
            ),
            element("h3", "Which waits?"),
            element("p", id="explorer-waits-about", class_="about"),
            element("ul", id="explorer-waits", class_="bars"),
        ]
    )


TERMS = {
    "FLOP": "one floating-point operation; a fused multiply-add counts as two. FLOP/s: how many a second.",
    "intensity": "FLOP done for each byte that crosses a memory level. It belongs to the kernel, not to the card.",
    "ceiling": "the most that this card was seen to do of one thing; what its maker promises is called nominal.",
    "slope": "what a memory level can feed: intensity × bandwidth.",
    "ridge": "the intensity at which slope and roof meet. Left of it memory binds, right of it arithmetic.",
    "share of its roof": "a kernel's rate over what the card could do at that intensity. Judge a kernel by this, never "
    "by its share of the peak.",
    "above its roof": "faster than the model allows (ringed): fewer bytes moved than were counted, a faster clock, or "
    "a wrong count. It is shown as it was measured.",
    "level": "memory at one distance: DRAM, L2, L1 or shared memory. A kernel has a point at each level whose bytes "
    "are counted; the one nearest its own slope limits it.",
    "interval": "what the noise leaves open of a figure; error bars show it where it can be seen.",
}


def _reading() -> Child:
    return element("dl", [(element("dt", term), element("dd", text)) for term, text in TERMS.items()], class_="terms")


def _footer() -> Markup:
    made = f"Made by pytest-roofline {VERSION}. This file is whole: it loads nothing and sends nothing."
    return element("footer", element("p", made), sections.licences())
