"""What a cubin says of its functions, read from the ELF file itself: instructions, registers, stack, shared memory.

No CUDA tool is needed, so the machine code is checked on the user's machine before it is timed. Layout of the notes in
`.nv.info.<function>`: format, attribute, then a 16-bit length or value (undocumented; compared with ptxas and nvdisasm
in the tests).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

ELF_MAGIC = b"\x7fELF"
SYMBOL_TABLE = 2
FUNCTION = 2
REGISTER_COUNT = 0x2F
MIN_STACK_SIZE = 0x12
LENGTH_FOLLOWS = 4


class NotACubin(Exception):
    """The bytes are no 64-bit ELF file with CUDA functions, or they are cut short."""


@dataclass(frozen=True)
class Function:
    """One kernel in a cubin. `code` is its machine code, 16 bytes an instruction; a stack means spills."""

    name: str
    code: bytes
    registers: int | None
    stack_bytes: int | None


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    offset: int
    size: int


def functions(cubin: bytes) -> dict[str, Function]:
    """Every kernel of a cubin by its (mangled) name.

    Raises:
        NotACubin: the bytes are something else, or incomplete.

    """
    if cubin[:4] != ELF_MAGIC or len(cubin) < 64:
        raise NotACubin(f"{len(cubin)} bytes that begin with {cubin[:4]!r}: a cubin is a 64-bit ELF file")
    try:
        sections = list(_sections(cubin))
        registers, stack = _resources(cubin, sections)
        texts = {s.name.removeprefix(".text."): s for s in sections if s.name.startswith(".text.")}
    except (struct.error, IndexError, ValueError) as cut:
        raise NotACubin(f"the ELF file of {len(cubin)} bytes is cut short or damaged: {cut}") from cut
    if not texts:
        raise NotACubin("the ELF file holds no CUDA function")
    return {
        name: Function(name, cubin[s.offset : s.offset + s.size], registers.get(name), stack.get(name))
        for name, s in texts.items()
    }


def _sections(cubin: bytes) -> Iterator[_Section]:
    table, entry_size, count, names_index = *struct.unpack_from("<Q", cubin, 40), *struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + i * entry_size) for i in range(count)]
    names = headers[names_index][4]
    for name, kind, _flags, _address, offset, size, *_ in headers:
        yield _Section(_text(cubin, names + name), kind, offset, size)


def _text(cubin: bytes, at: int) -> str:
    return cubin[at : cubin.index(b"\0", at)].decode()


def _resources(cubin: bytes, sections: list[_Section]) -> tuple[dict[str, int], dict[str, int]]:
    """Registers and stack by function, from the notes that name a function by its symbol."""
    symbols = _symbols(cubin, sections)
    found: dict[int, dict[str, int]] = {REGISTER_COUNT: {}, MIN_STACK_SIZE: {}}
    for section in sections:
        if section.name != ".nv.info":
            continue
        for attribute, payload in _notes(cubin[section.offset : section.offset + section.size]):
            if attribute in found and len(payload) == 8:
                symbol, value = struct.unpack("<II", payload)
                found[attribute][symbols[symbol]] = value
    return found[REGISTER_COUNT], found[MIN_STACK_SIZE]


def _symbols(cubin: bytes, sections: list[_Section]) -> list[str]:
    table = next(s for s in sections if s.kind == SYMBOL_TABLE)
    strings = next(s for s in sections if s.name == ".strtab").offset
    rows = range(table.offset, table.offset + table.size, 24)
    return [_text(cubin, strings + struct.unpack_from("<I", cubin, row)[0]) for row in rows]


def _notes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        form, attribute, length = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == LENGTH_FOLLOWS:
            yield attribute, data[at : at + length]
            at += length
