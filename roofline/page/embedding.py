"""What goes into a page whole: scripts, styles, data and licences, with the policy that keeps the page to itself."""

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from roofline.page.markup import Markup, element

ASSETS = files("roofline.page") / "assets"
LIBRARY, LIBRARY_LICENSE = "d3.min.js", "d3-LICENSE"
SCRIPTS = ("model.js", "frame.js", "chart.js", "explorer.js", "plots.js", "page.js")
STYLE = "page.css"
# What could end a script element or begin another kind of content there; JSON reads the escapes as the same text.
ENDS_A_SCRIPT = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def asset(name: str) -> str:
    """One of the files that every page holds."""
    return (ASSETS / name).read_text(encoding="utf-8")


def embedded_json(document: Mapping[str, Any]) -> str:
    """A document as JSON that can stand in a script element: ASCII, and nothing in it ends the element.

    Raises:
        ValueError: it holds a number that JSON lacks.
    """
    return json.dumps(document, allow_nan=False, separators=(",", ":")).translate(ENDS_A_SCRIPT)


def finite(value: float | None) -> float | None:
    """The number, or None where JSON and a logarithmic axis have no place for it."""
    return value if value is not None and math.isfinite(value) else None


def style() -> Markup:
    """The one style sheet."""
    return element("style", Markup(asset(STYLE)))


def scripts() -> list[Markup]:
    """The library, then our own scripts, each in an element."""
    return [element("script", Markup(text)) for text in _script_texts()]


def _script_texts() -> list[str]:
    return [asset(LIBRARY), "\n".join(map(asset, SCRIPTS))]


def policy() -> str:
    """The Content-Security-Policy: nothing may be loaded, and of scripts and styles only those that we wrote run."""
    allowed = " ".join(map(_hash, _script_texts()))
    rules = ["default-src 'none'", f"script-src {allowed}", f"style-src {_hash(asset(STYLE))}"]
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
