"""Which cores to use: what affinity, cpusets and quotas grant, one thread a core."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path

from roofline.devices.cpu import cgroup

CPUS = "sys/devices/system/cpu"
# Cores whose speeds differ by more than this are different kinds of core (performance and efficiency).
UNEQUAL = 0.1


@dataclass(frozen=True)
class Cores:
    """The logical CPUs that get a worker, and why there are not more of them.

    `granted` are the CPUs that affinity and cpusets allow, `quota` the cores' worth of time that a container may use
    (None: no limit); `notes` says what was left out.
    """

    used: tuple[int, ...]
    granted: tuple[int, ...]
    quota: float | None
    notes: tuple[str, ...]


def usable_cores(affinity: Iterable[int], root: Path = cgroup.ROOT) -> Cores:
    """The cores for a team: of those granted one thread a core, no more than the quota rounded down, at least 1."""
    allowed = cgroup.cpuset(root)
    granted = tuple(sorted(set(affinity) & allowed if allowed else set(affinity)))
    alone = one_thread_a_core(granted, root)
    quota = cgroup.quota_cores(root)
    used = alone if quota is None else alone[: max(1, floor(quota))]
    return Cores(used, granted, quota, tuple(_notes(granted, alone, used, quota, root)))


def granted_by_system() -> set[int]:
    """The CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def one_thread_a_core(cpus: Sequence[int], root: Path = cgroup.ROOT) -> tuple[int, ...]:
    """The first of each set of CPUs that share a core: siblings share its vector units, so one saturates them."""
    first_of: dict[frozenset[int], int] = {}
    for cpu in cpus:
        first_of.setdefault(siblings(cpu, root), cpu)
    return tuple(first_of.values())


def siblings(cpu: int, root: Path = cgroup.ROOT) -> frozenset[int]:
    """The CPUs that share a core with `cpu`, itself included; alone where the system does not say."""
    text = read(root / CPUS / f"cpu{cpu}/topology/thread_siblings_list")
    return cgroup.cores(text) if text else frozenset({cpu})


def last_level_cache(cpus: Sequence[int], root: Path = cgroup.ROOT) -> int | None:
    """Bytes of the last cache before DRAM, all the separate pieces that these CPUs reach; None where it is not told."""
    pieces = {key: size for cpu in cpus for key, size in _caches(cpu, root)}
    last = max((level for level, _ in pieces), default=None)
    return None if last is None else sum(size for (level, _), size in pieces.items() if level == last)


def read(path: Path) -> str | None:
    """The stripped text of a file of the system, None where there is no such file or nothing in it."""
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def _caches(cpu: int, root: Path) -> list[tuple[tuple[int, str], int]]:
    found = []
    for cache in sorted((root / CPUS / f"cpu{cpu}/cache").glob("index*")):
        level, size, shared = (read(cache / name) for name in ("level", "size", "shared_cpu_list"))
        if level and size and read(cache / "type") != "Instruction":
            found.append(((int(level), shared or str(cpu)), _bytes(size)))
    return found


def _bytes(size: str) -> int:
    """Bytes of a size such as "32768K" or "16M": the kernel means 1024."""
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(size[-1], 1)
    return int(size.rstrip("KMG")) * factor


def _notes(
    granted: Sequence[int], alone: Sequence[int], used: Sequence[int], quota: float | None, root: Path
) -> list[str]:
    notes = []
    if len(alone) < len(granted):
        notes.append(f"{len(granted) - len(alone)} CPUs are second threads of a core and get no worker")
    if len(used) < len(alone):
        notes.append(f"a container quota of {quota:g} cores leaves {len(used)} of {len(alone)} cores a worker")
    speeds = [float(text) for cpu in used if (text := read(root / CPUS / f"cpu{cpu}/cpufreq/cpuinfo_max_freq"))]
    if speeds and min(speeds) < (1 - UNEQUAL) * max(speeds):
        notes.append("the cores are of unequal speed: each launch waits for the slowest; pin to one kind (taskset)")
    return notes
