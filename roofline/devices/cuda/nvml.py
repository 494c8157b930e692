"""The state of a card as its driver's management library sees it. A reading may be unknown (None), none is guessed."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

MILLI = 1e-3
MEGA = 1e6
MICROSECONDS = 1e6
# Why a clock is below its highest: bits of nvmlDeviceGetCurrentClocksEventReasons. Idle (1) and the application's own
# setting (2) are no throttling.
THROTTLE = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "display clock",
}
# Where the kernel says that it runs inside Windows.
PROC_VERSION = "/proc/version"


@dataclass(frozen=True)
class CardState:
    """What can change from day to day, in base SI units."""

    driver: str | None = None
    power_limit_w: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    clock_hz: float | None = None
    memory_clock_hz: float | None = None
    max_clock_hz: float | None = None
    throttle: str | None = None
    ecc: bool | None = None
    persistence: bool | None = None
    mig: bool | None = None
    other_processes: int | None = None


class Monitor:
    """NVML for one card, found by its UUID or PCI address, never by index. Says nothing where NVML does not work."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self._seen_us = 0

    @classmethod
    def open(cls, uuid: str, pci: str) -> "Monitor":
        """The monitor of the card with that UUID, or at that PCI address; silent where neither is found."""
        try:
            import pynvml
        except ImportError:
            return cls(None, None)
        try:
            pynvml.nvmlInit()
        except (pynvml.NVMLError, OSError):
            return cls(None, None)
        for find, name in ((pynvml.nvmlDeviceGetHandleByUUID, uuid), (pynvml.nvmlDeviceGetHandleByPciBusId, pci)):
            try:
                return cls(pynvml, find(name.encode()))
            except (pynvml.NVMLError, TypeError):
                continue
        return cls(None, None)

    def ask(self, question: Callable[[Any, Any], T]) -> T | None:
        """`question(nvml, handle)`, None where it is not supported, not permitted or not there."""
        if self._nvml is None:
            return None
        try:
            return question(self._nvml, self._handle)
        except (self._nvml.NVMLError, AttributeError, OSError):
            return None

    def power_w(self) -> float | None:
        """Watts now."""
        return _scaled(self.ask(lambda nvml, card: nvml.nvmlDeviceGetPowerUsage(card)), MILLI)

    def throttle(self) -> str | None:
        """Why the clock is held down, "" where it is not."""
        reasons = self.ask(lambda nvml, card: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(card))
        if reasons is None:
            return None
        return ", ".join(text for bit, text in THROTTLE.items() if reasons & bit)

    def others_busy(self) -> float | None:
        """The share of the SMs that other processes used since the last call; None where that cannot be told apart.

        In a container this process may be listed under another number: then nothing can be told.
        """
        seen = self._seen_us
        samples = self.ask(lambda nvml, card: nvml.nvmlDeviceGetProcessUtilization(card, seen))
        processes = self._processes()
        if not samples or processes is None or os.getpid() not in processes:
            return None
        self._seen_us = max(sample.timeStamp for sample in samples)
        return float(sum(sample.smUtil for sample in samples if sample.pid != os.getpid())) / 100

    def state(self) -> CardState:
        """Every reading at once."""
        return CardState(
            driver=_text(self.ask(lambda nvml, _: nvml.nvmlSystemGetDriverVersion())),
            power_limit_w=_scaled(self.ask(lambda nvml, card: nvml.nvmlDeviceGetEnforcedPowerLimit(card)), MILLI),
            power_w=self.power_w(),
            temperature_c=self.ask(lambda nvml, card: float(nvml.nvmlDeviceGetTemperature(card, 0))),
            clock_hz=_scaled(self.ask(lambda nvml, card: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_SM)), MEGA),
            memory_clock_hz=_scaled(
                self.ask(lambda nvml, card: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_MEM)), MEGA
            ),
            max_clock_hz=_scaled(
                self.ask(lambda nvml, card: nvml.nvmlDeviceGetMaxClockInfo(card, nvml.NVML_CLOCK_SM)), MEGA
            ),
            throttle=self.throttle(),
            ecc=self.ask(lambda nvml, card: bool(nvml.nvmlDeviceGetEccMode(card)[0])),
            persistence=self.ask(lambda nvml, card: bool(nvml.nvmlDeviceGetPersistenceMode(card))),
            mig=self.ask(lambda nvml, card: bool(nvml.nvmlDeviceGetMigMode(card)[0])),
            other_processes=self._others(),
        )

    def _processes(self) -> list[int] | None:
        return self.ask(lambda nvml, card: [p.pid for p in nvml.nvmlDeviceGetComputeRunningProcesses(card)])

    def _others(self) -> int | None:
        processes = self._processes()
        if processes is None or os.getpid() not in processes:
            return None
        return len(processes) - 1


def windows_subsystem(version_file: str = PROC_VERSION) -> bool:
    """Whether this Linux runs inside Windows, whose display driver holds launches back in batches."""
    try:
        with open(version_file, encoding="utf-8") as file:  # noqa: PTH123 - a path that tests replace by text
            return "microsoft" in file.read().lower()
    except OSError:
        return False


def _scaled(reading: float | None, factor: float) -> float | None:
    return None if reading is None else reading * factor


def _text(reading: str | bytes | None) -> str | None:
    return reading.decode() if isinstance(reading, bytes) else reading
