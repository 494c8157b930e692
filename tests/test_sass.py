"""The machine code of every CUDA kernel, for eight architectures, without a GPU: what was meant, no more, no less.

Needs `cuda-core`, `cuda-bindings` and an NVRTC wheel; comparing opcodes with the vendor's disassembler needs nvdisasm.
"""

import json
import re
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from roofline.devices.cuda import elf, sass
from roofline.devices.cuda.cache import CubinCache, digest
from roofline.devices.cuda.compiling import Compiler
from roofline.kernel import Kernel, Target
from roofline.kernels import (
    chains_cuda,
    dial,
    dial_cuda,
    divergence_cuda,
    dram_cuda,
    footprint_cuda,
    fusion_cuda,
    gelu_cuda,
    in_flight,
    independence_cuda,
    kernels_of,
    ladder,
    ladder_cuda,
    launch,
    levels_cuda,
    sectors,
    table_cuda,
    tensor,
    tensor_paths,
    tensor_types,
)
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
REGISTERS_OF_AN_SM = 65536


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


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90a"])
def test_the_largest_and_smallest_of_the_sweep_hold_nothing_but_their_ffma(cubins, architecture):
    """R4: the code is that of the chains; 32 warps of eight chains still fit the registers of an SM."""
    (first, *_), (*_, last) = independence_cuda.every_kernel(), independence_cuda.every_kernel()
    sources = [instances(k, list(k.variants(target(architecture))), architecture)[0] for k in (first, last)]
    for source, function, _tail in found(cubins, architecture, sources):
        assert_as_expected(source, function)
        assert source.threads * function.registers <= REGISTERS_OF_AN_SM


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_lanes_that_wait_do_so_behind_a_branch(cubins, architecture):
    """R3: the lanes part and meet again, and no FFMA is predicated, which all 32 would pass through."""
    sources = [divergence_cuda.source(split) for split in divergence_cuda.SPLITS]
    for source, function, _tail in found(cubins, architecture, sources):
        assert_as_expected(source, function)
        assert predicated(function.code, "FFMA") == 0


def predicated(code: bytes, name: str) -> int:
    """How many instructions of that name only some lanes carry out: the four bits above the opcode are not 7, "all"."""
    words = struct.unpack(f"<{len(code) // 8}Q", code)[::2]
    return sum(sass.OPCODES.get(word & 0x1FF) == name and word >> 12 & 0xF != 7 for word in words)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_dram_kernels_move_16_bytes_an_instruction(cubins, architecture):
    """The loads and stores of a thread are exactly the vectors that were meant."""
    kernels = list(dram_cuda.every_kernel())
    sources = [s for k in kernels for s in instances(k, list(k.variants(target(architecture))), architecture)]
    for source, function, _tail in found(cubins, architecture, sources):
        assert_as_expected(source, function)


@pytest.mark.parametrize("architecture", ["sm_75", "sm_86", "sm_90a", "sm_120a"])
def test_a_level_is_read_by_whole_vectors_and_nothing_is_stored(cubins, architecture):
    """H1: as many loads as were meant, none split, none taken out of its loop, and nothing spilled."""
    kernels = [*levels_cuda.every_kernel(), *(footprint_cuda.kernel(1 << 30, scattered) for scattered in (False, True))]
    sources = [s for k in kernels for s in instances(k, list(k.variants(target(architecture))), architecture)]
    for source, function, _tail in found(cubins, architecture, sources):
        assert_as_expected(source, function)


@pytest.mark.parametrize("architecture", ["sm_75", "sm_86", "sm_90a", "sm_120a"])
@pytest.mark.parametrize("experiment", [sectors, in_flight], ids=["sectors", "in_flight"])
def test_a_thread_has_exactly_the_loads_in_flight_that_were_meant(cubins, architecture, experiment):
    """R6, R7: no load is merged with another or issued ahead of its turn, and the registers hold every block."""
    kernels = [kernel for kernel in experiment.every_kernel() if "cuda" in kernel.sources]
    sources = [s for k in kernels for s in instances(k, list(k.variants(target(architecture))), architecture)]
    for source, function, _tail in found(cubins, architecture, sources):
        assert_as_expected(source, function)
        assert (source.blocks_per_sm or 1) * source.threads * function.registers <= REGISTERS_OF_AN_SM


