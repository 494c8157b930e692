"""What the maker promises, by formula from what the card says of itself. Dense rates; without a row: unknown."""

from collections.abc import Mapping
from dataclasses import dataclass

from roofline.model import BYTES_PER_SECOND, FLOP_PER_SECOND, OP_PER_SECOND, Nominal

ATTRIBUTES = "the device's own attributes"
HERTZ = "Hz"
# FP32 lanes an SM by compute capability. Source: CUDA C++ Programming Guide, "Arithmetic Instructions", throughput of
# 32-bit floating-point add, multiply, multiply-add, results a clock an SM.
FP32_LANES = {
    (7, 0): 64,
    (7, 5): 64,
    (8, 0): 64,
    (8, 6): 128,
    (8, 7): 128,
    (8, 9): 128,
    (9, 0): 128,
    (10, 0): 128,
    (10, 3): 128,
    (12, 0): 128,
    (12, 1): 128,
}
# Bytes of shared memory an SM and a clock: 32 banks of 4. Source: the same guide, "Shared Memory", from Kepler's
# successors on.
SHARED_BYTES = 128
# Lanes an SM of exp2f, rsqrtf and sinf, from the table of arithmetic instructions.
SPECIAL_LANES = dict.fromkeys(((7, 0), (7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (12, 0)), 16)
# What each unit that a source tells does: FLOP (OP) a result, and results a clock an SM. The same table, rows of
# 64-bit and 16-bit floating-point and of 32-bit integer multiply-add; BF16 by its footnotes and the peak rates of the
# white papers.
LANES: Mapping[str, tuple[int, Mapping[tuple[int, int], int]]] = {
    "fp32": (2, FP32_LANES),
    "fp32_no_fma": (1, FP32_LANES),
    "fp64": (2, {(7, 0): 32, (7, 5): 2, (8, 0): 32, (8, 6): 2, (8, 9): 2, (9, 0): 64, (10, 0): 64, (12, 0): 2}),
    "fp16": (2, {(7, 0): 128, (7, 5): 128, (8, 0): 256, (8, 6): 128, (8, 9): 128, (9, 0): 256, (12, 0): 128}),
    "bf16": (2, {(8, 0): 128, (8, 6): 128, (8, 9): 128, (9, 0): 256, (12, 0): 128}),
    "int32": (2, dict.fromkeys(((7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0)), 64)),
    "sfu_exp2": (1, SPECIAL_LANES),
    "sfu_rsqrt": (1, SPECIAL_LANES),
    "sfu_sin": (1, SPECIAL_LANES),
}
# Dense tensor FLOP (INT8: operations) a clock an SM, by type. Sources: NVIDIA's architecture white papers (Volta,
# Turing, A100, GA102, Ada, H100, Blackwell, RTX Blackwell): the table of peak rates over SMs and boost clock. GA102,
# Ada and RTX Blackwell name no FP64 rate of their tensor cores, Blackwell Ultra's papers no clock: unknown.
TENSOR: Mapping[tuple[int, int], Mapping[str, int]] = {
    (7, 0): {"fp16": 1024},
    (7, 5): {"fp16": 1024, "int8": 2048},
    (8, 0): {"fp16": 2048, "bf16": 2048, "tf32": 1024, "int8": 4096, "fp64": 128},
    (8, 6): {"fp16": 1024, "bf16": 1024, "tf32": 512, "int8": 2048},
    (8, 9): {"fp16": 1024, "bf16": 1024, "tf32": 512, "fp8": 2048, "int8": 2048},
    (9, 0): {"fp16": 4096, "bf16": 4096, "tf32": 2048, "fp8": 8192, "int8": 8192, "fp64": 256},
    (10, 0): {"fp16": 8192, "bf16": 8192, "tf32": 4096, "fp8": 16384, "int8": 16384, "fp64": 128, "fp4": 32768},
    (12, 0): {"fp16": 1024, "bf16": 1024, "tf32": 512, "fp8": 2048, "int8": 2048, "fp4": 4096},
}
WHITE_PAPERS = "NVIDIA's architecture white papers, dense"
# FP16 has a rate for each kind of accumulator; the other floats have FP32 accumulators.
TENSOR_TYPES = ("fp16_fp16acc", "fp16_fp32acc", "bf16", "tf32", "fp8", "int8", "fp64", "fp4")
# On these, FP32 accumulators of FP16, BF16, TF32 and FP8 halve the rate where the product is a GeForce; workstation and
# server cards run in full.
HALVED_ON_GEFORCE = {(7, 5), (8, 6), (8, 9), (12, 0)}
HALVED = ("fp16_fp32acc", "bf16", "tf32", "fp8")


@dataclass(frozen=True)
class Properties:
    """What a CUDA device says of itself, in SI units; None is unknown."""

    name: str
    compute_capability: tuple[int, int]
    sms: int
    memory_bytes: int
    cache_bytes: int | None = None
    bus_bits: int | None = None
    memory_hz: float | None = None
    clock_hz: float | None = None
    max_threads_per_sm: int | None = None


def nominal(p: Properties) -> Mapping[str, Nominal]:
    """Every rate that a formula and known inputs give."""
    rates = {}
    if p.memory_hz and p.bus_bits:
        rates["dram"] = Nominal(
            p.memory_hz * p.bus_bits / 8 * 2,
            BYTES_PER_SECOND,
            f"{p.memory_hz / 1e6:g} MHz × {p.bus_bits} bit / 8 × 2 (double data rate)",
            ATTRIBUTES,
        )
        rates["dram_read"] = rates["dram_write"] = rates["dram"]
    if p.clock_hz:
        rates["clock"] = Nominal(p.clock_hz, HERTZ, f"{p.clock_hz / 1e6:g} MHz boost", ATTRIBUTES)
        rates["shared"] = _shared(p, p.clock_hz)
        rates |= _arithmetic(p, p.clock_hz)
    return rates


def _shared(p: Properties, clock_hz: float) -> Nominal:
    """Shared memory of every SM, all its banks at once."""
    return Nominal(
        p.sms * SHARED_BYTES * clock_hz,
        BYTES_PER_SECOND,
        f"{p.sms} SMs × {SHARED_BYTES} B × {clock_hz / 1e6:g} MHz",
        f"{ATTRIBUTES}; banks: CUDA C++ Programming Guide",
    )


def _arithmetic(p: Properties, clock_hz: float) -> dict[str, Nominal]:
    rates = {}
    for unit, (each, by_capability) in LANES.items():
        if lanes := by_capability.get(p.compute_capability):
            rates[unit] = Nominal(
                p.sms * lanes * each * clock_hz,
                OP_PER_SECOND if unit == "int32" else FLOP_PER_SECOND,
                f"{p.sms} SMs × {lanes} lanes × {each} × {clock_hz / 1e6:g} MHz",
                f"{ATTRIBUTES}; lanes: CUDA C++ Programming Guide",
            )
    for kind in TENSOR_TYPES:
        if per_clock := tensor_per_clock(p, kind):
            operations = OP_PER_SECOND if kind == "int8" else FLOP_PER_SECOND
            rates[f"tensor_{kind}"] = Nominal(
                p.sms * per_clock * clock_hz,
                operations,
                f"{p.sms} SMs × {per_clock} {operations.removesuffix('/s')} a clock × {clock_hz / 1e6:g} MHz",
                f"{ATTRIBUTES}; {operations.removesuffix('/s')} a clock: {WHITE_PAPERS}",
            )
    return rates


def tensor_per_clock(p: Properties, kind: str) -> int | None:
    """Dense operations a clock an SM of one of the `TENSOR_TYPES`; None where no source is known."""
    full = TENSOR.get(p.compute_capability, {}).get(kind.partition("_")[0])
    if full and kind in HALVED and p.compute_capability in HALVED_ON_GEFORCE and "GeForce" in p.name:
        return full // 2
    return full
