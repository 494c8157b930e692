"""From LLVM IR to machine code that runs: the only module that imports llvmlite.

The IR is compiled once, to assembly text. That text is what is checked and counted, and that same text is assembled and
run, so the evidence cannot differ from what was timed. No optimisation pass is run on the IR.
"""

import re
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from roofline.devices.base import DeviceUnavailable

OLDEST = (0, 45)  # earlier releases carry an LLVM without opaque pointers
CODEGEN_LEVEL = 2
# How characters stand in a quoted string of IR.
ESCAPES = {code: f"\\{code:02X}" for code in (*range(32), ord('"'), ord("\\"), 127)}


def binding() -> ModuleType:
    """Llvmlite's binding, ready to compile and assemble for this machine.

    Raises:
        DeviceUnavailable: llvmlite is missing, too old, or cannot load its library.
    """
    try:
        import llvmlite
        from llvmlite import binding as llvm
    except (ImportError, OSError) as error:
        raise DeviceUnavailable(
            f"The CPU device compiles its kernels with llvmlite, which cannot be imported: {error}.\n"
            "Install it (pip install 'llvmlite>=0.45'); there is no wheel for musl systems such as Alpine: "
            "use a glibc image there."
        ) from error
    release = tuple(int(part) for part in re.findall(r"\d+", llvmlite.__version__)[:2])
    if release < OLDEST:
        raise DeviceUnavailable(
            f"The CPU device needs llvmlite 0.45 or later; {llvmlite.__version__} is installed.\n"
            "Upgrade it: pip install --upgrade llvmlite"
        )
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    module: ModuleType = llvm
    return module


def host_cpu() -> str:
    """LLVM's name of this CPU's micro-architecture, such as "znver3"."""
    return str(binding().get_host_cpu_name())


def host_features() -> dict[str, bool]:
    """LLVM's features of this CPU, by name."""
    return dict(binding().get_host_cpu_features())


def flattened(features: Mapping[str, bool]) -> str:
    """The features as LLVM wants them: "+fma,-avx512f"."""
    return ",".join(f"{'+' if has else '-'}{name}" for name, has in sorted(features.items()))


def assembly_for(ir: str, triple: str, cpu: str) -> str:
    """The assembly that `ir` becomes on another machine; nothing is run."""
    llvm = binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=CODEGEN_LEVEL)
    return _assembly(llvm, machine, ir)


class Jit:
    """Compiles for one CPU and keeps what it loaded alive."""

    def __init__(self, cpu: str, features: Mapping[str, bool]) -> None:
        self._llvm = binding()
        self._cpu, self._features = cpu, flattened(features)
        self._emitter = self._machine()
        self._engines: list[Any] = []

    def assembly(self, ir: str) -> str:
        """The assembly text of a module of IR."""
        return _assembly(self._llvm, self._emitter, ir)

    def load(self, assembly: str, entries: Sequence[str]) -> dict[str, int]:
        """Assemble the text, make it executable and return the address of each entry."""
        module = self._llvm.parse_assembly(f'module asm "{_quoted(assembly)}"\n')
        engine = self._llvm.create_mcjit_compiler(module, self._machine())
        engine.finalize_object()
        self._engines.append(engine)
        return {entry: int(engine.get_function_address(entry)) for entry in entries}

    def close(self) -> None:
        """Give the code's memory back; nothing loaded may run afterwards."""
        for engine in self._engines:
            engine.close()
        self._engines.clear()

    def _machine(self) -> Any:
        return self._llvm.Target.from_default_triple().create_target_machine(
            cpu=self._cpu, features=self._features, opt=CODEGEN_LEVEL, jit=True
        )


def _assembly(llvm: Any, machine: Any, ir: str) -> str:
    module = llvm.parse_assembly(ir)
    module.triple = machine.triple
    module.verify()
    return str(machine.emit_assembly(module))


def _quoted(text: str) -> str:
    return text.translate(ESCAPES)
