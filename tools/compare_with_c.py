"""Compare the CPU device with hand-tuned C on this machine: `python tools/compare_with_c.py` (needs gcc).

Both run in this one process, in turns, on the same cores and the same arrays, since physical placement alone moves DRAM
figures by more than the two could differ. Arrays are allocated anew each round. Each side takes the best of its own
block lengths, found in the first round. A try is one launch over an eighth of the arrays, each on another eighth, so
that lines are cold; one in which another process was given a core is made again. A round takes the median of its tries;
a ratio is our rate over C's, the median over the rounds.
"""

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from tabulate import tabulate

from roofline.devices.base import Binary, Buffers, Launch
from roofline.devices.cpu import CpuBackend, open_cpu
from roofline.kernel import Kernel
from roofline.kernels import dial, dram, levels
from roofline.model import Device

HERE = Path(__file__).parent
# Neither may the compiler fuse what is not fused, nor put a copy loop of its own in the place of ours.
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-tree-loop-distribute-patterns")
COMPILE = ("gcc", *FLAGS, "-pthread", "-shared", "-fPIC")
FORMS = tuple((vectors, ahead) for ahead in (0, 2048, 4096) for vectors in (2, 4, 8, 12))
WINDOWS = 8
LAUNCHES = 1000
AGAIN = 50  # times that a disturbed try is made again before it is taken as it is
Form = TypeVar("Form")
PATTERNS = {pattern.name: pattern for pattern in dram.PATTERNS}


@dataclass(frozen=True)
class Row:
    """One comparison: our kernel, what C does for it, and the least ratio that will do (None: for information).

    With `passes` both only read, so many times over.
    """

    name: str
    kernel: Kernel
    steps: int
    streaming: bool
    in_place: bool
    bar: float | None
    passes: int = 0


