"""The fake device does what its truth tells, faults included, and nothing else."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.checking import check
from roofline.devices.base import Backend, DeviceFault, KernelUnsupported, Launch, WrongMachineCode
from roofline.devices.fake import FakeBackend, FakeClock, FakeFaults, FakeSeries, FakeTimer, FakeTruth
from roofline.kernel import Array, Kernel
from roofline.kernels import every_kernel
from roofline.kernels.launch import MODES
from roofline.model import Traffic, Variant, Work

pytestmark = pytest.mark.correctness

PLAIN = Variant("plain")
# No cost of a launch to speak of: what is left is work over ceilings.
FREE = dict.fromkeys(MODES, 1e-12)
N = 1 << 20


def multiply_add(steps: int = 1, **changes: object) -> Kernel:
    """X + steps, in place: 8 bytes and 2 x steps FLOP an element."""

    def work(n: int) -> Work:
        return Work(2.0 * steps * n, "fp32", {"dram": Traffic(4.0 * n, 4.0 * n)})

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [arrays[0].astype(np.float64) + steps * launches]

    kernel = Kernel("trial", f"add-{steps}", "fp32", "dram", work, lambda target: (PLAIN,), {}, reference, arrays=1)
    return replace(kernel, **changes)


def launch_of(backend: Backend, kernel: Kernel, n: int = N, variant: Variant = PLAIN, windows: int = 1) -> Launch:
    (binary,) = backend.build(kernel, [variant])
    return Launch(binary, backend.allocate(kernel.arrays, n * windows, kernel.dtype, 2, "random"), n, windows)


def seconds(truth: FakeTruth, kernel: Kernel, n: int = N, placement: int = 0, variant: Variant = PLAIN) -> float:
    backend = FakeBackend(truth)
    return backend.run(launch_of(backend, kernel, n, variant), 1, placement=placement).seconds


@pytest.mark.parametrize("steps", [1, 4, 40, 400])
def test_a_launch_takes_the_longer_of_its_flops_and_its_bytes(steps):
    """M1: time = max(FLOPs / P, bytes / β) + overhead."""
    truth = FakeTruth(ceilings={"dram": 100e9, "fp32": 1e12})
    expected = max(2 * steps * N / 1e12, 8 * N / 100e9) + truth.launch_s["launch"]
    assert seconds(truth, multiply_add(steps)) == pytest.approx(expected, abs=1e-9)


def test_the_slope_of_a_kernel_is_its_own_ceiling_where_the_truth_tells_one():
    truth = FakeTruth(ceilings={"dram": 100e9, "dram_update": 50e9, "fp32": 1e12}, launch_s=FREE)

    def work(n: int) -> Work:
        return Work(0.0, "fp32", {"dram": Traffic(4.0 * n, 4.0 * n)}, {"dram": "dram_update"})

    assert seconds(truth, multiply_add(work=work)) == pytest.approx(8 * N / 50e9, abs=1e-9)
    assert seconds(replace(truth, ceilings={"dram": 100e9}), multiply_add(work=work)) == pytest.approx(8 * N / 1e11)


def test_a_kernel_that_measures_a_narrower_roof_of_its_unit_is_bound_by_that():
    truth = FakeTruth(ceilings={"dram": 1e15, "fp32": 1e12, "fp32_one_chain": 0.25e12}, launch_s=FREE)
    wide, narrow = multiply_add(64), multiply_add(64, measures=("fp32_one_chain",))
    assert seconds(truth, narrow) == pytest.approx(4 * seconds(truth, wide), rel=1e-4)


@pytest.mark.parametrize("ceilings", [{"dram": 1e11}, {"fp32": 1e12}])
def test_a_kernel_without_a_ceiling_is_unsupported(ceilings):
    backend = FakeBackend(FakeTruth(ceilings=ceilings))
    with pytest.raises(KernelUnsupported, match=r"told no ceiling '(fp32|dram)'"):
        backend.build(multiply_add(), [PLAIN])


@pytest.mark.parametrize("cache_bytes", [None, 0, 4 << 20, 126 << 20, 512 << 20])
def test_buffers_that_fit_in_the_cache_are_served_by_it(cache_bytes):
    """C15 and C17: one byte more than the cache comes from DRAM, and a cache of unknown size holds nothing."""
    truth = FakeTruth(cache_bytes=cache_bytes, ceilings={"dram": 1e11, "l2": 4e11, "fp32": 1e15}, launch_s=FREE)
    fits = (cache_bytes or 0) // 4
    larger = seconds(truth, multiply_add(), fits + 1)
    assert larger == pytest.approx(8 * (fits + 1) / 1e11, abs=1e-9)
    if fits:
        assert seconds(truth, multiply_add(), fits) == pytest.approx(larger / 4, rel=1e-3)
    assert FakeBackend(truth).device.cache_bytes == cache_bytes


def test_a_variant_takes_the_factor_of_the_first_pattern_that_names_it():
    truth = FakeTruth(variants={"slow-*": 1.5, "*": 1.0}, launch_s=FREE)
    plain, slow = (seconds(truth, multiply_add(), variant=Variant(name)) for name in ("u4", "slow-u1"))
    assert slow == pytest.approx(1.5 * plain, rel=1e-4)


def test_a_placement_takes_its_own_factor():
    truth = FakeTruth(series=FakeSeries(placements=(1.0, 1.6)), launch_s=FREE)
    first, second = (seconds(truth, multiply_add(), placement=placement) for placement in (0, 1))
    assert second == pytest.approx(1.6 * first, rel=1e-4)


def test_repeats_within_a_launch_are_counted_once():
    truth = FakeTruth(launch_s=FREE)
    backend = FakeBackend(truth)
    launch = launch_of(backend, multiply_add(repeats=16))
    once, all_of_them = (backend.run(replace(launch, repeats=repeats), 1).seconds for repeats in (1, 16))
    assert all_of_them == pytest.approx(16 * once, rel=1e-3)


def test_throttling_slows_arithmetic_and_shows_in_the_clock():
    """C11: a device that stays at 57 % of its nominal clock."""
    held = FakeClock(hz=1e9, nominal_hz=1e9, throttle_share=0.57, throttle_every=1, reason="power cap")
    free, slow = FakeTruth(launch_s=FREE), FakeTruth(launch_s=FREE, clock=held)
    assert seconds(slow, multiply_add(4000)) == pytest.approx(seconds(free, multiply_add(4000)) / 0.57, rel=1e-4)
    assert seconds(slow, multiply_add(1)) == seconds(free, multiply_add(1))
    timing = FakeBackend(slow).time_launches("launch", 1)
    assert (timing.clock_hz, timing.throttle) == (0.57e9, "power cap")


def test_the_same_seed_gives_the_same_noise_and_another_seed_another():
    def readings(seed: int) -> list[float]:
        backend = FakeBackend(FakeTruth(series=FakeSeries(noise=0.1, seed=seed)))
        return [backend.time_launches("launch", 100).seconds for _ in range(20)]

    assert readings(1) == readings(1)
    assert readings(1) != readings(2)
    assert min(readings(1)) < max(readings(1))


def test_the_clock_shows_whole_ticks():
    backend = FakeBackend(FakeTruth(timer=FakeTimer(tick_s=1e-3), launch_s={"launch": 0.4e-3}))
    shown = [backend.time_launches("launch", 1).seconds for _ in range(10)]
    assert sorted(set(shown)) == [0.0, 1e-3]
    assert sum(shown) == pytest.approx(4e-3)


@settings(max_examples=30, deadline=None)
@given(st.integers(min_value=1, max_value=400), st.integers(min_value=1, max_value=4))
def test_the_result_is_that_of_every_window_that_was_launched(launches, windows):
    """A launch handles one window; those that were launched once more than others show it."""
    backend = FakeBackend(FakeTruth())
    (binary,) = backend.build(multiply_add(), [PLAIN])
    host = np.arange(windows * 3, dtype=np.float32)
    buffers = backend.bind([host])
    backend.run(Launch(binary, buffers, 3, windows), launches, first_window=windows - 1)
    turns = np.array([sum((windows - 1 + turn) % windows == w for turn in range(launches)) for w in range(windows)])
    assert np.array_equal(backend.read_back(buffers)[0], host + np.repeat(turns, 3))


def test_a_result_that_is_one_number_is_shown_as_an_array_with_that_sum():
    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        return [np.asarray(arrays[0].sum(dtype=np.float64))]

    backend = FakeBackend(FakeTruth())
    (binary,) = backend.build(multiply_add(arrays=2, reference=reference), [PLAIN])
    host = np.random.default_rng(1).random((2, 1025)).astype(np.float32)
    buffers = backend.bind(list(host))
    backend.run(Launch(binary, buffers, 1025), 3)
    assert backend.read_back(buffers)[1].sum(dtype=np.float64) == host[0].sum(dtype=np.float64)


def test_a_result_of_another_shape_is_refused_rather_than_made_up():
    kernel = multiply_add(reference=lambda arrays, launches: [np.zeros(3)])
    backend = FakeBackend(FakeTruth())
    buffers = backend.bind([np.zeros(5, np.float32)])
    backend.run(Launch(backend.build(kernel, [PLAIN])[0], buffers, 5), 1)
    with pytest.raises(NotImplementedError, match=r"shape \(3,\)"):
        backend.read_back(buffers)


def test_the_arrays_of_a_part_of_the_buffers_are_read_back_alone():
    backend = FakeBackend(FakeTruth())
    buffers = backend.allocate(3, 8, "float32", 1, "zeros")
    first = replace(buffers, handles=[handles[:1] for handles in buffers.handles])
    backend.run(Launch(backend.build(multiply_add(), [PLAIN])[0], first, 8), 2)
    assert [list(array) for array in backend.read_back(first)] == [[2.0] * 8]
    assert [list(array) for array in backend.read_back(buffers)] == [[2.0] * 8, [0.0] * 8, [0.0] * 8]


def test_every_kernel_of_the_suite_is_correct_on_the_fake_device():
    """Whatever a kernel computes, the fake device shows what its reference says."""
    backend = FakeBackend(FakeTruth(ceilings={"dram": 1e11, "fp32": 1e12}))
    for kernel in (kernel for kernel in every_kernel() if kernel.unit == "fp32"):
        check(backend, backend.build(kernel, [PLAIN])[0], sizes=(1, 1025), launches=2)


@pytest.mark.parametrize("faults", [FakeFaults(wrong="add-*"), FakeFaults(skipping="add-*")])
def test_a_wrong_kernel_and_one_that_does_nothing_show_in_the_result(faults):
    """C30: work that was removed cannot give the right result."""
    backend = FakeBackend(FakeTruth(faults=faults))
    (binary,) = backend.build(multiply_add(), [PLAIN])
    buffers = backend.bind([np.zeros(5, np.float32)])
    backend.run(Launch(binary, buffers, 5), 1)
    assert list(backend.read_back(buffers)[0]) != [1.0] * 5


def test_a_dishonest_count_moves_the_point_above_the_roof():
    honest = FakeTruth(launch_s=FREE)
    dishonest = replace(honest, faults=FakeFaults(dishonest="add-*", moved=0.5))
    assert seconds(dishonest, multiply_add()) == pytest.approx(seconds(honest, multiply_add()) / 2, rel=1e-4)


def test_memory_is_counted_and_given_back():
    backend = FakeBackend(FakeTruth(memory_bytes=1000))
    buffers = backend.allocate(2, 50, "float32", 2, "random")
    assert backend.memory_limit() == 200
    with pytest.raises(MemoryError, match="204 bytes were asked for, 200 are left"):
        backend.allocate(1, 51, "float32", 1, "random")
    backend.free(buffers)
    assert backend.memory_limit() == 1000


def test_buffers_far_larger_than_this_machine_cost_it_nothing():
    backend = FakeBackend(FakeTruth(memory_bytes=2**50))
    buffers = backend.allocate(2, 2**46, "float32", 2, "random")
    assert buffers.elements == 2**46


def test_fills_are_normal_values_of_full_mantissa_or_zeros_and_nothing_else():
    """C19: contents are random by default, and the same each time."""
    backend = FakeBackend(FakeTruth())
    first, again = (backend.read_back(backend.allocate(1, 1000, "float32", 1, "random"))[0] for _ in range(2))
    assert np.array_equal(first, again)
    assert 1 <= first.min() < first.max() < 2
    assert len(np.unique(first)) > 900
    assert not backend.read_back(backend.allocate(1, 10, "float32", 1, "zeros"))[0].any()
    with pytest.raises(ValueError, match="'random' and 'zeros'"):
        backend.allocate(1, 10, "float32", 1, "ones")


def test_the_launch_that_is_told_to_fail_fails():
    backend = FakeBackend(FakeTruth(faults=FakeFaults(fail_at=10)))
    launch = launch_of(backend, multiply_add())
    backend.run(launch, 9)
    with pytest.raises(DeviceFault, match="trial/add-1 failed"):
        backend.run(launch, 1)


def test_kernels_fail_are_built_wrong_and_hang_by_name():
    backend = FakeBackend(FakeTruth(faults=FakeFaults(fail_kernels="add-1", wrong_code="add-2")))
    with pytest.raises(DeviceFault):
        backend.run(launch_of(backend, multiply_add(1)), 1)
    with pytest.raises(WrongMachineCode, match="add-2"):
        backend.build(multiply_add(2), [PLAIN])
    assert backend.run(launch_of(backend, multiply_add(3)), 1).seconds > 0


def test_an_interruptible_hang_ends_with_a_signal():
    class Interrupted(Exception):
        pass

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise Interrupted

    backend = FakeBackend(FakeTruth(faults=FakeFaults(hang_kernels="add-*")))
    launch = launch_of(backend, multiply_add())
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Interrupted):
            backend.run(launch, 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert backend.hanging.is_set()


HANG_IN_NATIVE_CODE = """
import os, signal, threading
from roofline.devices import fake

