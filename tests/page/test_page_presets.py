"""The kernels of the explorer lie where the chapter puts them."""

import pytest

from roofline import counting
from roofline.page.presets import BATCHES, presets

pytestmark = pytest.mark.correctness

PRESETS = {preset.name: preset for preset in presets()}


def intensity(name: str, label: str | None = None) -> float:
    preset = PRESETS[name]
    step = next(step for step in preset.steps if label in (None, step.label))
    return step.work.intensity("dram")


@pytest.mark.parametrize(
    ("name", "label", "expected"),
    [
        ("vecadd", None, 1 / 12),
        ("SAXPY", None, 2 / 12),
        ("softmax, fused", None, 5 / 8),
        ("layer norm, fused", None, 1.0),
        ("matmul, naive", None, 0.25),
        ("matmul, tiled", "16 × 16", 4.0),
        ("matmul, tiled", "32 × 32", 8.0),
        ("matmul, register-tiled", None, 32.0),
        ("GEMM, FP32", "4096", 4096 / 6),
        ("GEMM, FP16", "4096", 4096 / 3),
        ("attention, prefill", "4096", 124.0),
    ],
)
def test_a_preset_has_the_intensity_of_the_chapter(name, label, expected):
    """X2, T1 to T8, K1 to K3, K7."""
    assert intensity(name, label) == pytest.approx(expected, rel=0.02)


def test_a_decode_layer_has_about_the_intensity_of_its_batch():
    """K5: 2·K·N·B FLOPs over 2·K·N + 2·B·(K + N) bytes."""
    for batch in BATCHES:
        k, n = 4096, 1024
        work = counting.decode_layer(batch, k, n)
        assert work.flops == 2 * k * n * batch
        assert work.moved("dram") == 2 * k * n + 2 * batch * (k + n)
    assert intensity("decode layer", "8") == pytest.approx(8, rel=0.01)


def test_decode_attention_gains_nothing_from_a_batch():
    """K6: every sequence has its own cache, so about 1 FLOP a byte at any batch."""
    found = [step.work.intensity("dram") for step in PRESETS["attention, decode"].steps]
    assert found == pytest.approx([1.0] * len(found), rel=0.01)
    assert len(set(found)) == 1


def test_prefill_reads_keys_and_values_once_a_tile_even_where_the_last_tile_is_not_full():
    """K7: 129 queries are two tiles of 128."""
    one, two = (counting.attention_prefill(1, 1, length, 64, 128) for length in (128, 129))
    assert one.traffic["dram"].read == 2 * 128 * 64 * 3
    assert two.traffic["dram"].read == 2 * 129 * 64 * 5


def test_a_slider_begins_at_one_of_its_steps():
    for preset in PRESETS.values():
        assert 0 <= preset.first < len(preset.steps)
        assert bool(preset.setting) == (len(preset.steps) > 1)
