"""Is the result right? Every variant is run on awkward sizes and compared with float64 before it is timed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from roofline.devices.base import Backend, Binary, Launch
from roofline.kernel import Array, Kernel

# Sizes that no block, vector or warp divides, and one that all divide.
AWKWARD = (1, 1023, 1025, 4096)


class IncorrectResult(Exception):
    """A kernel computed something else than its reference; names kernel, variant, size and the worst value."""


def example_inputs(kernel: Kernel, n: int) -> list[Array]:
    """Small integers, different in each array: every sum and product of them is exact in the kernels' types."""
    values = np.arange(n)
    return [((values * (array + 3) + array) % 17 - 8).astype(kernel.dtype) for array in range(kernel.arrays)]


def check(backend: Backend, binary: Binary, sizes: Sequence[int] = AWKWARD, launches: int = 1) -> None:
    """Run `binary` on each of `sizes` elements and compare with the kernel's reference.

    Raises:
        IncorrectResult: a value differs by more than the kernel's tolerance.
    """
    for n in sizes:
        _check_size(backend, binary, n, launches)


def exact_share(backend: Backend, kernel: Kernel, value: float, n: int = 1 << 16) -> float:
    """The share of results that are exactly `value` when every input element is 1, over all variants of a kernel."""
    shares = []
    for binary in backend.build(kernel, kernel.variants(backend.target)):
        ones = [np.ones(n, kernel.dtype) for _ in range(kernel.arrays)]
        shares.append(float(np.mean(_result(backend, binary, ones)[-1] == value)))
    return min(shares)


def _result(backend: Backend, binary: Binary, arrays: Sequence[Array], launches: int = 1) -> Sequence[Array]:
    """The arrays as they are after so many launches over the whole of them."""
    buffers = backend.bind(arrays)
    try:
        backend.run(Launch(binary, buffers, size=arrays[0].size, repeats=binary.kernel.repeats), launches)
        return backend.read_back(buffers)
    finally:
        backend.free(buffers)


def _check_size(backend: Backend, binary: Binary, n: int, launches: int) -> None:
    kernel = binary.kernel
    arrays = example_inputs(kernel, n)
    expected = kernel.reference([array.copy() for array in arrays], launches)
    found = kernel.observe(_result(backend, binary, arrays, launches))
    if len(expected) != len(found):
        raise IncorrectResult(
            f"{kernel.experiment}/{kernel.name}: its reference gives {len(expected)} arrays, {len(found)} are observed"
        )
    for want, have in zip(expected, found, strict=True):
        _compare(binary, n, np.asarray(want, np.float64), np.asarray(have, np.float64))


def _compare(binary: Binary, n: int, want: NDArray[np.float64], have: NDArray[np.float64]) -> None:
    error = np.abs(have - want) / np.maximum(1.0, np.abs(want))
    wrong = ~(error <= binary.kernel.tolerance)
    if not wrong.any():
        return
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    found, should = (float(values.flat[worst]) for values in (have, want))
    raise IncorrectResult(
        f"{binary.kernel.experiment}/{binary.kernel.name}, variant {binary.variant.name}, n = {n}: "
        f"{int(wrong.sum())} of {wrong.size} values are wrong; value {worst} is {found!r} and should be "
        f"{should!r} (tolerance {binary.kernel.tolerance:g}: {binary.kernel.tolerance_reason})"
    )
