"""Which cores get a worker, on machines made of files (C57)."""

from pathlib import Path

import pytest

from roofline.devices.cpu import cgroup
from roofline.devices.cpu.topology import last_level_cache, one_thread_a_core, usable_cores

pytestmark = pytest.mark.correctness

EIGHT = range(8)


@pytest.fixture
def write(tmp_path):
    """A function that writes files, given by path, under a root of their own."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        return tmp_path

    return write


def v2(group: str = "/job", **files: str) -> dict[str, str]:
    named = {name.replace("_", "."): text for name, text in files.items()}
    return {"proc/self/cgroup": f"0::{group}"} | {f"sys/fs/cgroup{group}/{name}": text for name, text in named.items()}


def v1(controller: str, group: str, **files: str) -> dict[str, str]:
    own = {"proc/self/cgroup": f"4:{controller}:{group}\n0::/"}
    return own | {f"sys/fs/cgroup/{controller}{group}/{name}": text for name, text in files.items()}


@pytest.mark.parametrize(
    ("limit", "workers"),
    [("400000 100000", 4), ("765000 100000", 7), ("50000 100000", 1), ("max 100000", 8), ("1600000 100000", 8)],
)
def test_a_quota_is_rounded_down_and_leaves_at_least_one(write, limit, workers):
    """C57: threads = min(quota rounded down and at least 1, affinity, cpuset), cgroup v2."""
    assert len(usable_cores(EIGHT, write(v2(cpu_max=limit))).used) == workers


@pytest.mark.parametrize(("quota", "workers"), [("400000", 4), ("765000", 7), ("50000", 1), ("-1", 8)])
@pytest.mark.parametrize("controller", ["cpu", "cpu,cpuacct"])
def test_a_quota_of_cgroup_v1_counts_the_same(write, controller, quota, workers):
    """C57, cgroup v1, whose controllers may share a folder."""
    files = {"cpu.cfs_quota_us": quota, "cpu.cfs_period_us": "100000"}
    assert len(usable_cores(EIGHT, write(v1(controller, "/job", **files))).used) == workers


def test_of_nested_limits_the_least_counts(write):
    """C57: a parent's quota binds its children."""
    root = write(v2("/pod/box") | {"sys/fs/cgroup/pod/cpu.max": "200000 100000"})
    write({"sys/fs/cgroup/pod/box/cpu.max": "600000 100000"})
    assert cgroup.quota_cores(root) == 2.0


def test_inside_a_container_the_path_may_be_the_hosts(write):
    """What is not mounted is skipped, and the mount's own top still counts."""
    root = write({"proc/self/cgroup": "0::/host/only/path", "sys/fs/cgroup/cpu.max": "300000 100000"})
    assert cgroup.quota_cores(root) == 3.0


def test_a_cpuset_limits_even_a_process_whose_affinity_is_wider(write):
    """C57: `max` with a cpuset of 0-1 gives two workers."""
    cores = usable_cores(EIGHT, write(v2(cpu_max="max 100000", cpuset_cpus_effective="0-1")))
    assert cores.used == (0, 1)


def test_a_cpuset_of_cgroup_v1_limits_too(write):
    files = {"cpuset.cpus": "2-3,6"}
    assert usable_cores(EIGHT, write(v1("cpuset", "/job", **files))).used == (2, 3, 6)


def test_affinity_alone_decides_without_containers(tmp_path):
    assert usable_cores({5, 1}, tmp_path).used == (1, 5)


def test_siblings_of_a_core_get_one_worker(write):
    siblings = {0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}
    paths = {f"sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list": text for n, text in siblings.items()}
    cores = usable_cores([0, 1, 4, 5], write(paths))
    assert cores.used == (0, 1)
    assert cores.notes == ("2 CPUs are second threads of a core and get no worker",)


def test_a_lone_sibling_still_gets_a_worker(write):
    root = write({"sys/devices/system/cpu/cpu5/topology/thread_siblings_list": "1,5"})
    assert one_thread_a_core([5], root) == (5,)


def test_a_quota_that_leaves_cores_out_is_said(write):
    cores = usable_cores(EIGHT, write(v2(cpu_max="250000 100000")))
    assert cores.quota == 2.5
    assert cores.notes == ("a container quota of 2.5 cores leaves 2 of 8 cores a worker",)


def test_cores_of_unequal_speed_are_noted(write):
    """C58: static shares on two classes of core measure the slower one; the note says so."""
    speeds = {0: "5000000", 1: "5000000", 2: "3500000"}
    files = {f"sys/devices/system/cpu/cpu{n}/cpufreq/cpuinfo_max_freq": text for n, text in speeds.items()}
    (note,) = usable_cores(range(3), write(files)).notes
    assert "unequal speed" in note
    assert usable_cores(range(2), write({})).notes == ()


@pytest.mark.parametrize(
    ("text", "expected"), [("0-3,8", {0, 1, 2, 3, 8}), ("7", {7}), ("", set()), ("0-0,2-3\n", {0, 2, 3})]
)
def test_lists_of_cores_are_read(text, expected):
    assert cgroup.cores(text) == expected


def caches(cpu: int, *rows: tuple[str, str, str, str]) -> dict[str, str]:
    files = {}
    for number, row in enumerate(rows):
        for name, text in zip(("level", "type", "size", "shared_cpu_list"), row, strict=True):
            files[f"sys/devices/system/cpu/cpu{cpu}/cache/index{number}/{name}"] = text
    return files


def test_the_last_cache_counts_every_piece_that_the_cores_reach(write):
    """C17: DRAM buffers must exceed all of it."""
    first = caches(0, ("1", "Data", "32K", "0"), ("1", "Instruction", "64K", "0"), ("3", "Unified", "32768K", "0-3"))
    root = write(first | caches(1, ("3", "Unified", "32768K", "0-3")) | caches(4, ("3", "Unified", "16M", "4-7")))
    assert last_level_cache([0, 1], root) == 32 << 20
    assert last_level_cache([0, 1, 4], root) == 48 << 20


def test_a_system_that_tells_no_cache_is_unknown(tmp_path):
    assert last_level_cache([0], tmp_path) is None


def test_memory_under_limits_is_what_is_not_used_and_what_can_be_dropped(write):
    files = v2(memory_max="1000000", memory_current="700000", memory_stat="anon 1\ninactive_file 100000")
    assert cgroup.memory_left(write(files)) == 400_000


def test_memory_limits_of_cgroup_v1_nest(write):
    outer = {"memory.limit_in_bytes": "500000", "memory.usage_in_bytes": "100000"}
    inner = {"memory.limit_in_bytes": "9223372036854771712", "memory.usage_in_bytes": "100000"}
    root = write(v1("memory", "/pod", **outer))
    assert cgroup.memory_left(write(v1("memory", "/pod/box", **inner))) == 400_000
    assert root is not None


def test_no_limit_is_none(write):
    assert cgroup.memory_left(write(v2(memory_max="max", memory_current="5"))) is None
    assert cgroup.quota_cores(write(v2(cpu_max="max 100000"))) is None
