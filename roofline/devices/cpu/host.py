"""What this CPU is and how the machine is today, from the files that Linux keeps; unknown stays None."""

import os
import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from roofline.devices.cpu.cgroup import ROOT
from roofline.devices.cpu.topology import CPUS, Cores, read
from roofline.kernel import Target
from roofline.model import FLOP_PER_SECOND, Environment, Nominal

# FMA instructions on vectors of so many FP32 lanes that a core begins each cycle, by LLVM's name of the
# micro-architecture. From the makers' optimisation guides as tabulated by Agner Fog, "Instruction tables" and "The
# microarchitecture of Intel, AMD and VIA CPUs" (2025), and the Arm Neoverse Software Optimization Guides.
FMA_PIPES: Mapping[tuple[str, int], int] = {
    **{(name, 8): 2 for name in ("haswell", "broadwell", "skylake", "alderlake", "raptorlake", "arrowlake")},
    **{(name, 16): 2 for name in ("skylake-avx512", "cascadelake", "cooperlake", "icelake-server")},
    **{(name, 16): 2 for name in ("sapphirerapids", "emeraldrapids", "graniterapids")},
    **{(name, 16): 1 for name in ("icelake-client", "tigerlake", "rocketlake")},
    ("znver1", 8): 1,
    **{(name, 8): 2 for name in ("znver2", "znver3")},
    ("znver4", 16): 1,
    ("znver5", 16): 2,
    **{(name, 4): 2 for name in ("neoverse-n1", "neoverse-n2", "cortex-a72", "cortex-a76")},
    **{(name, 4): 4 for name in ("neoverse-v1", "neoverse-v2", "neoverse-v3", "apple-m1", "apple-m2", "apple-m4")},
}
PIPES_SOURCE = "Agner Fog, Instruction tables (2025); Arm Software Optimization Guides"


def cpu_name(root: Path = ROOT) -> str:
    """The name that the maker gave this CPU, or what the platform calls it."""
    named = re.search(r"^model name\s*:\s*(\S.*)$", read(root / "proc/cpuinfo") or "", re.MULTILINE)
    return named[1].strip() if named else platform.processor() or platform.machine()


def nominal_rates(
    architecture: str, target: Target, cores: Cores, counter_hz: float, root: Path = ROOT
) -> dict[str, Nominal]:
    """The rated clock, and the FP32 rate by formula where the micro-architecture's pipes are known; none of DRAM."""
    rated = rated_clock(target, cores, counter_hz, root)
    if rated is None:
        return {}
    clock_hz, clock_source = rated
    rates = {"clock": Nominal(clock_hz, "Hz", "as rated", clock_source)}
    pipes, count = FMA_PIPES.get((architecture, target.lanes)), len(cores.used)
    if pipes is not None:
        rates["fp32"] = Nominal(
            rate=count * target.lanes * 2.0 * pipes * clock_hz,
            unit=FLOP_PER_SECOND,
            formula=f"{count} cores x {target.lanes} lanes x 2 FLOP x {pipes} FMA pipes x {clock_hz:.4g} Hz",
            source=f"pipes: {PIPES_SOURCE}; clock: {clock_source}",
        )
    return rates


def rated_clock(target: Target, cores: Cores, counter_hz: float, root: Path = ROOT) -> tuple[float, str] | None:
    """The clock that this CPU is rated at, in Hz, and where that is said."""
    highest = read(root / CPUS / f"cpu{cores.used[0]}/cpufreq/cpuinfo_max_freq")
    if highest:
        return int(highest) * 1e3, "cpuinfo_max_freq, the highest the cores may reach"
    if target.architecture.startswith("x86-64"):
        return counter_hz, "rate of the time-stamp counter, the base clock; cores may run faster"
    return None


def environment(cores: Cores, root: Path = ROOT) -> Environment:
    """What makes figures incomparable when it differs, and the facts beside it."""
    return Environment(
        state={
            "workers": len(cores.used),
            "granted_cpus": len(cores.granted),
            "quota_cores": cores.quota,
            "smt": _switch(read(root / CPUS / "smt/active")),
            "huge_pages": _chosen(read(root / "sys/kernel/mm/transparent_hugepage/enabled")),
            "virtualised": _virtualised(read(root / "proc/cpuinfo")),
            "platform": _platform(read(root / "proc/version")),
        },
        facts={
            "kernel": platform.release(),
            "governor": read(root / CPUS / f"cpu{cores.used[0]}/cpufreq/scaling_governor"),
            "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            "llvmlite": version("llvmlite"),
            "python": platform.python_version(),
        },
    )


def memory_available(root: Path = ROOT) -> int | None:
    """Bytes that the system could give without swapping; None off Linux."""
    found = re.search(r"^MemAvailable:\s*(\d+) kB", read(root / "proc/meminfo") or "", re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _switch(text: str | None) -> bool | None:
    return None if text is None else text == "1"


def _chosen(text: str | None) -> str | None:
    """The word in brackets of a setting such as "always [madvise] never"."""
    chosen = re.search(r"\[(\w+)\]", text or "")
    return chosen[1] if chosen else None


def _virtualised(cpuinfo: str | None) -> bool | None:
    """Whether a hypervisor announces itself; only x86 has such a flag."""
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo or "", re.MULTILINE)
    return "hypervisor" in flags[1].split() if flags else None


def _platform(version_text: str | None) -> str:
    return "WSL" if "microsoft" in (version_text or "").lower() else platform.system()
