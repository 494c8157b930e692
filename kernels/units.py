"""R8, R2, M13: each arithmetic unit has a flat roof of its own, by which what it computes is judged.

A GPU has FP64, packed FP16 and BF16, integer multiply-adds and dot products of bytes beside FP32; a CPU has FP64,
32-bit integers and, where its instruction set says so, dot products of BF16. FP32 itself is in `chains`, tensor units
in `tensor`.
"""

from collections.abc import Iterator

from roofline.kernel import Kernel

from . import units_cpu, units_cuda


def every_kernel() -> Iterator[Kernel]:
    """Each unit of a GPU, then each of a CPU."""
    yield from units_cuda.kernels()
    yield from units_cpu.kernels()
