"""The CPU as a real device: LLVM IR compiled for it, a pinned team, its own clock and memory."""

import ctypes
from collections.abc import Mapping

from roofline.devices.base import DeviceFault, DeviceUnavailable
from roofline.devices.cpu import filling, host, regions
from roofline.devices.cpu.backend import CpuBackend, Parts
from roofline.devices.cpu.clock import Clock, calibrated
from roofline.devices.cpu.jit import Jit, host_cpu, host_features
from roofline.devices.cpu.target import target_of
from roofline.devices.cpu.topology import Cores, granted_by_system, last_level_cache, usable_cores
from roofline.kernel import Target
from roofline.llvm import merged, rest_name
from roofline.model import Device

__all__ = ["CpuBackend", "open_cpu"]

# Taken where the system tells no cache size: as large as a last-level cache commonly is for a handful of cores.
CACHE_FALLBACK = 32 << 20
# LLVM's names of CPUs that have what a target has and no more.
LESSER_CPUS = {"aarch64": "generic", "x86-64-v2": "x86-64-v2", "x86-64-v3": "x86-64-v3", "x86-64-v4": "x86-64-v4"}
COUNTERS = {"aarch64": "cntvct"}


def open_cpu(target: Target | None = None) -> CpuBackend:
    """Open the usable cores as one device, with code for all that they offer, or for no more than a lesser `target`.

    Raises:
        DeviceUnavailable: llvmlite is missing or too old, the architecture has no kernels, or workers cannot start.
    """
    architecture, features = host_cpu(), host_features()
    jit = Jit(architecture, features) if target is None else Jit(LESSER_CPUS[target.architecture], {})
    target = target or target_of(features)
    cores = usable_cores(granted_by_system())
    entries = _load_team(jit, target)
    clock = _clock(entries, target)
    cache = last_level_cache(cores.used)
    device = Device(
        name=host.cpu_name(),
        kind="cpu",
        architecture=architecture,
        cores=len(cores.used),
        cache_bytes=cache or CACHE_FALLBACK,
        nominal=host.nominal_rates(architecture, target, cores, clock.rate_hz),
    )
    parts = Parts(device, target, cores, jit, entries, clock, _notes(target, cores, cache))
    try:
        return CpuBackend(parts)
    except DeviceFault as error:
        raise DeviceUnavailable(
            f"The CPU device cannot start its workers: {error}.\n"
            "Raise the limit on threads (ulimit -u, the container's pids limit), or grant fewer cores (taskset -c 0-1)."
        ) from error


def _load_team(jit: Jit, target: Target) -> Mapping[str, int]:
    fills = sorted({filling.entry_of(fill, dtype) for dtype, fill in filling.ENTRIES})
    assembly = jit.assembly(merged([regions.team_code(target), filling.fill_code(target)]))
    return jit.load(assembly, [*regions.ENTRIES, *fills, *map(rest_name, fills)])


def _clock(entries: Mapping[str, int], target: Target) -> Clock:
    reader = ctypes.CFUNCTYPE(ctypes.c_int64)
    name = COUNTERS.get(target.architecture, "tsc")
    try:
        return calibrated(name, reader(entries["ticks"]), reader(entries["tick"])())
    except ValueError as error:
        raise DeviceUnavailable(f"The CPU device cannot time: {error}.\nUse another device (--device).") from error


def _notes(target: Target, cores: Cores, cache: int | None) -> tuple[str, ...]:
    notes = [*cores.notes]
    if not target.has_fma:
        notes.append("no FMA on this CPU: a step is a multiply and an add, counted as 2 FLOP just the same")
    if cache is None:
        notes.append(f"the system tells no cache size: {CACHE_FALLBACK} bytes are taken for the last-level cache")
    return tuple(notes)
