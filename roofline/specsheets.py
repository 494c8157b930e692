"""Rooflines that a maker's figures promise: to test the model with and to compare against, never a measurement."""

from roofline.model import Ceiling
from roofline.rooflines import Roofline, unit_of


def _sheet(source: str, rates: dict[str, float]) -> Roofline:
    return Roofline(
        {
            resource: Ceiling(resource, rate, rate, rate, unit_of(resource), source, "", source="specification")
            for resource, rate in rates.items()
        }
    )


# The reference card of the roofline chapter, as it states it: 48 SMs × 128 lanes × 2 × 2.51 GHz, 672 GB/s; dense.
RTX_5070 = _sheet(
    "GeForce RTX 5070, specification as the roofline chapter gives it",
    {
        "dram": 672e9,
        "shared": 32 * 4 * 48 * 2.51e9,
        "fp32": 30.9e12,
        "fp16": 30.9e12,
        "fp32_no_fma": 15.45e12,
        "tensor_fp16_fp32acc": 61.7e12,
        "tensor_fp16_fp16acc": 123.5e12,
        "tensor_fp8": 123.5e12,
        "tensor_fp4": 493.9e12,
    },
)
