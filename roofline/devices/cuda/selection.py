"""Which CUDA device a selector means, and what that device says of itself."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from roofline.devices.base import DeviceUnavailable
from roofline.devices.cuda.cache import writable
from roofline.devices.cuda.nominal import Properties, nominal
from roofline.devices.cuda.status import CAUSES, why_no_cuda
from roofline.model import Device

GIB = 1 << 30
KILO = 1e3
# Attributes by their numbers in CUDA's own header, since the fields of the properties structure come and go.
CLOCK_KHZ, MEMORY_CLOCK_KHZ, BUS_BITS, CACHE_BYTES, THREADS_PER_SM = 13, 36, 37, 38, 39
# CuPy makes its kernel cache while it is imported.
CUPY_CACHE = "CUPY_CACHE_DIR"


@dataclass(frozen=True)
class Found:
    """One device as CUDA lists it. `uuid` begins with "GPU-" or "MIG-", `pci` is "0000:17:00.0"."""

    index: int
    uuid: str
    pci: str
    properties: Properties


@cache
def import_cupy() -> tuple[Any, str]:
    """CuPy, and a note where its own cache had to be moved.

    Raises:
        DeviceUnavailable: it cannot be imported.

    """
    note = ""
    folder = Path(os.environ.get(CUPY_CACHE) or Path("~/.cupy/kernel_cache").expanduser())
    if not writable(folder):
        os.environ[CUPY_CACHE] = tempfile.mkdtemp(prefix="pytest-roofline-cupy-")
        note = f"cannot write to {folder}: CuPy compiles its own kernels anew; set {CUPY_CACHE} to a writable folder"
    try:
        import cupy
    except Exception as failure:
        raise DeviceUnavailable(
            f"CuPy cannot be imported ({failure}): install pytest-roofline with the extra [cuda13] or [cuda12] anew"
        ) from failure
    return cupy, note


def devices() -> Sequence[Found]:
    """Every device that this process may use, in CUDA's order.

    Raises:
        DeviceUnavailable: CUDA cannot be used here.

    """
    if why := why_no_cuda():
        raise DeviceUnavailable(f"no CUDA device: {why}")
    cupy, _ = import_cupy()
    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
        return [_found(runtime, index) for index in range(count)]
    except runtime.CUDARuntimeError as failure:
        why = CAUSES.get(failure.status, str(failure))
        raise DeviceUnavailable(f"no CUDA device: {why}") from failure
    except (RuntimeError, ImportError, OSError) as failure:  # CuPy's own words for a library it cannot load
        raise DeviceUnavailable(f"no CUDA device: {failure}") from failure


def _found(runtime: Any, index: int) -> Found:
    told = runtime.getDeviceProperties(index)
    name = _text(told["name"])
    return Found(
        index,
        uuid_text(bytes(told["uuid"]), mig=" MIG " in name),
        _text(runtime.deviceGetPCIBusId(index)).lower(),
        Properties(
            name=name,
            compute_capability=(told["major"], told["minor"]),
            sms=told["multiProcessorCount"],
            memory_bytes=told["totalGlobalMem"],
            cache_bytes=_attribute(runtime, CACHE_BYTES, index),
            bus_bits=_attribute(runtime, BUS_BITS, index),
            memory_hz=_hertz(_attribute(runtime, MEMORY_CLOCK_KHZ, index)),
            clock_hz=_hertz(_attribute(runtime, CLOCK_KHZ, index)),
            max_threads_per_sm=_attribute(runtime, THREADS_PER_SM, index),
        ),
    )


def _attribute(runtime: Any, number: int, index: int) -> int | None:
    """An attribute; None where this device or driver has none (they answer 0 or an error)."""
    try:
        return int(runtime.deviceGetAttribute(number, index)) or None
    except runtime.CUDARuntimeError:
        return None


def _hertz(khz: int | None) -> float | None:
    return None if khz is None else khz * KILO


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def uuid_text(raw: bytes, mig: bool = False) -> str:
    """A UUID as NVIDIA's tools write it."""
    digits = raw[:16].hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return ("MIG-" if mig else "GPU-") + "-".join(parts)


def choose(selector: str) -> Found:
    """The device that `selector` means.

    Raises:
        DeviceUnavailable: none does, or several do; the message lists what there is.

    """
    return pick(selector, devices())


def pick(selector: str, found: Sequence[Found]) -> Found:
    """The one of `found` with that number, UUID (or its beginning) or PCI address."""
    wanted = selector.lower()
    if wanted.isdigit():
        matches = [device for device in found if device.index == int(wanted)]
    elif wanted.startswith(("gpu-", "mig-")):
        matches = [device for device in found if device.uuid.lower().startswith(wanted)]
    else:
        matches = [device for device in found if _same_address(device.pci, wanted)]
    if len(matches) == 1:
        return matches[0]
    there = "; ".join(f"{d.index} = {d.properties.name}, {d.uuid}, {d.pci}" for d in found)
    what = "means several devices" if matches else "is no CUDA device here"
    raise DeviceUnavailable(f"cuda:{selector} {what}: give a number, a UUID or a PCI address of: {there}")


def _same_address(pci: str, wanted: str) -> bool:
    """Whether both name one address: tools write the domain with four or eight digits, or leave it out."""
    domain, _, rest = wanted.rpartition(":")
    if domain.count(":") == 0 and wanted.count(":") == 1:
        return pci.endswith(":" + wanted)
    head, _, tail = pci.partition(":")
    ours, _, theirs = wanted.partition(":")
    return bool(rest) and theirs == tail and ours.lstrip("0") == head.lstrip("0")


def device(found: Properties) -> Device:
    """The model of a device, by which baselines match."""
    name, _, profile = found.name.partition(" MIG ")
    major, minor = found.compute_capability
    return Device(
        name=name,
        kind="cuda",
        architecture=f"sm_{major}{minor}",
        cores=found.sms,
        cache_bytes=found.cache_bytes,
        memory_class=memory_class(found.memory_bytes),
        bus_bits=found.bus_bits,
        mig_profile=profile or None,
        nominal=nominal(found),
    )


def memory_class(memory_bytes: int) -> str:
    """The size class of a memory: what CUDA sees is short of it by what driver and ECC keep, never by half a step."""
    gib = memory_bytes / GIB
    step = 4 if gib >= 16 else 1
    return f"{max(step, round(gib / step) * step)} GiB"
