"""The CUDA device's parts without a card: cache, ELF, instruction names, host loop, clock stamps, NVML."""

import ctypes
import json
import multiprocessing
import os
import struct

import numpy as np
import pytest

from roofline.devices.cuda import cache, elf, host_loop, nvml, sass
from roofline.devices.cuda.cache import CubinCache, open_cache
from roofline.devices.cuda.compiling import architecture_of
from roofline.devices.cuda.empty import _rounded
from roofline.devices.cuda.host_loop import Arguments, HostLoop, LaunchRefused
from roofline.devices.cuda.span import clock_between
from roofline.kernel import Target
from roofline.kernels import chains_cuda, dial, dial_cuda, dram_cuda, tensor, tensor_paths, tensor_types

pytestmark = pytest.mark.correctness


# --- cache


def test_what_was_stored_is_found_again(tmp_path):
    store = CubinCache(tmp_path)
    stored = store.store("key", b"\x7fELF code", {"k<1>": "_Zk1"})
    assert store.load("key") == stored
    assert stored.path.read_bytes() == b"\x7fELF code"


@pytest.mark.parametrize("damage", ["cubin cut", "cubin gone", "entry cut", "entry of another shape"])
def test_a_damaged_entry_only_costs_a_compilation(tmp_path, damage):
    store = CubinCache(tmp_path)
    stored = store.store("key", b"\x7fELF code", {})
    entry = tmp_path / "key.json"
    match damage:
        case "cubin cut":
            stored.path.write_bytes(b"\x7fELF")
        case "cubin gone":
            stored.path.unlink()
        case "entry cut":
            entry.write_text(entry.read_text()[:10])
        case _:
            entry.write_text("[1]")
    assert store.load("key") is None
    assert store.store("key", b"\x7fELF code", {}) == store.load("key")


def _store_many(folder) -> None:
    store = CubinCache(folder)
    for number in range(20):
        code = bytes([number]) * 50_000
        store.store(f"key{number}", code, {"k": f"_Z{number}"})
        found = store.load(f"key{number}")
        assert found is not None
        assert found.code == code


