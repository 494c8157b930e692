"""B: the tensor-core peak of every type that a card multiplies: nothing but matrix instructions in the loop.

A launch takes `repeats` steps on 2^21 elements of D; a step adds `terms` products to each of them, 2 FLOPs (for INT8:
operations) a product. `tensor_types` holds the types, `tensor_paths` the instructions and the cards that have them.
"""

from collections.abc import Iterator

from roofline.kernel import Kernel, Target
from roofline.model import Traffic, Work

from .tensor_paths import best_path, missing, paths_of, source, tile, variants
from .tensor_types import BY_NAME, TYPES, Type, product

# About 5 ms on an H200; a step of FP64 takes 16 times as long as another.
REPEATS, REPEATS_OF_FP64 = 65536, 4096
# Elements of D in a launch: 64 tiles of an SM, 1024 of a warp, whose steps share out over any number of SMs.
ELEMENTS = 1 << 21
# An operand of zeros in this type shows what the card clocks to when fewer transistors switch.
ON_ZEROS = BY_NAME["fp16_fp32acc"]


def kernel(
    path: str, kind: Type, repeats: int | None = None, period: int | None = None, fill: str = "random"
) -> Kernel:
    """The peak of one type by one of the paths; D holds `period` steps when a launch ends.

    Random operands give the figure of record: zeros switch fewer transistors, and a card clocks higher on them.
    """
    period = period or kind.period
    repeats = repeats or (REPEATS_OF_FP64 if kind.name == "fp64" else REPEATS)
    if repeats % period or period % 16:
        raise ValueError(
            f"repeats = {repeats}, period = {period}: give a period that 16 divides and that divides repeats"
        )

    def work(n: int) -> Work:
        return Work(
            flops=2.0 * kind.terms * repeats * n,
            unit=kind.unit,
            traffic={"dram": Traffic(0.0, 0.0)},
            convention="FMA = 2 FLOP; operands are read once a launch, the loop moves nothing to or from DRAM",
        )

    return Kernel(
        experiment="tensor",
        name=f"{path}-{kind.label}",
        unit=kind.unit,
        level="dram",
        work=work,
        variants=lambda target: variants(target, path, kind),
        sources={"cuda": lambda target, variant: source(target, variant, path, kind, period)},
        reference=lambda arrays, launches: [product(kind, tile(path, kind), arrays, period)],
        measures=(kind.unit,) if fill == "random" else (),
        arrays=3,
        memory="none",
        size=lambda elements: ELEMENTS,
        repeats=repeats,
        tolerance=0.0 if kind.exact else period * kind.step_error,
        tolerance_reason="sums of small integers are exact in the accumulators" if kind.exact else kind.reason,
        fill=fill,
        sustained=True,
        unsupported={"cuda": missing(path, kind)},
    )


def best(kind: Type, target: Target) -> Kernel:
    """The peak of one type by the best instruction of this card; where it has none, a kernel that says so."""
    return kernel(best_path(target, kind), kind)


def every_kernel() -> Iterator[Kernel]:
    """Each type by each path that any card has; and FP16 on zeros by the instructions of Hopper and of a warp."""
    yield from (kernel(path, kind) for kind in TYPES for path in paths_of(kind))
    yield from (kernel(path, ON_ZEROS, fill="zeros") for path in ("wgmma", "mma"))
