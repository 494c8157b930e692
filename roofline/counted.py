"""What a profiler watches: launches each kernel that it is told of once, and says how many grids that was.

`python -m roofline.counted REQUESTS ANSWERS`, both JSON files; `roofline.devices.cuda.counters` runs it.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roofline.devices.base import KernelUnsupported
from roofline.devices.choose import open_device
from roofline.devices.cuda.backend import CudaBackend
from roofline.kernel import Kernel
from roofline.kernels import kernels_of
from roofline.session import Session

Request = Mapping[str, Any]


def answer(session: Session, backend: CudaBackend, request: Request) -> dict[str, Any]:
    """Launch what one request names: `{"grids": …}`, or `{"reason": …}` where that cannot be."""
    try:
        kernel = _kernel(request)
        launch = session.launch(kernel, request["variant"])
        if launch.size != request["size"]:
            return {"reason": f"in a process of its own it has {launch.size} elements, not {request['size']}"}
        try:
            return {"grids": backend.profile(launch)}
        finally:
            if kernel.memory == "own":
                backend.free(launch.buffers)
    except (KernelUnsupported, MemoryError) as reason:
        return {"reason": str(reason)}


def _kernel(request: Request) -> Kernel:
    """The kernel that a request names.

    Raises:
        KernelUnsupported: it is none of the suite's, whose modules alone another process can find.
    """
    experiment, name = request["experiment"], request["kernel"]
    for kernel in kernels_of(experiment):
        if kernel.name == name and "cuda" in kernel.sources and kernel.fill == request["fill"]:
            return kernel
    raise KernelUnsupported(f"{experiment}/{name} is no kernel of this suite, which another process could find")


def main(arguments: Sequence[str]) -> None:
    """Answer every request of a file."""
    requests, answers = map(Path, arguments)
    told = json.loads(requests.read_text(encoding="utf-8"))
    backend = open_device(told["device"]).backend
    if not isinstance(backend, CudaBackend):
        raise SystemExit(f"{told['device']} is no CUDA device: nothing counts bytes there")
    session = Session(backend)
    found = [answer(session, backend, request) for request in told["launches"]]
    answers.write_text(json.dumps(found), encoding="utf-8")
    session.close()


if __name__ == "__main__":
    main(sys.argv[1:])
