"""The CUDA C++ around one matrix instruction, written from its shape: register lists too long to be written by hand."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .tensor_types import Type


@dataclass(frozen=True)
class Accumulators:
    """How sums are held: their C++ type, the letter of such registers in `asm`, and how many of a row share one."""

    word: str
    letter: str
    in_a_register: int = 1


ACCUMULATORS = {
    "f32": Accumulators("float", "f"),
    "f16": Accumulators("unsigned", "r", in_a_register=2),
    "s32": Accumulators("int", "r"),
    "f64": Accumulators("double", "d"),
}


@dataclass(frozen=True)
class Piece:
    """One warp-level instruction of a step of 16 x 8: its shape, and which registers of D, A and B it takes."""

    shape: str
    d: Sequence[int]
    a: Sequence[int]
    b: Sequence[int]


def pieces(kind: Type, capability: int) -> Sequence[Piece]:
    """The instructions that make up a step on a card: one, or several where it has only smaller ones."""
    sums = range(4 // ACCUMULATORS[kind.accumulator].in_a_register)
    if kind.format.ptx == "f64":
        if capability == 90:  # its own shape; a compiler makes the smaller ones of it elsewhere
            return (Piece("m16n8k16", sums, range(8), range(4)),)
        return [Piece("m8n8k4", (2 * m, 2 * m + 1), (2 * k + m,), (k,)) for k in range(4) for m in range(2)]
    if capability >= 80:
        return (Piece(f"m16n8k{kind.terms}", sums, range(4), range(2)),)
    if kind.format.ptx == "s8":
        return [Piece("m8n8k16", (2 * m, 2 * m + 1), (2 * k + m,), (k,)) for k in range(2) for m in range(2)]
    return [Piece("m16n8k8", sums, (2 * k, 2 * k + 1), (k,)) for k in range(2)]


def warp_mma(kind: Type, capability: int) -> str:
    """The function `mma`: one step of a warp on a tile of 16 x 8."""
    word = "double" if kind.format.bits == 64 else "unsigned"
    count = 8 if kind.format.bits == 64 else 4
    sums = ACCUMULATORS[kind.accumulator]
    body = "\n".join(f"    {_warp_instruction(kind, piece)}" for piece in pieces(kind, capability))
    return _function(
        "mma",
        f"{sums.word} (&d)[{4 // sums.in_a_register}], const {word} (&a)[{count}], const {word} (&b)[{count // 2}]",
        body,
    )


def _warp_instruction(kind: Type, piece: Piece) -> str:
    sums = ACCUMULATORS[kind.accumulator]
    letter = "d" if kind.format.bits == 64 else "r"
    d, a, b = _numbered((len(piece.d), len(piece.a), len(piece.b)))
    operands = [f'"{letter}"(a[{i}])' for i in piece.a] + [f'"{letter}"(b[{i}])' for i in piece.b]
    name, scales = f"mma.sync.aligned.{piece.shape}.row.col", ""
    types = f"{kind.accumulator}.{kind.format.ptx}.{kind.format.ptx}.{kind.accumulator}"
    if kind.format.ptx == "e2m1":  # with a scale for each 16 elements, all 1
        name = f"mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.{piece.shape}.row.col"
        types, scale = f"{types}.ue4m3", len(piece.d) + len(operands)
        scales = f", {{%{scale}}}, {{0, 0}}, {{%{scale}}}, {{0, 0}}"
        operands.append('"r"(0x38383838u)')
    return _asm(f"{name}.{types} {d}, {a}, {b}, {d}{scales};", _in_and_out(sums.letter, piece.d), operands)


def warpgroup_mma(kind: Type) -> str:
    """The function `warpgroup_mma`: one step of four warps on a tile of 64 x 256, added where `keep` is not 0."""
    sums = ACCUMULATORS[kind.accumulator]
    count, ptx = 128 // sums.in_a_register, kind.format.ptx
    (registers,) = _numbered((count,))
    flags = {"s8": "", "tf32": ", 1, 1", "e4m3": ", 1, 1"}.get(ptx, ", 1, 1, 0, 0")  # negated, transposed: neither
    text = (
        f"{{.reg .pred p; setp.ne.b32 p, %{count + 2}, 0; "
        f"wgmma.mma_async.sync.aligned.m64n256k{kind.terms}.{kind.accumulator}.{ptx}.{ptx} "
        f"{registers}, %{count}, %{count + 1}, p{flags};}}"
    )
    body = _asm(text, _in_and_out(sums.letter, range(count)), ['"l"(a)', '"l"(b)', '"r"(keep)'], memory=True)
    return _function("warpgroup_mma", f"{sums.word} (&d)[{count}], u64 a, u64 b, unsigned keep", f"    {body}")


# tcgen05: the kind of instruction, and what stands for the format and for the accumulators in its descriptor.
KINDS = {"f16": ("f16", 0), "bf16": ("f16", 1), "tf32": ("tf32", 2), "e4m3": ("f8f6f4", 0), "s8": ("i8", 1)}
KINDS |= {"e2m1": ("mxf4nvf4.block_scale.scale_vec::4X", 1)}
SUMS = {"f16": 0, "f32": 1, "s32": 2}


def tensor_mma(kind: Type) -> str:
    """The functions `tensor_mma`, one step of an SM on a tile of 128 x 256, and `row_of_sums`, 32 of a row."""
    name, operand = KINDS[kind.format.ptx]
    scaled = kind.format.ptx == "e2m1"
    shape = operand << 7 | operand << 10 | (256 >> 3) << 17 | (128 >> 4) << 24
    descriptor = shape if scaled else shape | SUMS[kind.accumulator] << 4
    scales = "[%5], [%5], " if scaled else ""
    step = _asm(
        f"{{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::{name} [%0], %1, %2, %3, {scales}p;}}",
        [],
        ['"r"(d)', '"l"(a)', '"l"(b)', f'"r"({descriptor:#x}u)', '"r"(keep)', '"r"(scales)'],
        memory=True,
    )
    (registers,) = _numbered((32,))
    load = _asm(
        f"tcgen05.ld.sync.aligned.32x32b.x32.b32 {registers}, [%32];\\ntcgen05.wait::ld.sync.aligned;",
        [f'"=r"(word[{i}])' for i in range(32)],
        ['"r"(at)'],
        memory=True,
    )
    return _function(
        "tensor_mma", "unsigned d, u64 a, u64 b, unsigned scales, unsigned keep", f"    {step}"
    ) + _function("row_of_sums", "unsigned (&word)[32], unsigned at", f"    {load}")


def _numbered(counts: Iterable[int]) -> list[str]:
    """Lists of the operands of an `asm`, numbered through: "{%0, %1}", "{%2}" … ."""
    lists, first = [], 0
    for count in counts:
        lists.append("{" + ", ".join(f"%{i}" for i in range(first, first + count)) + "}")
        first += count
    return lists


def _in_and_out(letter: str, registers: Iterable[int]) -> list[str]:
    return [f'"+{letter}"(d[{i}])' for i in registers]


def _asm(text: str, outputs: Sequence[str], inputs: Sequence[str], memory: bool = False) -> str:
    touched = ' : "memory"' if memory else ""
    return f'asm volatile("{text}" : {", ".join(outputs)} : {", ".join(inputs)}{touched});'


def _function(name: str, parameters: str, body: str) -> str:
    return f"""
namespace tensor {{
__device__ __forceinline__ void {name}({parameters}) {{
{body}
}}
}}  // namespace tensor
"""
