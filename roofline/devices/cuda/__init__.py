"""The CUDA device, through CuPy. Importing this needs neither a GPU, nor a driver, nor CuPy."""

from typing import TYPE_CHECKING

from roofline.devices.cuda.status import why_no_cuda

if TYPE_CHECKING:
    from roofline.devices.cuda.backend import CudaBackend

__all__ = ["list_cuda", "open_cuda", "why_no_cuda"]


def open_cuda(selector: str = "0") -> "CudaBackend":
    """Open the CUDA device with that number, UUID ("GPU-…", "MIG-…"; its beginning will do) or PCI address.

    Raises:
        DeviceUnavailable: there is none, or CUDA cannot be used here; the message says why and what helps.

    """
    from roofline.devices.cuda.backend import CudaBackend
    from roofline.devices.cuda.selection import choose

    return CudaBackend(choose(selector))


def list_cuda() -> list[str]:
    """The UUID of each CUDA device that this process may use, in CUDA's order; each is a selector for `open_cuda`.

    Raises:
        DeviceUnavailable: CUDA cannot be used here.

    """
    from roofline.devices.cuda.selection import devices

    return [device.uuid for device in devices()]
