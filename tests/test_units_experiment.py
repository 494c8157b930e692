"""The arithmetic units, the roof without FMA and the special functions: what is computed, counted, and built.

Machine code for GPUs needs `cuda-core`, `cuda-bindings` and an NVRTC wheel; comparing it with the vendor's disassembler
needs nvdisasm.
"""

import json
import subprocess
from collections.abc import Iterator

import numpy as np
import pytest

from roofline.devices.cpu import machine_code
from roofline.devices.cpu.jit import assembly_for
from roofline.devices.cpu.target import target_of
from roofline.devices.cuda.nominal import Properties, nominal
from roofline.kernel import Kernel, Target
from roofline.kernels import kernels_of, no_fma, special, special_cpu, units_cpu, units_cuda
from roofline.llvm import merged

pytestmark = pytest.mark.correctness

LOOPS = (*units_cuda.UNITS, no_fma.CUDA, *special.CUDA)
# Without sm_103a, whose units outside the tensor cores are those of sm_100a: compiling takes seconds there.
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a")
PROVEN = "sm_90a"
SMALL_INTEGERS = np.arange(-8, 9).astype(np.float32)
# LLVM's names of CPUs that have BF16 dot products, with what a target says of them.
WITH_BF16 = {
    "znver4": (Target("cpu", "x86-64-v4", 16, 32, extensions=frozenset({"avx512bf16"})), "x86_64-unknown-linux-gnu"),
    "neoverse-v1": (Target("cpu", "aarch64", 4, 32, extensions=frozenset({"bf16"})), "aarch64-unknown-linux-gnu"),
}


def named(kernel: Kernel) -> str:
    return kernel.name


# -- what is computed ------------------------------------------------------------------------------------------------


