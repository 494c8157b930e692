"""What the maker promises, by formula from what the card says of itself. Dense rates; without a row: unknown."""

from collections.abc import Mapping
from dataclasses import dataclass

from roofline.model import BYTES_PER_SECOND, FLOP_PER_SECOND, Nominal

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
# Dense FP16 tensor FLOP a clock an SM with FP16 accumulators. Sources: NVIDIA's architecture white papers (Volta,
# Turing, A100, GA102, Ada, H100, Blackwell): the table of peak rates over SMs and boost clock.
TENSOR_FP16 = {
    (7, 0): 1024,
    (7, 5): 1024,
    (8, 0): 2048,
    (8, 6): 1024,
    (8, 9): 1024,
    (9, 0): 4096,
    (10, 0): 8192,
    (12, 0): 1024,
}
WHITE_PAPERS = "NVIDIA's architecture white papers, dense"
# On these, FP32 accumulators halve the rate where the product is a GeForce; workstation and server cards run in full.
HALVED_ON_GEFORCE = {(7, 5), (8, 6), (8, 9), (12, 0)}


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
        rates |= _arithmetic(p, p.clock_hz)
    return rates


def _arithmetic(p: Properties, clock_hz: float) -> dict[str, Nominal]:
    rates = {}
    if lanes := FP32_LANES.get(p.compute_capability):
        rates["fp32"] = Nominal(
            p.sms * lanes * 2 * clock_hz,
            FLOP_PER_SECOND,
            f"{p.sms} SMs × {lanes} lanes × 2 × {clock_hz / 1e6:g} MHz",
            f"{ATTRIBUTES}; lanes: CUDA C++ Programming Guide",
        )
    for accumulators in ("fp16acc", "fp32acc"):
        if per_clock := tensor_per_clock(p, accumulators):
            rates[f"tensor_fp16_{accumulators}"] = Nominal(
                p.sms * per_clock * clock_hz,
                FLOP_PER_SECOND,
                f"{p.sms} SMs × {per_clock} FLOP a clock × {clock_hz / 1e6:g} MHz",
                f"{ATTRIBUTES}; FLOP a clock: {WHITE_PAPERS}",
            )
    return rates


def tensor_per_clock(p: Properties, accumulators: str) -> int | None:
    """Dense FP16 FLOP a clock an SM with "fp16acc" or "fp32acc"; None where no source is known."""
    full = TENSOR_FP16.get(p.compute_capability)
    if full and accumulators == "fp32acc" and p.compute_capability in HALVED_ON_GEFORCE and "GeForce" in p.name:
        return full // 2
    return full
