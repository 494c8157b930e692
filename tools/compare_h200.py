"""Hold the CUDA device of this suite against what CUDA C++, CuPy and cuBLAS reach on the same card, in one run.

    python tools/compare_h200.py [device]

Needs nvcc for the C++ loop, and cuBLASLt for its products; where PyTorch is installed, its softmax and layer norm run
beside the fused ones. Prints one row a bar and exits 1 where one is missed.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tabulate import tabulate
from torch_attention import prefill_rates
from torch_rows import seconds_of_torch
from vendor_gemm import Library

from roofline.devices.cuda import open_cuda
from roofline.devices.cuda.backend import CudaBackend
from roofline.kernels import (
    attention_cuda,
    chains_cuda,
    dial,
    dram_cuda,
    fusion,
    fusion_cuda,
    launch,
    table,
    table_cuda,
    tensor,
    tensor_types,
)
from roofline.model import Measurement
from roofline.session import Session
from roofline.timing import Budget

GEMM_SIZES = (4096, 8192, 16384)
FP32_PER_SM_CLOCK = 256
COPIES, ROUNDS = 10, 41
DEVICE_TO_DEVICE = 3
# A sample of several launches, as the others are timed: an event pair of its own costs a launch about one percent.
SAMPLE_S = 2e-3


@dataclass(frozen=True)
class Bar:
    """What was measured, against what, and the ratio that is wanted."""

    name: str
    ours: float
    theirs: float
    unit: str
    scale: float
    wanted: float
    at_most: bool = False

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.ours / self.theirs

    @property
    def holds(self) -> bool:
        """Whether the bar is met."""
        return self.ratio <= self.wanted if self.at_most else self.ratio >= self.wanted


def reference(array_bytes: int) -> dict[str, float]:
    """What the C++ program says, built here."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise SystemExit("nvcc is not on the PATH: install the CUDA toolkit, the comparison is with a C++ program")
    source = Path(__file__).with_name("launch_reference.cu")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "launch_reference"
        subprocess.run([nvcc, "-O2", "-arch=native", "-o", program, source], check=True)
        runs = [
            subprocess.run([program, str(array_bytes)], check=True, capture_output=True, text=True).stdout
            for _ in "123"
        ]
    figures: dict[str, list[float]] = {}
    for line in "".join(runs).splitlines():
        name, value = line.split()
        figures.setdefault(name, []).append(float(value))
    return {name: max(values) if name == "memcpy" else median(values) for name, values in figures.items()}


def library_copies(backend: CudaBackend, session: Session) -> dict[str, float]:
    """Bytes per second of CUDA's and CuPy's own copies between the arrays that the dial uses: the same pages."""
    import cupy

    arrays = []
    for array in session.buffers(dial.kernel(1, "plain")).handles[0]:
        memory = cupy.cuda.UnownedMemory(array.pointer, array.nbytes, backend)
        arrays.append(cupy.ndarray(array.elements, array.dtype, cupy.cuda.MemoryPointer(memory, 0)))
    source, target = arrays
    stream = cupy.cuda.Stream(non_blocking=True)
    ways: dict[str, Callable[[], Any]] = {
        "cudaMemcpyAsync": lambda: cupy.cuda.runtime.memcpyAsync(
            target.data.ptr, source.data.ptr, source.nbytes, DEVICE_TO_DEVICE, stream.ptr
        ),
        "CuPy copy": lambda: cupy.copyto(target, source),
    }
    with stream:
        return {name: 2.0 * source.nbytes / _event_seconds(cupy, way) for name, way in ways.items()}


def _event_seconds(cupy: Any, work: Callable[[], Any]) -> float:
    began, ended = cupy.cuda.Event(), cupy.cuda.Event()
    seconds = []
    for _ in range(ROUNDS):
        began.record()
        for _ in range(COPIES):
            work()
        ended.record()
        ended.synchronize()
        seconds.append(cupy.cuda.get_elapsed_time(began, ended) * 1e-3 / COPIES)
    return median(seconds)


