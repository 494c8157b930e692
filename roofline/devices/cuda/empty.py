"""Empty launches, in each way a CUDA device has, as whoever waits for them sees it."""

import ctypes
import time
from typing import Any

from roofline.devices.base import DeviceFault, Timing
from roofline.devices.cuda.host_loop import NO_ARGUMENTS, Arguments, HostLoop, LaunchRefused

# One reading of queued launches takes so many at least, and a graph has so many nodes: the wait at the end of a
# reading, some microseconds, then adds less than a hundredth to each.
TOGETHER = 1000
WORD = 8


class EmptyLaunches:
    """The empty and the counting kernel of `launch.cu`, and the loops that launch them."""

    def __init__(self, cupy: Any, stream: Any, loop: HostLoop, module: Any) -> None:
        self._cupy = cupy
        self._stream = stream
        self._loop = loop
        self._empty, self._count = module.get_function("empty"), module.get_function("count")
        self._graphs: dict[int, Any] = {}

    def timed(self, mode: str, launches: int) -> Timing:
        """Time at least `launches` launches; "launch" and "launch_graph" round up to whole thousands."""
        try:
            if mode == "launch_graph":
                return self._replayed(launches)
            if mode == "launch_python":
                return self._from_python(launches)
            return self._looped(launches, wait=mode == "launch_sync")
        except (LaunchRefused, self._cupy.cuda.runtime.CUDARuntimeError) as fault:
            raise DeviceFault(f"empty launches ({mode}) failed: {fault}") from fault

    def _looped(self, launches: int, wait: bool) -> Timing:
        count = launches if wait else _rounded(launches)
        self._stream.synchronize()
        began = time.perf_counter()
        self._loop.queue(self._empty.kernel.ptr, 1, 1, count=count, wait=wait)
        self._stream.synchronize()
        return Timing(time.perf_counter() - began, count)

    def _replayed(self, launches: int) -> Timing:
        graph = self._graph(TOGETHER)
        replays = _rounded(launches) // TOGETHER
        self._stream.synchronize()
        began = time.perf_counter()
        for _ in range(replays):
            graph.launch(self._stream)
        self._stream.synchronize()
        return Timing(time.perf_counter() - began, replays * TOGETHER)

    def _graph(self, nodes: int) -> Any:
        """A graph of so many empty launches, uploaded and replayed once before anything is timed."""
        if nodes not in self._graphs:
            graph = self._captured(self._empty.kernel.ptr, NO_ARGUMENTS, nodes)
            graph.upload(self._stream)
            graph.launch(self._stream)
            self._graphs[nodes] = graph
        return self._graphs[nodes]

    def _captured(self, function: int, arguments: Arguments, nodes: int) -> Any:
        self._stream.begin_capture()
        self._loop.queue(function, 1, 1, arguments=arguments, count=nodes)
        return self._stream.end_capture()

    def _from_python(self, launches: int) -> Timing:
        grid, threads, arguments = (1,), (1,), ()
        with self._stream:
            self._stream.synchronize()
            began = time.perf_counter()
            for _ in range(launches):
                self._empty(grid, threads, arguments)
            self._stream.synchronize()
            return Timing(time.perf_counter() - began, launches)

    def counted(self, mode: str, launches: int) -> int:
        """Launch the counting kernel exactly `launches` times in that way, and read its counter (C4)."""
        runtime = self._cupy.cuda.runtime
        counter = runtime.malloc(WORD)
        try:
            runtime.memset(counter, 0, WORD)
            runtime.deviceSynchronize()
            self._launch_counting(mode, launches, counter)
            self._stream.synchronize()
            total = ctypes.c_uint64()
            runtime.memcpy(ctypes.addressof(total), counter, WORD, 2)
            return total.value
        finally:
            runtime.free(counter)

    def _launch_counting(self, mode: str, launches: int, counter: int) -> None:
        arguments = Arguments([[ctypes.c_uint64(counter)]])
        function = self._count.kernel.ptr
        if mode == "launch_graph":
            self._captured(function, arguments, launches).launch(self._stream)
        elif mode == "launch_python":
            with self._stream:
                for _ in range(launches):
                    self._count((1,), (1,), (counter,))
        else:
            self._loop.queue(function, 1, 1, arguments=arguments, count=launches, wait=mode == "launch_sync")


def _rounded(launches: int) -> int:
    return max(1, -(-launches // TOGETHER)) * TOGETHER
