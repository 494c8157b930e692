"""Why there is no CUDA device: each cause told apart, with its remedy, without CuPy (C38)."""

import ctypes
import sys
import types

import pytest

from roofline.devices.base import DeviceUnavailable
from roofline.devices.cuda import open_cuda, selection, status, why_no_cuda
from roofline.devices.cuda.status import Driver, driver, reason

pytestmark = pytest.mark.correctness

WORKING = Driver(13000, 0, 1)


class StubDriver:
    """A libcuda that answers what it is told."""

    def __init__(self, version: int, init: int = 0, devices: int = 1, version_error: int = 0) -> None:
        self.version, self.init, self.devices, self.version_error = version, init, devices, version_error

    def cuDriverGetVersion(self, answer) -> int:  # noqa: N802 - the driver's own name
        answer._obj.value = self.version
        return self.version_error

    def cuInit(self, _flags: int) -> int:  # noqa: N802 - the driver's own name
        return self.init

    def cuDeviceGetCount(self, answer) -> int:  # noqa: N802 - the driver's own name
        answer._obj.value = self.devices
        return 0


@pytest.fixture
def libcuda(monkeypatch):
    """Put a stub in the place of libcuda."""

    def put(stub: StubDriver | None) -> None:
        def load(_name: str):
            if stub is None:
                raise OSError("libcuda.so.1: cannot open shared object file")
            return stub

        monkeypatch.setattr(ctypes, "CDLL", load)

    return put


CAUSES = {
    "no driver": (Driver(), ["cupy-cuda13x"], [], "no NVIDIA driver", "install one"),
    "too old for every extra": (Driver(11080, 0, 1), [], ["cupy"], "supports CUDA 11.8", "update it to 525"),
    "no device": (Driver(13000, 100), ["cupy-cuda13x"], [], "no CUDA device", "CUDA_VISIBLE_DEVICES"),
    "none visible": (Driver(13000, 0, 0), ["cupy-cuda13x"], [], "no CUDA device", "CUDA_VISIBLE_DEVICES"),
    "fabric manager": (Driver(13000, 802), ["cupy-cuda13x"], [], "fabric manager", "not running"),
    "mismatch": (Driver(12040, 803), ["cupy-cuda12x"], [], "differ in version", "reboot"),
    "unheard of": (Driver(12040, 46), ["cupy-cuda12x"], [], "error 46", "nvidia-smi"),
    "no CuPy, new driver": (WORKING, [], ["cupy"], "CuPy is missing", "[cuda13]"),
    "no CuPy, older driver": (Driver(12040, 0, 1), [], ["cupy"], "CuPy is missing", "[cuda12]"),
    "two wheels": (
        WORKING,
        ["cupy-cuda12x", "cupy-cuda13x"],
        [],
        "2 CuPy wheels",
        "pip uninstall cupy-cuda12x cupy-cuda13x",
    ),
    "wheel too new": (
        Driver(12090, 0, 1),
        ["cupy-cuda13x"],
        [],
        "supports CUDA 12.9",
        "install pytest-roofline[cuda12]",
    ),
    "no compiler": (WORKING, ["cupy-cuda13x"], ["cuda.core"], "cuda.core missing", "[cuda13]"),
}


@pytest.mark.parametrize("case", CAUSES)
def test_each_cause_names_itself_and_what_helps(case):
    found, wheels, missing, cause, remedy = CAUSES[case]
    text = reason(found, wheels, missing)
    assert text is not None
    assert cause in text
    assert remedy in text
    assert "\n" not in text


def test_every_cause_reads_differently():
    texts = [reason(*case[:3]) for name, case in CAUSES.items() if name not in ("none visible",)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("wheels", [["cupy-cuda13x"], ["cupy-cuda12x"], ["cupy"], []])
def test_a_wheel_as_old_as_the_driver_or_older_is_fine(wheels):
    assert reason(WORKING, wheels, []) is None


def test_the_driver_is_asked_without_cupy(libcuda):
    libcuda(StubDriver(12040, devices=3))
    assert driver() == Driver(12040, 0, 3)
    assert driver().text == "12.4"


def test_a_missing_library_is_no_driver(libcuda):
    libcuda(None)
    assert driver() == Driver()
    assert "no NVIDIA driver" in why_no_cuda()


def test_a_driver_that_fails_to_initialise_keeps_its_version(libcuda):
    libcuda(StubDriver(13000, init=100))
    assert driver() == Driver(13000, 100, 0)


def test_a_driver_that_does_not_answer_is_not_called_missing(libcuda):
    libcuda(StubDriver(0, version_error=999))
    assert "does not answer (error 999)" in reason(driver(), [], [])


def test_opening_without_a_driver_is_refused_with_the_cause(libcuda):
    libcuda(None)
    with pytest.raises(DeviceUnavailable, match="no CUDA device: no NVIDIA driver"):
        open_cuda("0")


def test_cupy_that_breaks_on_import_is_reported_and_not_a_traceback(monkeypatch, tmp_path):
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "cupy", None)
    selection.import_cupy.cache_clear()
    with pytest.raises(DeviceUnavailable, match="CuPy cannot be imported"):
        selection.import_cupy()
    selection.import_cupy.cache_clear()


def test_cupys_cache_is_moved_before_the_import_where_it_cannot_be_written(monkeypatch, tmp_path):
    """C40: CuPy makes its cache while it is imported, and fails with a bare OSError where it cannot."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("CUPY_CACHE_DIR", str(blocked / "kernel_cache"))
    monkeypatch.setitem(sys.modules, "cupy", types.ModuleType("cupy"))
    selection.import_cupy.cache_clear()
    _module, note = selection.import_cupy()
    selection.import_cupy.cache_clear()
    assert "cannot write to" in note
    assert "CUPY_CACHE_DIR" in note
    assert status.LIBRARY.endswith((".so.1", ".dll"))
