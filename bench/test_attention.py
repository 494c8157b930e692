"""K6, K7: attention while tokens are generated, which no batch helps, and over a whole prompt, which is a product."""

import pytest

from roofline.claims import Prediction, within
from roofline.kernels import attention, attention_cuda

pytestmark = pytest.mark.bench
on_a_gpu = pytest.mark.devices("cuda")

READ = "dram_read"
CORE = attention.CORE_DECODING.name
GROUPED = attention.GROUPED
CAUSAL = "prefill-causal"
INSTRUCTION = attention_cuda.instruction()
PRIVATE = [of.name for of in attention.DECODINGS if of.sharing == 1]


def marks_of(name):
    """The marks of a row: one decoding, one prefill and their instruction are for every run."""
    return [] if name in (CORE, CAUSAL, INSTRUCTION.name) else [pytest.mark.full]


@pytest.mark.parametrize(
    "kernel",
    [pytest.param(k, id=k.name, marks=marks_of(k.name)) for k in (*attention_cuda.every_kernel(), INSTRUCTION)],
)
def test_attention(kernel, measure):
    """A step of a batch of sequences, a whole prompt, or the instruction of both with nothing else to do."""
    measure(kernel)


@pytest.fixture
def measured(rows):
    """`measured(name)`: the row of that name; skips where there is none."""

    def measured(name):
        (row,) = rows(attention.EXPERIMENT, name)
        return row

    return measured


@pytest.fixture
def private(rows, measured):
    """The decodings whose sequences share nothing, by name: that of the core set, and what else was measured."""
    known = {row.key.kernel: row for row in rows(attention.EXPERIMENT)}
    return {CORE: measured(CORE)} | {name: known[name] for name in PRIVATE if name in known}


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "K6",
        "intensity of decoding at any batch: least",
        unit="FLOP/B",
        formula=within(0.99, 1.0, "4 FLOPs for the 4 bytes of a key's and a value's element", "FLOP/B"),
    )
)
def test_decoding_has_intensity_one_at_any_batch(claim, private):
    """K6: each sequence's cache is its own, so a larger batch brings bytes with it as it brings FLOPs."""
    claim(min(row.work.intensity() for row in private.values()), list(private.values()), note=", ".join(private))


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "K6",
        "decoding, a batch of 8 or more: share of the read ceiling, least",
        formula=within(0.90, 1.05, "keys and values are a stream"),
    )
)
def test_decoding_is_a_stream(claim, private, roofline):
    """K6: what a step takes is the time in which its caches come."""
    long = [row for name, row in private.items() if name >= CORE]
    slowest = min(long, key=lambda row: row.bytes_per_s().value)
    claim(slowest.bytes_per_s().over(roofline.ceiling(READ).estimate), long, note=slowest.key.kernel)


@on_a_gpu
@pytest.mark.full
@pytest.mark.predicts(
    Prediction(
        "K6",
        f"{GROUPED.sharing} heads share a cache: FLOP/s over that of heads with their own",
        formula=within(0.9 * GROUPED.sharing, 1.05 * GROUPED.sharing, "as many bytes at the same pace"),
    )
)
def test_sharing_heads_multiplies_the_work_of_a_byte(claim, measured):
    """K6: a key that comes once for eight heads of queries pays for eight times the FLOPs, at the same pace."""
    alone, shared = measured(CORE), measured(GROUPED.name)
    claim(shared.flop_per_s.over(alone.flop_per_s), [alone, shared])


@on_a_gpu
@pytest.mark.full
@pytest.mark.predicts(
    Prediction(
        "K7",
        "intensity of prefill at L2, all pairs, tiles of 128 queries",
        unit="FLOP/B",
        formula=within(123, 125, "4·S²·d FLOPs over S·d·2·(2 + 2·S/128) bytes, S = 4096, d = 128", "FLOP/B"),
    )
)
def test_prefill_has_the_intensity_of_its_tiles(claim, measured):
    """K7: keys and values come once for every tile of 128 queries."""
    row = measured("prefill-full")
    claim(row.work.intensity("l2"), [row])


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "K7",
        "prefill lies right of every ridge: its intensity over the ridge, least",
        formula=within(1.0, float("inf"), "a product of long matrices"),
    )
)
def test_prefill_lies_right_of_the_ridge(claim, measured, roofline):
    """K7: neither DRAM nor L2 holds a prefill back."""
    row = measured(CAUSAL)
    known = [level for level in row.work.traffic if level in roofline.ceilings]
    if attention.UNIT not in roofline.ceilings or not known:
        claim(None, note="no ceiling of tensor cores, or of any level, was measured")
    over = {level: row.work.intensity(level) / roofline.ridge(attention.UNIT, level).value for level in known}
    claim(min(over.values()), [row], note=", ".join(f"{level} {share:.3g}" for level, share in over.items()))


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "K7",
        "prefill, exact causal pairs: share of its instruction's rate",
        formula=within(0.50, 1.02, "softmax between two products keeps a warp from its tensor core"),
    )
)
def test_prefill_comes_near_its_instruction(claim, measured):
    """K7: of what the matrix instruction of a warp passes alone, at least half is left beside softmax."""
    row, bare = measured(CAUSAL), measured(INSTRUCTION.name)
    claim(row.flop_per_s.over(bare.flop_per_s), [row, bare])
