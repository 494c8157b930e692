"""H2 to H4, K2: a product in shared-memory tiles, placed once a level; what limits it is not DRAM."""

from itertools import pairwise

import pytest

from roofline.claims import Prediction, within
from roofline.kernels import matmul, matmul_cuda

pytestmark = pytest.mark.bench
on_a_gpu = pytest.mark.devices("cuda")

LEVELS = ("dram", "l2", "shared")
LARGEST = max(matmul.TILES)


def full_but_the_largest(tile):
    """The marks of a tile's tests: one rung shows what limits it, the others are for the long run."""
    return [] if tile == LARGEST else [pytest.mark.full]


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(matmul_cuda.kernel(tile), id=f"matmul-tile-{tile}", marks=full_but_the_largest(tile))
        for tile in matmul.TILES
    ],
)
def test_matmul(kernel, measure):
    """The product of two square matrices, each value used as often as its rung of the ladder allows."""
    measure(kernel)


@pytest.fixture
def placed(rows, roofline, claim):
    """`placed(tile)`: the row of a tile's side and its point; inconclusive where a level has no ceiling."""

    def placed(tile):
        (row,) = rows("matmul", f"matmul-tile-{tile}")
        unknown = [level for level in LEVELS if level not in roofline.ceilings]
        if unknown:
            claim(None, note=f"no ceiling of {', '.join(unknown)} was measured")
        return row, roofline.place(row)

    return placed


@on_a_gpu
@pytest.mark.predicts(
    Prediction("H2", "a tiled product is placed once a level: levels", formula=within(3, 3, "DRAM, L2, shared memory"))
)
def test_a_tiled_product_is_placed_once_a_level(claim, placed):
    """H2: one kernel, one rate, and at each level the intensity of the bytes that cross it."""
    row, point = placed(LARGEST)
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
    row, point = placed(LARGEST)
    outer = [point.intensities[level] for level in LEVELS]
    claim(min(here / inner for here, inner in pairwise(outer)), [row])


def intensity_at_l2(tile):
    """The prediction of where a tile of that side lies."""
    formula = within(0.98 * tile / 4, tile / 4, f"T/4, less what writing C takes, T = {tile}", "FLOP/B")
    return Prediction("K2", f"intensity at L2 of tiles of {tile} × {tile}", unit="FLOP/B", formula=formula)


@on_a_gpu
@pytest.mark.parametrize(
    "tile",
    [
        pytest.param(
            tile,
            id=f"tile-{tile}",
            marks=[pytest.mark.predicts(intensity_at_l2(tile)), *full_but_the_largest(tile)],
        )
        for tile in matmul.TILES
    ],
)
def test_tiles_have_their_intensity_at_l2(claim, placed, tile):
    """K2: tiles of T × T floats are used T times, so each byte from L2 pays for T/4 FLOPs: 4 at 16, 8 at 32."""
    row, point = placed(tile)
    claim(point.intensities["l2"], [row])


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "H4",
        "shared memory is nearest: its share over that of the next line",
        formula=within(1.0, float("inf"), "8 bytes an FMA from shared memory, 8/T from L2"),
    )
)
def test_the_limiter_is_shared_memory(claim, placed):
    """H4: the level whose point is nearest its own slope limits; the record says which, and how near each line is."""
    row, point = placed(LARGEST)
    shares = dict(point.nearest)
    others = max(share for line, share in shares.items() if line != "shared")
    claim(
        shares["shared"] / others,
        [row],
        note=f"nearest: {', '.join(f'{line} {share:.1%}' for line, share in point.nearest)}",
    )


@on_a_gpu
@pytest.mark.predicts(
    Prediction(
        "H4",
        "a tiled product gets near its limiter: share of the shared slope",
        formula=within(0.85, 1.02, "nothing else is near its limit"),
    )
)
def test_the_limiter_is_nearly_reached(claim, placed, roofline):
    """H4: near its limiter, a kernel has no time left to win but by asking less of it."""
    row, _ = placed(LARGEST)
    claim(row.bytes_per_s("shared").over(roofline.ceiling("shared").estimate), [row])
