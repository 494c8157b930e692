"""What this machine has for measuring, what each missing thing costs, and the one command that helps.

Every probe works where everything is missing: whatever a library raises is what there is to say about it.
"""

import os
import platform
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from roofline.baseline import Store, StoreError
from roofline.devices.base import DeviceUnavailable
from roofline.devices.cpu import host
from roofline.devices.cpu.cgroup import ROOT
from roofline.devices.cpu.jit import binding, host_cpu
from roofline.devices.cpu.topology import granted_by_system, read, usable_cores
from roofline.devices.cuda import cache, compiling, selection, status
from roofline.devices.cuda.selection import Found
from roofline.devices.cuda.status import Driver

State = Literal["works", "missing", "broken"]

NVIDIA, DISPLAYS = "0x10de", "0x03"  # PCI vendor, and the class of everything that draws or computes
# What lets everybody read a GPU's counters, by NVIDIA's page on ERR_NVGPUCTRPERM; it holds from the next start on.
OPEN_COUNTERS = (
    "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | sudo tee /etc/modprobe.d/nvidia-counters.conf"
)
DRIVER_OF = {
    "ubuntu": "sudo ubuntu-drivers install",
    "debian": "sudo apt-get install nvidia-driver",
    "fedora": "sudo dnf install akmod-nvidia",
}
# What helps where the driver answers with an error, by its number.
DRIVER_REPAIRS = {
    100: "nvidia-smi -L",
    802: "sudo systemctl start nvidia-fabricmanager",
    803: "sudo reboot",
    999: "sudo reboot",
}
# CUDA 13 builds for cards from this compute capability on.
OLDEST_OF_CUDA_13 = (7, 5)
# A kernel that does nothing: what cannot build and load this can build and load nothing.
PROBE_ENTRY = "roofline_probe"
PROBE = f'extern "C" __global__ void {PROBE_ENTRY}() {{}}'


@dataclass(frozen=True)
class Finding:
    """One thing that measuring takes: what was found and, unless it `works`, what that costs and what helps.

    What is `missing` can be done without; what is `broken` keeps a device that is here from being measured.
    """

    subject: str
    state: State
    said: str
    costs: str = ""
    helps: str = ""


def examine(store: Store, root: Path = ROOT) -> list[Finding]:
    """Everything that there is to say of this machine."""
    return [versions(), cpu(root), *gpus(root), *caches(), charts(), baselines(store)]


def cannot_measure(findings: Sequence[Finding]) -> bool:
    """Whether a device that is here cannot be measured."""
    return any(finding.state == "broken" for finding in findings)


def versions() -> Finding:
    """What runs here."""
    names = ("pytest-roofline", "pytest", "pytest-benchmark", "numpy", "scipy")
    there = [f"{name} {_version(name) or 'missing'}" for name in names]
    said = f"Python {platform.python_version()}, {', '.join(there)}"
    if all(map(_version, names[1:])):
        return Finding("Python", "works", said)
    return Finding("Python", "broken", said, "nothing can be measured", "pip install --upgrade pytest-roofline")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def cpu(root: Path = ROOT) -> Finding:
    """Whether the CPU can be measured, and how much of it."""
    try:
        binding()
        cores = usable_cores(granted_by_system(), root)
        said = f"{host.cpu_name(root)} ({host_cpu()}), {len(cores.used)} cores of {len(cores.granted)} processors"
    except DeviceUnavailable as fault:
        return Finding("CPU", "broken", _sentence(fault), "the CPU cannot be measured", "pip install 'llvmlite>=0.45'")
    return Finding("CPU", "works", said)


