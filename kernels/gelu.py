"""K8: GELU after a product, as a kernel of its own and in the epilogue of the product, by what each moves.

GELU counts as 20 FLOPs an element, about what its tanh form takes when tanh is worked out, and only to place its point:
8 bytes an element give it an intensity of 2.5. As a kernel of its own it reads the product and writes it again, 8 N²
bytes and a launch that the epilogue saves, since there the elements are still in registers.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from roofline.counting import streaming
from roofline.kernel import Array
from roofline.model import Traffic, Work

from . import ladder

EXPERIMENT = "gelu"
FLOPS_OF_GELU = 20.0
CONVENTION = "GELU = 20 FLOP"
# The tanh form (Hendrycks, Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415).
SLOPE, CUBE = np.sqrt(2 / np.pi), 0.044715


def alone(n: int) -> Work:
    """GELU of n floats, each read and written once."""
    return replace(streaming(n, FLOPS_OF_GELU, reads=1, writes=1), convention=f"{CONVENTION}; {ONCE}")


ONCE = "each element read once and written once"


def fused(product: Work, n: int) -> Work:
    """A product with GELU in its epilogue: the bytes of the product, and 20 FLOPs more an element."""
    return replace(
        product,
        flops=product.flops + FLOPS_OF_GELU * ladder.side(n) ** 2,
        convention=f"{product.convention}; {CONVENTION}",
    )


def followed(product: Work, n: int) -> Work:
    """A product and then a kernel that reads what it wrote and writes it again, past every level but shared memory."""
    elements = ladder.side(n) ** 2
    again = {
        level: Traffic(moved.read + ladder.FLOAT * elements, moved.written + ladder.FLOAT * elements)
        for level, moved in product.traffic.items()
        if level != "shared"
    }
    return replace(fused(product, n), traffic={**product.traffic, **again})


def saved_bytes(n: int) -> float:
    """What the epilogue saves at DRAM: the product read again and written again."""
    return 2.0 * ladder.FLOAT * ladder.side(n) ** 2


def gelu(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """GELU in its tanh form."""
    return np.asarray(0.5 * x * (1.0 + np.tanh(SLOPE * (x + CUBE * x**3))))


def of_product(arrays: Sequence[Array]) -> NDArray[np.float64]:
    """The last array as it must come out: GELU of the product of the first two, then what stood there before."""
    result = ladder.product(arrays)
    filled = ladder.side(arrays[0].size) ** 2
    result[:filled] = gelu(result[:filled])
    return result
