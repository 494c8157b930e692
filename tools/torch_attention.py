"""FLOP/s of PyTorch's own prefill attention in the sizes of ours, by each of the ways that it has on this card."""

from importlib.util import find_spec
from statistics import median
from typing import Any

from roofline.kernels import attention
from roofline.kernels.attention_cuda import PREFILLS

CALLS, ROUNDS = 4, 9
WAYS = ("FLASH_ATTENTION", "CUDNN_ATTENTION")


def prefill_rates() -> dict[str, dict[str, float]]:
    """FLOP/s by our kernel's name and PyTorch's way, causal pairs counted exactly; empty without PyTorch."""
    if find_spec("torch") is None:
        print("PyTorch is not installed: attention is compared with nothing")
        return {}
    import torch

    shape = (attention.SEQUENCES, attention.HEADS, attention.LENGTH, attention.WIDTH)
    queries, keys, values = (1 + torch.rand(shape, device="cuda", dtype=torch.float16) for _ in "qkv")
    heads = attention.SEQUENCES * attention.HEADS
    rates: dict[str, dict[str, float]] = {name: {} for name in PREFILLS}
    for name, causal in PREFILLS.items():
        flops = 4.0 * attention.WIDTH * heads * attention.pairs(attention.LENGTH, causal)
        for way in WAYS:
            try:
                seconds = _seconds(torch, way, (queries, keys, values), causal)
            except RuntimeError as refused:
                print(f"{name} by {way}: PyTorch {torch.__version__} refuses ({refused})")
                continue
            rates[name][way] = flops / seconds
    return rates


def _seconds(torch: Any, way: str, inputs: tuple[Any, ...], causal: bool) -> float:
    """Median seconds of a call."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    began, ended = (torch.cuda.Event(enable_timing=True) for _ in "12")
    seconds = []
    with torch.no_grad(), sdpa_kernel(getattr(SDPBackend, way)):
        for _ in range(ROUNDS):
            began.record()
            for _ in range(CALLS):
                torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=causal)
            ended.record()
            ended.synchronize()
            seconds.append(began.elapsed_time(ended) * 1e-3 / CALLS)
    return median(seconds)
