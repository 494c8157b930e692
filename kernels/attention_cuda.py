"""K6, K7 on a GPU: `attention_decode.cu` and `attention_prefill.cu`, both by the matrix instruction of one warp."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from roofline.cuda_source import CudaSource
from roofline.kernel import Kernel, Target
from roofline.model import Variant

from . import attention, tensor
from .attention import Decoding
from .dial_cuda import compute_capability
from .tensor_types import BY_NAME

NO_CPU = "it is about tensor cores and a GPU's DRAM; a CPU has no matrix unit that this suite drives"
NO_INSTRUCTION = "its matrix instruction, 16 × 8 × 16 in FP16, is that of sm_80 and later"
# Tokens of a block of a decoding, best guess first: 16 at a time by each of four warps.
SPLITS = (512, 1024, 256)
DECODE_THREADS = 128
# For 16 tokens: two halves of them by eight pieces of the width, and eight of its columns in pairs of stripes.
DECODE_INSTRUCTIONS = 2 * 8 + 8
# Keys at a time of a prefill; 128 queries and twice so many keys and values lie in shared memory.
KEYS = (64, 48, 32)
# From here on compilers keep a few words of a prefill in memory, however few keys it takes.
SPILLS_FROM = 100
PREFILL_THREADS = 128
PREFILLS = {"prefill-causal": True, "prefill-full": False}


@cache
def text(name: str) -> str:
    """The pieces of both, and the kernel of that name."""
    here = Path(__file__)
    return "".join(here.with_name(f"attention{part}.cu").read_text(encoding="utf-8") for part in ("", f"_{name}"))


def has_instruction(target: Target) -> bool:
    """Whether this is a card with the instruction that both are made of."""
    return target.kind == "cuda" and compute_capability(target.architecture) >= 80


def decode_source(target: Target, variant: Variant, of: Decoding) -> CudaSource:
    """Blocks that weigh so many tokens each."""
    split = variant.integer("split")
    return CudaSource(
        text=text("decode"),
        entry=f"attention::decode<{of.context}, {of.sharing}, {split}>",
        block=split * attention.WIDTH,
        expects={"mma": DECODE_INSTRUCTIONS, "spill": 0},
        threads=DECODE_THREADS,
    )


def prefill_source(target: Target, variant: Variant, causal: bool) -> CudaSource:
    """Blocks of 128 queries that take so many keys at a time."""
    keys = variant.integer("keys")
    stripes = attention.ROWS // 16 // (PREFILL_THREADS // 32)
    scores = stripes * keys // 8 * (attention.WIDTH // 16)
    kept = {"spill": 0} if compute_capability(target.architecture) < SPILLS_FROM else {}
    return CudaSource(
        text=text("prefill"),
        entry=f"attention::prefill<{attention.LENGTH}, {keys}, {str(causal).lower()}>",
        block=attention.ROWS * attention.WIDTH,
        expects={"mma": 2 * scores, **kept},  # values take as many as scores
        threads=PREFILL_THREADS,
        shared_bytes=attention.HALF * attention.WIDTH * (attention.ROWS + 4 * keys),
    )


def decode(of: Decoding) -> Kernel:
    """One step of a batch."""
    return Kernel(
        experiment=attention.EXPERIMENT,
        name=of.name,
        unit=attention.UNIT,
        level="dram",
        work=lambda n: attention.decoding_work(n, of),
        variants=lambda target: [
            Variant(f"{split}-tokens", {"split": split}) for split in SPLITS if has_instruction(target)
        ],
        sources={"cuda": lambda target, variant: decode_source(target, variant, of)},
        reference=lambda arrays, launches: [attention.decoded(arrays, of)],
        observe=lambda arrays: attention.outputs(arrays, of),
        arrays=4,
        dtype="float16",
        memory="own",
        size=lambda elements: of.size,
        tolerance=attention.TOLERANCE,
        tolerance_reason=attention.TOLERANCE_REASON,
        unsupported={"cpu": NO_CPU, "cuda": NO_INSTRUCTION},
    )


def prefill(name: str) -> Kernel:
    """A whole prompt, by one of the names of `PREFILLS`."""
    causal = PREFILLS[name]
    return Kernel(
        experiment=attention.EXPERIMENT,
        name=name,
        unit=attention.UNIT,
        level="l2",
        work=lambda n: attention.prefill_work(n, causal),
        variants=lambda target: [Variant(f"{keys}-keys", {"keys": keys}) for keys in KEYS if has_instruction(target)],
        sources={"cuda": lambda target, variant: prefill_source(target, variant, causal)},
        reference=lambda arrays, launches: [attention.prefilled(arrays, causal)],
        arrays=4,
        dtype="float16",
        memory="own",
        size=lambda elements: attention.SEQUENCES * attention.HEADS * attention.LENGTH * attention.WIDTH,
        tolerance=attention.TOLERANCE,
        tolerance_reason=attention.TOLERANCE_REASON,
        unsupported={"cpu": NO_CPU, "cuda": NO_INSTRUCTION},
    )


def instruction() -> Kernel:
    """Nothing but the instruction that both are made of, timed as briefly as they are: what they are held against."""
    bare = tensor.kernel("mma", BY_NAME["fp16_fp32acc"])
    return replace(
        bare,
        experiment=attention.EXPERIMENT,
        name="instruction",
        measures=(),
        sustained=False,
        unsupported={**bare.unsupported, "cpu": NO_CPU},
    )


def every_kernel() -> Iterator[Kernel]:
    """Each batch of a decoding, and both prefills."""
    yield from (decode(of) for of in attention.DECODINGS)
    yield from map(prefill, PREFILLS)