# The tensor kernels of sm_86 are those of sm_80; sm_103a differs from sm_100a by tcgen05, and by what it lacks of that.
TENSOR_KERNELS = [
    (architecture, path, kind)
    for architecture in ARCHITECTURES
    for kind in tensor_types.TYPES
    for path in tensor_paths.paths_of(kind)
    if architecture != "sm_86"
    and tensor_paths.variants(target(architecture), path, kind)
    and (architecture != "sm_103a" or path == tensor_paths.best_path(target(architecture), kind))
]


@pytest.mark.parametrize(
    ("architecture", "path", "kind"),
    TENSOR_KERNELS,
    ids=[f"{a}-{path}-{kind.name}" for a, path, kind in TENSOR_KERNELS],
)
def test_tensor_kernels_hold_every_matrix_instruction(cubins, architecture, path, kind):
    """B1, R8: all matrix instructions stand in the loop, none was merged with another or emulated, nothing spills."""
    kernel = tensor.kernel(path, kind)
    variants = list(kernel.variants(target(architecture)))
    shapes = variants if kind.name == "fp16_fp32acc" and path != "wmma" else variants[:1]
    for source, function, _tail in found(cubins, architecture, instances(kernel, shapes, architecture)):
        assert_as_expected(source, function)


def tensor_source(architecture: str, path: str, name: str):
    """One kernel, whether or not such a card has its instruction."""
    kind = tensor_types.BY_NAME[name]
    return tensor_paths.source(target(architecture), tensor_paths.SHAPES[path][0], path, kind, kind.period)


@pytest.mark.parametrize("architecture", ["sm_90a", "sm_100a"])
def test_an_emulated_matrix_instruction_is_seen_in_the_machine_code(cubins, architecture):
    """R8: FP8 by the instruction of a warp is conversions and FP16 products there, so it is absent and not slow."""
    assert tensor_paths.variants(target(architecture), "mma", tensor_types.BY_NAME["fp8"]) == ()
    ((source, function, _),) = found(cubins, architecture, [tensor_source(architecture, "mma", "fp8")])
    counts = sass.counts(sass.histogram(function.code))
    assert source.expects["qmma"] > 0
    assert counts["qmma"] == 0
    assert counts["mma"] > 0


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_tiled_product_reads_two_words_of_shared_memory_for_each_multiply_add(cubins, architecture):
    """K2, H4: read as vectors, or multiplied apart, it would be another kernel than the one that is counted."""
    kernels = [ladder_cuda.tile(side) for side in ladder.TILES]
    sources = [s for k in kernels for s in instances(k, list(k.variants(target(architecture))), architecture)]
    for source, function, _tail in found(cubins, architecture, sources):
        assert source.expects["load_shared"] == 2 * source.expects["fma"] > 0
        assert_as_expected(source, function)


@pytest.mark.parametrize("architecture", ["sm_75", "sm_86", "sm_90a", "sm_120a"])
@pytest.mark.parametrize("experiment", ["floor", "fixes", "waves"])
def test_a_launch_holds_its_steps_and_as_many_registers_as_leave_room_for_its_blocks(cubins, architecture, experiment):
    """C5, C7, W1: every step stands in the code, and shared memory alone decides how many blocks an SM holds."""
    kernels = [kernel for kernel in kernels_of(experiment) if "cuda" in kernel.sources]
    sources = {s.entry: s for k in kernels for s in instances(k, list(k.variants(target(architecture))), architecture)}
    for source, function, _tail in found(cubins, architecture, list(sources.values())):
        assert_as_expected(source, function)
        assert (source.resident + 1) * source.threads * function.registers <= REGISTERS_OF_AN_SM


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90a"])
@pytest.mark.parametrize("experiment", [table_cuda, fusion_cuda], ids=["table", "fusion"])
def test_a_row_is_read_once_and_written_once(cubins, architecture, experiment):
    """T1 to T6, L2: every shape has exactly the loads and stores of one pass; what lies between stays in registers."""
    by_text: dict[str, list] = {}
    for kernel in experiment.every_kernel():
        for source in instances(kernel, list(kernel.variants(target(architecture))), architecture):
            by_text.setdefault(source.text, []).append(source)
    for sources in by_text.values():
        for source, function, _tail in found(cubins, architecture, sources):
            assert_as_expected(source, function)
            assert source.threads * function.registers <= REGISTERS_OF_AN_SM


