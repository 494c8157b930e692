"""K1 to K4, T7, T8, H2 to H4: the ladder of reuse, from a product that keeps nothing to the vendor's library.

Each rung uses a value more often once it is near, so it asks less of the levels further out and takes less time. A rung
is placed once a level (H2), and the line that it is nearest to is what holds it (H4); that is never DRAM, whose last
cache hides what the rungs differ by there. A CPU has two rungs of its own form: nothing kept, and tiles in registers.
"""

from itertools import pairwise

import pytest

from roofline.claims import Prediction, within
from roofline.kernels import ladder, ladder_cuda

pytestmark = pytest.mark.bench
on_a_gpu = pytest.mark.devices("cuda")
on_a_cpu = pytest.mark.devices("cpu")

TILED_LEVELS = ("dram", "l2", "shared")
LARGEST = max(ladder.TILES)
BLOCKED = ladder_cuda.blocked().name
NAIVE, REGISTERS = ladder_cuda.naive().name, ladder_cuda.registers().name
LIBRARY, LIBRARY_FP16 = ladder_cuda.library("fp32").name, ladder_cuda.library("fp16").name


def tile_name(tile):
    """The rung of tiles of that side."""
    return ladder_cuda.tile(tile).name


# The rungs from the lowest up: one of the tiles stands for both in the core set.
CORE = (NAIVE, tile_name(LARGEST), REGISTERS, LIBRARY)
WHOLE = (NAIVE, *map(tile_name, ladder.TILES))


def marks_of(name):
    """The marks of a rung's tests: all but the largest tile are for the long run."""
    return [pytest.mark.full] if name in WHOLE and name not in CORE else []


@pytest.mark.parametrize(
    "kernel", [pytest.param(k, id=k.name, marks=marks_of(k.name)) for k in ladder_cuda.every_kernel()]
)
def test_ladder(kernel, measure):
    """The product of two square matrices, each value used as often as its rung of the ladder allows."""
    measure(kernel)


@pytest.fixture
def placed(rows, roofline, claim):
    """`placed(name)`: the row of a rung and its point; inconclusive where a level that it counts has no ceiling."""

    def placed(name):
        (row,) = rows(ladder.EXPERIMENT, name)
        unknown = [level for level in row.work.traffic if level not in roofline.ceilings]
        if unknown:
            claim(None, note=f"no ceiling of {', '.join(unknown)} was measured")
        return row, roofline.place(row)

    return placed


# --- one kernel, a point a level


@on_a_gpu
@pytest.mark.predicts(
    Prediction("H2", "a tiled product is placed once a level: levels", formula=within(3, 3, "DRAM, L2, shared memory"))
)
def test_a_tiled_product_is_placed_once_a_level(claim, placed):
    """H2: one kernel, one rate, and at each level the intensity of the bytes that cross it."""
    row, point = placed(tile_name(LARGEST))
    claim(len(point.intensities), [row], note=", ".join(f"{level} {i:.3g}" for level, i in point.intensities.items()))


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "H3",
        "intensity at a level over that at the next inner one: least",
        formula=within(1.0, float("inf"), "tiles use again at each level what crossed the one before"),
    )
)
def test_intensities_fall_from_dram_to_shared_memory(claim, placed):
    """H3: intensities fall from DRAM to L2 to shared memory."""
    row, point = placed(tile_name(LARGEST))
    outer = [point.intensities[level] for level in TILED_LEVELS]
    claim(min(here / inner for here, inner in pairwise(outer)), [row])


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "H4",
        "shared memory is nearest: its share over that of the next line",
        formula=within(1.0, float("inf"), "8 bytes an FMA from shared memory, 8/T from L2"),
    )
)
def test_the_limiter_of_tiles_is_shared_memory(claim, placed):
    """H4: the level whose point is nearest its own slope limits; the record says which, and how near each line is."""
    row, point = placed(tile_name(LARGEST))
    shares = dict(point.nearest)
    others = max(share for line, share in shares.items() if line != "shared")
    claim(shares["shared"] / others, [row], note=f"nearest: {lines(point)}")


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "H4",
        "a tiled product gets near its limiter: share of the shared slope",
        formula=within(0.85, 1.02, "nothing else is near its limit"),
    )
)
def test_the_limiter_of_tiles_is_nearly_reached(claim, placed, roofline):
    """H4: near its limiter, a kernel has no time left to win but by asking less of it."""
    row, _ = placed(tile_name(LARGEST))
    claim(row.bytes_per_s("shared").over(roofline.ceiling("shared").estimate), [row])


def lines(point):
    """The share of every line, nearest first."""
    return ", ".join(f"{line} {share:.1%}" for line, share in point.nearest)


# --- where the rungs lie


def intensity_of(id, name, level, low, high, formula, on=()):
    """A rung, and the prediction of where it lies at a level; `on` marks the devices that have it."""
    prediction = Prediction(
        id,
        f"intensity of {name} at {level}",
        unit="FLOP/B",
        formula=within(low, high, formula, "FLOP/B"),
    )
    return pytest.param(name, level, id=name, marks=[pytest.mark.predicts(prediction), *on, *marks_of(name)])


