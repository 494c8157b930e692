"""The batch dial: how a layer is counted, which layers an array holds, and what must come out of them."""

import numpy as np
import pytest

from roofline.checking import AWKWARD, example_inputs
from roofline.kernel import Target
from roofline.kernels import batch, batch_cuda
from roofline.model import Measurement, RowKey, Samples, Timer
from roofline.stats import estimate

pytestmark = pytest.mark.correctness

KERNELS = {kernel.name: kernel for kernel in batch_cuda.every_kernel()}
WHOLE = batch.LAYERS * batch.SIDE**2
LARGEST_FP16, UP_TO_WHICH_FP32_COUNTS = 65504, 2**24


@pytest.mark.parametrize(("size", "intensity"), [(1, 0.9995), (16, 15.88), (92, 88.04), (4096, 4096 / 3)])
def test_intensity_is_about_the_batch(size, intensity):
    """K5: 2·K·N·B FLOPs over 2·K·N + 2·B·(K + N) bytes, however many layers there are."""
    assert batch.work(WHOLE, size).intensity() == pytest.approx(intensity, rel=1e-3)
    assert batch.work(batch.SIDE**2, size).intensity() == pytest.approx(batch.work(WHOLE, size).intensity())


@pytest.mark.parametrize("size", batch.BATCHES)
def test_the_batch_of_an_intensity_is_the_batch_that_has_it(size):
    """K5: the formula turned round names the batch at a ridge."""
    assert batch.of_intensity(batch.work(WHOLE, size).intensity()) == pytest.approx(size)


def test_layers_are_more_than_any_last_cache_holds():
    """A1: 32 layers take a gigabyte, so a weight is cold when it is met again."""
    assert batch.work(WHOLE, 1).traffic["dram"].read >= 2**30


@pytest.mark.parametrize(
    ("n", "side", "layers"),
    [(1, 0, 0), (63, 0, 0), (64, 8, 1), (1023, 24, 1), (1025, 32, 1), (4096, 64, 1), (2 * 4096**2 + 5, 4096, 2)],
)
def test_an_array_holds_whole_layers(n, side, layers):
    """A9: a side is a multiple of what is loaded together, and 4096 at most."""
    assert (batch.side(n), batch.layers(n)) == (side, layers)
    assert batch.layers(n) * batch.side(n) ** 2 <= n


@pytest.mark.parametrize("size", [1, 16, 4096])
@pytest.mark.parametrize("n", AWKWARD)
def test_products_fill_their_rows_and_leave_the_rest(n, size):
    """A9: of a small array the batch is what it holds; what is left over stays as it was."""
    arrays = example_inputs(KERNELS[batch.name(16, library=True)], n)
    result = batch.product(arrays, size)
    side, rows = batch.side(n), batch.vectors(n, size)
    x = arrays[0][: rows * side].reshape(rows, side).astype(np.int64)
    w = arrays[1][: side * side].reshape(side, side).astype(np.int64)
    assert np.array_equal(result[: rows * side].reshape(rows, side), np.einsum("bk,nk->bn", x, w))
    assert np.array_equal(result[rows * side :], arrays[2][rows * side :])


def test_every_sum_of_the_check_is_exact_in_fp32_and_fits_fp16():
    """The tolerance is that of the one rounding at the end."""
    largest = max(np.abs(batch.product(example_inputs(KERNELS["layer-0001"], n), 4096)).max() for n in AWKWARD)
    assert largest < min(LARGEST_FP16, UP_TO_WHICH_FP32_COUNTS)


def test_each_batch_has_a_way_and_one_in_between_two():
    """Our own kernel for few vectors, the library for many."""
    own = {batch.batch_of(name) for name in KERNELS if not name.endswith("-library")}
    library = {batch.batch_of(name) for name in KERNELS if name.endswith("-library")}
    assert own | library == set(batch.BATCHES)
    assert own & library == {16}


def test_of_each_batch_the_faster_way_counts():
    """The envelope of both ways, smallest batch first."""
    slow, fast, other = row("layer-0016", 2.0), row("layer-0016-library", 1.0), row("layer-0001", 3.0)
    assert batch.best_of([fast, slow, other]) == batch.best_of([slow, other, fast]) == {1: other, 16: fast}
    assert list(batch.best_of([fast, other])) == [1, 16]


def row(name: str, seconds: float) -> Measurement:
    samples = Samples((seconds,) * 5, Timer("told", 1e-9))
    return Measurement(
        RowKey("batch", name, WHOLE, batch.UNIT, "dram"), batch.work(WHOLE, 1), "v", samples, estimate(samples)
    )


def test_what_cannot_run_says_why():
    """Absent with a reason: on a CPU, and where the instruction is missing."""
    kernel = KERNELS["layer-0008"]
    assert kernel.variants(Target("cpu", "x86-64-v3")) == ()
    assert kernel.variants(Target("cuda", "sm_75")) == ()
    assert kernel.unsupported["cpu"]
    assert "sm_80" in kernel.unsupported["cuda"]
    assert len(kernel.variants(Target("cuda", "sm_80"))) == len(batch_cuda.FORMS)
