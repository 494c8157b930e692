"""A process of its own that has this terminal, and ends in its own time where Ctrl-C is pressed."""

import subprocess
from collections.abc import Sequence
from pathlib import Path


def exit_code(command: Sequence[str], folder: Path | None = None) -> int:
    """Run a command to its end.

    Ctrl-C reaches the command as well, which may have a measurement to save: it is waited for, never killed.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; the command has ended.
    """
    process = subprocess.Popen(command, cwd=folder)
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt as pressed:
            interrupt = pressed
            continue
        if interrupt:
            raise interrupt
        return code
