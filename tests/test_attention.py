"""Attention: how its steps and prompts are counted, what must come out at any size, and what FP16 weights may err."""

import numpy as np
import pytest

from roofline.checking import AWKWARD, example_inputs
from roofline.counting import attention_decode, attention_prefill
from roofline.kernel import Target
from roofline.kernels import attention, attention_cuda
from roofline.kernels.attention import DECODINGS, HEADS, LENGTH, WIDTH, Decoding

pytestmark = pytest.mark.correctness

KERNELS = {kernel.name: kernel for kernel in attention_cuda.every_kernel()}
HEAD = LENGTH * WIDTH
GROUPED = attention.GROUPED


@pytest.mark.parametrize("of", DECODINGS, ids=lambda of: of.name)
def test_decoding_has_the_intensity_of_its_sharing(of):
    """K6: about 1 FLOP a byte at any batch and context; heads that share a cache multiply it."""
    assert attention.decoding_work(of.size, of).intensity() == pytest.approx(of.sharing, rel=2e-3)


@pytest.mark.parametrize("of", [of for of in DECODINGS if of.sharing == 1], ids=lambda of: of.name)
def test_decoding_is_counted_as_the_counting_module_says(of):
    """K6, M8: one count in the library, whoever asks."""
    ours, theirs = attention.decoding_work(of.size, of), attention_decode(of.batch, HEADS, of.context, WIDTH)
    assert (ours.flops, ours.traffic) == (theirs.flops, theirs.traffic)


@pytest.mark.parametrize("of", DECODINGS, ids=lambda of: of.name)
def test_caches_are_more_than_any_last_cache_holds(of):
    """A1: keys and values of a step take a gigabyte or more."""
    assert attention.decoding_work(of.size, of).traffic["dram"].read >= 2**30


def test_sharing_moves_as_many_bytes_as_eight_times_fewer_sequences():
    """K6: the grouped row differs from the core's in FLOPs alone, but for queries and outputs."""
    core = attention.CORE_DECODING
    assert GROUPED.size == core.size
    ratio = attention.decoding_work(GROUPED.size, GROUPED).flops / attention.decoding_work(core.size, core).flops
    assert ratio == GROUPED.sharing


def test_prefill_has_the_intensity_of_its_tiles():
    """K7: 128 queries a tile, L = 4096, d = 128: 124 FLOP a byte from L2; from DRAM each matrix comes once."""
    work = attention.prefill_work(8 * HEAD, causal=False)
    assert work.intensity("l2") == pytest.approx(124, rel=2e-3)
    assert work.intensity("dram") == LENGTH / 2
    tiled = attention_prefill(1, 8, LENGTH, WIDTH, attention.ROWS)
    assert (work.flops, work.traffic["l2"]) == (tiled.flops, tiled.traffic["dram"])


@pytest.mark.parametrize(("causal", "flops"), [(False, 1.374e11), (True, 1.374e11 / 2 * 4097 / 4096)])
def test_causal_pairs_are_exact_and_named(causal, flops):
    """C26: B = 1, H = 16, S = 4096, d = 128: 4·B·H·S²·d forward; of the causal half S(S + 1)/2 pairs, by name."""
    work = attention.prefill_work(16 * HEAD, causal)
    assert work.flops == pytest.approx(flops, rel=1e-3)
    assert work.flops == 16 * 4 * WIDTH * sum((query + 1 if causal else LENGTH) for query in range(LENGTH))
    assert ("exactly S(S+1)/2" in work.convention) == causal


def test_causal_tiles_bring_the_keys_up_to_their_last_query():
    """K7: a head of 300 tokens in tiles of 128: 128, 256 and 300 keys."""
    work = attention.prefill_work(300 * WIDTH, causal=True)
    assert work.traffic["l2"].read == 2 * WIDTH * (300 + 2 * (128 + 256 + 300))


@pytest.mark.parametrize("causal", [True, False])
def test_a_prompt_is_attended_head_by_head(causal, monkeypatch):
    """K7: the last head may be shorter, and elements beyond the last whole row stay as they were."""
    monkeypatch.setattr(attention, "LENGTH", length := 64)
    drawn = np.random.default_rng(3)
    arrays = [drawn.standard_normal((length + 5) * WIDTH + 9) for _ in range(4)]
    result = attention.prefilled(arrays, causal)
    assert np.array_equal(result[-9:], arrays[3][-9:])
    last = [array[length * WIDTH : -9].reshape(5, WIDTH) for array in arrays]
    for query in range(5):
        seen = query + 1 if causal else 5
        weights = np.exp(last[1][:seen] @ last[0][query] / np.sqrt(WIDTH))
        want = weights @ last[2][:seen] / weights.sum()
        assert np.allclose(result[length * WIDTH : -9].reshape(5, WIDTH)[query], want)


@pytest.mark.parametrize("sharing", [1, 8])
def test_a_step_attends_to_the_whole_cache_of_its_own_head(sharing):
    """K6: two heads of keys, the second of them short; equal keys weigh values equally."""
    of = Decoding(1, 16, sharing)
    n = (16 + 10) * WIDTH + 3
    keys, queries, values = np.zeros(n), np.ones(n), np.arange(n, dtype=np.float64)
    result = attention.decoded([keys, values, queries, np.zeros(n)], of).reshape(-1, WIDTH)
    rows = values[: 26 * WIDTH].reshape(26, WIDTH)
    assert result.shape == (2 * sharing, WIDTH)
    assert np.allclose(result[:sharing], rows[:16].mean(axis=0))
    assert np.allclose(result[sharing:], rows[16:].mean(axis=0))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n", AWKWARD)
def test_what_is_observed_is_what_the_reference_gives(name, n):
    """A9: at sizes that hold fewer rows than heads share, or none at all."""
    arrays = example_inputs(KERNELS[name], n)
    (want,), (seen,) = KERNELS[name].reference(arrays, 1), KERNELS[name].observe(arrays)
    assert want.shape == seen.shape
    assert np.isfinite(want).all()


@pytest.mark.parametrize("n", [n for n in AWKWARD if n >= WIDTH] + [200 * WIDTH])
def test_the_tolerance_is_what_weights_in_fp16_may_err(n):
    """A9: attention with scores in FP32 and weights and results rounded to FP16 stays within it."""
    arrays = example_inputs(KERNELS["prefill-full"], n)
    want = attention.prefilled(arrays, causal=False)[: n // WIDTH * WIDTH]
    q, k, v = (array[: n // WIDTH * WIDTH].reshape(-1, WIDTH).astype(np.float32) for array in arrays[:3])
    scores = q @ k.T * np.float32(0.12751743)
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    rounded = weights.astype(np.float16).astype(np.float32)
    have = (rounded @ v / weights.sum(axis=1, keepdims=True)).astype(np.float16).reshape(-1)
    assert (np.abs(have - want) / np.maximum(1, np.abs(want))).max() <= attention.TOLERANCE


def test_what_cannot_run_says_why():
    """Absent with a reason: on a CPU, and where the instruction is missing."""
    for kernel in (*KERNELS.values(), attention_cuda.instruction()):
        assert not kernel.variants(Target("cpu", "x86-64-v3"))
        assert kernel.unsupported["cpu"]
        assert kernel.unsupported["cuda"]
    for kernel in KERNELS.values():
        assert not kernel.variants(Target("cuda", "sm_75"))
        assert kernel.variants(Target("cuda", "sm_80"))
