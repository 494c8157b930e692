"""The LLVM IR of a vectorised exp2: exact scaling by the whole part, a polynomial for the rest.

x = k + f with k whole and |f| at most 1/2. Adding 1.5·2^23 rounds to whole numbers and leaves k in the low bits, which
shifted into the exponent multiply by 2^k. That is two additions, five steps of Horner's scheme, a shift and an integer
addition a vector, and no table: every lane does the same.
"""

import struct
from collections.abc import Sequence

import numpy as np

from roofline.kernel import Array, Kernel, Source, Target
from roofline.llvm import Block, Vectors, block_variant, entry_name, expected_stores, streaming_kernel, vector_type
from roofline.model import Traffic, Variant, Work

from .chains import ELEMENTS

# 2^f on [-1/2, 1/2], the least relative error of degree 5 (by Remez exchange, 7.5e-8), rounded to FP32; the first is
# 1, so that powers of whole numbers are exact.
COEFFICIENTS = (1.0, 0.693146944, 0.240221202, 0.0555071309, 0.00967554096, 0.00132764725)
ROUNDING = 1.5 * 2**23
MANTISSA_BITS = 23
VECTORS = {16: (4, 2, 6), 32: (8, 4, 12)}
TOLERANCE = 2.0**-21
# With so many passes a launch takes as long as those of other units.
REPEATS = 64


def variants(target: Target) -> Sequence[Variant]:
    """Blocks of a few vectors, whose polynomials do not wait for each other."""
    return [block_variant(target, vectors, 0) for vectors in VECTORS[target.registers]]


def source(target: Target, variant: Variant) -> Source:
    """exp2 of each vector of a block."""
    vectors = Vectors(target.lanes, variant.integer("vectors"))
    entry = entry_name("special_exp2", str(vectors))

    def body(block: Block) -> None:
        block.store("y", [exp2(block, vector) for vector in block.load("x")])

    return Source(
        text=streaming_kernel(entry, target, vectors, body),
        entry=entry,
        block=vectors.block,
        expects=expected(target, vectors) | expected_stores(vectors, non_temporal=False),
    )


def expected(target: Target, vectors: Vectors) -> dict[str, int]:
    """Horner's five steps, and the two additions around the rounding."""
    horner, roundings = vectors.count * (len(COEFFICIENTS) - 1), vectors.count
    if target.has_fma:
        return {"fma": horner, "mul": 0, "add": roundings}
    return {"fma": 0, "mul": horner, "add": horner + roundings}


def exp2(block: Block, x: str) -> str:
    """2^x of each lane, for |x| below 126."""
    function, kind, lanes = block.function, block.vectors.type, block.vectors.lanes
    integers = vector_type("i32", lanes)
    shifted = function.value(f"fadd {kind} {x}, {splat(block, ROUNDING)}")
    whole = function.value(f"fsub {kind} {shifted}, {splat(block, ROUNDING)}")
    part = function.value(f"fsub {kind} {x}, {whole}")
    power = splat(block, COEFFICIENTS[-1])
    for coefficient in COEFFICIENTS[-2::-1]:
        power = block.fma(power, part, splat(block, coefficient))
    low = function.value(f"bitcast {kind} {shifted} to {integers}")
    exponent = function.value(f"shl {integers} {low}, {function.splat(str(MANTISSA_BITS), 'i32', lanes)}")
    bits = function.value(f"bitcast {kind} {power} to {integers}")
    scaled = function.value(f"add {integers} {bits}, {exponent}")
    return function.value(f"bitcast {integers} {scaled} to {kind}")


def splat(block: Block, number: float) -> str:
    """A vector of copies of a constant, rounded to FP32; IR writes those as the bits of a double."""
    rounded = float(np.float32(number))
    bits = struct.unpack("<Q", struct.pack("<d", rounded))[0]
    return block.function.splat(f"0x{bits:016X}", "float", block.vectors.lanes)


def kernel() -> Kernel:
    """exp2 of each element."""

    def work(n: int) -> Work:
        return Work(
            flops=1.0 * REPEATS * n,
            unit="sfu_exp2",
            traffic={"dram": Traffic(0.0, 0.0)},
            convention="one exp2 = 1 FLOP, whatever its polynomial takes; no DRAM traffic, caches serve both arrays",
        )

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [np.exp2(arrays[0].astype(np.float64))]

    return Kernel(
        experiment="special",
        name="exp2-polynomial",
        unit="sfu_exp2",
        level="l1",
        work=work,
        variants=variants,
        sources={"cpu": source},
        reference=reference,
        measures=("sfu_exp2",),
        memory="cache",
        size=lambda elements: ELEMENTS,
        repeats=REPEATS,
        tolerance=TOLERANCE,
        tolerance_reason="the polynomial errs by 2^-22.5, and each step of Horner's scheme rounds",
    )