seen = threading.Event()
signal.signal(signal.SIGALRM, lambda *_: seen.set())
about_to_hang = threading.Event()

def watch():
    about_to_hang.wait()
    os.kill(os.getpid(), signal.SIGALRM)
    os._exit(1 if seen.wait(0.5) else 42)

threading.Thread(target=watch, daemon=True).start()
about_to_hang.set()
fake._hang("native")
"""


def test_a_native_hang_heeds_no_signal_but_lets_other_threads_run():
    """A watchdog thread can end it; a signal handler in Python never gets its turn."""
    root = Path(__file__).parents[2]
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    ended = subprocess.run(
        [sys.executable, "-c", HANG_IN_NATIVE_CODE], timeout=60, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert ended.returncode == 42


def test_every_way_to_launch_is_there_and_takes_its_time():
    """C1, C2, C3: the four modes of the launch experiment."""
    truth = FakeTruth()
    backend = FakeBackend(truth)
    assert set(backend.launch_modes) == set(MODES)
    for mode in MODES:
        assert backend.time_launches(mode, 1000).seconds == pytest.approx(1000 * truth.launch_s[mode])
    with pytest.raises(ValueError, match="allowed are launch, launch_sync"):
        backend.time_launches("telepathy", 1)


def test_lost_launches_are_missing_in_the_count():
    """C4: counters show when not every launch really ran."""
    assert FakeBackend(FakeTruth()).count_launches("launch_graph", 1000) == 1000
    assert FakeBackend(FakeTruth(faults=FakeFaults(lost_launches=3))).count_launches("launch_graph", 1000) == 997


def test_the_host_and_the_compiler_take_wall_time_and_no_device_time():
    """C07 and C17: neither compiling nor what the host does between launches is in a reading."""
    backend = FakeBackend(FakeTruth(host_s=1e-3, build_s=4.0, launch_s={"launch": 1e-6}))
    (binary,) = backend.build(multiply_add(), [PLAIN])
    assert backend.time_launches("launch", 1).seconds == pytest.approx(1e-6, abs=1e-9)
    assert backend.now() == pytest.approx(4.001, abs=1e-4)
    assert binary.build_s == 4.0


def test_the_device_says_what_it_was_promised():
    """C14: 13.4 TFLOP/s nominal, whatever it really does; every nominal rate has its unit."""
    truth = FakeTruth(ceilings={"fp32": 15.9e12, "dram": 1e11}, nominal={"fp32": 13.4e12, "dram": 1.1e11})
    nominal = FakeBackend(truth).device.nominal
    assert {key: (value.rate, value.unit) for key, value in nominal.items()} == {
        "fp32": (13.4e12, "FLOP/s"),
        "dram": (1.1e11, "B/s"),
        "clock": (1e9, "Hz"),
    }


def test_others_and_state_are_as_told():
    """C09: what a baseline must not be compared across is part of the state."""
    backend = FakeBackend(FakeTruth(others_busy=0.4, state={"platform": "WSL2"}))
    assert backend.others_busy() == 0.4
    assert backend.environment().state == {"platform": "WSL2"}


def test_device_target_and_notes_say_that_this_is_fake():
    backend = FakeBackend(FakeTruth(name="Trial 1"))
    assert (backend.device.kind, backend.target.kind, backend.device.slug) == ("fake", "fake", "trial-1-fake-4c")
    assert any("fake" in note for note in backend.notes)


def truth_file(folder: Path, told: object) -> Path:
    path = folder / "truth.json"
    path.write_text(told if isinstance(told, str) else json.dumps(told), encoding="utf-8")
    return path


def test_a_truth_is_read_from_a_file_and_the_rest_keeps_its_default(tmp_path):
    told = {
        "name": "Slow card",
        "cache_bytes": None,
        "ceilings": {"dram": 1, "fp32": 2.5},
        "series": {"placements": [1, 1.5], "noise": 0},
        "faults": {"hang": "native", "fail_at": 3},
        "state": {"ecc": True, "power limit": None},
    }
    assert FakeTruth.from_json(truth_file(tmp_path, told)) == FakeTruth(
        name="Slow card",
        cache_bytes=None,
        ceilings={"dram": 1.0, "fp32": 2.5},
        series=FakeSeries(placements=(1.0, 1.5)),
        faults=FakeFaults(hang="native", fail_at=3),
        state={"ecc": True, "power limit": None},
    )


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"ceiling": {}}, "unknown key ceiling: allowed are name, cores, memory_bytes"),
        ({"faults": {"hangs": ""}}, "unknown key faults.hangs: allowed are faults.fail_at"),
        ({"cores": 2.5}, "cores is 2.5: give a whole number"),
        ({"cores": True}, "cores is True: give a whole number"),
        ({"others_busy": "much"}, "others_busy is 'much': give a number or null"),
        ({"faults": {"hang": "soft"}}, "faults.hang is 'soft': allowed are 'interruptible', 'native'"),
        ({"series": {"placements": 2}}, "series.placements is 2: give a list"),
        ({"series": {"placements": []}}, "a factor on time is 0: give a positive finite number"),
        ({"series": {"drift_per_launch": -1, "drift_limit": 1}}, "drift_limit is 1: time can fall by less than 1"),
        ({"clock": {"throttle_share": 0}}, "throttle_share is 0: give a positive finite number"),
        ({"series": {"placements": ["x"]}}, "series.placements[0] is 'x': give a number"),
        ({"ceilings": [1]}, "ceilings is [1]: give an object"),
        ({"ceilings": {"dram": 0}}, "ceilings.dram is 0: give a positive finite number"),
        ({"launch_s": {"launch_sync": 1e-6}}, 'launch_s lacks "launch"'),
        ({"timer": {"tick_s": 0}}, "tick_s is 0: give a positive finite number"),
        ([], "the file is []: give an object"),
        ('{"cores": ', "Expecting value"),
        ('{"host_s": NaN}', "NaN is not JSON"),
    ],
)
def test_what_is_no_truth_is_refused_with_file_key_and_value(tmp_path, told, said):
    path = truth_file(tmp_path, told)
    with pytest.raises(ValueError, match=r"truth\.json") as refused:
        FakeTruth.from_json(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert said in str(refused.value)


def test_a_truth_that_cannot_be_read_says_so(tmp_path):
    with pytest.raises(ValueError, match="cannot be read"):
        FakeTruth.from_json(tmp_path / "absent.json")
