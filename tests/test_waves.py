"""Waves, on constructed grids: how many, what is idle, where time steps, and by how much."""

import pytest

from roofline.kernels.waves import GRIDS, Grid, grid_of, kernel_cpu, kernel_cuda, places
from roofline.kernels.waves_cuda import RESERVED, RESIDENT, SHARED_OF_AN_SM, shared_bytes
from roofline.model import Device
from roofline.waves import Timed, first_step, idle, teeth, waves_of

pytestmark = pytest.mark.correctness

PLACES = 288
H200 = Device("NVIDIA H200", "cuda", "sm_90a", 132)


def timed(grids, block_s=10e-6):
    """Grids that take as long as their waves."""
    return [Timed(blocks, waves_of(blocks, PLACES) * block_s) for blocks in grids]


def test_the_chapters_grid_leaves_276_places_idle():
    """W1: 300 blocks on 288 places are two waves, 4 % more work and twice the time."""
    assert waves_of(288, PLACES) == 1
    assert waves_of(300, PLACES) == 2
    assert idle(300, PLACES) * 2 * PLACES == pytest.approx(276)


def test_a_full_wave_leaves_nothing_idle():
    assert idle(PLACES, PLACES) == 0
    assert idle(3 * PLACES, PLACES) == 0


@pytest.mark.parametrize(("blocks", "room"), [(0, 288), (288, 0)])
def test_no_blocks_or_no_places_are_refused(blocks, room):
    with pytest.raises(ValueError, match="1 or more of both"):
        waves_of(blocks, room)


def test_the_first_step_lies_between_the_full_wave_and_one_block_more():
    """W1: in whatever order the grids were measured."""
    assert first_step(timed([577, 288, 144, 289, 287, 576])) == (288, 289)


def test_times_that_do_not_step_have_no_step():
    assert first_step(timed([144, 200, 288])) is None


def test_teeth_shrink_as_waves_grow():
    """W2: one block more than w waves costs 1/w of their time."""
    found = teeth(timed([288, 289, 576, 577, 1152, 1153, 700]), PLACES)
    assert [count for count, _ in found] == [1, 2, 4]
    assert [cost for _, cost in found] == pytest.approx([1, 1 / 2, 1 / 4])


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.name)
def test_a_grid_is_found_again_by_the_name_of_its_row(grid):
    assert grid_of(kernel_cuda(grid).name) == grid_of(kernel_cpu(grid).name) == grid


def test_one_block_more_than_a_wave_is_one_block_more_on_every_device():
    """W1: SMs × resident blocks on a GPU, cores on a CPU."""
    cpu = Device("c", "cpu", "x86-64-v3", 3)
    assert places(H200) == 132 * RESIDENT
    assert places(cpu) == 3
    for device, make, block in ((H200, kernel_cuda, 128), (cpu, kernel_cpu, 4)):
        sizes = [make(grid).fitted(device).size(0) for grid in (Grid(1), Grid(1, +1))]
        assert sizes == [block * places(device), block * (places(device) + 1)]


def test_half_a_wave_has_a_block_even_on_one_core():
    assert Grid(0.5).blocks(1) == 1


@pytest.mark.parametrize("capability", SHARED_OF_AN_SM)
def test_shared_memory_leaves_room_for_exactly_so_many_blocks(capability):
    """W1: occupancy is made exact, by what a block asks for and what is reserved for each."""
    taken = shared_bytes(capability) / 1024 + RESERVED
    assert RESIDENT * taken <= SHARED_OF_AN_SM[capability] < (RESIDENT + 1) * taken