def gpus(root: Path = ROOT) -> Iterator[Finding]:
    """The driver, each card, and what their measurements take beside it."""
    driver, wheels, missing = status.driver(), status.installed_wheels(), status.missing_modules()
    fitted = cards_fitted(root)
    why = status.reason(driver, wheels, missing)
    if why:
        yield _no_cuda(why, bool(fitted or driver.version or driver.error), _repair(driver, wheels, missing, root))
        return
    yield Finding("NVIDIA driver", "works", f"supports CUDA {driver.text}; {', '.join(wheels) or 'CuPy'} is installed")
    try:
        cards = selection.devices()
    except DeviceUnavailable as fault:
        yield _no_cuda(_sentence(fault), True, _install(driver))
        return
    for card in cards:
        yield card_finding(card, driver)
    yield nvml()
    yield counters(root)


def _no_cuda(why: str, fitted: bool, helps: str) -> Finding:
    """No GPU can be measured: broken where one is here, or a driver that expects one."""
    if fitted:
        return Finding("GPU", "broken", why, "the GPU cannot be measured; the CPU can", helps)
    return Finding("GPU", "missing", "no NVIDIA GPU is fitted and no driver is installed", "only the CPU is measured")


def cards_fitted(root: Path = ROOT) -> list[str]:
    """The PCI addresses of NVIDIA's cards, whether or not a driver runs them."""
    folders = sorted((root / "sys/bus/pci/devices").glob("*"))
    return [folder.name for folder in folders if _is_card(folder)]


def _is_card(folder: Path) -> bool:
    vendor, kind = read(folder / "vendor") or "", read(folder / "class") or ""
    return vendor.strip() == NVIDIA and kind.strip().startswith(DISPLAYS)


def _repair(driver: Driver, wheels: Sequence[str], missing: Sequence[str], root: Path) -> str:
    """The command for the first thing that keeps CUDA from being used, in the order of `status.reason`."""
    if not driver.version:
        return "sudo reboot" if driver.error else _driver_install(root)
    if driver.major < status.OLDEST_CUDA:
        return _driver_install(root)
    if driver.error or not driver.devices:
        return DRIVER_REPAIRS.get(driver.error or 100, "nvidia-smi")
    surplus = f"pip uninstall -y {' '.join(wheels)} && " if wheels and "cupy" not in missing else ""
    return surplus + _install(driver)


def _driver_install(root: Path) -> str:
    """How this distribution installs a driver; empty where that is not known."""
    named = re.search(r'^ID="?(\w+)"?$', read(root / "etc/os-release") or "", re.MULTILINE)
    return DRIVER_OF.get(named[1], "") if named else ""


def _install(driver: Driver, new_enough: bool = True) -> str:
    extra = "cuda13" if driver.major >= 13 and new_enough else "cuda12"
    return f"pip install --upgrade 'pytest-roofline[{extra}]'"


def card_finding(card: Found, driver: Driver) -> Finding:
    """Whether a kernel can be built for a card and loaded on it."""
    major, minor = card.properties.compute_capability
    name = f"cuda:{card.index} {card.properties.name}, compute capability {major}.{minor}, at {card.pci}"
    try:
        build_and_load(card)
    except Exception as fault:  # noqa: BLE001 - CuPy, NVRTC and the driver each have classes of their own
        said = f"{name}: {_sentence(fault)}"
        helps = _install(driver, (major, minor) >= OLDEST_OF_CUDA_13)
        return Finding("GPU", "broken", said, "this card cannot be measured; others and the CPU can", helps)
    return Finding("GPU", "works", f"{name}; NVRTC {compiling.compiler_version()}")


def build_and_load(card: Found) -> None:
    """Build the kernel that does nothing, and load it. Raises whatever stands in the way."""
    architecture = compiling.architecture_of(card.properties.compute_capability)
    with tempfile.TemporaryDirectory(prefix="roofline-doctor-") as folder:
        compiler = compiling.Compiler(architecture, cache.CubinCache(Path(folder)))
        cubin = compiler.build(PROBE, [PROBE_ENTRY])
        cupy, _ = selection.import_cupy()
        with cupy.cuda.Device(card.index):
            cupy.RawModule(path=str(cubin.path)).get_function(cubin.symbols[PROBE_ENTRY])