@pytest.mark.parametrize(
    ("kernel", "architecture"),
    [
        *((ladder_cuda.registers(), architecture) for architecture in ("sm_75", "sm_90a", "sm_120a")),
        (gelu_cuda.fused(), "sm_90a"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_register_tiles_put_nothing_aside_inside_their_loop(cubins, kernel, architecture):
    """K3, K8: 64 multiply-adds for four vectors from shared memory, two blocks an SM, no spill between two steps."""
    sources = instances(kernel, list(kernel.variants(target(architecture))), architecture)
    for source, function, _tail in found(cubins, architecture, sources):
        counts = sass.counts(sass.histogram(function.code))
        assert {kind: counts[kind] for kind in source.expects} == dict(source.expects), source.entry
        assert 2 * source.threads * function.registers <= REGISTERS_OF_AN_SM
        begin, end = places(function.code, "STS")[0], places(function.code, "LDS")[-1]
        assert sum(begin < at < end for at in places(function.code, "FFMA")) > 256, "that was not the loop"
        assert not [at for at in places(function.code, "LDL", "STL") if begin < at < end]


def places(code: bytes, *names: str) -> list[int]:
    """Where instructions of these names stand, counted in instructions."""
    words = struct.unpack(f"<{len(code) // 8}Q", code)[::2]
    return [at for at, word in enumerate(words) if sass.OPCODES.get(word & 0x1FF) in names]


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90a", "sm_120a"])
@pytest.mark.parametrize("kernel", [ladder_cuda.naive(), gelu_cuda.alone()], ids=lambda kernel: kernel.name)
def test_the_lowest_rung_and_gelu_hold_what_was_meant(cubins, architecture, kernel):
    """K1, K8: so many multiply-adds and nothing in shared memory; two special functions a GELU, 16 bytes a load."""
    sources = instances(kernel, list(kernel.variants(target(architecture))), architecture)
    for source, function, _tail in found(cubins, architecture, sources):
        assert_as_expected(source, function)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_empty_kernel_touches_no_memory(cubins, architecture):
    """C1: an empty launch has nothing to do but to end."""
    cubin = Compiler(architecture, cubins).build(launch.cuda_text(), ("empty", "count"))
    functions = elf.functions(cubin.code)
    counts = sass.counts(sass.histogram(functions["empty"].code))
    assert not any(counts.values())
    assert functions["empty"].stack_bytes == 0


# Which matrix instructions are compared with the vendor's names for them, and where.
TOLD = {
    **dict.fromkeys(ARCHITECTURES, (("wmma", "fp16_fp32acc"),)),
    "sm_75": (("mma", "int8"),),
    "sm_89": (("mma", "fp8"),),
    "sm_90a": (("wgmma", "tf32"), ("wgmma", "fp8"), ("wgmma", "int8"), ("mma", "fp64")),
    "sm_100a": (("tcgen05", "fp16_fp16acc"), ("tcgen05", "fp4")),
    "sm_120a": (("mma", "fp4"),),
}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_opcodes_agree_with_the_vendors_disassembler(cubins, architecture):
    """The nine bits that name an instruction name the same one in nvdisasm, and registers are plausible."""
    nvdisasm = pathfinder.find_nvidia_binary_utility("nvdisasm")
    if nvdisasm is None:
        pytest.skip("nvdisasm is not installed")
    compiler = Compiler(architecture, cubins)
    products = [tensor_source(architecture, path, name) for path, name in TOLD[architecture]]
    products.append(divergence_cuda.source(divergence_cuda.SPLITS[0]))
    for text, entry in ((dial_cuda.text(), "dial::scalars<7, 4, 256>"), *((p.text, p.entry) for p in products)):
        cubin = compiler.build(text, (entry,))
        function = elf.functions(cubin.code)[cubin.symbols[entry]]
        ours = sass.histogram(function.code)
        theirs = disassembled(nvdisasm, cubin.path)
        for name in sass.OPCODES.values():
            if "." not in name:
                assert ours[name] == theirs[name], name
        assert 8 <= function.registers <= 255


def disassembled(nvdisasm: str, cubin) -> Counter[str]:
    """Instructions by the first part of their mnemonic; those of tcgen05 under the one number that they share."""
    command = [nvdisasm, "--emit-json", str(cubin)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    (function,) = told[1]
    names = (i["opcode"].split(".")[0] for i in function["sass-instructions"])
    return Counter(re.sub("^UTC.MMA$", "UTCMMA", name) for name in names)


def test_a_cubin_is_compiled_once_and_named_by_its_content(cubins):
    """C07: the second build reads the file, and the file is what its name says."""
    first = Compiler("sm_80", cubins).build(launch.cuda_text(), ("empty", "count"))
    again = Compiler("sm_80", cubins).build(launch.cuda_text(), ("count", "empty"))
    assert again == first
    assert first.path.stem == digest(first.path.read_bytes())
