"""The doctor: whatever is missing or broken is named, with what that costs and one command that helps (C38 to C40)."""

import sys
import types
from pathlib import Path

import pytest

from roofline import doctor
from roofline.baseline import Store
from roofline.devices.base import DeviceUnavailable, KernelUnsupported
from roofline.devices.cuda import cache, compiling, selection, status
from roofline.devices.cuda.nominal import Properties
from roofline.devices.cuda.selection import Found
from roofline.devices.cuda.status import Driver
from roofline.doctor import Finding, cannot_measure, examine
from roofline.report.doctor import text

pytestmark = pytest.mark.correctness

CARD = Found(0, "GPU-0", "0000:01:00.0", Properties("NVIDIA Next", (13, 0), 200, 1 << 37))
WORKING = Driver(13000, 0, 1)
WHEEL = ["cupy-cuda13x"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine without anything: its /proc and /sys are empty."""
    return tmp_path / "root"


@pytest.fixture
def machine(monkeypatch):
    """`machine(driver, wheels, missing, cards)`: what CUDA's parts answer."""

    def build(driver=WORKING, wheels=WHEEL, missing=(), cards=(CARD,), kernel=None):
        monkeypatch.setattr(status, "driver", lambda: driver)
        monkeypatch.setattr(status, "installed_wheels", lambda: list(wheels))
        monkeypatch.setattr(status, "missing_modules", lambda: list(missing))
        monkeypatch.setattr(selection, "devices", lambda: answer(cards))
        monkeypatch.setattr(doctor, "build_and_load", lambda card: answer(kernel))
        monkeypatch.setattr(compiling, "compiler_version", lambda: "13.0")

    return build


def answer(value):
    if isinstance(value, Exception):
        raise value
    return value


def fitted(root: Path, vendor: str = "0x10de", kind: str = "0x030200") -> None:
    folder = root / "sys/bus/pci/devices/0000:01:00.0"
    folder.mkdir(parents=True)
    (folder / "vendor").write_text(f"{vendor}\n")
    (folder / "class").write_text(f"{kind}\n")


def gpu(root: Path) -> Finding:
    """What there is to say of GPUs first."""
    return next(iter(doctor.gpus(root)))


class TestNoGpu:
    """Without a working driver the GPU is missing or broken, and the CPU is measured all the same."""

    def test_a_machine_without_a_gpu_lacks_nothing_that_it_could_use(self, machine, root):
        machine(driver=Driver(), wheels=[], missing=["cupy"])
        found = gpu(root)
        assert (found.state, found.helps) == ("missing", "")
        assert "only the CPU is measured" in found.costs

    @pytest.mark.parametrize(("vendor", "kind"), [("0x1002", "0x030000"), ("0x10de", "0x020000")])
    def test_another_makers_card_or_another_kind_of_card_is_no_gpu_to_measure(self, machine, root, vendor, kind):
        machine(driver=Driver())
        fitted(root, vendor, kind)
        assert gpu(root).state == "missing"

    @pytest.mark.parametrize(
        ("system", "helps"), [("ubuntu", "sudo ubuntu-drivers install"), ('"fedora"', "sudo dnf"), ("void", "")]
    )
    def test_a_fitted_card_without_a_driver_is_broken(self, machine, root, system, helps):
        machine(driver=Driver())
        fitted(root)
        (root / "etc").mkdir()
        (root / "etc/os-release").write_text(f"NAME=x\nID={system}\n")
        found = gpu(root)
        assert found.state == "broken"
        assert "no NVIDIA driver" in found.said
        assert found.helps.startswith(helps)
        assert cannot_measure([found])

    @pytest.mark.parametrize(
        ("driver", "wheels", "missing", "said", "helps"),
        [
            (Driver(13000, 100), WHEEL, [], "no CUDA device", "nvidia-smi -L"),
            (Driver(13000, 0, 0), WHEEL, [], "no CUDA device", "nvidia-smi -L"),
            (Driver(13000, 802), WHEEL, [], "fabric manager", "sudo systemctl start nvidia-fabricmanager"),
            (Driver(12040, 803), WHEEL, [], "differ in version", "sudo reboot"),
            (Driver(0, 999), [], ["cupy"], "does not answer", "sudo reboot"),
            (WORKING, [], ["cupy"], "CuPy is missing", "pip install --upgrade 'pytest-roofline[cuda13]'"),
            (Driver(12040, 0, 1), [], ["cupy"], "CuPy is missing", "pip install --upgrade 'pytest-roofline[cuda12]'"),
            (
                WORKING,
                ["cupy-cuda12x", "cupy-cuda13x"],
                [],
                "2 CuPy wheels",
                "pip uninstall -y cupy-cuda12x cupy-cuda13x && pip install --upgrade 'pytest-roofline[cuda13]'",
            ),
            (
                Driver(12090, 0, 1),
                WHEEL,
                [],
                "supports CUDA 12.9",
                "pip uninstall -y cupy-cuda13x && pip install --upgrade 'pytest-roofline[cuda12]'",
            ),
        ],
    )
    def test_each_cause_has_one_command(self, machine, root, driver, wheels, missing, said, helps):
        """C38: as `status.reason` tells them apart."""
        machine(driver, wheels, missing)
        found = gpu(root)
        assert said in found.said
        assert (found.state, found.helps) == ("broken", helps)


class TestGpu:
    """Where the driver answers, each card is tried with a kernel that does nothing."""

    def test_a_card_that_works_is_said_with_its_compiler(self, machine, root):
        machine()
        driver, card, *_ = doctor.gpus(root)
        assert (driver.state, card.state) == ("works", "works")
        assert card.said == "cuda:0 NVIDIA Next, compute capability 13.0, at 0000:01:00.0; NVRTC 13.0"

    def test_devices_that_cannot_be_counted_are_said(self, machine, root):
        machine(cards=DeviceUnavailable("no CUDA device: CUDA_ERROR_NO_DEVICE"))
        _, found = doctor.gpus(root)
        assert found.state == "broken"
        assert "CUDA_ERROR_NO_DEVICE" in found.said

    def test_a_card_that_is_too_new_for_the_compiler_names_card_capability_and_version(self, machine, root):
        """C39: and the way out."""
        too_new = KernelUnsupported("NVRTC 13.0 cannot compile for sm_130a: a newer card needs a newer NVRTC")
        machine(kernel=too_new)
        found = list(doctor.gpus(root))[1]
        assert found.state == "broken"
        assert all(part in found.said for part in ("NVIDIA Next", "compute capability 13.0", "NVRTC 13.0"))
        assert found.helps == "pip install --upgrade 'pytest-roofline[cuda13]'"

    def test_a_card_that_is_too_old_for_cuda_13_is_sent_to_cuda_12(self, machine, root):
        old = Found(0, "GPU-0", "0000:01:00.0", Properties("Tesla V100", (7, 0), 80, 1 << 34))
        machine(cards=(old,), kernel=KernelUnsupported("NVRTC 13.0 cannot compile for sm_70"))
        assert list(doctor.gpus(root))[1].helps == "pip install --upgrade 'pytest-roofline[cuda12]'"

    @pytest.mark.parametrize(
        "error", [RuntimeError("CUDA_ERROR_INVALID_IMAGE"), OSError("libnvrtc.so.13: cannot open"), ImportError()]
    )
    def test_whatever_the_first_kernel_raises_is_what_is_said(self, machine, root, error):
        machine(kernel=error)
        found = list(doctor.gpus(root))[1]
        assert found.state == "broken"
        assert (str(error) or "ImportError") in found.said

    def test_the_first_kernel_is_built_for_the_card_and_loaded_on_it(self, monkeypatch):
        loaded = []
        module = types.SimpleNamespace(get_function=loaded.append)
        cupy = types.SimpleNamespace(
            RawModule=lambda path: loaded.append(Path(path).read_bytes()) or module,
            cuda=types.SimpleNamespace(Device=lambda index: open(__file__, encoding="utf-8")),  # noqa: SIM115, PTH123
        )
        monkeypatch.setattr(selection, "import_cupy", lambda: (cupy, ""))

        def build(compiler, text, entries):
            assert (compiler.architecture, entries) == ("sm_130a", [doctor.PROBE_ENTRY])
            return compiler.cache.store("key", b"code", {doctor.PROBE_ENTRY: "mangled"})

        monkeypatch.setattr(compiling.Compiler, "build", build)
        doctor.build_and_load(CARD)
        assert loaded == [b"code", "mangled"]


class TestCuPyThatFails:
    """C38: each real class of error, at import and at the count of devices, ends as a finding."""

    @pytest.fixture
    def cupy(self, monkeypatch, tmp_path):
        """Puts a module called cupy first on the path, with this text."""
        selection.import_cupy.cache_clear()
        monkeypatch.setattr(status, "driver", lambda: WORKING)
        monkeypatch.setattr(status, "installed_wheels", lambda: WHEEL)
        monkeypatch.setattr(status, "missing_modules", lambda: [])
        monkeypatch.setattr(selection, "why_no_cuda", lambda: None)
        monkeypatch.setenv(selection.CUPY_CACHE, str(tmp_path))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "cupy", raising=False)
        yield lambda source: (tmp_path / "cupy.py").write_text(source)
        selection.import_cupy.cache_clear()
        sys.modules.pop("cupy", None)

    RUNTIME = """
class CUDARuntimeError(RuntimeError):
    status = {status}
def fail(): raise {error}
class runtime: getDeviceCount = staticmethod(fail); CUDARuntimeError = CUDARuntimeError
class cuda: runtime = runtime
"""

    @pytest.mark.parametrize(
        ("source", "said"),
        [
            ("raise ImportError('libcudart.so.13: cannot open shared object file')", "libcudart.so.13"),
            ("raise OSError('libcuda.so.1 is too short')", "too short"),
            ("raise AttributeError('numpy has no attribute bool8')", "bool8"),
            (RUNTIME.format(status=35, error="CUDARuntimeError('cudaErrorInsufficientDriver')"), "InsufficientDriver"),
            (RUNTIME.format(status=100, error="CUDARuntimeError('cudaErrorNoDevice')"), "CUDA_VISIBLE_DEVICES"),
            (RUNTIME.format(status=0, error="OSError('libnvrtc.so.13')"), "libnvrtc.so.13"),
        ],
    )
    def test_the_error_is_said_and_what_helps(self, cupy, root, source, said):
        cupy(source)
        _, found = doctor.gpus(root)
        assert found.state == "broken"
        assert said in found.said
        assert found.helps == "pip install --upgrade 'pytest-roofline[cuda13]'"


