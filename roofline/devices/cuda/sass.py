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
    0x07F: "OMMA",
    0x1F0: "HGMMA",
    0x1F1: "IGMMA",
    0x1F3: "QGMMA",
    0x1EA: "UTCMMA",  # tcgen05: UTCHMMA, UTCQMMA, UTCIMMA and UTCOMMA are one number
    0x026: "IDP",
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
    0x145: "BSSY",
    0x007: "SEL",
    0x008: "FSEL",
}
# Multiply-adds that compilers also write for moves, shifts and addresses: with RZ as a factor, RZ as the addend, or a
# literal. Those are named MOVED; FULL is what multiplies two values and adds a third.
MULTIPLY_ADDS = {0x024: "IMAD", 0x031: "HFMA2", 0x035: "HFMA2.MMA"}
FULL, MOVED = "FULL", "MOVED"
CLASSES = {
    "fma": ("FFMA", "FFMA2"),
    "fma64": ("DFMA",),
    "fma16": ("HFMA2.FULL", "HFMA2.MMA.FULL"),
    "fma_int": ("IMAD.FULL",),
    "dot4": ("IDP",),
    "special": ("MUFU",),
    "mul": ("FMUL",),
    "add": ("FADD",),
    "mma": ("HMMA",),
    "imma": ("IMMA",),
    "dmma": ("DMMA",),
    "qmma": ("QMMA",),
    "omma": ("OMMA",),
    "wgmma": ("HGMMA",),
    "igmma": ("IGMMA",),
    "qgmma": ("QGMMA",),
    "tcgen05": ("UTCMMA",),
    "load": ("LDG", "LDG.256"),
    "store": ("STG", "STG.256"),
    "load_async": ("LDGSTS",),
    "load_shared": ("LDS",),
    "spill": ("LDL", "STL"),
    "call": ("CALL", "CALL.ABS"),
    "reconverge": ("BSSY",),
    "select": ("SEL", "FSEL"),
}
BYTES_OF_AN_INSTRUCTION = 16
OPCODE_BITS = 0x1FF
RZ = 0xFF  # the register that reads as zero
LITERALS = (2, 4)  # values of the three bits above the opcode that put a literal in the place of an operand
NO_PREDICATE = 7


def histogram(code: bytes) -> Counter[str]:
    """How often each instruction stands in `code`; those without a name here under their number ("0x119")."""
    words = struct.unpack(f"<{len(code) // 16 * 2}Q", code[: len(code) // 16 * 16])
    return Counter(map(_name, words[::2], words[1::2]))


def _name(low: int, high: int) -> str:
    """The name of one instruction, of which `low` holds opcode, result and factors, `high` the addend and modifiers."""
    opcode = low & OPCODE_BITS
    family = MULTIPLY_ADDS.get(opcode)
    if family is None or (opcode == 0x035 and _is_addition(high)):
        return OPCODES.get(opcode, f"{opcode:#05x}")
    factor, literal, addend = low >> 24 & 0xFF, low >> 9 & 7 in LITERALS, high & 0xFF
    return f"{family}.{MOVED if literal or RZ in (factor, addend) else FULL}"


def _is_addition(high: int) -> bool:
    """Whether this is sm_120's IADD, which has HFMA2.MMA's number and, unlike that, a place for a carry predicate."""
    return high >> 17 & 7 == NO_PREDICATE


def counts(instructions: Mapping[str, int]) -> dict[str, int]:
    """Instructions by class, as `Source.expects` names them."""
    return {kind: sum(instructions.get(name, 0) for name in names) for kind, names in CLASSES.items()}
