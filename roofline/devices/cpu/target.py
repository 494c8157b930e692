"""What the instruction set of a CPU offers to kernels."""

import platform
from collections.abc import Mapping, Sequence

from roofline.devices.base import DeviceUnavailable
from roofline.kernel import Target

X86_MACHINES = ("x86_64", "amd64")
AARCH64_MACHINES = ("aarch64", "arm64")

# The features by which the micro-architecture levels of the x86-64 ABI differ, as far as the kernels use them:
# https://gitlab.com/x86-psABIs/x86-64-ABI
LEVELS: Sequence[tuple[tuple[str, ...], str, int, int]] = (
    (("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"), "x86-64-v4", 16, 32),
    (("avx2",), "x86-64-v3", 8, 16),
    ((), "x86-64-v2", 4, 16),
)
# What some kernel uses beyond these levels, by LLVM's names: dot products of BF16 on x86-64 and on AArch64.
EXTENSIONS = ("avx512bf16", "bf16")


def target_of(features: Mapping[str, bool], machine: str | None = None) -> Target:
    """The target of a machine (this one unless named) with the given CPU features.

    Raises:
        DeviceUnavailable: kernels are written for x86-64 and AArch64 alone.
    """
    machine = (machine or platform.machine()).lower()
    extensions = frozenset(name for name in EXTENSIONS if features.get(name))
    if machine in AARCH64_MACHINES:
        return Target("cpu", "aarch64", lanes=4, registers=32, has_fma=True, extensions=extensions)
    if machine not in X86_MACHINES:
        raise DeviceUnavailable(
            f"The CPU device has kernels for x86-64 and AArch64; this machine is {machine!r}.\n"
            "Use another device (--device cuda), or --device fake to see how the suite works."
        )
    _, level, lanes, registers = next(row for row in LEVELS if all(features.get(feature) for feature in row[0]))
    return Target("cpu", level, lanes, registers, bool(features.get("fma")), extensions)
