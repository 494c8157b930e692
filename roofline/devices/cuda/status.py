"""Why there is no CUDA device here, each cause told apart and with what helps. Works without CuPy."""

import ctypes
import importlib.metadata
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
WHEELS = ("cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "cupy-cuda14x", "cupy")
# The oldest CUDA for which the suite has an extra.
OLDEST_CUDA = 12
# What cuInit and cuDeviceGetCount answer, in words and with what helps.
CAUSES = {
    100: "a driver but no CUDA device: none fitted, none passed into the container, or CUDA_VISIBLE_DEVICES hides it",
    802: "the devices are not ready: the fabric manager of this machine is not running",
    803: "the driver's library and its kernel module differ in version: reboot, or repair the driver's installation",
    804: "the driver is older than the CUDA compatibility package allows: update the driver",
    999: "the driver answers with an unknown error: reload its kernel modules or reboot",
}


@dataclass(frozen=True)
class Driver:
    """What the CUDA driver says: the CUDA version it supports (13000 is 13.0; 0: no driver), an error, its devices."""

    version: int = 0
    error: int = 0
    devices: int = 0

    @property
    def major(self) -> int:
        """The major CUDA version it supports."""
        return self.version // 1000

    @property
    def text(self) -> str:
        """The version as people write it."""
        return f"{self.major}.{self.version % 1000 // 10}"


def driver(library: str = LIBRARY) -> Driver:
    """Ask the driver, without CuPy."""
    try:
        cuda = ctypes.CDLL(library)
    except OSError:
        return Driver()
    version, devices = ctypes.c_int(), ctypes.c_int()
    if error := cuda.cuDriverGetVersion(ctypes.byref(version)):
        return Driver(0, error)
    error = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(devices))
    return Driver(version.value, error, devices.value)


def installed_wheels() -> list[str]:
    """The CuPy distributions that are installed."""
    return [name for name in WHEELS if _installed(name)]


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def why_no_cuda() -> str | None:
    """Why CUDA cannot be used here, with the remedy; None where it can, as far as can be seen without opening it."""
    return reason(driver(), installed_wheels(), missing_modules())


def missing_modules() -> list[str]:
    """The modules that CUDA takes and that are not installed."""
    return [module for module in ("cupy", "cuda.core", "cuda.bindings") if not _importable(module)]


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def reason(found: Driver, wheels: Sequence[str], missing: Sequence[str]) -> str | None:
    """Judge what was found: the driver first, since without it nothing that is installed helps."""
    return _driver_reason(found) or _wheel_reason(found, wheels, missing)


def _driver_reason(found: Driver) -> str | None:
    if not found.version:
        if found.error:
            return f"the NVIDIA driver does not answer (error {found.error}): repair its installation"
        return f"no NVIDIA driver ({LIBRARY} not found): install one, or run on the CPU"
    if found.major < OLDEST_CUDA:
        return f"the driver supports CUDA {found.text}, and CUDA {OLDEST_CUDA}.0 is needed: update it to 525 or newer"
    if found.error:
        return CAUSES.get(found.error, f"the driver answers with error {found.error}: see `nvidia-smi`")
    return CAUSES[100] if not found.devices else None


def _wheel_reason(found: Driver, wheels: Sequence[str], missing: Sequence[str]) -> str | None:
    extra = f"[cuda{13 if found.major >= 13 else 12}]"
    if len(wheels) > 1:
        surplus = " ".join(wheels)
        return f"{len(wheels)} CuPy wheels are installed: pip uninstall {surplus}, then install pytest-roofline{extra}"
    if "cupy" in missing:
        return f"CuPy is missing: install pytest-roofline{extra}"
    if missing:
        return f"{', '.join(missing)} missing: install pytest-roofline{extra}"
    built_for = int(wheels[0].removeprefix("cupy-cuda")[:2]) if wheels and wheels[0] != "cupy" else 0
    if built_for > found.major:
        return (
            f"the driver supports CUDA {found.text} and {wheels[0]} needs {built_for}.0: pip uninstall {wheels[0]}, "
            f"then install pytest-roofline{extra}, or update the driver"
        )
    return None
