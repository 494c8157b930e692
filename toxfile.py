"""Tox reads this before tox.ini: it picks the CuPy extra that fits the NVIDIA driver of this machine, if there is one.

`ROOFLINE_CUPY` overrides: `cuda12`, `cuda13` or `none`. tox.ini installs the extra that the same variable then names.
"""

import ctypes
import os
import sys

VARIABLE = "ROOFLINE_CUPY"
CHOICES = ("cuda12", "cuda13", "none")
# CuPy for CUDA 13 has no code for cards before this compute capability.
OLDEST_FOR_CUDA13 = 75
MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR


def driver() -> tuple[int, list[int]]:
    """The CUDA version that the driver supports (13000 is 13.0; 0 without one) and its cards' compute capabilities."""
    try:
        cuda = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return 0, []
    version, count = ctypes.c_int(), ctypes.c_int()
    if cuda.cuDriverGetVersion(ctypes.byref(version)):
        return 0, []
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return version.value, []
    return version.value, [_capability(cuda, index) for index in range(count.value)]


def _capability(cuda: ctypes.CDLL, index: int) -> int:
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGet(ctypes.byref(device), index)
    cuda.cuDeviceGetAttribute(ctypes.byref(major), MAJOR, device)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), MINOR, device)
    return 10 * major.value + minor.value


def extra(version: int, capabilities: list[int], forced: str = "") -> str:
    """The extra to install: what was forced, else what fits; "" for the CPU alone."""
    if forced and forced not in CHOICES:
        raise SystemExit(f"{VARIABLE}={forced}: give one of {', '.join(CHOICES)}, or leave it unset")
    if forced:
        return "" if forced == "none" else forced
    if not capabilities:
        return ""
    if version >= 13000 and min(capabilities) >= OLDEST_FOR_CUDA13:
        return "cuda13"
    return "cuda12" if version >= 12000 else ""


os.environ[VARIABLE] = extra(*driver(), os.environ.get(VARIABLE, ""))
