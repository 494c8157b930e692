"""The host's side of launches as machine code: a loop that calls the driver, so that no Python runs between them."""

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

from roofline.devices.cuda.status import LIBRARY

# cuLaunchKernel(function, grid x y z, block x y z, shared bytes, stream, parameters, extra), then optionally
# cuStreamSynchronize(stream), `count` times; the parameters of successive launches go round `windows` of them.
LOOP = """
define i32 @loop(ptr %launch, ptr %wait, ptr %function, i32 %grid, i32 %threads, i32 %shared, ptr %stream,
                 ptr %parameters, i64 %windows, i64 %first, i64 %count) {
entry:
  %waits = icmp ne ptr %wait, null
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %one, label %done
one:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %window = phi i64 [ %first, %entry ], [ %wrapped, %next ]
  %place = getelementptr ptr, ptr %parameters, i64 %window
  %these = load ptr, ptr %place
  %launched = call i32 %launch(ptr %function, i32 %grid, i32 1, i32 1, i32 %threads, i32 1, i32 1, i32 %shared,
                               ptr %stream, ptr %these, ptr null)
  %refused = icmp ne i32 %launched, 0
  br i1 %refused, label %failed, label %maybe
failed:
  ret i32 %launched
maybe:
  br i1 %waits, label %waiting, label %next
waiting:
  %waited = call i32 %wait(ptr %stream)
  %fault = icmp ne i32 %waited, 0
  br i1 %fault, label %lost, label %next
lost:
  ret i32 %waited
next:
  %following = add i64 %i, 1
  %onward = add i64 %window, 1
  %over = icmp sge i64 %onward, %windows
  %wrapped = select i1 %over, i64 0, i64 %onward
  %more = icmp slt i64 %following, %count
  br i1 %more, label %one, label %done
done:
  ret i32 0
}
"""


class LaunchRefused(Exception):
    """The driver refused a launch, or a kernel failed while it was waited for; `.code` is its error number."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error {code}")
        self.code = code


class Arguments:
    """The arguments of a launch for each of its windows, laid out as cuLaunchKernel wants them."""

    def __init__(self, windows: Sequence[Sequence[Any]]) -> None:
        self.windows = len(windows)
        self._values = [list(window) for window in windows]  # kept alive: the tables below point at them
        self._tables = [
            (ctypes.c_void_p * max(1, len(window)))(*[ctypes.addressof(value) for value in window])
            for window in self._values
        ]
        self.table = (ctypes.c_void_p * self.windows)(*[ctypes.addressof(table) for table in self._tables])


NO_ARGUMENTS = Arguments([[]])


class HostLoop:
    """The compiled loop, bound to one stream. `function` and `stream` are the driver's handles as integers."""

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._loop, self._launch, self._wait = _compiled()

    def queue(
        self,
        function: int,
        grid: int,
        threads: int,
        shared_bytes: int = 0,
        arguments: Arguments = NO_ARGUMENTS,
        first: int = 0,
        count: int = 1,
        wait: bool = False,
    ) -> None:
        """Launch `count` times; with `wait` the host waits for each before the next.

        Raises:
            LaunchRefused: with the driver's error number.

        """
        code = self._loop(
            self._launch,
            self._wait if wait else None,
            function,
            grid,
            threads,
            shared_bytes,
            self._stream,
            ctypes.addressof(arguments.table),
            arguments.windows,
            first % arguments.windows,
            count,
        )
        if code:
            raise LaunchRefused(code)


@cache
def _compiled() -> tuple[Any, int | None, int | None]:
    """The loop's machine code, and the addresses of the two driver functions it calls."""
    engine = _engine()
    pointer, word, index = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int64
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int32, pointer, pointer, pointer, word, word, word, pointer, pointer, index, index, index
    )
    cuda = ctypes.CDLL(LIBRARY)
    loop = kind(engine.get_function_address("loop"))
    return loop, _address(cuda.cuLaunchKernel), _address(cuda.cuStreamSynchronize)


@cache
def _engine() -> Any:
    """The engine that owns the loop; kept for the life of the process, since code is run from it."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(opt=2)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(LOOP), machine)
    engine.finalize_object()
    return engine


def _address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value
