"""On a real card, where there is one: every kernel right on awkward sizes, exact tiles, every launch counted."""

from collections.abc import Iterator

import numpy as np
import pytest

from roofline.checking import check
from roofline.devices.base import Launch
from roofline.devices.cuda import list_cuda, open_cuda, why_no_cuda
from roofline.devices.cuda.chains import CHAIN_MODES
from roofline.kernel import Array, Kernel, Launched
from roofline.kernels import (
    every_kernel,
    fixes,
    gelu_cuda,
    ladder,
    ladder_cuda,
    launch,
    tensor,
    tensor_paths,
    tensor_types,
)

pytestmark = [
    pytest.mark.correctness,
    pytest.mark.skipif(why_no_cuda() is not None, reason=f"no CUDA device: {why_no_cuda()}"),
]
CUDA_KERNELS = [kernel for kernel in every_kernel() if "cuda" in kernel.sources]


@pytest.fixture(scope="module")
def card() -> Iterator:
    backend = open_cuda("0")
    yield backend
    backend.close()


def build(card, kernel: Kernel):
    variants = kernel.variants(card.target)
    if not variants:
        pytest.skip(kernel.unsupported["cuda"])
    return card.build(kernel, variants)


def result(card, binary, host: list[Array], size: int) -> list[Array]:
    buffers = card.bind(host)
    card.run(Launch(binary, buffers, size, repeats=binary.kernel.repeats), 1)
    found = card.read_back(buffers)
    card.free(buffers)
    return found


@pytest.mark.parametrize("kernel", CUDA_KERNELS, ids=lambda kernel: f"{kernel.experiment}-{kernel.name}")
def test_every_variant_agrees_with_float64_on_awkward_sizes(card, kernel):
    """A9: sizes that no tile divides, more than one tile, and exactly one."""
    for binary in build(card, kernel):
        check(card, binary, sizes=(1, 1023, 1025, binary.block, 3 * binary.block + 77))


TENSOR = [(path, kind) for kind in tensor_types.TYPES for path in tensor_paths.paths_of(kind)]
each_tensor = pytest.mark.parametrize(("path", "kind"), TENSOR, ids=[f"{path}-{kind.name}" for path, kind in TENSOR])


@each_tensor
def test_ones_count_the_steps_exactly(card, path, kind):
    """B4: on ones every step adds as much, exact in FP16 up to 2048, in Hopper's FP8 sums up to 2^14 products."""
    kernel = tensor.kernel(path, kind, repeats=kind.counts_to, period=kind.counts_to)
    rows, columns, _ = tensor_paths.tile(path, kind)
    ones = [np.ones(3 * rows * columns, np.float32) for _ in range(3)]
    for binary in build(card, kernel):
        assert np.all(result(card, binary, ones, ones[0].size)[2] == kind.counted)


@each_tensor
def test_random_operands_agree_with_float64_and_stay_finite(card, path, kind):
    """B1: full-mantissa operands of both signs, each tile its own, in the layout that the descriptors say."""
    kernel, tile = tensor.kernel(path, kind), tensor_paths.tile(path, kind)
    n = tile[0] * tile[1] * 5
    drawn = np.random.default_rng(7)
    host = [drawn.uniform(1, 2, n).astype(np.float32) for _ in range(3)]
    want = tensor_types.product(kind, tile, host, kind.period)
    assert np.abs(want).max() > 10
    for binary in build(card, kernel):
        have = result(card, binary, host, n)[2].astype(np.float64)
        assert np.all(np.abs(have - want) <= kind.period * kind.step_error * np.maximum(1, np.abs(want)))


def worst_of_a_product(card, kernel: Kernel, side: int = 1024) -> float:
    """The greatest relative error of a product of full-mantissa operands of one sign."""
    drawn = np.random.default_rng(3)
    host = [drawn.uniform(1, 2, side**2).astype(np.float32) for _ in range(3)]
    want = ladder.product(host)
    return max(
        float(np.max(np.abs(result(card, binary, host, side**2)[2] / want - 1))) for binary in build(card, kernel)
    )


# Sums of 1024 products, each rounded to 24 bits, wander a few times sqrt(1024) · 2^-24 away; operands rounded to the 11
# bits of TF32 wander five times as far.
IN_FP32 = 1e-5


