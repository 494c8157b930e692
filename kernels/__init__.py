"""The kernels that experiments run: one module an experiment, found by name, no registry to edit.

`<name>.py` says what is computed, how it is counted and what it must result in; `<name>_cpu.py` writes its LLVM IR and
`<name>.cu` its CUDA C++. A module that offers kernels has a tuple or function `every_kernel()`.
"""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from roofline.kernel import Kernel


def every_kernel() -> Iterator[Kernel]:
    """Each kernel that any module of this package offers, in the order of their module names."""
    for module in iter_modules(__path__):
        offered = import_module(f"{__name__}.{module.name}")
        yield from getattr(offered, "every_kernel", tuple)()


def kernels_of(experiment: str) -> list[Kernel]:
    """The kernels of one experiment, for every kind of device, in the order they are offered."""
    return [kernel for kernel in every_kernel() if kernel.experiment == experiment]