def test_eight_processes_share_one_folder(tmp_path):
    """C40: nobody ever sees half a file, and nothing is left over."""
    spawn = multiprocessing.get_context("fork" if os.name == "posix" else "spawn")
    workers = [spawn.Process(target=_store_many, args=(tmp_path,)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 8
    assert len(list(tmp_path.glob("*.cubin"))) == len(list(tmp_path.glob("*.json"))) == 20
    assert not list(tmp_path.glob(".writing-*"))


def test_a_folder_that_cannot_be_written_gives_a_temporary_one_and_a_note(tmp_path, monkeypatch):
    """C40: a read-only home costs a note, not the run."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv(cache.VARIABLE, str(blocked / "cubins"))
    opened = open_cache()
    assert str(blocked) in opened.note
    assert cache.VARIABLE in opened.note
    assert opened.store("key", b"code", {}).path.exists()


def test_the_folder_follows_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "here"))
    assert open_cache() == CubinCache(tmp_path / "here")


# --- machine code


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"not an ELF file at all", b"\x7fELF" + b"\0" * 100])
def test_what_is_no_cubin_is_refused(content):
    with pytest.raises(elf.NotACubin):
        elf.functions(content)


def test_instructions_are_counted_by_their_low_nine_bits():
    """Each takes 16 bytes; the upper half never counts as one."""
    words = [0x7223, 0xFFFF_FFFF_FFFF_F023, 0x7220, 0x7221, 0x6, 0x23 | 0x1FF << 9]
    code = b"".join(struct.pack("<QQ", word, 0x23) for word in words)
    counted = sass.histogram(code)
    assert counted["FFMA"] == 3
    assert counted["0x006"] == 1
    assert sass.counts(counted) | {"fma": 3, "mul": 1, "add": 1, "spill": 0} == sass.counts(counted)


@pytest.mark.parametrize(
    ("capability", "architecture"),
    [((7, 5), "sm_75"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"), ((10, 3), "sm_103a"), ((12, 0), "sm_120a")],
)
def test_the_architecture_is_the_cards_own(capability, architecture):
    assert architecture_of(capability) == architecture


# --- host loop

LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)
WAIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class DriverStub:
    """Stands in for libcuda: notes every launch, and what its first argument was."""

    def __init__(self, fails_at: int = -1) -> None:
        self.calls: list[tuple] = []
        self.waits = 0
        self.launch, self.wait = LAUNCH(self._launch), WAIT(self._wait)
        self.fails_at = fails_at

    def _launch(self, function, gx, gy, gz, tx, ty, tz, shared, stream, parameters, _extra) -> int:
        if len(self.calls) == self.fails_at:
            return 701
        first = ctypes.c_void_p.from_address(parameters).value
        value = ctypes.c_uint64.from_address(first).value if first else None
        self.calls.append((function, (gx, gy, gz), (tx, ty, tz), shared, stream, value))
        return 0

    def _wait(self, _stream) -> int:
        self.waits += 1
        return 0


def loop_on(stub: DriverStub, monkeypatch) -> HostLoop:
    engine = host_loop._engine()
    pointer, word, index = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int64
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int32, pointer, pointer, pointer, word, word, word, pointer, pointer, index, index, index
    )
    compiled = kind(engine.get_function_address("loop"))
    addresses = (ctypes.cast(stub.launch, pointer).value, ctypes.cast(stub.wait, pointer).value)
    monkeypatch.setattr(host_loop, "_compiled", lambda: (compiled, *addresses))
    return HostLoop(stream=77)


def test_the_loop_launches_as_often_as_told_and_goes_round_the_windows(monkeypatch):
    """C4: the compiled loop calls the driver exactly `count` times, each with the arguments of its window."""
    stub = DriverStub()
    arguments = Arguments([[ctypes.c_uint64(100 + window)] for window in range(3)])
    loop_on(stub, monkeypatch).queue(5, 7, 32, 1024, arguments, first=2, count=5)
    assert [call[-1] for call in stub.calls] == [102, 100, 101, 102, 100]
    assert stub.calls[0][:5] == (5, (7, 1, 1), (32, 1, 1), 1024, 77)
    assert stub.waits == 0


def test_with_wait_the_host_waits_for_each(monkeypatch):
    stub = DriverStub()
    loop_on(stub, monkeypatch).queue(5, 1, 1, count=9, wait=True)
    assert (len(stub.calls), stub.waits) == (9, 9)


def test_no_launches_are_no_launches(monkeypatch):
    stub = DriverStub()
    loop_on(stub, monkeypatch).queue(5, 1, 1, count=0)
    assert stub.calls == []


def test_a_refused_launch_stops_the_loop_with_its_code(monkeypatch):
    stub = DriverStub(fails_at=3)
    with pytest.raises(LaunchRefused) as refused:
        loop_on(stub, monkeypatch).queue(5, 1, 1, count=10)
    assert refused.value.code == 701
    assert len(stub.calls) == 3


@pytest.mark.parametrize(("asked", "done"), [(0, 1000), (1, 1000), (1000, 1000), (1001, 2000)])
def test_queued_launches_come_in_thousands(asked, done):
    assert _rounded(asked) == done


# --- clock


def stamps(*rows: tuple[int, int]) -> np.ndarray:
    return np.array(rows, np.uint64)


def test_the_clock_is_cycles_over_nanoseconds_on_the_same_sm():
    before = stamps((1_000, 10), (5_000_000, 12), (0, 0))
    after = stamps((1_980_001_000, 1_000_000_010), (1_985_000_000, 1_000_000_012), (7, 1_000_000_000))
    assert clock_between(before, after) == pytest.approx(1.98e9)


@pytest.mark.parametrize(
    "after",
    [stamps((0, 0)), stamps((900, 2_000)), stamps((2_000, 1_000))],
    ids=["never stamped", "cycles ran backwards", "time stood still"],
)
def test_a_clock_that_cannot_be_told_is_unknown(after):
    """C03: no guess, no infinity."""
    assert clock_between(stamps((1_000, 1_000)), after) is None


# --- NVML


class NvmlStub:
    """Answers some questions; every other is not supported, as on MIG, Tegra and in containers."""

    class NVMLError(Exception):
        pass

    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2

    def __init__(self, **answers) -> None:
        self.answers = answers

    def __getattr__(self, name: str):
        def answer(*arguments):
            if name not in self.answers:
                raise self.NVMLError("Not Supported")
            return self.answers[name]

        return answer


class Sample:
    def __init__(self, pid: int, share: int, at: int = 5) -> None:
        self.pid, self.smUtil, self.timeStamp = pid, share, at


def test_what_nvml_does_not_answer_is_unknown_and_not_idle():
    """C32, C34, C35: nothing raises, nothing is guessed."""
    monitor = nvml.Monitor(NvmlStub(), object())
    assert monitor.state() == nvml.CardState()
    assert monitor.others_busy() is None
    assert nvml.Monitor(None, None).state() == nvml.CardState()


def test_readings_come_in_base_units():
    stub = NvmlStub(
        nvmlDeviceGetPowerUsage=293_276,
        nvmlDeviceGetEnforcedPowerLimit=700_000,
        nvmlDeviceGetClockInfo=1980,
        nvmlSystemGetDriverVersion=b"580.159.04",
        nvmlDeviceGetEccMode=(1, 1),
        nvmlDeviceGetCurrentClocksThrottleReasons=0x4 | 0x20,
    )
    state = nvml.Monitor(stub, object()).state()
    assert (state.power_w, state.power_limit_w, state.clock_hz) == pytest.approx((293.276, 700.0, 1.98e9))
    assert (state.driver, state.ecc, state.mig) == ("580.159.04", True, None)
    assert state.throttle == "power cap, thermal slowdown"


def test_idle_and_application_clocks_are_no_throttling():
    assert nvml.Monitor(NvmlStub(nvmlDeviceGetCurrentClocksThrottleReasons=0x3), object()).throttle() == ""


def test_a_neighbour_is_told_apart_from_this_process():
    here, other = os.getpid(), os.getpid() + 1
    listed = [Sample(here, 0), Sample(other, 0)]
    stub = NvmlStub(
        nvmlDeviceGetProcessUtilization=[Sample(here, 60), Sample(other, 31)],
        nvmlDeviceGetComputeRunningProcesses=listed,
    )
    monitor = nvml.Monitor(stub, object())
    assert monitor.others_busy() == pytest.approx(0.31)
    assert monitor.state().other_processes == 1


def test_in_a_container_that_hides_this_process_nothing_is_said_of_others():
    stub = NvmlStub(
        nvmlDeviceGetProcessUtilization=[Sample(1, 99)], nvmlDeviceGetComputeRunningProcesses=[Sample(1, 0)]
    )
    monitor = nvml.Monitor(stub, object())
    assert monitor.others_busy() is None
    assert monitor.state().other_processes is None


@pytest.mark.parametrize(
    ("text", "inside"),
    [("Linux version 5.15.90.1-microsoft-standard-WSL2", True), ("Linux version 6.1.0-18-amd64", False)],
)
def test_linux_inside_windows_is_recognised(tmp_path, text, inside):
    """C09."""
    version = tmp_path / "version"
    version.write_text(text)
    assert nvml.windows_subsystem(str(version)) is inside


# --- kernels, as far as they need no card


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90a", "sm_120a"])
def test_no_body_of_the_dial_outgrows_the_instruction_cache(architecture):
    """128 KiB of straight line at most, 32 KiB and a little where blocks loop out of step."""
    target = Target("cuda", architecture)
    for steps in dial.POINTS:
        for variant in dial_cuda.variants(target, steps):
            body = dial_cuda.source(target, variant, steps).expects["fma"]
            assert body <= 4096
            assert body <= 2048 or variant["shape"] in ("vectors", "scalars")


def test_variants_have_names_of_their_own_everywhere():
    target = Target("cuda", "sm_90a")
    kernels = [*(dial.kernel(f, "plain") for f in dial.POINTS), *tensor.every_kernel(), *dram_cuda.every_kernel()]
    for kernel in (*kernels, *chains_cuda.every_kernel()):
        names = [variant.name for variant in kernel.variants(target)]
        assert names or "cuda" in kernel.unsupported
        assert len(set(names)) == len(names)


TENSOR = [(path, kind) for kind in tensor_types.TYPES for path in tensor_paths.paths_of(kind)]
FP16, FP8, INT8, FP64, FP4 = (tensor_types.BY_NAME[name] for name in ("fp16_fp32acc", "fp8", "int8", "fp64", "fp4"))
RANDOM = np.random.default_rng(1).uniform(1, 2, 10_000).astype(np.float32)


@pytest.mark.parametrize(("path", "kind"), TENSOR, ids=[f"{path}-{kind.name}" for path, kind in TENSOR])
def test_the_tensor_reference_is_the_product_written_out(path, kind):
    """B1: of the second tile, at a column whose operands may have gone round the tile's part again."""
    rows, columns, terms = tensor_paths.tile(path, kind)
    tile = rows * columns
    n = 2 * tile - 3
    host = [np.random.default_rng(seed).uniform(1, 2, n).astype(np.float32) for seed in range(2)]
    a, b = (np.append(kind.format.operands(array), [0.0] * 3)[tile:] for array in host)
    row, column, want = rows - 1, columns - 9, 0.0
    for k in range(terms):
        place = column * terms + k
        want += a[row * terms + k] * b[(place + 37 * (place // tile)) % tile]
    found = tensor_types.product(kind, (rows, columns, terms), host, 64)
    assert found[tile + row * columns + column] == pytest.approx(want * 64 * kind.terms / terms, rel=1e-12)
    assert found.shape == (n,)


@pytest.mark.parametrize("kind", tensor_types.TYPES, ids=lambda kind: kind.name)
def test_tensor_operands_are_signed_and_keep_ones_zeros_and_small_integers(kind):
    """B4: what is checked exactly are the elements times one factor; random elements give both signs."""
    small = np.arange(-4 if kind is FP4 else -8, 5 if kind is FP4 else 9).astype(np.float32)
    assert np.array_equal(kind.format.operands(small), kind.format.factor * small)
    assert abs((kind.format.operands(RANDOM) > 0).mean() - 0.5) < 0.05


@pytest.mark.parametrize(
    ("kind", "magnitudes"), [(FP16, 1025), (tensor_types.BY_NAME["bf16"], 129), (FP8, 9), (INT8, 129), (FP4, 3)]
)
def test_random_operands_use_every_value_that_their_format_has(kind, magnitudes):
    """B1: between two powers of two each mantissa occurs, so that all of an operand's bits switch."""
    every = (np.arange(1 << 23, dtype=np.uint32) + np.float32(1).view(np.uint32)).view(np.float32)
    assert len(np.unique(np.abs(kind.format.operands(every[:: 1 + (1 << 6)])))) == magnitudes


def test_random_fp64_operands_fill_the_mantissa_bits_that_fp32_lacks():
    low = np.abs(FP64.format.operands(RANDOM)).view(np.uint64) & np.uint64((1 << 29) - 1)
    assert len(np.unique(low)) > 3000
    assert np.all(FP64.format.operands(np.arange(9)).view(np.uint64) & np.uint64((1 << 29) - 1) == 0)


def test_fp4_operands_beyond_its_largest_value_become_that():
    assert FP4.format.operands(np.float32([5, 6, 7, -8])).tolist() == [6, 6, 6, -6]


@pytest.mark.parametrize(
    ("architecture", "paths"),
    [
        ("sm_75", "mma mma - - - mma - -"),
        ("sm_80", "mma mma mma mma - mma mma -"),
        ("sm_89", "mma mma mma mma mma mma mma -"),
        ("sm_90a", "wgmma wgmma wgmma wgmma wgmma wgmma mma -"),
        ("sm_100a", "tcgen05 tcgen05 tcgen05 tcgen05 tcgen05 tcgen05 mma tcgen05"),
        ("sm_103a", "tcgen05 tcgen05 tcgen05 tcgen05 tcgen05 mma mma tcgen05"),
        ("sm_120a", "mma mma mma mma mma mma mma mma"),
    ],
)
def test_each_card_multiplies_each_type_by_its_best_instruction_or_says_why_not(architecture, paths):
    """R8: the best of the card's own instructions; what it lacks is absent, and the reason names the cards that do."""
    target = Target("cuda", architecture)
    for kind, path in zip(tensor_types.TYPES, paths.split(), strict=True):
        best = tensor.best(kind, target)
        if path == "-":
            assert best.variants(target) == ()
            assert " on sm_" in best.unsupported["cuda"]
        else:
            assert best.variants(target)
            assert best.name == f"{path}-{kind.label}"


def test_what_ones_add_up_to_is_exact_in_every_accumulator():
    """B4: FP16 counts to 2^11; FP8 sums on Hopper hold what lies 13 bits below the largest, so 2^14 of one product."""
    assert [kind.counted for kind in tensor_types.TYPES] == [2048, 2048, 2048, 1024, 1024, 65536, 2048, 32768]
    assert FP8.counted == 2**14 * 0.25 * 0.25


@pytest.mark.parametrize(("repeats", "period"), [(100, 64), (64, 24)])
def test_a_period_that_does_not_fit_is_refused(repeats, period):
    with pytest.raises(ValueError, match="give a period that 16 divides"):
        tensor.kernel("mma", FP16, repeats=repeats, period=period)


def test_entries_are_json_that_anyone_can_read(tmp_path):
    CubinCache(tmp_path).store("key", b"code", {"k": "_Zk"})
    assert json.loads((tmp_path / "key.json").read_text())["symbols"] == {"k": "_Zk"}
