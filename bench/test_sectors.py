"""R6: useful bandwidth when one float of every few is asked for, and memory moves whole sectors or lines."""

import pytest

from roofline.claims import NotApplicable, Prediction
from roofline.kernels import sectors
from roofline.model import Device, Expectation

pytestmark = pytest.mark.bench

# The rows of the short run: on each kind of device the stride at which an element is alone in what memory moves.
CORE = {sectors.name(stride) for stride in sectors.ALONE.values()}
# A read of everything and one of single elements keep the memory equally busy, within this. A CPU's lines are then
# fetched by scalar loads, of which a core holds fewer than of the widest, and its neighbours come and go.
SLACK = {"cuda": 0.1, "cpu": 0.25}


def full_unless_core(kernels):
    """The kernels as parameters, those that only the long run measures marked so."""
    return [
        pytest.param(kernel, id=kernel.name, marks=[] if kernel.name in CORE else [pytest.mark.full])
        for kernel in kernels
    ]


@pytest.mark.parametrize("kernel", full_unless_core(sectors.every_kernel()))
def test_sectors(kernel, measure):
    """One element of every stride, read or written."""
    measure(kernel)


def share(stride: int):
    """The share of the bandwidth that a stride leaves: everything moves, or the sectors or lines that it touches."""

    def known(device: Device):
        if device.kind == "fake":
            return NotApplicable("the fake device moves no sectors")
        alone, slack = sectors.ALONE[device.kind], SLACK[device.kind]
        least, most = 1 / stride, 1 / min(stride, alone)
        source = f"formula: 4 of every {4 * min(stride, alone)} bytes that move"
        if stride > alone:
            source += f", or of up to {4 * stride} where more is fetched with them"
        return Expectation((1 - slack) * least, (1 + slack) * most, source)

    return Prediction("R6", f"one float of every {stride}: useful share of the bandwidth", family=known)


@pytest.mark.parametrize(
    "stride",
    [
        pytest.param(
            stride,
            id=sectors.name(stride),
            marks=[pytest.mark.predicts(share(stride)), *([] if sectors.name(stride) in CORE else [pytest.mark.full])],
        )
        for stride in sectors.STRIDES
        if stride > 1
    ],
)
def test_a_stride_leaves_its_share_of_the_bandwidth(claim, stride, rows, roofline):
    """R6: 4 of the 32 bytes of a GPU's sector leave 1/8, 4 of the 64 of a CPU's line 1/16."""
    (row,) = rows("sectors", sectors.name(stride))
    claim(row.beside or row.bytes_per_s().over(roofline.ceiling("dram_read").estimate), [row])
