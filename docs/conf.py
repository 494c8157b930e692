"""How Sphinx builds these pages: `tox -e docs`.

The pages are plain Markdown that reads the same in a repository's browser. What only the built documentation can have
is made while it is read: the navigation out of the lists of links, the reference out of docstrings, and a page of
another folder in the place of the link to it.
"""

import re
from pathlib import Path

from roofline._version import VERSION

project = "pytest-roofline"
release = VERSION
copyright = "the pytest-roofline authors, Apache-2.0"
root_doc = "index"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
# GitHub's anchors of headings, so that links to them hold in both places.
myst_heading_anchors = 3
# Code without a language is what one types, not Python.
highlight_language = "none"
# `x` in a docstring is code.
default_role = "code"
autodoc_default_options = {"members": True, "undoc-members": False}
# Types of functions of functions fill half a page and say less than the docstring does.
autodoc_typehints = "none"
autodoc_preserve_defaults = True
toc_object_entries = False
html_theme = "alabaster"
html_theme_options = {
    "description": "How fast a device is, and how near a kernel comes",
    "fixed_sidebar": True,
    "page_width": "1100px",
    "show_powered_by": False,
}
html_copy_source = False
html_show_sourcelink = False

LINK = r"\[[^\]]+\]\((?P<target>[^)#:]+\.md)\)"
# The pages that hold the navigation: in lists by heading, and in a table.
NAVIGATION = ("index", "experiments/README")
REFERENCE = re.compile(r"^- \[`(?P<name>roofline\.[\w.]+)`\]\([^)]+\)$", re.MULTILINE)
ELSEWHERE = re.compile(rf"^{LINK}$", re.MULTILINE)
REPOSITORY = re.compile(r"\[(?P<words>[^\]]+)\]\((?:\.\./)+README\.md\)")


def setup(app):
    """Let each page be completed, and each docstring be made reStructuredText, when it is read."""
    app.connect("source-read", completed)
    app.connect("autodoc-process-docstring", escaped)


def escaped(app, what, name, value, options, lines):  # noqa: ARG001 - the hook's own arguments
    """Bars are absolute values in our docstrings and substitutions in reStructuredText."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def completed(app, page, source):
    """The text of a page with what only the built documentation has."""
    text = REFERENCE.sub(documented, source[0])
    text = ELSEWHERE.sub(lambda link: taken_in(Path(app.srcdir, page).parent / link["target"]), text)
    # The README is the page of the repository; it is not among these.
    text = REPOSITORY.sub(lambda link: link["words"], text)
    source[0] = text + (navigation(text) if page in NAVIGATION else "")


def documented(line):
    """The directive that writes what the docstring of a name says."""
    package, _, name = line["name"].rpartition(".")
    kind = "autoclass" if name[0].isupper() else "autofunction"
    return f"```{{eval-rst}}\n.. {kind}:: {package}.{name}\n```\n"


def taken_in(path):
    """A page of another folder without its title, its links to these pages made their own."""
    _, _, body = path.read_text(encoding="utf-8").partition("\n")
    return body.replace("](../docs/", "](").strip()


def navigation(text):
    """The pages that a page links to, those under one heading together, as a hidden table of contents."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    sections = [("", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    return "".join(contents(caption, re.findall(LINK, part)) for caption, part in sections)


def contents(caption, targets):
    """One hidden table of contents; nothing where there is no page."""
    pages = "\n".join(target.removesuffix(".md") for target in targets)
    options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return f"\n\n```{{toctree}}\n{options}\n{pages}\n```\n" if pages else ""
