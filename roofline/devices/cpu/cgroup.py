"""What the containers around this process grant it: processor time, cores and memory, from cgroup v1 or v2 files.

Every function takes the root of the file system, so that a tree of files can stand for another machine. Limits nest: a
child never has more than its parents, so the least one from the process's own group up to the root counts.
"""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")
# Where the hierarchies are mounted: by systemd's convention, under v1 one folder a controller (or a set of them).
UNIFIED = ("sys/fs/cgroup", "sys/fs/cgroup/unified")
CONTROLLERS = "sys/fs/cgroup"
# A v1 group without a limit shows one just below 2^63, rounded to a page.
NO_LIMIT = 1 << 60


def quota_cores(root: Path = ROOT) -> float | None:
    """Cores' worth of processor time that the quotas grant, None without a quota."""
    quotas = [_v2_quota(text) for text in _v2_texts(root, "cpu.max")]
    quotas += [
        _ratio(_text(group / "cpu.cfs_quota_us"), _text(group / "cpu.cfs_period_us"))
        for group in _v1_groups(root, "cpu")
    ]
    return min((quota for quota in quotas if quota is not None), default=None)


def cpuset(root: Path = ROOT) -> frozenset[int] | None:
    """The cores that the cpusets allow, None where there are none."""
    texts = list(_v2_texts(root, "cpuset.cpus.effective"))
    texts += [
        _text(group / "cpuset.effective_cpus") or _text(group / "cpuset.cpus") or ""
        for group in _v1_groups(root, "cpuset")
    ]
    sets = [cores(text) for text in texts if text.strip()]
    return frozenset.intersection(*sets) if sets else None


def memory_left(root: Path = ROOT) -> int | None:
    """Bytes that may still be allocated under the memory limits, None without a limit.

    The page cache of files that nobody used lately counts as used there, but is given back when memory is asked for.
    """
    lefts = [_left(group, "memory.max", "memory.current", "inactive_file") for group in _v2_groups(root)]
    lefts += [
        _left(group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        for group in _v1_groups(root, "memory")
    ]
    return min((left for left in lefts if left is not None), default=None)


def cores(text: str) -> frozenset[int]:
    """The numbers in a list such as "0-3,8"."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def _v2_quota(text: str) -> float | None:
    quota, _, period = text.strip().partition(" ")
    return _ratio(quota, period)


def _ratio(quota: str | None, period: str | None) -> float | None:
    if quota is None or period is None or quota.strip() in ("max", "-1"):
        return None
    return int(quota) / int(period)


def _left(group: Path, limit: str, used: str, reclaimable: str) -> int | None:
    allowed, current = _text(group / limit), _text(group / used)
    if allowed is None or current is None or allowed.strip() == "max" or int(allowed) > NO_LIMIT:
        return None
    statistics = dict(line.split() for line in (_text(group / "memory.stat") or "").splitlines())
    return int(allowed) - int(current) + int(statistics.get(reclaimable, 0))


def _v2_texts(root: Path, name: str) -> Iterator[str]:
    texts = (_text(group / name) for group in _v2_groups(root))
    return (text for text in texts if text is not None)


def _v2_groups(root: Path) -> list[Path]:
    own = next((path for number, controllers, path in _own_groups(root) if number == "0" and not controllers), None)
    return [] if own is None else [group for mount in UNIFIED for group in _up(root / mount, own)]


def _v1_groups(root: Path, controller: str) -> list[Path]:
    own = next((path for _, controllers, path in _own_groups(root) if controller in controllers.split(",")), None)
    if own is None or not (root / CONTROLLERS).is_dir():
        return []
    mounts = [mount for mount in (root / CONTROLLERS).iterdir() if controller in mount.name.split(",")]
    return [group for mount in mounts for group in _up(mount, own)]


def _own_groups(root: Path) -> list[tuple[str, str, str]]:
    lines = (_text(root / "proc/self/cgroup") or "").splitlines()
    return [(number, controllers, path) for number, controllers, path in (line.split(":", 2) for line in lines)]


def _up(mount: Path, own: str) -> list[Path]:
    """The folders of a group and its parents, as far as they are there: in a container the path may be the host's."""
    group = mount / own.lstrip("/")
    folders = [group, *group.parents]
    return [folder for folder in folders if folder.is_relative_to(mount) and folder.is_dir()]


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None
