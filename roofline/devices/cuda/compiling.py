"""CUDA C++ to a cubin for one architecture, by `cuda.core` and NVRTC. Needs no GPU and no driver."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from roofline.devices.base import BuildFailed, DeviceUnavailable, KernelUnsupported
from roofline.devices.cuda.cache import Cubin, CubinCache

# Single-precision denormals are flushed, as CuPy compiles; no operand here is one, and the instructions are the same.
OPTIONS: dict[str, Any] = {"std": "c++17", "ftz": True}
# From this compute capability on, instructions of exactly one architecture need the suffix "a".
SPECIFIC_FROM = 90
# Variants are compiled side by side, and cuda.core cannot be imported by two threads at once.
IMPORTING = Lock()
UNKNOWN_ARCHITECTURE = "invalid value for --gpu-architecture"


class CompilationFailed(BuildFailed):
    """NVRTC refused a source; the message is its log."""


@dataclass(frozen=True)
class Compiler:
    """NVRTC for one architecture ("sm_90a"), with a cache."""

    architecture: str
    cache: CubinCache

    def build(self, text: str, entries: Sequence[str]) -> Cubin:
        """The cubin that holds every entry (a name, or an instance of a template) of `text`.

        Raises:
            KernelUnsupported: this NVRTC does not know the architecture.
            CompilationFailed: the source is wrong, or needs what this NVRTC lacks.

        """
        wanted = sorted(set(entries))
        key = self._key(text, wanted)
        return self.cache.load(key) or self._compile(text, wanted, key)

    def _key(self, text: str, entries: Sequence[str]) -> str:
        depends_on = [text, list(entries), self.architecture, OPTIONS, compiler_version()]
        return hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()

    def _compile(self, text: str, entries: Sequence[str], key: str) -> Cubin:
        with IMPORTING:
            from cuda.core import Program, ProgramOptions

        program = Program(text, "c++", ProgramOptions(arch=self.architecture, **OPTIONS))
        try:
            compiled = program.compile("cubin", name_expressions=tuple(entries))
        except Exception as refusal:
            raise self._explained(refusal) from refusal
        symbols = {_text(entry): _text(symbol) for entry, symbol in compiled.symbol_mapping.items()}
        return self.cache.store(key, bytes(compiled.code), symbols)

    def _explained(self, refusal: Exception) -> Exception:
        if UNKNOWN_ARCHITECTURE in str(refusal):
            return KernelUnsupported(
                f"NVRTC {compiler_version()} cannot compile for {self.architecture}: a newer card needs a newer NVRTC, "
                "one older than sm_75 that of CUDA 12 (install the extra [cuda12])"
            )
        return CompilationFailed(f"for {self.architecture}: {refusal}")


def architecture_of(compute_capability: tuple[int, int]) -> str:
    """The architecture to compile for: that of the card itself, with every instruction it has."""
    number = 10 * compute_capability[0] + compute_capability[1]
    return f"sm_{number}{'a' if number >= SPECIFIC_FROM else ''}"


@cache
def compiler_version() -> str:
    """The version of NVRTC, "13.5".

    Raises:
        DeviceUnavailable: it is not installed.

    """
    try:
        from cuda.bindings import nvrtc

        result, major, minor = nvrtc.nvrtcVersion()
    except (ImportError, OSError, RuntimeError) as missing:
        raise DeviceUnavailable(
            f"NVRTC, the CUDA compiler library, cannot be loaded ({missing}): install pytest-roofline with the extra "
            "[cuda13] or [cuda12]"
        ) from missing
    if int(result):
        raise DeviceUnavailable(f"NVRTC does not say its version ({result}): reinstall the extra [cuda13] or [cuda12]")
    return f"{major}.{minor}"


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
