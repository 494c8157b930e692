"""A kernel of your own, checked, timed and placed under the roofline of your CPU.

`pytest examples --device cpu -m bench` runs it; so does a plain `pytest --device cpu` in a repository of your own.
"""

import numpy as np
import pytest

from roofline.claims import Prediction, within
from roofline.kernel import Kernel, Source
from roofline.llvm import Vectors, entry_name, expected_stores, streaming_kernel
from roofline.model import Traffic, Variant, Work

pytestmark = pytest.mark.bench


def work(n):
    """Scaling, y = a·x: one multiplication, one float read and one written, an element."""
    traffic = {"dram": Traffic(read=4.0 * n, written=4.0 * n)}
    return Work(flops=1.0 * n, unit="fp32", traffic=traffic, slopes={"dram": "dram_copy_nt"})


def source(target, variant):
    """Load a block of vectors, multiply each by the scalar `a`, store them past the cache."""
    vectors = Vectors(target.lanes, variant.integer("vectors"))
    entry = entry_name("scale", str(vectors))

    def body(block):
        products = [block.function.value(f"fmul {block.vectors.type} {x}, {block.a}") for x in block.load("x")]
        block.store("y", products, non_temporal=True)

    expects = {"mul": vectors.count} | expected_stores(vectors, non_temporal=True)
    return Source(streaming_kernel(entry, target, vectors, body), entry, vectors.block, expects)


SCALE = Kernel(
    experiment="scale",
    name="scale-nt",
    unit="fp32",
    level="dram",
    work=work,
    variants=lambda target: [Variant(f"{target.lanes}x{count}", {"vectors": count}) for count in (4, 2, 8)],
    sources={"cpu": source},
    reference=lambda arrays, _: [0.5 * arrays[0].astype(np.float64)],
    scalars=(0.5, 0.0),
)

NEAR_ITS_ROOF = Prediction("scale", "scaling reaches its roof", formula=within(0.8, 1.3, "bytes over bandwidth"))


@pytest.mark.predicts(NEAR_ITS_ROOF)
def test_scale(measure, claim, roofline_session):
    """Scaling a vector does so little arithmetic that memory is all it waits for."""
    row = measure(SCALE)
    _, _, share = roofline_session.roofline().share(row)
    claim(share, [row])