class TestBeside:
    """What measuring can do without, and what going without costs."""

    def test_counters_that_only_administrators_read_cost_the_achieved_bytes(self, root, monkeypatch):
        monkeypatch.setattr(doctor.os, "geteuid", lambda: 1000)
        folder = root / "proc/driver/nvidia"
        folder.mkdir(parents=True)
        for digit, state in (("1", "missing"), ("0", "works")):
            (folder / "params").write_text(f"ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: {digit}\n")
            assert doctor.counters(root).state == state
        assert doctor.counters(root / "none").state == "missing"

    def test_administrators_read_them_anyway(self, root, monkeypatch):
        monkeypatch.setattr(doctor.os, "geteuid", lambda: 0)
        folder = root / "proc/driver/nvidia"
        folder.mkdir(parents=True)
        (folder / "params").write_text("RmProfilingAdminOnly: 1\n")
        assert doctor.counters(root).state == "works"

    @pytest.mark.parametrize(
        ("source", "state", "helps"),
        [
            ("raise ImportError('no module')", "missing", "pip install nvidia-ml-py"),
            (
                "class NVMLError(Exception): pass\ndef nvmlInit(): raise NVMLError('Driver Not Loaded')",
                "missing",
                "nvidia-smi",
            ),
            ("def nvmlInit(): pass", "works", ""),
        ],
    )
    def test_the_management_library_is_there_or_not(self, tmp_path, monkeypatch, source, state, helps):
        (tmp_path / "pynvml.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "pynvml", raising=False)
        found = doctor.nvml()
        sys.modules.pop("pynvml", None)
        assert (found.state, found.helps) == (state, helps)

    def test_a_cache_that_cannot_be_written_names_the_variable_that_moves_it(self, tmp_path, monkeypatch):
        """C40: nothing is made by looking."""
        (tmp_path / "file").touch()
        monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file" / "cubins"))
        monkeypatch.setenv(selection.CUPY_CACHE, str(tmp_path / "new" / "cupy"))
        kernels, cupy = doctor.caches()
        assert (kernels.state, cupy.state) == ("missing", "works")
        assert f"export {cache.VARIABLE}=" in kernels.helps
        assert not (tmp_path / "new").exists()

    def test_a_user_without_a_home_has_no_cache(self, monkeypatch):
        monkeypatch.setattr(cache, "usual_folder", lambda: answer(RuntimeError("no home")))
        monkeypatch.setattr(doctor, "_cupy_folder", lambda: answer(RuntimeError("no home")))
        assert {finding.state for finding in doctor.caches()} == {"missing"}

    def test_a_cpu_that_cannot_be_measured_is_broken(self, monkeypatch):
        monkeypatch.setattr(doctor, "binding", lambda: answer(DeviceUnavailable("llvmlite cannot\nbe imported")))
        found = doctor.cpu()
        assert (found.state, found.said) == ("broken", "llvmlite cannot be imported")
        assert found.helps == "pip install 'llvmlite>=0.45'"

    def test_this_cpu_is_measured(self):
        found = doctor.cpu()
        assert found.state == "works"
        assert "cores of" in found.said

    def test_charts_need_matplotlib(self, monkeypatch):
        monkeypatch.setattr(doctor, "find_spec", lambda name: None)
        assert doctor.charts().helps == "pip install 'pytest-roofline[chart]'"


class TestWhole:
    """The examination of a machine on which nothing works, as it is printed."""

    @pytest.fixture
    def bare(self, machine, monkeypatch):
        machine(driver=Driver(), wheels=[], missing=["cupy"])
        monkeypatch.setattr(doctor, "binding", lambda: answer(DeviceUnavailable("no \x1b[31mllvmlite")))
        monkeypatch.setattr(doctor, "find_spec", lambda name: None)
        monkeypatch.setattr(doctor, "version", lambda name: answer(doctor.PackageNotFoundError(name)))

    def test_everything_that_is_missing_is_said_and_nothing_raises(self, bare, root, tmp_path):
        (tmp_path / "file").touch()
        findings = examine(Store(tmp_path / "file"), root)
        subjects = {finding.subject: finding.state for finding in findings}
        assert subjects["Python"] == subjects["CPU"] == "broken"
        assert subjects["GPU"] == subjects["charts"] == "missing"
        assert all(finding.costs for finding in findings if finding.state != "works")

    def test_each_line_fits_and_each_command_stands_whole(self, bare, root, tmp_path):
        findings = examine(Store(tmp_path), root)
        lines = text(findings).splitlines()
        assert max(len(line) for line in lines if "run: " not in line) <= 100
        assert "\x1b" not in text(findings)
        for finding in filter(lambda finding: finding.helps, findings):
            assert any(line.strip() == f"run: {finding.helps}" for line in lines)

    @pytest.mark.parametrize(
        ("states", "code"), [(["works", "missing"], False), (["works", "broken"], True), ([], False)]
    )
    def test_only_what_is_broken_fails(self, states, code):
        assert cannot_measure([Finding("x", state, "said") for state in states]) is code


def test_a_folder_whose_name_is_too_long_cannot_be_written_to(tmp_path):
    assert not doctor.can_write(tmp_path / ("x" * 5000))
