"""A process of its own that is waited for: Ctrl-C ends it in its own time."""

import os
import signal
import subprocess
import sys
import time

import pytest

from roofline.foreground import exit_code

pytestmark = pytest.mark.correctness

# A measurement that takes longer to save itself than Python waits for a child before it kills it (0.25 s).
SAVING = """
import pathlib, time
try:
    pathlib.Path("started").touch()
    time.sleep(30)
except KeyboardInterrupt:
    time.sleep(0.6)
    pathlib.Path("saved").touch()
    raise SystemExit(2)
"""
RUNNING = """
import sys
from roofline.foreground import exit_code
try:
    exit_code([sys.executable, "-c", {saving!r}])
except KeyboardInterrupt:
    print("interrupted")
"""


def test_the_exit_code_is_the_commands_own(tmp_path):
    assert exit_code([sys.executable, "-c", "raise SystemExit(4)"], tmp_path) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is no signal to a process group there")
def test_ctrl_c_waits_for_what_the_command_saves(tmp_path):
    """Ctrl-C in a terminal reaches both; the command is not killed while it writes its record."""
    command = [sys.executable, "-c", RUNNING.format(saving=SAVING)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        while not (tmp_path / "started").exists():
            time.sleep(0.01)
        time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    assert said == "interrupted\n"
    assert (tmp_path / "saved").exists()
