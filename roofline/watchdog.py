"""Ends a hang: native code that does not return cannot be interrupted, but another thread can save and leave."""

import threading
from collections.abc import Callable


class Watchdog:
    """Calls `expired` from a thread of its own when `limit_s` seconds pass between entering and leaving."""

    def __init__(self, limit_s: float, expired: Callable[[], None]) -> None:
        self._timer = threading.Timer(min(limit_s, threading.TIMEOUT_MAX), expired)
        self._timer.daemon = True

    def __enter__(self) -> "Watchdog":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