@pytest.mark.parametrize(
    ("name", "level"),
    [
        intensity_of("K1", NAIVE, "l1", 0.249, 0.25, "2 FLOPs for 8 bytes where nothing is kept"),
        *(
            intensity_of(
                "K2", tile_name(t), "l2", 0.98 * t / 4, t / 4, f"T/4, less what writing C takes, T = {t}", [on_a_gpu]
            )
            for t in ladder.TILES
        ),
        intensity_of("K3", REGISTERS, "l2", 31.0, 32.0, "128/4, less what writing C takes", [on_a_gpu]),
        intensity_of(
            "K3", BLOCKED, "l1", 2.1, 2.2, "192 FLOPs for 6 + 16 floats, less what writing C takes", [on_a_cpu]
        ),
    ],
)
def test_a_rung_has_its_intensity(claim, placed, name, level):
    """K1, K2, K3: a byte that a rung asks for pays for as many FLOPs as it is used times."""
    row, point = placed(name)
    claim(point.intensities[level], [row])


# --- the order of the rungs


def asked(work):
    """FLOPs per byte that a rung asks for past shared memory, by its own program."""
    return work.intensity("l2" if "l2" in work.traffic else "l1")


PAIRS = [*pairwise(CORE), *pairwise(WHOLE), (NAIVE, BLOCKED)]


def each_pair(statement, source, pairs):
    """A parameter for each two rungs that follow each other, with the prediction that is made for them."""
    return [
        pytest.param(
            lower,
            upper,
            id=f"{lower}-{upper}",
            marks=[
                pytest.mark.predicts(Prediction("K4", f"{statement}: {lower} over {upper}", formula=within(*source))),
                on_a_cpu if upper == BLOCKED else on_a_gpu,
                *({mark.name: mark for mark in [*marks_of(lower), *marks_of(upper)]}.values()),
            ],
        )
        for lower, upper in pairs
    ]


@pytest.mark.parametrize(
    ("lower", "upper"),
    each_pair(
        "bytes asked for an FMA fall",
        (1.5, float("inf"), "each rung uses a value twice as often at least"),
        [pair for pair in PAIRS if LIBRARY not in pair],  # what the library asks for is not known
    ),
)
def test_intensity_rises_from_rung_to_rung(claim, rows, lower, upper):
    """K4: achieved intensity rises naive → tiles of 16 → of 32 → register tiles."""
    (low,), (high,) = rows(ladder.EXPERIMENT, lower), rows(ladder.EXPERIMENT, upper)
    claim(asked(high.work) / asked(low.work), [low, high])


@pytest.mark.parametrize(
    ("lower", "upper"),
    each_pair("time falls", (1.0, float("inf"), "less is asked of what limited the rung below"), PAIRS),
)
def test_time_falls_from_rung_to_rung(claim, rows, lower, upper):
    """K4: measured time falls in the order in which intensity rises."""
    (low,), (high,) = rows(ladder.EXPERIMENT, lower), rows(ladder.EXPERIMENT, upper)
    claim(low.seconds.over(high.seconds), [low, high])


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "K4",
        "DRAM holds no rung: the greatest share of its slope",
        formula=within(0.0, 0.5, "each matrix once at least; a last cache hides what rungs differ by"),
    )
)
def test_the_last_cache_hides_what_rungs_differ_by_in_dram(claim, rows, roofline):
    """K4: every rung moves the same least bytes at DRAM, far below its slope; the order is made nearer to the SMs."""
    measured = [row for row in rows(ladder.EXPERIMENT) if row.work.unit == "fp32"]
    shares = {row.key.kernel: row.bytes_per_s("dram").over(roofline.ceiling("dram").rate) for row in measured}
    name = max(shares, key=lambda kernel: shares[kernel].value)
    claim(shares[name], measured, note=name)


# --- register tiles, and the library


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "K3",
        "register tiles against the library: its time over theirs",
        formula=within(0.75, 1.5, "the same reuse at L2, written in CUDA C++ instead of machine code"),
    )
)
def test_register_tiles_come_near_the_library(claim, rows):
    """K3: with the reuse in registers a hundred lines come within a quarter of what the vendor wrote."""
    (own,), (vendor,) = rows(ladder.EXPERIMENT, REGISTERS), rows(ladder.EXPERIMENT, LIBRARY)
    claim(vendor.seconds.over(own.seconds), [own, vendor], note=vendor.math_mode)


def near_its_roof(id, name, low, source):
    """The library's product in one arithmetic, with what it should reach of the roof."""
    formula = within(low, 1.02, source)
    prediction = Prediction(id, f"{name}: share of the roof above it, each at its own clock", formula=formula)
    return pytest.param(name, id=name, marks=pytest.mark.predicts(prediction))


@on_a_gpu
@pytest.mark.parametrize(
    "name",
    [
        near_its_roof("T7", LIBRARY, 0.7, "N/6 FLOP/B lies right of the FP32 ridge of every card"),
        near_its_roof("T8", LIBRARY_FP16, 0.6, "N/3 FLOP/B lies right of every tensor ridge; the peak holds no loads"),
    ],
)
def test_the_library_is_held_by_arithmetic(claim, rows, roofline, name):
    """T7, T8: a large product lies right of the ridge, under its roof and near it.

    A roof of tensor cores is what they hold for a second, at the clock that the power limit leaves them; a row that is
    measured for less may have a higher one. So what both do in a cycle is compared.
    """
    (row,) = rows(ladder.EXPERIMENT, name)
    roof, clock = roofline.ceilings.get(row.work.unit), row.samples.clock_hz
    if roof is None or roof.clock_hz is None or clock is None:
        claim(None, [row], note=f"no ceiling of {row.work.unit}, or no clock, was measured")
    share, faster = row.flop_per_s.over(roof.estimate), clock.median / roof.clock_hz
    note = f"{share.value:.1%} at a clock of {faster:.3f} of the roof's; {row.math_mode}"
    claim(share.over(faster), [row], note=note)
