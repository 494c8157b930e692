"""Seconds that PyTorch's softmax and layer norm take on arrays that another library holds, where PyTorch is installed.

Its results go where it puts them: softmax into the array given, layer norm into one that its allocator keeps.
"""

from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any

import cupy

from roofline.devices.base import Buffers
from roofline.devices.cuda.backend import CudaBackend
from roofline.kernels.table import COLUMNS, EPSILON, LAYER_NORM, SOFTMAX

CALLS, ROUNDS = 6, 21


def seconds_of_torch(backend: CudaBackend, buffers: Buffers) -> dict[str, float]:
    """Median seconds of a call by the name of our kernel for the same; empty without PyTorch."""
    if find_spec("torch") is None:
        print("PyTorch is not installed: softmax and layer norm are compared with nothing")
        return {}
    import torch  # after our own libraries are loaded, so that those of its wheel do not come first

    x, parameters, y = (_matrix(torch, backend, array) for array in buffers.handles[0])
    gamma, beta = parameters[0].clone(), parameters[1].clone()
    ways: dict[str, Callable[[], Any]] = {
        SOFTMAX.name: lambda: torch.softmax(x, -1, out=y),
        LAYER_NORM.name: lambda: torch.nn.functional.layer_norm(x, (COLUMNS,), gamma, beta, EPSILON),
    }
    print(f"PyTorch {torch.__version__}")
    with torch.no_grad():
        return {name: _seconds(torch, way) for name, way in ways.items()}


def _matrix(torch: Any, backend: CudaBackend, array: Any) -> Any:
    """The rows of an array on the card as a tensor, without a copy."""
    memory = cupy.cuda.UnownedMemory(array.pointer, array.nbytes, backend)
    rows = cupy.ndarray((array.elements // COLUMNS, COLUMNS), array.dtype, cupy.cuda.MemoryPointer(memory, 0))
    return torch.as_tensor(rows, device="cuda")


def _seconds(torch: Any, work: Callable[[], Any]) -> float:
    work()
    began, ended = (torch.cuda.Event(enable_timing=True) for _ in "12")
    seconds = []
    for _ in range(ROUNDS):
        began.record()
        for _ in range(CALLS):
            work()
        ended.record()
        ended.synchronize()
        seconds.append(began.elapsed_time(ended) * 1e-3 / CALLS)
    return median(seconds)
