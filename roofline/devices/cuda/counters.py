"""Hardware counters of a card, read by NVIDIA's own command-line profiler in a process of its own.

The tool knows the counters of every card and driver, replays a launch until all of them were read, and needs no
extension module that would have to fit the driver. It runs this library again (`roofline.counted`) and watches only the
launches between two marks. Clocks are left alone; caches are emptied before each pass, so that counts do not depend on
what ran before.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roofline.counters import METRICS, UnreadableCounters, readings, shared_out
from roofline.model import Traffic

TOOL = "ncu"
LIMIT_S = 300
NO_TOOL = (
    "no hardware counters: there is no ncu (Nsight Compute) on the PATH; it comes with the CUDA toolkit, in "
    "/usr/local/cuda/bin or /opt/nvidia/nsight-compute"
)
# The tool's own name for what most drivers are set to.
REFUSED = "ERR_NVGPUCTRPERM"
PERMISSION = (
    "no hardware counters: the driver keeps them to administrators; run as root, or have one set "
    "NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module (`roofline doctor` says how)"
)

Answer = Mapping[str, Traffic] | str


class CountersUnavailable(Exception):
    """Nothing can be counted here; the message is the cause and the remedy."""


def command(tool: str, log: Path, requests: Path, answers: Path) -> list[str]:
    """What is run: the profiler, and under it this library."""
    return [
        *(tool, "--clock-control", "none", "--cache-control", "all", "--profile-from-start", "off"),
        *("--target-processes", "all", "--metrics", ",".join(METRICS)),
        *("--page", "raw", "--csv", "--print-units", "base", "--log-file", str(log)),
        *(sys.executable, "-m", "roofline.counted", str(requests), str(answers)),
    ]


def count(device: str, launches: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """The bytes that crossed each level in each launch, or why that one was not counted, in order.

    `device` selects the card; a launch is its row's key and variant.

    Raises:
        CountersUnavailable: no tool, no permission, or the tool failed.
    """
    tool = shutil.which(TOOL)
    if tool is None:
        raise CountersUnavailable(NO_TOOL)
    with tempfile.TemporaryDirectory(prefix="roofline-counters-") as name:
        folder = Path(name)
        log, requests, answers = (folder / part for part in ("log.csv", "requests.json", "answers.json"))
        requests.write_text(json.dumps({"device": device, "launches": list(launches)}), encoding="utf-8")
        said = _run(command(tool, log, requests, answers))
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        if not answers.exists():
            raise CountersUnavailable(why(text + said))
        return assigned(json.loads(answers.read_text(encoding="utf-8")), text)


def _run(line: Sequence[str]) -> str:
    """Run the tool to its end; what it and the program under it said."""
    try:
        done = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise CountersUnavailable(
            f"no hardware counters: {TOOL} did not end within {LIMIT_S} s; select fewer rows with -k"
        ) from None
    except OSError as fault:
        raise CountersUnavailable(f"no hardware counters: {TOOL} cannot be run: {fault}") from None
    return done.stdout + done.stderr


def assigned(answers: Sequence[Mapping[str, Any]], text: str) -> list[Answer]:
    """Each launch's traffic out of the tool's table, or its reason.

    Raises:
        CountersUnavailable: the table is none, or is not about these launches.
    """
    grids = [answer["grids"] for answer in answers if "grids" in answer]
    if not grids:
        return [answer["reason"] for answer in answers]
    try:
        counted = iter(shared_out(readings(text), grids))
    except UnreadableCounters as unreadable:
        raise CountersUnavailable(why(text) if "==ERROR==" in text else str(unreadable)) from None
    return [answer["reason"] if "reason" in answer else next(counted) for answer in answers]


def why(text: str) -> str:
    """The cause in what the tool said: no permission, or its own last error."""
    if REFUSED in text:
        return PERMISSION
    lines = [line.removeprefix("==ERROR==").strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "rror" in line]
    return f"no hardware counters: {TOOL} failed: {(errors or lines or ['it said nothing'])[-1]}"
