"""A headless Chromium, told what to do through a pipe: no port, no driver, no network.

The Chrome DevTools Protocol over `--remote-debugging-pipe`: commands go in at file descriptor 3, answers and events
come out at 4, each a JSON text that ends with a zero byte (chromedevtools.github.io/devtools-protocol).
"""

import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
LIMIT_S = 60.0
# Above what a child's pipes are moved onto.
FIRST_FREE = 20
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # in a container there is none to be had
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--proxy-server=http://127.0.0.1:9",  # nothing listens there: whatever asks for the network fails
    "--remote-debugging-pipe",
)


def installed() -> str | None:
    """The browser on PATH, None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One tab: what it is told, and what it said and asked for since it was opened."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        self.console: list[str] = []
        self.requests: list[str] = []
        self.loaded = False

    def attach(self) -> None:
        """Open a tab and listen to it."""
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **parameters: Any) -> Any:
        """Do something and wait until it is done."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        """The next message; events are taken note of."""
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], LIMIT_S)[0]:
                raise TimeoutError(f"the browser said nothing for {LIMIT_S:g} s")
            read = os.read(self._read, 1 << 20)
            if not read:
                raise RuntimeError("the browser ended")
            self._buffer += read
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, said: dict[str, Any]) -> None:
        if event == "Runtime.consoleAPICalled":
            self.console.append(f"{said['type']}: {said['args']}")
        elif event == "Runtime.exceptionThrown":
            self.console.append(str(said["exceptionDetails"]))
        elif event == "Log.entryAdded":
            self.console.append(f"{said['entry']['level']}: {said['entry']['text']}")
        elif event == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif event == "Page.loadEventFired":
            self.loaded = True

    def open(self, path: Path, width: int = 1400, height: int = 900, dark: bool = False) -> None:
        """Show a file in a window of that size, and wait until it stands."""
        self.console.clear()
        self.requests.clear()
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.command("Emulation.setEmulatedMedia", features=scheme)
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.loaded = False
        self.command("Page.navigate", url=path.absolute().as_uri())
        while not self.loaded:
            self._next()
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for has been drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, of a promise what it comes to."""
        found = self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press a key, by its name and its number among virtual keys."""
        for kind in ("rawKeyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)
        self.settle()


@contextmanager
def browser(executable: str, profile: Path) -> Iterator[Page]:
    """A browser with a profile of its own, ended with all of its processes."""
    commands, answers = _high(os.pipe()), _high(os.pipe())
    process = os.posix_spawn(
        executable,
        [executable, *FLAGS, f"--user-data-dir={profile}"],
        {**os.environ, "HOME": str(profile)},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, commands[0], 3),
            (os.POSIX_SPAWN_DUP2, answers[1], 4),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
        setpgroup=0,
    )
    os.close(commands[0])
    os.close(answers[1])
    try:
        page = Page(commands[1], answers[0])
        page.attach()
        yield page
    finally:
        _end(process)
        os.close(commands[1])
        os.close(answers[0])


def _high(ends: tuple[int, int]) -> tuple[int, int]:
    """A pipe whose numbers lie above those that it will have in the browser."""
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _end(process: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    end = time.monotonic() + LIMIT_S
    while os.waitpid(process, os.WNOHANG) == (0, 0) and time.monotonic() < end:
        time.sleep(0.01)
