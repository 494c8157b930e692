"""Machine code of every kernel for machines that nobody here has: LLVM compiles for any of them."""

import re
from collections.abc import Mapping

import pytest

from roofline import llvm
from roofline.devices.cpu import filling, machine_code, regions
from roofline.devices.cpu.jit import assembly_for
from roofline.kernel import Kernel, Source, Target
from roofline.kernels import chains, dial, every_kernel

pytestmark = pytest.mark.correctness

LINUX_X86, LINUX_ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
# name -> (target, triple, LLVM's name of a CPU, the widest registers in assembly text)
MACHINES = {
    "x86-64-v2": (Target("cpu", "x86-64-v2", 4, 16, has_fma=False), LINUX_X86, "x86-64-v2", r"%xmm"),
    "x86-64-v3": (Target("cpu", "x86-64-v3", 8, 16, has_fma=True), LINUX_X86, "haswell", r"%ymm"),
    "x86-64-v4": (Target("cpu", "x86-64-v4", 16, 32, has_fma=True), LINUX_X86, "skylake-avx512", r"%zmm"),
    "zen4": (Target("cpu", "x86-64-v4", 16, 32, has_fma=True), LINUX_X86, "znver4", r"%zmm"),
    "aarch64": (Target("cpu", "aarch64", 4, 32, has_fma=True), LINUX_ARM, "neoverse-n1", r"v\d+\.4s"),
}
ARITHMETIC = r"\s(?:v?f(?:n?m)add\d+ps|v?mulps|v?addps|fmla|fmul|fadd)\s"


def sources(target: Target) -> list[tuple[Kernel, Source]]:
    """Each variant of each kernel that has code for a CPU."""
    kernels = [kernel for kernel in every_kernel() if "cpu" in kernel.sources]
    return [(kernel, kernel.sources["cpu"](target, form)) for kernel in kernels for form in kernel.variants(target)]


@pytest.fixture(scope="module", params=MACHINES)
def machine(request):
    return request.param


@pytest.fixture(scope="module")
def functions(machine) -> Mapping[str, str]:
    """The assembly text of every kernel's functions on one machine."""
    target, triple, cpu, _ = MACHINES[machine]
    text = llvm.merged([source.text for _, source in sources(target)])
    return machine_code.functions(assembly_for(text, triple, cpu))


def test_every_kernel_has_exactly_the_instructions_that_its_source_promises(machine, functions):
    target = MACHINES[machine][0]
    wrong = {}
    for _, source in sources(target):
        found = machine_code.count(functions[source.entry], target.architecture)
        if any(found[name] != number for name, number in source.expects.items()):
            wrong[source.entry] = (found, source.expects)
    assert not wrong


def test_every_source_promises_its_arithmetic_and_its_stores_and_that_nothing_spills(machine):
    for _, source in sources(MACHINES[machine][0]):
        assert {"fma", "mul", "add", "store", "store_nt", "spill", "call"} <= source.expects.keys()
        assert source.expects["spill"] == source.expects["call"] == 0


def test_dial_arithmetic_is_on_the_widest_registers(machine, functions):
    target, _, _, registers = MACHINES[machine]
    for form in dial.kernel(2048, "ordinary").variants(target):
        text = functions[
            llvm.entry_name("dial_2048", f"ordinary_{target.lanes}x{form.integer('vectors')}_{form.integer('ahead')}")
        ]
        loop = [line for line in text.splitlines() if re.search(ARITHMETIC, line)]
        assert len(loop) >= 8 * form.integer("vectors")
        assert all(re.search(registers, line) for line in loop)


def test_only_the_streaming_kernels_store_past_the_cache(machine, functions):
    target = MACHINES[machine][0]
    for kernel, source in sources(target):
        found = machine_code.count(functions[source.entry], target.architecture)
        assert (found["store_nt"] > 0) == kernel.name.endswith("-nt"), kernel.name


def test_without_fma_a_step_is_a_multiply_and_an_add_and_nothing_is_fused():
    """R1: no instruction of the no-FMA dial fuses, although the CPU it is compiled for could."""
    target = Target("cpu", "x86-64-v3", 8, 16, has_fma=False)
    kernel = dial.kernel(16, "ordinary")
    form = kernel.variants(target)[0]
    source = kernel.sources["cpu"](target, form)
    text = machine_code.functions(assembly_for(source.text, LINUX_X86, "haswell"))[source.entry]
    found = machine_code.count(text, target.architecture)
    steps = 16 * form.integer("vectors")
    assert (found["fma"], found["mul"], found["add"]) == (0, steps + 1, steps + 1)


@pytest.mark.parametrize("steps", dial.POINTS)
def test_steps_in_the_text_times_the_trips_of_their_loop_are_all_the_steps(steps):
    """A6 in CPU terms: F is what stands in the text, times the trips of the loop around it."""
    target = MACHINES["x86-64-v3"][0]
    kernel = dial.kernel(steps, "ordinary")
    form = kernel.variants(target)[0]
    entry = kernel.sources["cpu"](target, form).text.split("define ")[1]
    written = entry.count("@llvm.fma") // form.integer("vectors")
    stops = [int(stop) for stop in re.findall(r"icmp ult i64 %v\d+, (\d+)\n", entry)]
    strides = [int(stride) for stride in re.findall(r"add i64 %i\d+, (\d+)\n", entry)]
    assert stops == ([] if written == steps else [steps])
    assert written == steps or strides[0] == written