@dataclass(frozen=True)
class Bench:
    """What both sides share in one run: device, C library, arrays' length."""

    cpu: CpuBackend
    library: ctypes.CDLL
    elements: int

    def ours(self, row: Row, binary: Binary, buffers: Buffers, window: int) -> float:
        """Seconds of one launch of our kernel, for each element."""
        size = self.size(row, binary.block)
        return self.cpu.run(Launch(binary, buffers, size, WINDOWS), 1, window).seconds / size

    def theirs(self, row: Row, form: tuple[int, int], buffers: Buffers, window: int) -> float:
        """Seconds of one pass of the C kernel, for each element; a form is vectors in flight and bytes asked ahead."""
        count, ahead = form
        size = self.size(row, count * self.library.reference_lanes())
        arrays = buffers.handles[0][0], buffers.handles[0][0 if row.in_place else 1]
        x, y = (array.address + 4 * size * window for array in arrays)
        cores = self.cpu._cores.used
        array = (ctypes.c_int * len(cores))(*cores)
        seconds: float = self.library.reference_run(
            x, y, size, row.steps, count, ahead, int(row.streaming), row.passes, array, len(cores)
        )
        if seconds < 0:
            raise SystemExit("the C program could not start its threads")
        return seconds / size

    def best_forms(self, row: Row, binaries: Sequence[Binary], buffers: Buffers) -> tuple[Binary, tuple[int, int]]:
        """Our fastest variant and C's fastest form."""
        return (
            fastest(binaries, lambda binary, window: self.ours(row, binary, buffers, window)),
            fastest(FORMS, lambda form, window: self.theirs(row, form, buffers, window)),
        )

    def size(self, row: Row, block: int) -> int:
        """Whole blocks for every worker, as many as the kernel takes of one window of the arrays."""
        share = block * len(self.cpu._cores.used)
        return row.kernel.size(self.elements // WINDOWS) // share * share

    def pair(
        self, row: Row, forms: tuple[Binary, tuple[int, int]], buffers: Buffers, window: int
    ) -> tuple[float, float]:
        """Both sides' seconds an element, on windows far apart: what one left in the cache must not serve the other."""
        binary, form = forms
        return (
            undisturbed(lambda: self.ours(row, binary, buffers, window)),
            undisturbed(lambda: self.theirs(row, form, buffers, (window + WINDOWS // 2) % WINDOWS)),
        )


def reads(device: Device) -> list[Row]:
    """Reads that each level of this machine's memory serves."""
    found = [
        Row(f"read {cache.resource}", levels.fitted(cache, device), 0, False, False, 0.9, cache.passes)
        for cache in levels.CACHES
    ]
    return [*found, Row("read DRAM", dram.kernel(PATTERNS["read"]), 0, False, False, 0.9, passes=1)]


def rows() -> list[Row]:
    """The other comparisons, DRAM first."""
    found = [
        Row("copy, non-temporal", dram.kernel(PATTERNS["copy-nt"]), 0, True, False, 0.95),
        Row("copy, ordinary", dram.kernel(PATTERNS["copy-ordinary"]), 0, False, False, 0.95),
        Row("update in place", dial.kernel(1, "inplace"), 1, False, True, 0.95),
    ]
    found += [
        Row(f"dial F = {steps}, {stores}", dial.kernel(steps, stores), steps, stores == "nt", stores == "inplace", None)
        for steps in (1, 16, 32)
        for stores in ("nt", "ordinary", "inplace")
        if (steps, stores) != (1, "inplace")
    ]
    return [*found, Row("FMA plateau, F = 2048", dial.kernel(2048, "inplace"), 2048, False, True, 0.97)]


def build_reference(folder: Path) -> ctypes.CDLL:
    """Compile reference.c for this machine and load it."""
    library = folder / "reference.so"
    try:
        subprocess.run([*COMPILE, str(HERE / "reference.c"), "-o", str(library)], check=True)
    except FileNotFoundError:
        raise SystemExit("gcc was not found: install it; the comparison is with a C program") from None
    loaded = ctypes.CDLL(str(library))
    loaded.reference_run.restype = ctypes.c_double
    loaded.reference_run.argtypes = [
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64),
        *(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int),
    ]
    return loaded


def undisturbed(time_one: Callable[[], float]) -> float:
    """The time of a try during which the scheduler took no core from this process."""
    for _ in range(AGAIN):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        seconds = time_one()
        if resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw == before:
            break
    return seconds


def fastest(forms: Sequence[Form], time_one: Callable[[Form, int], float]) -> Form:
    """The form whose median time is the least, all tried in turns on each window."""
    times = [[undisturbed(lambda f=form, w=at: time_one(f, w)) for form in forms] for at in range(WINDOWS)]
    return forms[min(range(len(forms)), key=lambda at: median(row[at] for row in times))]


def compare(bench: Bench, wanted: Sequence[Row], rounds: int, tries: int) -> dict[str, list[tuple[float, float]]]:
    """For each row the seconds an element that we and C took, the median of some tries in turns, round by round."""
    binaries = {row.name: bench.cpu.build(row.kernel, row.kernel.variants(bench.cpu.target)) for row in wanted}
    chosen: dict[str, tuple[Binary, tuple[int, int]]] = {}
    found: dict[str, list[tuple[float, float]]] = {row.name: [] for row in wanted}
    for number in range(rounds):
        buffers = bench.cpu.allocate(2, bench.elements, "float32", 1, "random")
        for row in wanted:
            if row.name not in chosen:
                chosen[row.name] = bench.best_forms(row, binaries[row.name], buffers)
            pairs = [bench.pair(row, chosen[row.name], buffers, at % WINDOWS) for at in range(tries)]
            found[row.name].append((median(ours for ours, _ in pairs), median(theirs for _, theirs in pairs)))
        bench.cpu.free(buffers)
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    return found


def line(row: Row, pairs: Sequence[tuple[float, float]]) -> list[str]:
    """A row of the table: what both reached, and their ratio against its bar."""
    ours, theirs = (median(side) for side in zip(*pairs, strict=True))
    ratios = [c / mine for mine, c in pairs]
    per_element = 4.0 * row.passes if row.passes else 2.0 * row.steps if row.steps >= 16 else 8.0
    unit = "GFLOP/s" if row.steps >= 16 else "GB/s"
    figures = [f"{per_element / seconds / 1e9:.1f}" for seconds in (ours, theirs)]
    spread = f"{min(ratios):.2f} … {max(ratios):.2f}"
    return [row.name, *figures, unit, f"{median(ratios):.3f}", spread, *judged(median(ratios), row.bar, least=True)]


def judged(value: float, bar: float | None, least: bool) -> list[str]:
    """The bar and whether the value reaches it."""
    if bar is None:
        return ["", ""]
    reached = value >= bar if least else value <= bar
    return [f"{'>=' if least else '<='} {bar:g}", "reached" if reached else "missed"]


def compile_seconds(points: Sequence[Kernel]) -> float:
    """Seconds to build every variant of the whole dial on a device that was just opened, the least of some."""

    def once() -> float:
        with open_cpu() as fresh:
            began = time.perf_counter()
            for kernel in points:
                fresh.build(kernel, kernel.variants(fresh.target))
            return time.perf_counter() - began

    return min(once() for _ in range(5))


def import_seconds() -> float:
    """Seconds that `import roofline` takes in a fresh interpreter, the least of some."""
    code = "import time; began = time.perf_counter(); import roofline; print(time.perf_counter() - began)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def costs(cpu: CpuBackend) -> list[list[str]]:
    """Compile time, launch cost and import time against their bars."""
    points = [kernel for kernel in dial.at(dial.POINTS) if kernel.variants(cpu.target) and "cpu" in kernel.sources]
    regions = {mode: median(cpu.time_launches(mode, LAUNCHES).seconds for _ in range(21)) for mode in cpu.launch_modes}
    figures = [
        ("compile the whole dial", compile_seconds(points), 1.0),
        ("empty region from Python", regions["launch_sync"] / LAUNCHES, 3e-6),
        ("empty region in machine code", regions["launch"] / LAUNCHES, None),
        ("import roofline", import_seconds(), 0.5),
    ]
    return [[name, f"{seconds:.3g} s", *judged(seconds, bar, least=False)] for name, seconds, bar in figures]


def main() -> None:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5, help="fresh allocations (default 5)")
    parser.add_argument("--tries", type=int, default=16, help="launches of each side in a round (default 16)")
    parser.add_argument("--only", default="", help="the rows with this in their name (default all)")
    parser.add_argument("--mebibytes", type=int, default=256, help="size of each of the two arrays (default 256)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_cpu() as cpu:
        bench = Bench(cpu, build_reference(Path(folder)), options.mebibytes << 18)
        cpu.others_busy()
        wanted = [row for row in (*reads(cpu.device), *rows()) if options.only in row.name]
        found = compare(bench, wanted, options.rounds, options.tries)
        busy = cpu.others_busy()
        table = [line(row, found[row.name]) for row in wanted]
        headers = ["kernel", "ours", "C", "unit", "ratio", "of rounds", "bar", ""]
        print(f"{cpu.device.name}, {cpu.device.architecture}, {cpu.device.cores} cores, {os.uname().release}")
        print(f"others used {busy:.0%} of the cores meanwhile" if busy is not None else "use by others is unknown")
        print(tabulate(table, headers, disable_numparse=True))
        if not options.only:
            print()
            print(tabulate(costs(cpu), ["cost", "found", "bar", ""], disable_numparse=True))


if __name__ == "__main__":
    main()
