"""Names of machine instructions, and their number in a function by class.

Since Volta an instruction takes 16 bytes and its low nine bits name it. The numbers are undocumented; a test compares
them with nvdisasm's, instruction by instruction.
"""

import struct
from collections import Counter
from collections.abc import Mapping

OPCODES = {
    0x023: "FFMA",
    0x020: "FMUL",
    0x021: "FADD",
    0x049: "FFMA2",
    0x02B: "DFMA",
    0x03C: "HMMA",
    0x037: "IMMA",
    0x03F: "DMMA",
    0x07A: "QMMA",
    0x1F0: "HGMMA",
    0x1F3: "QGMMA",
    0x108: "MUFU",
    0x181: "LDG",
    0x186: "STG",
    0x17E: "LDG.256",
    0x17F: "STG.256",
    0x1AE: "LDGSTS",
    0x184: "LDS",
    0x188: "STS",
    0x183: "LDL",
    0x187: "STL",
    0x144: "CALL",
    0x143: "CALL.ABS",
}
CLASSES = {
    "fma": ("FFMA", "FFMA2"),
    "mul": ("FMUL",),
    "add": ("FADD",),
    "mma": ("HMMA",),
    "wgmma": ("HGMMA",),
    "load": ("LDG", "LDG.256"),
    "store": ("STG", "STG.256"),
    "load_async": ("LDGSTS",),
    "spill": ("LDL", "STL"),
    "call": ("CALL", "CALL.ABS"),
}
BYTES_OF_AN_INSTRUCTION = 16
OPCODE_BITS = 0x1FF


def histogram(code: bytes) -> Counter[str]:
    """How often each instruction stands in `code`; those without a name here under their number ("0x119")."""
    words = struct.unpack(f"<{len(code) // 8}Q", code[: len(code) // 8 * 8])[::2]
    return Counter(OPCODES.get(word & OPCODE_BITS, f"{word & OPCODE_BITS:#05x}") for word in words)


def counts(instructions: Mapping[str, int]) -> dict[str, int]:
    """Instructions by class, as `Source.expects` names them."""
    return {kind: sum(instructions.get(name, 0) for name in names) for kind, names in CLASSES.items()}