def test_sixteen_chains_exist_only_where_the_registers_hold_them():
    """A8: more chains than registers would spill, and then measure the stack."""
    for target, _, _, _ in MACHINES.values():
        assert bool(chains.kernel(16).variants(target)) == (target.registers == 32)


def test_aarch64_streams_pairs_of_whole_vectors():
    target, triple, cpu, _ = MACHINES["aarch64"]
    kernel = dial.kernel(1, "nt")
    source = kernel.sources["cpu"](target, kernel.variants(target)[0])
    text = machine_code.functions(assembly_for(source.text, triple, cpu))[source.entry]
    assert len(re.findall(r"\bstnp\s+q", text)) == kernel.variants(target)[0].integer("vectors") // 2
    assert not re.search(r"\bstnp\s+d", text)


@pytest.mark.parametrize("machine", ["x86-64-v2", "x86-64-v4", "aarch64"])
def test_the_team_reads_a_counter_and_calls_no_library(machine):
    target, triple, cpu, _ = MACHINES[machine]
    text = assembly_for(llvm.merged([regions.team_code(target), filling.fill_code(target)]), triple, cpu)
    functions = machine_code.functions(text)
    assert set(regions.ENTRIES) <= functions.keys()
    assert re.search(r"cntvct_el0" if machine == "aarch64" else r"\brdtsc\b", functions["ticks"], re.IGNORECASE)
    for name in ("nothing", "count", "cycles", "ticks", "tick"):
        assert machine_code.count(functions[name], target.architecture)["call"] == 0


def test_the_hash_of_a_kernel_does_not_depend_on_what_is_compiled_with_it():
    target, triple, cpu, _ = MACHINES["x86-64-v3"]
    alone, others = sources(target)[0][1], sources(target)[:3]
    single = machine_code.functions(assembly_for(alone.text, triple, cpu))
    among = machine_code.functions(assembly_for(llvm.merged([source.text for _, source in others[::-1]]), triple, cpu))
    names = [alone.entry, llvm.rest_name(alone.entry)]
    assert machine_code.digest([single[name] for name in names]) == machine_code.digest([among[name] for name in names])
    other = others[1][1].entry
    assert machine_code.digest([among[other]]) != machine_code.digest([among[alone.entry]])


X86_LINES = """
\tvmovaps\t(%rdx,%rax,4), %ymm2
\tvmovaps\t32(%rdx), %xmm3
\tvmovaps\t%ymm2, (%rsi,%rax,4)
\tvmovss\t%xmm2, 8(%rsi)
\tvmovaps\t%ymm2, -32(%rsp)
\tvmovups\t64(%rsp), %ymm4
\tvmovntps\t%zmm2, (%rsi)
\tvfmadd231ps\t%ymm1, %ymm0, %ymm2
\tvfmadd213ss\t(%rax), %xmm1, %xmm0
\tvmulps\t%ymm1, %ymm0, %ymm2
\taddps\t%xmm1, %xmm2
\taddq\t$32, %rax
\tmovq\t(%rdi), %rax
\tcallq\tfmaf@PLT
\tprefetcht0\t2048(%rdx)
\tvmovaps\t%ymm1, %ymm2
"""
ARM_LINES = """
\tldp\tq2, q3, [x8]
\tldr\tq4, [x8, #32]
\tstp\tq2, q3, [x9]
\tstr\tq4, [x9, #32]
\tstnp\tq2, q3, [x9]
\tstr\tq4, [sp, #16]
\tfmla\tv2.4s, v1.4s, v0.4s
\tfmadd\ts2, s0, s1, s2
\tfadd\tv2.4s, v1.4s, v0.4s
\tfmul\ts0, s1, s2
\tstp\td9, d8, [sp, #-16]!
\tadd\tx8, x8, #1
\tbl\tfmaf
\tprfm\tpldl1keep, [x8, #2048]
\tb.lo\t.LBB0_1
"""


@pytest.mark.parametrize(
    ("architecture", "lines", "expected"),
    [
        (
            "x86-64-v4",
            X86_LINES,
            {"load": 2, "store": 2, "spill": 2, "store_nt": 1, "fma": 2, "mul": 1, "add": 1, "prefetch": 1, "call": 1},
        ),
        (
            "aarch64",
            ARM_LINES,
            {"load": 3, "store": 3, "spill": 1, "store_nt": 2, "fma": 2, "mul": 1, "add": 1, "prefetch": 1, "call": 1},
        ),
    ],
)
def test_instructions_fall_into_their_classes(architecture, lines, expected):
    found = machine_code.count(lines, architecture)
    assert {kind: number for kind, number in found.items() if number} == expected


def test_functions_end_where_the_compiler_says_on_linux_and_macos():
    elf = "k:\n\t.cfi_startproc\n\tretq\n.Lfunc_end0:\n\t.size k, .-k\n"
    mach_o = "_k:\n\t.cfi_startproc\n\tret\n\t.cfi_endproc\n\t.globl _other\n"
    assert "retq" in machine_code.functions(elf)["k"]
    assert ".size" not in machine_code.functions(elf)["k"]
    assert "ret" in machine_code.functions(mach_o)["k"]
    assert "globl" not in machine_code.functions(mach_o)["k"]
