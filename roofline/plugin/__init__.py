"""The pytest plugin: options, fixtures, order, progress, judgement, saving. All else is in modules without pytest.

In somebody else's repository it does nothing until one of its fixtures or options is used: no timer, storage or option
of benchmarks that are not ours is changed.
"""

from roofline.plugin.fixtures import (
    _device_clock,
    buffers,
    claim,
    counters,
    device,
    measure,
    measure_launches,
    roofline,
    roofline_session,
    rows,
    timer,
)
from roofline.plugin.options import (
    pytest_addoption,
    pytest_cmdline_main,
    pytest_configure,
    pytest_load_initial_conftests,
)
from roofline.plugin.storage import pytest_benchmark_compare_machine_info

__all__ = [
    "_device_clock",
    "buffers",
    "claim",
    "counters",
    "device",
    "measure",
    "measure_launches",
    "pytest_addoption",
    "pytest_benchmark_compare_machine_info",
    "pytest_cmdline_main",
    "pytest_configure",
    "pytest_load_initial_conftests",
    "roofline",
    "roofline_session",
    "rows",
    "timer",
]