def memory_bars(backend: CudaBackend, session: Session, theirs: dict[str, float]) -> list[Bar]:
    """DRAM read and write against nominal, dial F = 1 against the vendor's copies."""
    nominal = backend.device.nominal["dram"].rate
    read, write = (
        session.measure(k).bytes_per_s().value
        for k in dram_cuda.every_kernel()
        if k.name in ("read-plain", "write-plain")
    )
    session.measure(next(k for k in dram_cuda.every_kernel() if k.name == "copy-plain"))
    one = session.measure(dial.kernel(1, "plain")).bytes_per_s().value
    copies = library_copies(backend, session)
    print(f"cudaMemcpyAsync in a program of its own, on other pages: {theirs['memcpy'] / 1e9:.0f} GB/s")
    return [
        Bar("DRAM read / nominal", read, nominal, "GB/s", 1e9, 0.93),
        Bar("DRAM write / nominal", write, nominal, "GB/s", 1e9, 0.93),
        *(Bar(f"dial F = 1 / {name}", one, rate, "GB/s", 1e9, 1.0) for name, rate in copies.items()),
    ]


def slope_bar(row: Measurement, wanted: float, session: Session) -> Bar:
    """A row against the stream of its mix, in turns with it."""
    rate, slope = row.bytes_per_s().value, row.work.slope()
    control = rate / row.beside.value if row.beside else session.ceilings()[slope].rate
    return Bar(f"{row.key.experiment} {row.key.kernel} / {slope}", rate, control, "GB/s", 1e9, wanted)


def table_bars(backend: CudaBackend, session: Session) -> list[Bar]:
    """Every kernel of the table against the stream of its mix, and the fused ones against PyTorch's."""
    for kernel in dram_cuda.every_kernel():
        session.measure(kernel)
    rows = {kernel.name: session.measure(kernel) for kernel in table_cuda.every_kernel()}
    bars = [slope_bar(row, 0.93 if name == table.GEMV.name else 0.95, session) for name, row in rows.items()]
    (normed,) = (kernel for kernel in table_cuda.every_kernel() if kernel.name == table.LAYER_NORM.name)
    for name, seconds in seconds_of_torch(backend, session.buffers(normed)).items():
        ours, moved = rows[name].bytes_per_s().value, rows[name].work.moved("dram")
        bars.append(Bar(f"table {name} / PyTorch", ours, moved / seconds, "GB/s", 1e9, 1.0))
    return bars


def fusion_bars(session: Session) -> list[Bar]:
    """Each elementary step against the stream of its mix, and the six together against the fused kernel."""
    rows = {kernel.name: session.measure(kernel) for kernel in fusion_cuda.every_kernel()}
    fused = rows.pop(fusion.FUSED)
    six = sum(row.seconds.value for row in rows.values())
    return [
        *(slope_bar(row, 0.92, session) for row in rows.values()),
        Bar("layer norm, six kernels / fused", six, fused.seconds.value, "us", 1e-6, 4.5),
    ]


def fp32_bars(session: Session) -> list[Bar]:
    """The plateau at its clock, the worst point of the dial, and how flat the slope is."""
    plateau = max(
        (session.measure(k) for k in chains_cuda.every_kernel() if "fp32" in k.measures),
        key=lambda m: m.flop_per_s.value,
    )
    clock = plateau.samples.clock_hz
    limit = session.device.cores * FP32_PER_SM_CLOCK * (clock.median if clock else float("nan"))
    points = {steps: session.measure(dial.kernel(steps, "plain")) for steps in dial.POINTS}
    roofs = session.ceilings()
    peak, slope = roofs["fp32"].rate, roofs["dram"].rate
    fractions = {f: m.flop_per_s.value / min(peak, f / 4 * slope) for f, m in points.items()}
    for steps, point in points.items():
        rate = f"{point.bytes_per_s().value / 1e9:.0f} GB/s, {point.flop_per_s.value / 1e12:.2f} TFLOP/s"
        print(f"dial F = {steps}: {rate}, {fractions[steps]:.3f} of the roof, {point.variant}")
    worst = min(fractions, key=fractions.__getitem__)
    flat = [m.bytes_per_s().value for f, m in points.items() if f / 4 < peak / slope / 2]
    return [
        Bar(
            f"FP32 plateau ({plateau.key.kernel}) / 256 x SMs x clock",
            plateau.flop_per_s.value,
            limit,
            "TFLOP/s",
            1e12,
            0.98,
        ),
        Bar(f"worst dial point (F = {worst}) / min(P, I beta)", fractions[worst], 1.0, "", 1.0, 0.90),
        Bar("dial below half the ridge: least / greatest GB/s", min(flat), max(flat), "GB/s", 1e9, 0.97),
    ]


