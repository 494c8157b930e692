"""K5, K7: a linear layer for a growing batch, from a stream of weights to a product that the tensor cores hold back.

Few vectors go by our own kernel, many by the vendor's library, those in between by both: the faster counts.
"""

from itertools import pairwise

import pytest

from roofline.claims import Prediction, within
from roofline.kernels import batch, batch_cuda

pytestmark = pytest.mark.bench
on_a_gpu = pytest.mark.devices("cuda")

SMALLEST, LARGEST = batch.BATCHES[0], batch.BATCHES[-1]
READ = "dram_read"
KERNELS = list(batch_cuda.every_kernel())


def marks_of(kernel):
    """The marks of a row: four batches are for every run."""
    return [] if batch.batch_of(kernel.name) in batch.CORE else [pytest.mark.full]


@pytest.mark.parametrize("kernel", [pytest.param(k, id=k.name, marks=marks_of(k)) for k in KERNELS])
def test_layer(kernel, measure):
    """Layers of 4096 × 4096 weights, each for vectors of its own."""
    measure(kernel)


@pytest.fixture
def best(rows, claim):
    """The faster row of each batch, smallest batch first; inconclusive where the smallest or the largest is absent."""
    found = batch.best_of(rows(batch.EXPERIMENT))
    lacking = [str(size) for size in (SMALLEST, LARGEST) if size not in found]
    if lacking:
        claim(None, note=f"batches of {', '.join(lacking)} were not measured")
    return found


@pytest.fixture
def ridge(roofline, claim):
    """FLOPs a byte at which this card's tensor cores have enough to do; inconclusive where a line is not known."""
    unknown = [resource for resource in (batch.UNIT, READ) if resource not in roofline.ceilings]
    if unknown:
        claim(None, note=f"no ceiling of {', '.join(unknown)} was measured")
    return roofline.ridge(batch.UNIT, READ)


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "K5",
        "intensity of a small batch over the batch: least",
        formula=within(0.95, 1.0, "2·K·N·B FLOPs over 2·K·N + 2·B·(K + N) bytes, B ≤ 64"),
    )
)
def test_intensity_is_the_batch(claim, best):
    """K5: every weight serves the whole batch, so a byte pays for a FLOP of each vector."""
    small = {size: row for size, row in best.items() if size <= 64}
    claim(min(row.work.intensity() / size for size, row in small.items()), list(small.values()))


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "K5",
        "one vector: share of the read ceiling",
        formula=within(0.90, 1.05, "weights are a stream that nothing else slows down"),
    )
)
def test_one_vector_is_a_stream(claim, best, roofline):
    """K5: for one vector the layer takes as long as its weights take to come."""
    row = best[SMALLEST]
    claim(row.bytes_per_s().over(roofline.ceiling(READ).estimate), [row])


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "K5",
        "throughput from batch to batch up to the ridge, over how much larger the batch is: least",
        formula=within(0.5, 1.05, "left of the ridge time stays, so throughput grows with intensity; near it, by half"),
    )
)
def test_throughput_rises_up_to_the_ridge(claim, best, ridge):
    """K5: up to the ridge a larger batch takes hardly longer."""
    rising = [(size, row) for size, row in best.items() if row.work.intensity() <= ridge.value]
    steps = [
        after.flop_per_s.value / before.flop_per_s.value / (larger / smaller)
        for (smaller, before), (larger, after) in pairwise(rising)
    ]
    claim(min(steps, default=None), [row for _, row in rising])


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "K5",
        "throughput past the ridge: most over least",
        formula=within(1.0, 1.5, "past the ridge there is nothing to gain but what small products lose"),
    )
)
def test_throughput_is_flat_past_the_ridge(claim, best, ridge):
    """K5, K7: past the ridge a larger batch takes as much longer as it is larger; so does a prompt."""
    flat = [row for row in best.values() if row.work.intensity() > ridge.value]
    rates = [row.flop_per_s.value for row in flat]
    claim(max(rates) / min(rates), flat)


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "K5",
        "where throughput turns, over the ridge",
        formula=within(0.7, 1.3, "the plateau over the pace at which weights come, as the ridge is P / β"),
    )
)
def test_throughput_turns_at_the_ridge(claim, best, ridge):
    """K5: the line through the small batches meets that through the largest at the ridge of the ceilings."""
    stream, plateau = best[SMALLEST], best[LARGEST]
    turn = plateau.flop_per_s.over(stream.bytes_per_s())
    claim(
        turn.over(ridge),
        [stream, plateau],
        note=f"turns at {turn.value:.0f} FLOP/B, batch {batch.of_intensity(turn.value):.0f}; ridge {ridge.value:.0f}",
    )
