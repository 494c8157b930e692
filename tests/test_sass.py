"""The machine code of every CUDA kernel, for eight architectures, without a GPU: what was meant, no more, no less.

Needs `cuda-core`, `cuda-bindings` and an NVRTC wheel; comparing opcodes with the vendor's disassembler needs nvdisasm.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from roofline.devices.cuda import elf, sass
from roofline.devices.cuda.cache import CubinCache, digest
from roofline.devices.cuda.compiling import Compiler
from roofline.kernel import Kernel, Target
from roofline.kernels import chains_cuda, dial, dial_cuda, dram_cuda, launch, tensor
from roofline.model import Variant

pytest.importorskip("cuda.core", reason="cuda-core is not installed: no CUDA source can be compiled")
pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed: no CUDA source can be compiled")
pathfinder = pytest.importorskip("cuda.pathfinder", reason="cuda-pathfinder is not installed")
try:
    pathfinder.load_nvidia_dynamic_lib("nvrtc")
except pathfinder.DynamicLibNotFoundError:
    pytest.skip("no NVRTC library: no CUDA source can be compiled", allow_module_level=True)

pytestmark = pytest.mark.correctness

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a")
EVERY_SHAPE_AT = 64


@cache
def target(architecture: str) -> Target:
    return Target("cuda", architecture, registers=255)


@pytest.fixture(scope="module")
def cubins(tmp_path_factory) -> CubinCache:
    return CubinCache(tmp_path_factory.mktemp("cubins"))


def instances(kernel: Kernel, variants: list[Variant], architecture: str) -> list:
    return [kernel.sources["cuda"](target(architecture), variant) for variant in variants]


def found(cubins: CubinCache, architecture: str, sources: list) -> Iterator[tuple]:
    """Each source with the function that came of it; all of one text are compiled at once."""
    names = [name for source in sources for name in (source.entry, source.tail) if name]
    cubin = Compiler(architecture, cubins).build(sources[0].text, names)
    functions = elf.functions(cubin.code)
    for source in sources:
        yield source, functions[cubin.symbols[source.entry]], functions.get(cubin.symbols.get(source.tail, ""))


def assert_as_expected(source, function) -> None:
    counts = sass.counts(sass.histogram(function.code))
    assert {kind: counts[kind] for kind in source.expects} == dict(source.expects), source.entry
    assert function.stack_bytes == 0, f"{source.entry} spills"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_dial_has_exactly_f_ffma_an_element_at_every_point(cubins, architecture):
    """A6: straight-line code with exactly F FFMA an element, none of them an FMUL or FADD, and no spill."""
    sources = []
    for steps in dial.POINTS:
        kernel = dial.kernel(steps, "plain")
        sources += instances(kernel, list(kernel.variants(target(architecture)))[:1], architecture)
    for source, function, tail in found(cubins, architecture, sources):
        assert_as_expected(source, function)
        steps = int(source.tail.removeprefix("dial::tail<").rstrip(">"))
        assert sass.histogram(tail.code)["FFMA"] == steps


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_shape_of_the_dial_has_the_same_number(cubins, architecture):
    """A6, A7: whichever shape the search picks; an element is a chain of its own, so a thread has several."""
    kernel = dial.kernel(EVERY_SHAPE_AT, "plain")
    variants = list(kernel.variants(target(architecture)))
    for source, function, _tail in found(cubins, architecture, instances(kernel, variants, architecture)):
        assert source.expects["fma"] >= 4 * EVERY_SHAPE_AT
        assert_as_expected(source, function)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_chains_hold_nothing_but_their_ffma(cubins, architecture):
    """A8: every body has exactly its FFMA, and enough registers for all chains."""
    kernels = list(chains_cuda.every_kernel())
    sources = [instances(k, list(k.variants(target(architecture)))[:1], architecture)[0] for k in kernels]
    for source, function, _tail in found(cubins, architecture, sources):
        assert_as_expected(source, function)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_dram_kernels_move_16_bytes_an_instruction(cubins, architecture):
    """The loads and stores of a thread are exactly the vectors that were meant."""
    kernels = list(dram_cuda.every_kernel())
    sources = [s for k in kernels for s in instances(k, list(k.variants(target(architecture))), architecture)]
    for source, function, _tail in found(cubins, architecture, sources):
        assert_as_expected(source, function)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("path", tensor.PATHS)
@pytest.mark.parametrize("accumulators", tensor.ACCUMULATORS)
def test_tensor_kernels_hold_every_matrix_instruction(cubins, architecture, path, accumulators):
    """B1: all matrix instructions stand in the loop, none was merged with another or emulated, and nothing spills."""
    kernel = tensor.kernel(path, accumulators)
    variants = list(kernel.variants(target(architecture)))
    if path == "wgmma" and architecture != "sm_90a":
        assert variants == []
        return
    for source, function, _tail in found(cubins, architecture, instances(kernel, variants, architecture)):
        assert_as_expected(source, function)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_empty_kernel_touches_no_memory(cubins, architecture):
    """C1: an empty launch has nothing to do but to end."""
    cubin = Compiler(architecture, cubins).build(launch.cuda_text(), ("empty", "count"))
    functions = elf.functions(cubin.code)
    counts = sass.counts(sass.histogram(functions["empty"].code))
    assert not any(counts.values())
    assert functions["empty"].stack_bytes == 0


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_opcodes_agree_with_the_vendors_disassembler(cubins, architecture):
    """The nine bits that name an instruction name the same one in nvdisasm, and registers are plausible."""
    nvdisasm = pathfinder.find_nvidia_binary_utility("nvdisasm")
    if nvdisasm is None:
        pytest.skip("nvdisasm is not installed")
    compiler = Compiler(architecture, cubins)
    wmma = instances(tensor.kernel("wmma", "fp32acc"), [tensor.WARP_SHAPES[0]], architecture)[0]
    for text, entry in ((dial_cuda.text(), "dial::scalars<7, 4, 256>"), (wmma.text, wmma.entry)):
        cubin = compiler.build(text, (entry,))
        function = elf.functions(cubin.code)[cubin.symbols[entry]]
        ours = sass.histogram(function.code)
        theirs = disassembled(nvdisasm, cubin.path)
        for name in sass.OPCODES.values():
            if "." not in name:
                assert ours[name] == theirs[name], name
        assert 8 <= function.registers <= 255


def disassembled(nvdisasm: str, cubin) -> Counter[str]:
    """Instructions by the first part of their mnemonic."""
    command = [nvdisasm, "--emit-json", str(cubin)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    (function,) = told[1]
    return Counter(i["opcode"].split(".")[0] for i in function["sass-instructions"])


def test_a_cubin_is_compiled_once_and_named_by_its_content(cubins):
    """C07: the second build reads the file, and the file is what its name says."""
    first = Compiler("sm_80", cubins).build(launch.cuda_text(), ("empty", "count"))
    again = Compiler("sm_80", cubins).build(launch.cuda_text(), ("count", "empty"))
    assert again == first
    assert first.path.stem == digest(first.path.read_bytes())
