"""Trace the roofline of the device at hand, place kernels under it, and keep that true over time.

The library works without a GPU, without CuPy and (all but `roofline.plugin`) without pytest.
"""

from pathlib import Path

# In a checkout kernels/ and bench/ lie beside this package and the wheel puts them inside it. Looking beside it too
# gives both the same names, `roofline.kernels` and `roofline.bench`, however the checkout was put on the path.
if not Path(__file__).with_name("kernels").exists():
    __path__.append(str(Path(__file__).parents[1]))
