"""What the CPU is and how the machine is, from made-up system files."""

import getpass
import platform
from pathlib import Path

import pytest

from roofline.devices.base import DeviceUnavailable
from roofline.devices.cpu import host
from roofline.devices.cpu.target import target_of
from roofline.devices.cpu.topology import Cores

pytestmark = pytest.mark.correctness

TWO = Cores(used=(0, 1), granted=(0, 1), quota=None, notes=())
V4_FEATURES = dict.fromkeys(("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma"), True)


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text + "\n")


@pytest.mark.parametrize(
    ("machine", "features", "expected"),
    [
        ("x86_64", V4_FEATURES, ("x86-64-v4", 16, 32, True)),
        ("AMD64", {"avx512f": True, "avx2": True, "fma": True}, ("x86-64-v3", 8, 16, True)),
        ("x86_64", {"avx2": True, "fma": False}, ("x86-64-v3", 8, 16, False)),
        ("x86_64", {}, ("x86-64-v2", 4, 16, False)),
        ("aarch64", {}, ("aarch64", 4, 32, True)),
        ("arm64", {}, ("aarch64", 4, 32, True)),
    ],
)
def test_features_decide_the_target(machine, features, expected):
    target = target_of(features, machine)
    assert (target.architecture, target.lanes, target.registers, target.has_fma) == expected


def test_an_architecture_without_kernels_is_unavailable_with_a_remedy():
    with pytest.raises(DeviceUnavailable, match=r"this machine is 'riscv64'\.\n.*--device"):
        target_of({}, "riscv64")


def test_the_name_is_the_makers(tmp_path):
    write(tmp_path, "proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 9654 96-Core Processor\n")
    assert host.cpu_name(tmp_path) == "AMD EPYC 9654 96-Core Processor"


def test_a_system_without_a_name_still_has_one(tmp_path):
    assert host.cpu_name(tmp_path)


def test_nominal_is_cores_lanes_flops_pipes_and_clock(tmp_path):
    """C58: labelled with its formula and its sources."""
    write(tmp_path, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700000")
    rates = host.nominal_rates("znver4", target_of(V4_FEATURES, "x86_64"), TWO, 2.4e9, tmp_path)
    assert rates["fp32"].rate == 2 * 16 * 2 * 1 * 3.7e9
    assert rates["fp32"].formula == "2 cores x 16 lanes x 2 FLOP x 1 FMA pipes x 3.7e+09 Hz"
    assert "Agner Fog" in rates["fp32"].source
    assert "cpuinfo_max_freq" in rates["fp32"].source


def test_where_no_rated_clock_is_told_the_counters_rate_is_named_as_such(tmp_path):
    rates = host.nominal_rates("znver4", target_of(V4_FEATURES, "x86_64"), TWO, 2.4e9, tmp_path)
    assert rates["fp32"].rate == 2 * 16 * 2 * 1 * 2.4e9
    assert "time-stamp counter" in rates["fp32"].source


def test_an_unknown_microarchitecture_has_no_nominal_rate(tmp_path):
    rates = host.nominal_rates("znver9", target_of(V4_FEATURES, "x86_64"), TWO, 2.4e9, tmp_path)
    assert set(rates) == {"clock"}


def test_an_aarch64_counter_is_no_rated_clock(tmp_path):
    assert host.nominal_rates("neoverse-n1", target_of({}, "aarch64"), TWO, 2.5e7, tmp_path) == {}


def test_the_environment_is_read_from_the_system(tmp_path):
    write(tmp_path, "sys/devices/system/cpu/smt/active", "1")
    write(tmp_path, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    write(tmp_path, "proc/cpuinfo", "flags\t\t: fpu hypervisor avx2")
    write(tmp_path, "proc/version", "Linux version 5.15 (Microsoft WSL2)")
    state = host.environment(TWO, tmp_path).state
    assert state == {
        "workers": 2,
        "granted_cpus": 2,
        "quota_cores": None,
        "smt": True,
        "huge_pages": "madvise",
        "virtualised": True,
        "platform": "WSL",
    }


def test_what_the_system_does_not_tell_is_none(tmp_path):
    environment = host.environment(TWO, tmp_path)
    assert (environment.state["smt"], environment.state["huge_pages"], environment.state["virtualised"]) == (None,) * 3
    assert environment.facts["governor"] is None
    assert host.memory_available(tmp_path) is None


def test_no_host_or_user_name_is_in_the_environment():
    environment = host.environment(TWO)
    words = {str(value) for value in (*environment.state.values(), *environment.facts.values())}
    assert not words & {platform.node(), getpass.getuser()}


def test_available_memory_is_read(tmp_path):
    write(tmp_path, "proc/meminfo", "MemTotal: 100 kB\nMemAvailable:   23861 kB")
    assert host.memory_available(tmp_path) == 23861 * 1024
