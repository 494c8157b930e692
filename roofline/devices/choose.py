"""Which device `--device` means, and opening it."""

from dataclasses import dataclass
from pathlib import Path

from roofline.devices.base import Backend, DeviceUnavailable

SELECTORS = "auto, cpu, cuda, cuda:N, cuda:GPU-UUID, cuda:PCI-ADDRESS, cuda:all or fake"


@dataclass(frozen=True)
class Opened:
    """A device that is open, and why it was this one."""

    backend: Backend
    reason: str


def open_device(selector: str, fake_truth: Path | None = None) -> Opened:
    """Open the device that `selector` names. `auto` takes CUDA device 0 where it answers, else the CPU, and says why.

    Raises:
        DeviceUnavailable: the selector is unknown, or what it names explicitly cannot be had. Never a silent fallback.
    """
    kind, _, which = selector.partition(":")
    if selector == "auto":
        return _open_any()
    if selector == "cpu":
        return Opened(_open_cpu(), "asked for")
    if kind == "cuda" and (which or selector == "cuda"):
        return Opened(_open_cuda(which or "0"), "asked for")
    if selector == "fake":
        return Opened(_open_fake(fake_truth), "asked for: nothing is measured")
    raise DeviceUnavailable(f"unknown device {selector!r}: give {SELECTORS}")


def _open_any() -> Opened:
    from roofline.devices.cuda import why_no_cuda

    why = why_no_cuda()
    if why is None:
        try:
            return Opened(_open_cuda("0"), "the first CUDA device")
        except DeviceUnavailable as reason:
            why = str(reason).removeprefix("no CUDA device: ")
    return Opened(_open_cpu(), f"no CUDA device: {why}")


def _open_cpu() -> Backend:
    from roofline.devices.cpu import open_cpu

    return open_cpu()


def _open_cuda(which: str) -> Backend:
    from roofline.devices.cuda import open_cuda

    return open_cuda(which)


def _open_fake(truth: Path | None) -> Backend:
    from roofline.devices.fake import FakeBackend, FakeTruth

    try:
        return FakeBackend(FakeTruth.from_json(truth) if truth else FakeTruth())
    except ValueError as wrong:
        raise DeviceUnavailable(f"--roofline-fake: {wrong}") from None