def nvml() -> Finding:
    """Whether the driver's management library answers."""
    costs = "power, temperature, throttle reasons and other processes on the card stay unknown"
    try:
        import pynvml

        pynvml.nvmlInit()
    except ImportError:
        return Finding("NVML", "missing", "nvidia-ml-py is not installed", costs, "pip install nvidia-ml-py")
    except Exception as fault:  # noqa: BLE001 - the library's own errors, or none can be loaded
        return Finding("NVML", "missing", _sentence(fault), costs, "nvidia-smi")
    return Finding("NVML", "works", "the management library answers")


def counters(root: Path = ROOT) -> Finding:
    """Whether profilers may read the GPU's hardware counters."""
    parameters = read(root / "proc/driver/nvidia/params")
    restricted = re.search(r"^RmProfilingAdminOnly:\s*(\d)", parameters or "", re.MULTILINE)
    costs = "the bytes that really crossed DRAM cannot be read beside those counted from the algorithm"
    if restricted is None:
        said = "the driver does not say who may read hardware counters"
        return Finding("GPU counters", "missing", said, costs, "ncu --query-metrics")
    if restricted[1] == "0" or os.geteuid() == 0:
        return Finding("GPU counters", "works", "this user may read them")
    said = "only administrators may read them (RmProfilingAdminOnly 1)"
    return Finding("GPU counters", "missing", said, costs, OPEN_COUNTERS)


def caches() -> Iterator[Finding]:
    """Whether compiled kernels can be kept, so that a second run compiles nothing."""
    costs = "kernels are compiled anew in each run"
    folders = {
        "kernel cache": (cache.VARIABLE, cache.usual_folder),
        "CuPy's cache": (selection.CUPY_CACHE, _cupy_folder),
    }
    for subject, (variable, usual) in folders.items():
        yield _cache(subject, variable, usual, costs)


def _cupy_folder() -> Path:
    return Path(os.environ.get(selection.CUPY_CACHE) or Path("~/.cupy/kernel_cache").expanduser())


def _cache(subject: str, variable: str, usual: Callable[[], Path], costs: str) -> Finding:
    helps = f"export {variable}=/tmp/roofline-cache"
    try:
        folder = usual()
    except RuntimeError:  # a user without a home folder
        return Finding(subject, "missing", "this user has no home folder to keep it in", costs, helps)
    if can_write(folder):
        return Finding(subject, "works", str(folder))
    return Finding(subject, "missing", f"cannot write to {folder}", costs, helps)


def can_write(folder: Path) -> bool:
    """Whether a folder can be written to or, where it is not there yet, made. Makes nothing."""
    try:
        nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    except OSError:  # a name that is too long, a folder above that may not be looked into
        return False
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def charts() -> Finding:
    """Whether charts can be drawn."""
    if find_spec("matplotlib"):
        return Finding("charts", "works", f"matplotlib {_version('matplotlib') or 'of an unknown version'}")
    return Finding(
        "charts", "missing", "matplotlib is not installed", "no chart is drawn", "pip install 'pytest-roofline[chart]'"
    )


def baselines(store: Store) -> Finding:
    """How many records there are, and whether another could be kept."""
    costs, helps = "a run cannot be stored", "pytest -m bench --benchmark-save --benchmark-storage=FOLDER"
    try:
        slugs = store.slugs()
        count = sum(len(store.files(slug)) for slug in slugs)
    except StoreError as fault:
        return Finding("baselines", "missing", str(fault), costs, helps)
    said = f"{count} records of {len(slugs)} cards in {store.root}"
    if can_write(store.root):
        return Finding("baselines", "works", said)
    return Finding("baselines", "missing", f"{said}, which cannot be written to", costs, helps)


def _sentence(fault: Exception) -> str:
    """What an error says, on one line; its class where it says nothing."""
    return " ".join(str(fault).split()) or type(fault).__name__
