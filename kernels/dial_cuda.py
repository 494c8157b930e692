"""The dial in CUDA C++: which shapes of `dial.cu` are tried at which F, and what their machine code must hold."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.kernel import Target
from roofline.model import Variant

BYTES_OF_A_VECTOR = 16
# cp.async copies from global to shared memory without passing registers, from this compute capability on.
COPIES_ASYNC = 80
# Up to here memory decides on every card known; from the second on, arithmetic does.
BELOW_EVERY_RIDGE, ABOVE_EVERY_RIDGE = 40, 384
# FFMA in the body of a loop that several blocks run out of step: more fall out of the instruction cache (H200).
LOOPED_BODY = 2048


def compute_capability(architecture: str) -> int:
    """90 of "sm_90a"."""
    return int(architecture.removeprefix("sm_").rstrip("af"))


def _vectors(loads: int, threads: int) -> Variant:
    return Variant(f"vectors-{loads}x{threads}", {"shape": "vectors", "loads": loads, "threads": threads})


def _scalars(loads: int, threads: int) -> Variant:
    return Variant(f"scalars-{loads}x{threads}", {"shape": "scalars", "loads": loads, "threads": threads})


def _prefetched(loads: int, threads: int, blocks: int) -> Variant:
    name = f"prefetched-{loads}x{threads}x{blocks}"
    return Variant(name, {"shape": "prefetched", "loads": loads, "threads": threads, "blocks": blocks})


def _pipelined(loads: int, threads: int, blocks: int, stages: int) -> Variant:
    shape: dict[str, int | str | bool] = {
        "shape": "pipelined",
        "loads": loads,
        "threads": threads,
        "blocks": blocks,
        "stages": stages,
    }
    return Variant(f"pipelined-{loads}x{threads}x{blocks}-{stages}", shape)


def _streamed(loads: int, threads: int, stages: int, run: int) -> Variant:
    shape: dict[str, int | str | bool] = {
        "shape": "streamed",
        "loads": loads,
        "threads": threads,
        "stages": stages,
        "run": run,
    }
    return Variant(f"streamed-{loads}x{threads}x{run}-{stages}", shape)


def variants(target: Target, steps: int) -> Sequence[Variant]:
    """The shapes that came out best near this F on some card, best guess first."""
    if steps < BELOW_EVERY_RIDGE:
        return (_vectors(1, 128), _vectors(1, 256), _scalars(4, 256), _vectors(2, 128))
    if steps >= ABOVE_EVERY_RIDGE:
        looped = (_prefetched(1, 256, 8), _scalars(4, 256)) if 4 * steps <= LOOPED_BODY else ()
        return (*looped, _scalars(2, 256), _scalars(1, 256), _scalars(2, 512))
    plain = (_vectors(4, 128), _prefetched(2, 256, 4), _vectors(2, 128), _vectors(1, 256))
    if compute_capability(target.architecture) < COPIES_ASYNC:
        return plain
    most = LOOPED_BODY // (4 * steps)
    loads = min(4, most)
    wide = 8 if most >= 8 else loads
    return (_streamed(wide, 128, 2, 4), _pipelined(loads, 512, 2, 2), _streamed(loads, 64, 2, 2), *plain)


@cache
def text() -> str:
    """The source that every instance is made from."""
    return Path(__file__).with_name("dial.cu").read_text(encoding="utf-8")


def source(target: Target, variant: Variant, steps: int) -> CudaSource:
    """One shape at F = `steps`."""
    shape, loads, threads = str(variant["shape"]), variant.integer("loads"), variant.integer("threads")
    lanes = loads if shape == "scalars" else 4 * loads
    stages = variant.integer("stages") if "stages" in variant.parameters else 0
    run = variant.integer("run") if "run" in variant.parameters else 1
    arguments = [steps, loads, threads, *([stages] if stages else []), *([run] if run > 1 else [])]
    return CudaSource(
        text=text(),
        entry=f"dial::{shape}<{', '.join(map(str, arguments))}>",
        block=lanes * threads * run,
        expects={"fma": steps * lanes, "mul": 0, "add": 0, "spill": 0},
        threads=threads,
        shared_bytes=BYTES_OF_A_VECTOR * loads * threads * stages,
        tail=f"dial::tail<{steps}>",
        blocks_per_sm=variant.integer("blocks") if "blocks" in variant.parameters else None,
    )
