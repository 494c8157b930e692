"""H1 on a GPU: one slope for each level: shared memory, the first-level cache, L2, by the forms of `levels.cu`.

Near an SM a tile is read again and again by the block that owns it; L2 is read by all SMs together, a set of a quarter
of what the device says it holds, past the first-level caches. No two lanes of a warp meet in a bank.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from roofline.cuda_source import CudaSource
from roofline.kernel import Array, Kernel, Target
from roofline.model import Traffic, Variant, Work

from .levels import BYTES_OF_AN_ELEMENT, Reference, observed_sum, sum_of_passes, work_of_passes

# Passes over a tile before the next is taken, and repeats of that in a launch: milliseconds in all, of which bringing
# the tiles in takes none that shows, and chunks enough to share out evenly, to a few in a thousand, over any SMs.
PASSES = 16
REPEATS = 2048
ELEMENTS = 1 << 20
# Floats an instruction, loads in flight and threads of a block, floats of a tile, blocks an SM: 8 bytes a lane suit
# either level best, and what more threads and tiles do differs by card.
SHARED = ((2, 4, 256, 8192, 2), (2, 4, 512, 8192, 2), (4, 2, 256, 8192, 4), (1, 8, 512, 8192, 2))
L1 = ((2, 16, 128, 8192, 2), (2, 8, 256, 8192, 2), (2, 4, 256, 4096, 3), (4, 4, 256, 8192, 2))
# Loads of 16 bytes in flight, threads of a block, blocks an SM. 48 to 64 KiB on their way to an SM suit L2 best, twice
# as much crowds it; DRAM needs that much.
WHOLE = ((2, 256, 6), (2, 512, 3), (4, 1024, 1), (4, 512, 4))
EITHER = (WHOLE[0], WHOLE[-1])  # the one form for L2 and the other for DRAM
# Elements at the end of an array that hold sums: `RESULTS` of levels.cu.
RESULTS = 4096
# Bytes that all SMs read together in a launch: some milliseconds.
BYTES_A_LAUNCH = 16 << 30
# A quarter of an L2: there still, where each half of a divided one holds lines of its own.
L2_SHARE = 4
ASSUMED_CACHE_BYTES = 16 << 20
LARGEST_BLOCK = 4 * 4 * 1024


@dataclass(frozen=True)
class Near:
    """A level inside an SM, and the forms worth trying."""

    resource: str
    forms: Sequence[tuple[int, int, int, int, int]]


NEAR = (Near("shared", SHARED), Near("l1", L1))


def variants(target: Target, level: Near) -> Sequence[Variant]:
    """Every form of reading that level."""
    names = ("floats", "loads", "threads", "tile", "blocks")
    if target.kind != "cuda":
        return ()
    return tuple(
        Variant(f"{4 * floats}B-{loads}x{threads}x{blocks}-{tile}", dict(zip(names, form, strict=True)))
        for form in level.forms
        for floats, loads, threads, tile, blocks in [form]
    )


@cache
def text() -> str:
    """The source that every instance is made from."""
    return Path(__file__).with_name("levels.cu").read_text(encoding="utf-8")


def source(target: Target, variant: Variant, level: Near) -> CudaSource:
    """One form; its loop loads exactly as often as was meant, once more to bring a tile in or to add up sums."""
    floats, loads, threads, tile = (variant.integer(name) for name in ("floats", "loads", "threads", "tile"))
    near = {"load_shared": loads + 1, "load": 1} if level.resource == "shared" else {"load": loads}
    return CudaSource(
        text=text(),
        entry=f"levels::{level.resource}<{floats}, {loads}, {threads}, {tile}, {PASSES}>",
        block=tile,
        expects={**near, "store": 0, "spill": 0},
        threads=threads,
        tail=f"levels::tail<{PASSES}>",
        blocks_per_sm=variant.integer("blocks"),
    )


def kernel(level: Near) -> Kernel:
    """Reads that one level inside each SM serves."""
    return Kernel(
        experiment="levels",
        name=f"{level.resource}-read-plain",
        unit="fp32",
        level=level.resource,
        work=work_of_passes(level.resource, PASSES * REPEATS),
        variants=lambda target: variants(target, level),
        sources={"cuda": lambda target, variant: source(target, variant, level)},
        reference=sum_of_passes(PASSES * REPEATS),
        observe=observed_sum,
        measures=(level.resource,),
        memory="own",
        size=lambda _: ELEMENTS,
        repeats=REPEATS,
    )


def read_of(elements: int) -> int:
    """Of an array of so many elements, how many are read: the others hold sums."""
    return elements - min(RESULTS, (elements + 1) // 2)


def array_for(set_bytes: int) -> int:
    """Elements of the array in which a set of whole tiles of about that size is read."""
    return max(1, set_bytes // BYTES_OF_AN_ELEMENT // LARGEST_BLOCK) * LARGEST_BLOCK + RESULTS


def whole_variants(target: Target, forms: Sequence[tuple[int, int, int]]) -> Sequence[Variant]:
    """The forms of reading a set by all SMs together."""
    if target.kind != "cuda":
        return ()
    names = ("loads", "threads", "blocks")
    return tuple(Variant("16B-{}x{}x{}".format(*form), dict(zip(names, form, strict=True))) for form in forms)


def whole_source(variant: Variant, scattered: bool) -> CudaSource:
    """One form; its loop loads exactly as often as was meant, and what no tile fills is loaded one by one."""
    loads, threads = variant.integer("loads"), variant.integer("threads")
    return CudaSource(
        text=text(),
        entry=f"levels::whole<{loads}, {threads}, {str(scattered).lower()}>",
        block=4 * loads * threads,
        expects={"load": loads + 1, "store": 0, "spill": 0},
        threads=threads,
        blocks_per_sm=variant.integer("blocks"),
    )


def whole_work(passes: int) -> Callable[[int], Work]:
    """Counts `passes` over what is read of an array of n elements, where every load goes: at L2."""

    def work(n: int) -> Work:
        read = passes * read_of(n)
        return Work(
            flops=0.0,
            unit="fp32",
            traffic={"l2": Traffic(float(BYTES_OF_AN_ELEMENT * read), 0.0)},
            convention="each element read once a pass, counted at L2, whether it has it or not; additions not counted",
        )

    return work


def whole_reference(passes: int) -> Reference:
    """The sum of an array after launches that each add that of its first part to its last, `passes` times over."""

    def reference(arrays: Sequence[Array], launches: int) -> Sequence[Array]:
        (array,) = arrays
        everything, read = (part.sum(dtype=np.float64) for part in (array, array[: read_of(array.size)]))
        return [np.asarray(everything + launches * passes * read)]

    return reference


def whole(name: str, set_bytes: int, scattered: bool = False) -> Kernel:
    """Passes over a set of that size by all SMs together, past the first-level caches."""
    passes = max(1, BYTES_A_LAUNCH // set_bytes)
    return Kernel(
        experiment="levels",
        name=name,
        unit="fp32",
        level="l2",
        work=whole_work(passes),
        variants=lambda target: whole_variants(target, WHOLE),
        sources={"cuda": lambda target, variant: whole_source(variant, scattered)},
        reference=whole_reference(passes),
        observe=observed_sum,
        arrays=1,
        memory="own",
        size=lambda _: array_for(set_bytes),
        repeats=passes,
    )


def l2(cache_bytes: int = ASSUMED_CACHE_BYTES) -> Kernel:
    """Reads that an L2 of that size serves, or that of the device at hand."""
    return replace(
        whole("l2-read-plain", cache_bytes // L2_SHARE),
        measures=("l2",),
        fitted=lambda device: l2(device.cache_bytes or ASSUMED_CACHE_BYTES),
    )


def every_kernel() -> Iterator[Kernel]:
    """Shared memory, the first-level cache and L2."""
    yield from (kernel(level) for level in NEAR)
    yield l2()
