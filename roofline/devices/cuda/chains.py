"""Chains of launches of any kernel, in each way a CUDA device has, as whoever waits for them sees it."""

import time
from dataclasses import dataclass
from typing import Any

from roofline.devices.cuda.host_loop import Arguments, HostLoop
from roofline.kernel import Launched

CHAIN_MODES = ("launch", "launch_sync", "launch_graph")


@dataclass(frozen=True)
class Bound:
    """A grid of a function with its arguments: what one launch of a chain is."""

    function: int
    grid: int
    threads: int
    shared_bytes: int
    arguments: Arguments


class Chains:
    """Launches one bound kernel again and again on one stream, and times it by the host's clock."""

    def __init__(self, cupy: Any, stream: Any, loop: HostLoop, bound: Bound) -> None:
        self._cupy = cupy
        self._stream = stream
        self._loop = loop
        self._bound = bound
        self._graphs: dict[int, Any] = {}

    def timed(self, launched: Launched, chains: int, first: int = 0) -> float:
        """Seconds from the first launch to the end of the last; a graph's windows are the first ones of the arrays."""
        if launched.mode not in CHAIN_MODES:
            raise ValueError(f"chains cannot be launched as {launched.mode!r}: allowed are {', '.join(CHAIN_MODES)}")
        if launched.mode == "launch_graph":
            return self._replayed(self._graph(launched.chain), chains)
        self._stream.synchronize()
        began = time.perf_counter()
        self._queue(chains * launched.chain, first, wait=launched.mode == "launch_sync")
        self._stream.synchronize()
        return time.perf_counter() - began

    def _replayed(self, graph: Any, chains: int) -> float:
        self._stream.synchronize()
        began = time.perf_counter()
        for _ in range(chains):
            graph.launch(self._stream)
        self._stream.synchronize()
        return time.perf_counter() - began

    def _graph(self, chain: int) -> Any:
        """A graph of one chain, uploaded before anything is timed."""
        if chain not in self._graphs:
            self._stream.begin_capture()
            self._queue(chain)
            graph = self._stream.end_capture()
            graph.upload(self._stream)
            self._graphs[chain] = graph
        return self._graphs[chain]

    def _queue(self, count: int, first: int = 0, wait: bool = False) -> None:
        bound = self._bound
        self._loop.queue(
            bound.function, bound.grid, bound.threads, bound.shared_bytes, bound.arguments, first, count, wait
        )