@pytest.mark.parametrize(
    "kernel", [ladder_cuda.registers(), ladder_cuda.library("fp32"), gelu_cuda.bare()], ids=lambda kernel: kernel.name
)
def test_a_product_in_fp32_rounds_as_fp32(card, kernel):
    """T7, A9: TF32 is off, at a size that takes the fast way through the code."""
    assert worst_of_a_product(card, kernel) < IN_FP32


def test_a_product_in_tf32_shows(card):
    """T7: what the test above looks for is there when TF32 is asked for."""
    assert IN_FP32 < worst_of_a_product(card, gelu_cuda.library("")) < 1e-3


@pytest.mark.parametrize("mode", launch.MODES)
@pytest.mark.parametrize("launches", [1, 1000])
def test_every_launch_really_ran(card, mode, launches):
    """C4: counters prove that every launch, streamed or replayed, ran."""
    assert card.count_launches(mode, launches) == launches


@pytest.mark.parametrize("mode", CHAIN_MODES)
def test_every_launch_of_a_chain_runs_and_goes_on_from_window_to_window(card, mode):
    """C4, C7: 7 chains of 6 steps round 4 windows; a graph begins at the first window each time."""
    step = fixes.kernel(fixes.BY_NAME["chain-streamed"])
    (binary,) = build(card, step)
    buffers = card.bind([np.zeros(4096, np.float32)])
    timing = card.time_chains(Launch(binary, buffers, 1024, windows=4), Launched(mode, 6), 7, first_window=1)
    (found,) = card.read_back(buffers)
    card.free(buffers)
    visits = [14, 14, 7, 7] if mode == "launch_graph" else [10, 11, 11, 10]
    assert timing.launches == 7
    assert np.array_equal(found, np.repeat(visits, 1024) / 4)


def test_a_kernel_with_a_tail_is_refused_where_launches_are_counted_one_by_one(card):
    """C5: two grids a launch would be twice the overhead."""
    (binary, *_) = build(card, next(k for k in CUDA_KERNELS if k.name == "copy-plain"))
    buffers = card.bind([np.zeros(1025, np.float32)] * 2)
    with pytest.raises(ValueError, match="two grids a launch"):
        card.time_chains(Launch(binary, buffers, 1025), Launched("launch"), 1)
    card.free(buffers)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_random_fill_is_normal_full_and_the_same_each_time(card, dtype):
    first, second = (card.allocate(2, 4097, dtype, 1, "random") for _ in range(2))
    values, again = card.read_back(first), card.read_back(second)
    for buffers in (first, second):
        card.free(buffers)
    for array, same in zip(values, again, strict=True):
        assert np.array_equal(array, same)
        assert array.min() >= 1
        assert array.max() < 2
        assert len(np.unique(array)) > 500
    assert not np.array_equal(values[0], values[1])


def test_time_grows_with_the_work(card):
    """C30: twice the repeats take about twice as long, so no repeat was skipped."""
    kernel = next(k for k in CUDA_KERNELS if k.name == "chains-04-full")
    binary = build(card, kernel)[0]
    buffers = card.allocate(2, kernel.size(0), "float32", 1, "random")

    def seconds(repeats: int) -> float:
        bound = Launch(binary, buffers, kernel.size(0), repeats=repeats)
        return min(card.run(bound, 1).seconds for _ in range(5))

    assert 1.8 < seconds(16) / seconds(8) < 2.2
    card.free(buffers)


def test_the_clock_during_the_work_is_a_clock(card):
    """The clock of a timing lies between idle and 1.5 times what the card promises."""
    kernel = next(k for k in CUDA_KERNELS if k.name == "chains-04-full")
    buffers = card.allocate(2, kernel.size(0), "float32", 1, "random")
    timing = card.run(Launch(build(card, kernel)[0], buffers, kernel.size(0), repeats=kernel.repeats), 2)
    card.free(buffers)
    assert 1e8 < timing.clock_hz < 1.5 * card.device.nominal["clock"].rate


def test_too_much_memory_is_refused_with_both_figures(card):
    """C37: never spilled into managed memory."""
    with pytest.raises(MemoryError, match=r"GB wanted and .* GB may be used"):
        card.allocate(1, card.memory_limit(), "float32", 1, "zeros")


def test_a_uuid_opens_the_same_card(card):
    """C31: the device is found by what it is."""
    other = open_cuda(list_cuda()[0])
    assert other.device == card.device
    other.close()
