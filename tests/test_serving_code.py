"""The machine code of the batch dial and of attention, without a GPU: as many matrix instructions as were meant.

Needs `cuda-core`, `cuda-bindings` and an NVRTC wheel.
"""

from collections.abc import Sequence

import pytest

from roofline.devices.cuda import elf, sass
from roofline.devices.cuda.cache import CubinCache
from roofline.devices.cuda.compiling import Compiler
from roofline.kernel import Kernel, Target
from roofline.kernels import attention, attention_cuda, batch_cuda

pytest.importorskip("cuda.core", reason="cuda-core is not installed: no CUDA source can be compiled")
pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed: no CUDA source can be compiled")
pathfinder = pytest.importorskip("cuda.pathfinder", reason="cuda-pathfinder is not installed")
try:
    pathfinder.load_nvidia_dynamic_lib("nvrtc")
except pathfinder.DynamicLibNotFoundError:
    pytest.skip("no NVRTC library: no CUDA source can be compiled", allow_module_level=True)

pytestmark = pytest.mark.correctness

ARCHITECTURES = ("sm_80", "sm_90a", "sm_120a")
REGISTERS_OF_AN_SM = 65536


@pytest.fixture(scope="module")
def cubins(tmp_path_factory) -> CubinCache:
    return CubinCache(tmp_path_factory.mktemp("cubins"))


def assert_as_expected(cubins: CubinCache, architecture: str, kernels: Sequence[Kernel]) -> None:
    """The first form of every kernel, all of one text compiled together."""
    target = Target("cuda", architecture, registers=255)
    sources = [kernel.sources["cuda"](target, kernel.variants(target)[0]) for kernel in kernels]
    cubin = Compiler(architecture, cubins).build(sources[0].text, [source.entry for source in sources])
    functions = elf.functions(cubin.code)
    for source in sources:
        function = functions[cubin.symbols[source.entry]]
        counts = sass.counts(sass.histogram(function.code))
        assert {kind: counts[kind] for kind in source.expects} == dict(source.expects), source.entry
        assert source.threads * function.registers <= REGISTERS_OF_AN_SM


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_layers_multiply_what_they_load(cubins, architecture):
    """K5: one instruction for each 16 rows, 8 vectors and 16 columns of a step, and nothing kept in memory."""
    kernels = [batch_cuda.kernel(vectors, library=False) for vectors in (1, 16)]
    assert_as_expected(cubins, architecture, kernels)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_decoding_multiplies_what_it_loads(cubins, architecture):
    """K6: 24 instructions for 16 tokens, whether heads share them or not, and nothing kept in memory."""
    kernels = [attention_cuda.decode(of) for of in (attention.CORE_DECODING, attention.GROUPED)]
    assert_as_expected(cubins, architecture, kernels)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_prefill_keeps_scores_and_sums_in_registers(cubins, architecture):
    """K7: as many instructions for values as for scores; on the cards up to Hopper nothing is kept in memory."""
    kernels = [attention_cuda.prefill(name) for name in attention_cuda.PREFILLS]
    assert_as_expected(cubins, architecture, kernels)
