"""C: what a launch costs when it does nothing: an empty kernel, launched in every way the device has.

On a GPU a launch is a kernel; on a CPU it is a parallel region: every worker leaves the barrier, does nothing and meets
the others again. A counting kernel proves that each launch really ran (C4).
"""

from pathlib import Path

from roofline.model import Traffic, Work

# The ceiling that each way measures, in seconds a launch, and what is done.
MODES = {
    "launch": "back to back, queued without waiting",
    "launch_sync": "one at a time, waited for by the host",
    "launch_graph": "the same launches replayed from a graph",
    "launch_python": "launched one by one from Python",
}
COUNTED = 1000


def work(launches: int) -> Work:
    """An empty launch computes and moves nothing."""
    return Work(0.0, "none", {"dram": Traffic(0.0, 0.0)}, convention="no work: the time is overhead")


def cuda_text() -> str:
    """The CUDA C++ of the empty and the counting kernel."""
    return Path(__file__).with_name("launch.cu").read_text(encoding="utf-8")
