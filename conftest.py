"""Everything is in the plugin that the project installs (`roofline.plugin`); pytester tests the plugin itself."""

import re
from pathlib import Path

pytest_plugins = ["pytester"]


def pytest_ignore_collect(collection_path, config):
    """`-m bench` reads nothing of tests/, so it needs nothing of what they import."""
    asked = config.option.markexpr
    measuring = re.search(r"(?<!not )\bbench\b", asked) and not re.search(r"(?<!not )\bcorrectness\b", asked)
    return True if measuring and Path(__file__).with_name("tests") in collection_path.parents else None
