"""The CPU device's clock, memory, disturbance and compiler, each by itself."""

import ctypes
import sys
from pathlib import Path

import pytest

from roofline.devices.base import DeviceUnavailable
from roofline.devices.cpu import jit, memory
from roofline.devices.cpu.clock import CALIBRATION_NS, calibrated
from roofline.devices.cpu.disturbance import Disturbance

pytestmark = pytest.mark.correctness


class Ticking:
    """Two clocks that advance together: a nanosecond clock, and a counter of `rate_hz` that starts anywhere."""

    def __init__(self, rate_hz: float, step_ns: int = 50) -> None:
        self.now_ns, self.step_ns, self.rate_hz = 1_000_000, step_ns, rate_hz

    def nanoseconds(self) -> int:
        self.now_ns += self.step_ns
        return self.now_ns

    def counter(self) -> int:
        self.now_ns += self.step_ns
        return int(self.now_ns * self.rate_hz / 1e9)


@pytest.mark.parametrize("rate_hz", [24e6, 2.45e9])
def test_a_counters_rate_is_found_to_a_few_parts_in_a_hundred_thousand(rate_hz):
    ticking = Ticking(rate_hz, step_ns=2000)
    clock = calibrated("tsc", ticking.counter, 1, ticking.nanoseconds)
    assert clock.rate_hz == pytest.approx(rate_hz, rel=5e-5)
    assert clock.seconds(int(rate_hz)) == pytest.approx(1.0, rel=5e-5)


def test_the_tick_is_the_step_that_readings_show():
    ticking = Ticking(1e9, step_ns=2000)
    clock = calibrated("tsc", ticking.counter, 25, ticking.nanoseconds)
    assert clock.tick_s == pytest.approx(25e-9, rel=1e-3)


def test_a_disturbed_reading_does_not_spoil_the_calibration():
    """Of some readings the one that was enclosed most tightly counts."""
    ticking, calls = Ticking(1e9, step_ns=2000), []

    def counter() -> int:
        value = ticking.counter()
        calls.append(value)
        if len(calls) % 3:
            ticking.now_ns += CALIBRATION_NS // 100  # an interrupt right after the counter was read
        return value

    assert calibrated("tsc", counter, 1, ticking.nanoseconds).rate_hz == pytest.approx(1e9, rel=5e-4)


@pytest.mark.parametrize("counter", [lambda: 7, iter(range(10**6, 0, -1)).__next__])
def test_a_counter_that_stands_still_or_runs_backwards_is_refused(counter):
    """C03: named, and at once."""
    with pytest.raises(ValueError, match="the counter cntvct went from"):
        calibrated("cntvct", counter, 1, Ticking(1e9, step_ns=2000).nanoseconds)


@pytest.mark.parametrize("size", [1, 4096, memory.HUGE_FROM, memory.HUGE_FROM + 12345])
def test_memory_is_aligned_zero_and_writable_to_the_last_byte(size):
    allocation = memory.allocate(size)
    try:
        assert allocation.address % (memory.HUGE_PAGE if size >= memory.HUGE_FROM else memory.PAGE) == 0
        assert ctypes.string_at(allocation.address + size - 1, 1) == b"\0"
        ctypes.memset(allocation.address, 0xAB, size)
        assert ctypes.string_at(allocation.address + size - 1, 1) == b"\xab"
    finally:
        allocation.free()


def mapped(address: int) -> bool:
    spans = [line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines()]
    return any(int(low, 16) <= address < int(high, 16) for low, high in spans)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc/self/maps is Linux's")
def test_freed_memory_is_unmapped():
    allocation = memory.allocate(64 << 20)
    middle = allocation.address + (32 << 20)
    assert mapped(middle)
    allocation.free()
    assert allocation.freed
    assert not mapped(middle)


def test_freeing_twice_does_no_harm():
    allocation = memory.allocate(10)
    allocation.free()
    allocation.free()


def test_memory_that_the_system_refuses_is_a_memory_error_with_the_size():
    with pytest.raises(MemoryError, match=f"{1 << 61} bytes were asked for"):
        memory.allocate(1 << 61)


class Machine:
    """/proc/stat of two cores and this process's clocks, moved on by hand. A tick is 10 ms."""

    def __init__(self, root) -> None:
        self.root, self.wall, self.own, self.ticks = root, 100.0, 0.0, [0] * 10
        (root / "proc").mkdir()
        self.pass_time(0)

    def pass_time(self, wall: float, own: float = 0.0, **ticks: int) -> None:
        names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
        self.wall, self.own = self.wall + wall, self.own + own
        self.ticks = [old + ticks.get(name, 0) for name, old in zip(names, self.ticks, strict=True)]
        row = " ".join(map(str, self.ticks))
        text = f"cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 {row}\ncpu1 0 0 0 5 0 0 0 0 0 0\ncpu7 99 0 0 0 0 0 0 0 0 0\nintr 1\n"
        (self.root / "proc/stat").write_text(text)

    def now(self) -> tuple[float, float]:
        return self.wall, self.own


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def disturbance(machine, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda _: 100)
    return Disturbance([0, 1], machine.root, machine.now)


def test_a_machine_that_only_we_use_is_not_disturbed(machine, disturbance):
    machine.pass_time(1.0, own=0.9, user=90, idle=10)
    assert disturbance.share() == pytest.approx(0.0)


def test_what_others_and_the_hypervisor_took_is_a_share_of_our_cores(machine, disturbance):
    machine.pass_time(1.0, own=0.2, user=40, system=10, steal=30, idle=20, iowait=50)
    assert disturbance.share() == pytest.approx((0.8 - 0.2) / 2)


def test_each_answer_is_about_the_time_since_the_last(machine, disturbance):
    machine.pass_time(1.0, user=100)
    assert disturbance.share() == pytest.approx(0.5)
    machine.pass_time(1.0, idle=100)
    assert disturbance.share() == pytest.approx(0.0)


def test_over_a_moment_too_short_the_share_is_unknown_and_the_next_answer_covers_it(machine, disturbance):
    machine.pass_time(0.02, user=2)
    assert disturbance.share() is None
    machine.pass_time(0.98, user=98)
    assert disturbance.share() == pytest.approx(0.5)


def test_rounding_to_ticks_never_leaves_the_range(machine, disturbance):
    machine.pass_time(1.0, own=0.909, user=90)
    assert disturbance.share() == 0.0


def test_without_proc_stat_the_share_is_unknown(tmp_path):
    assert Disturbance([0], tmp_path).share() is None


def test_a_missing_compiler_is_told_with_its_remedy(monkeypatch):
    """C38 in CPU terms: cause and the one command that helps, not a traceback of an import."""
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    with pytest.raises(DeviceUnavailable, match=r"cannot be imported.*\n.*pip install 'llvmlite>=0\.45'.*Alpine"):
        jit.binding()


def test_a_compiler_that_is_too_old_is_told(monkeypatch):
    monkeypatch.setattr("llvmlite.__version__", "0.44.2")
    with pytest.raises(DeviceUnavailable, match=r"0\.44\.2 is installed"):
        jit.binding()


def test_assembly_survives_quoting_for_the_module_it_is_assembled_in():
    """What is counted is what runs: a string that needs every escape comes out of the assembler as it went in."""
    text = '\t.globl bytes\nbytes:\n\t.ascii "a\\\\b\\"c\\tz\\000"\n'
    compiler = jit.Jit(jit.host_cpu(), jit.host_features())
    try:
        address = compiler.load(text, ["bytes"])["bytes"]
        assert ctypes.string_at(address) == b'a\\b"c\tz'
    finally:
        compiler.close()