def tensor_bars(backend: CudaBackend, session: Session) -> list[Bar]:
    """Each type that the card multiplies, held for a second on random data, at its clock and against cuBLASLt."""
    library, bars = Library(), []
    for kind in tensor_types.TYPES:
        kernel = tensor.best(kind, backend.target)
        if not kernel.variants(backend.target):
            print(kernel.unsupported["cuda"])
            continue
        row = session.measure(kernel)
        rate, clock = row.flop_per_s.value, row.samples.clock_hz
        clock_hz = clock.median if clock else float("nan")
        print(f"{kernel.name}: {rate / 1e12:.1f} T/s at {clock_hz / 1e6:.0f} MHz, {row.variant}")
        nominal = backend.device.nominal[kind.unit].rate / backend.device.nominal["clock"].rate * clock_hz
        theirs = {n: library.best(kind.name, n) for n in GEMM_SIZES}
        print("  cuBLASLt:", ", ".join(f"{n}: {best / 1e12:.0f} T/s" for n, best in theirs.items()))
        bars += [
            Bar(f"{kernel.name} / rated x clock", rate, nominal, "T/s", 1e12, 0.97),
            Bar(f"{kernel.name} / cuBLASLt", rate, max(theirs.values()), "T/s", 1e12, 1.0),
        ]
    return bars


def attention_bars(session: Session) -> list[Bar]:
    """Prefill against its instruction; what PyTorch's ways reach stands above the table, for they use others."""
    bare = session.measure(attention_cuda.instruction()).flop_per_s.value
    rates, bars = prefill_rates(), []
    for name in attention_cuda.PREFILLS:
        ours = session.measure(attention_cuda.prefill(name)).flop_per_s.value
        theirs = ", ".join(f"{way} {rate / 1e12:.0f}" for way, rate in rates.get(name, {}).items())
        print(f"{name}: {ours / 1e12:.0f} TFLOP/s; PyTorch: {theirs or 'nothing'}")
        bars.append(Bar(f"attention {name} / mma.sync alone", ours, bare, "TFLOP/s", 1e12, 0.50))
    return bars


def launch_bars(backend: CudaBackend, session: Session, theirs: dict[str, float]) -> list[Bar]:
    """Empty launches against the C++ program, and their order."""
    ours = {mode: session.measure_launches(mode).seconds.value for mode in launch.MODES}
    print("launched of 1000:", {mode: backend.count_launches(mode, 1000) for mode in launch.MODES})
    print(f"from Python: {ours['launch_python'] * 1e6:.2f} us")
    return [
        *(Bar(f"{m} / C++", ours[m], theirs[m], "us", 1e-6, 1.05, at_most=True) for m in theirs if m != "memcpy"),
        Bar("graph / back to back", ours["launch_graph"], ours["launch"], "us", 1e-6, 1.0, at_most=True),
        Bar("back to back / launch + synchronize", ours["launch"], ours["launch_sync"], "us", 1e-6, 1.0, at_most=True),
    ]


def main(selector: str = "0") -> int:
    """Measure everything, print a table, and say by the exit code whether every bar is met."""
    began = time.perf_counter()
    backend = open_cuda(selector)
    session = Session(backend, Budget(sample_s=SAMPLE_S))
    print(backend.device.name, *backend.notes, sep="\n")
    theirs = reference(session.buffer_plan.array_bytes)
    bars = launch_bars(backend, session, theirs)
    bars += memory_bars(backend, session, theirs)
    bars += table_bars(backend, session)
    bars += fusion_bars(session)
    bars += fp32_bars(session)
    bars += tensor_bars(backend, session)
    bars += attention_bars(session)
    compiled_s = sum(m.compile_s for m in session.measurements.values())
    rows = [
        [
            b.name,
            b.ours / b.scale,
            b.theirs / b.scale,
            b.unit,
            b.ratio,
            f"{'<=' if b.at_most else '>='} {b.wanted}",
            b.holds,
        ]
        for b in bars
    ]
    print(tabulate(rows, headers=["bar", "ours", "theirs", "unit", "ratio", "wanted", "holds"], floatfmt=".4g"))
    print(f"{time.perf_counter() - began:.0f} s in all, {compiled_s:.1f} s of compiling (added over cores)")
    session.close()
    return 0 if all(bar.holds for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