def significant_bits(values: np.ndarray) -> int:
    """Bits of the longest mantissa among values that are multiples of 1/256."""
    whole = np.abs(np.round(values * 256)).astype(np.int64)
    assert np.array_equal(whole, np.abs(values * 256))
    odd = np.where(whole == 0, 1, whole)
    while (even := odd % 2 == 0).any():
        odd = np.where(even, odd // 2, odd)
    return int(odd.max()).bit_length()


@pytest.mark.parametrize("variant", units_cuda.SHAPES[:2], ids=lambda variant: variant.name)
def test_bf16_steps_never_need_more_than_the_eight_bits_there_are(variant):
    """R8: each sum on the way is exact in BF16, so in FP16 too, and the result counts every step."""
    loop = next(unit.loop for unit in units_cuda.UNITS if unit.ceiling == "bf16")
    body, values = loop.unrolled(variant), SMALL_INTEGERS.astype(np.float64)
    assert significant_bits(np.array([0.5 * (body / 64 - (body - 1))])) <= 8
    for step in range(loop.steps):
        values = values + (0.25 if (step + 1) % body else 0.25 * (body / 64 - (body - 1)))
        assert significant_bits(values) <= 8
    assert np.array_equal(values, units_cuda.taken_back(SMALL_INTEGERS, loop.steps))


def test_the_generators_closed_form_is_that_of_its_steps():
    """R8: what INT32 results in, step by step."""
    bits = SMALL_INTEGERS.view(np.uint32).astype(np.uint64)
    for _ in range(5):
        bits = (bits * np.uint64(units_cuda.MULTIPLIER) + np.uint64(units_cuda.INCREMENT)) % np.uint64(2**32)
    assert np.array_equal(units_cuda.generated(SMALL_INTEGERS, 5), bits // np.uint64(256))


@pytest.mark.parametrize("unit", LOOPS, ids=lambda unit: unit.name)
def test_a_step_that_was_left_out_shows_in_every_result(unit):
    """C30: one step fewer differs by more than the tolerance, whatever the element."""
    whole, short = (unit.result(SMALL_INTEGERS, unit.loop.steps - missing) for missing in (0, 2))
    assert np.all(np.abs(whole - short) / np.maximum(1, np.abs(whole)) > 2 * unit.tolerance)


def test_the_polynomial_is_exp2_to_what_its_tolerance_says():
    """R5: the polynomial alone errs by 2^-22.5 at most between -1/2 and 1/2, and not at all at 0."""
    part = np.linspace(-0.5, 0.5, 10001)
    found = np.polynomial.polynomial.polyval(part, np.float32(special_cpu.COEFFICIENTS).astype(np.float64))
    assert found[len(part) // 2] == 1
    assert np.max(np.abs(found / np.exp2(part) - 1)) < 2**-22.5 < special_cpu.TOLERANCE


# -- what is counted -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ceiling", "each"),
    [("fp64", 2), ("fp16", 2), ("bf16", 2), ("int32", 2), ("int8_dot", 8), ("fp32_no_fma", 2), ("sfu_exp2", 1)],
)
def test_a_step_counts_its_operations(ceiling, each):
    """M7, M9, M13: an FMA is 2, a dot product of four bytes 8, a special function 1, each on a unit of its own."""
    unit = next(unit for unit in LOOPS if unit.ceiling == ceiling)
    work = units_cuda.kernel(unit).work(3)
    assert work.flops == each * unit.loop.steps * unit.loop.repeats * 3
    assert work.unit == ("fp32" if ceiling == "fp32_no_fma" else ceiling)
    assert work.intensity() == float("inf")


def test_every_unit_has_a_ceiling_of_its_own():
    """R8: no two kernels of one kind of device claim the same ceiling."""
    for kind in ("cuda", "cpu"):
        kernels = [k for name in ("units", "no_fma", "special") for k in kernels_of(name) if kind in k.sources]
        ceilings = [resource for kernel in kernels for resource in kernel.measures]
        assert len(ceilings) == len(set(ceilings))


def test_nominal_rates_follow_from_lanes_and_clock():
    """R8: lanes of the programming guide × SMs × clock; a unit that no source tells is unknown."""
    h200 = nominal(Properties("NVIDIA H200", (9, 0), sms=132, memory_bytes=1, clock_hz=1.98e9))
    assert h200["fp64"].rate == h200["int32"].rate == h200["fp32_no_fma"].rate == 132 * 64 * 2 * 1.98e9
    assert h200["fp16"].rate == h200["bf16"].rate == 132 * 256 * 2 * 1.98e9
    assert h200["sfu_exp2"].rate == 132 * 16 * 1.98e9
    assert (h200["int32"].unit, h200["fp64"].unit) == ("OP/s", "FLOP/s")
    assert "int8_dot" not in h200
    turing = nominal(Properties("GeForce RTX 2080 Ti", (7, 5), sms=68, memory_bytes=1, clock_hz=1.5e9))
    assert "bf16" not in turing
    assert turing["fp64"].rate == turing["fp32"].rate / 32


# -- where a unit is missing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("architecture", "lacking"), [("sm_75", {"bf16"}), ("sm_60", {"bf16", "int8_dot"}), ("sm_80", set())]
)
def test_a_unit_that_a_card_lacks_is_absent_with_a_reason(architecture, lacking):
    """R8: absent, never emulated."""
    target = Target("cuda", architecture, registers=255)
    for kernel in units_cuda.kernels():
        assert bool(kernel.variants(target)) == (kernel.unit not in lacking)
        assert kernel.variants(target) or "begins with sm_" in kernel.unsupported["cuda"]


@pytest.mark.parametrize(
    ("machine", "features", "there"),
    [("x86_64", {"avx512bf16": True}, True), ("x86_64", {"avx2": True}, False), ("aarch64", {"bf16": True}, True)],
)
def test_bf16_dots_are_there_where_the_instruction_set_has_them(machine, features, there):
    """R8: the features of the CPU decide; elsewhere the kernel is absent with its reason."""
    wide = dict.fromkeys(("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"), True) if there else {}
    kernel = next(kernel for kernel in units_cpu.kernels() if kernel.unit == "bf16")
    assert bool(kernel.variants(target_of(features | wide, machine))) == there
    assert "AVX512-BF16" in kernel.unsupported["cpu"]


# -- what is built for CPUs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cpu", WITH_BF16)
def test_bf16_steps_are_one_instruction_each(cpu):
    """R8: LLVM compiles for CPUs with BF16 wherever it runs; none of the steps became anything else."""
    target, triple = WITH_BF16[cpu]
    kernel = next(kernel for kernel in units_cpu.kernels() if kernel.unit == "bf16")
    sources = [kernel.sources["cpu"](target, variant) for variant in kernel.variants(target)]
    functions = machine_code.functions(assembly_for(merged([source.text for source in sources]), triple, cpu))
    for source in sources:
        found = machine_code.count(functions[source.entry], target.architecture)
        assert {kind: found.get(kind, 0) for kind in source.expects} == dict(source.expects)
        assert found["dot_bf16"] >= 64


@pytest.mark.parametrize(
    ("architecture", "lines", "expected"),
    [
        (
            "x86-64-v4",
            "\tvfmadd231pd\t%ymm3, %ymm1, %ymm4\n\tvmulpd\t%ymm1, %ymm2, %ymm3\n\taddpd\t%xmm1, %xmm2\n"
            "\tvpmulld\t%ymm1, %ymm2, %ymm3\n\tpaddd\t%xmm1, %xmm2\n\tvdpbf16ps\t%zmm1, %zmm2, %zmm3\n",
            {"fma64": 1, "mul64": 1, "add64": 1, "mul_int": 1, "add_int": 1, "dot_bf16": 1},
        ),
        (
            "aarch64",
            "\tfmla\tv2.2d, v1.2d, v0.2d\n\tfmul\tv2.2d, v1.2d, v0.2d\n\tfadd\td0, d1, d2\n\tmla\tv2.4s, v1.4s, v0.4s\n"
            "\tbfdot\tv2.4s, v1.8h, v0.8h\n",
            {"fma64": 1, "mul64": 1, "add64": 1, "fma_int": 1, "dot_bf16": 1},
        ),
    ],
)
def test_instructions_of_other_units_fall_into_classes_of_their_own(architecture, lines, expected):
    found = machine_code.count(lines, architecture)
    assert {kind: number for kind, number in found.items() if number} == expected


# -- what is built for GPUs ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cubins(tmp_path_factory) -> Iterator:
    """A cache for this module, where CUDA sources can be compiled."""
    pytest.importorskip("cuda.core", reason="cuda-core is not installed: no CUDA source can be compiled")
    pathfinder = pytest.importorskip("cuda.pathfinder", reason="cuda-pathfinder is not installed")
    try:
        pathfinder.load_nvidia_dynamic_lib("nvrtc")
    except pathfinder.DynamicLibNotFoundError:
        pytest.skip("no NVRTC library: no CUDA source can be compiled")
    from roofline.devices.cuda.cache import CubinCache

    return CubinCache(tmp_path_factory.mktemp("cubins"))


def built(cubins, architecture: str) -> Iterator[tuple]:
    """Loops with their sources, cubins and functions; one compilation for all.

    Each in its first shape; where a card could prove it all loops in two, elsewhere one special function for all three.
    """
    from roofline.devices.cuda import elf
    from roofline.devices.cuda.compiling import Compiler

    target = Target("cuda", architecture, registers=255)
    loops, shapes = (LOOPS, 2) if architecture == PROVEN else (LOOPS[:-2], 1)
    sources = [unit.loop.source(shape) for unit in loops for shape in unit.variants(target)[:shapes]]
    text = "".join(units_cuda.text(file) for file in ("units.cu", "no_fma.cu", "special.cu"))
    assert all(source.text in text or source.text.startswith(units_cuda.text("units.cu")) for source in sources)
    cubin = Compiler(architecture, cubins).build(text, [source.entry for source in sources])
    functions = elf.functions(cubin.code)
    for source in sources:
        yield source, cubin, functions[cubin.symbols[source.entry]]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_body_holds_its_steps_and_nothing_that_was_not_meant(cubins, architecture):
    """R1, R5, R8: exactly CHAINS × UNROLL instructions of the unit, no FFMA in the roof without FMA, and no spill."""
    from roofline.devices.cuda import sass

    for source, _cubin, function in built(cubins, architecture):
        counts = sass.counts(sass.histogram(function.code))
        assert {kind: counts[kind] for kind in source.expects} == dict(source.expects), source.entry
        assert function.stack_bytes == 0, f"{source.entry} spills"


def of_values(opcode: str, operands: str) -> bool:
    """Whether the vendor's text shows a multiply-add of values: no zero register among its operands, no literal."""
    first, *rest = [operand.strip().removesuffix(".reuse").lstrip("-") for operand in operands.split(",")]
    whole = opcode == "IMAD" or opcode.startswith("HFMA2")
    return whole and first.startswith("R") and all(o[0] in "RUc" and o != "RZ" for o in rest)


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90a", "sm_120a"])
def test_what_multiplies_and_adds_is_told_from_moves_as_the_vendor_tells_it(cubins, architecture):
    """R8: compilers write moves and addresses as multiply-adds with zeros; those do not count as arithmetic."""
    from roofline.devices.cuda import sass

    pathfinder = pytest.importorskip("cuda.pathfinder", reason="cuda-pathfinder is not installed")
    nvdisasm = pathfinder.find_nvidia_binary_utility("nvdisasm")
    if nvdisasm is None:
        pytest.skip("nvdisasm is not installed")
    rows = list(built(cubins, architecture))
    command = [nvdisasm, "--emit-json", str(rows[0][1].path)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)[1]
    theirs = {function["function-name"]: function["sass-instructions"] for function in told}
    for source, cubin, function in rows:
        ours, listed = sass.histogram(function.code), theirs[cubin.symbols[source.entry]]
        found = [(i["opcode"], i.get("operands", "")) for i in listed]
        for family in ("IMAD", "HFMA2"):
            values = sum(opcode.startswith(family) and of_values(opcode, operands) for opcode, operands in found)
            full = sum(number for name, number in ours.items() if name.startswith(family) and name.endswith(sass.FULL))
            assert full == values, (source.entry, family)
        for name in ("DFMA", "IDP", "MUFU", "FMUL", "FADD"):
            assert ours[name] == sum(opcode.split(".")[0] == name for opcode, _ in found), (source.entry, name)
