"""The IR emitter: text alone, no compiler needed."""

import subprocess
import sys

import pytest

from roofline import llvm
from roofline.kernel import Target
from roofline.llvm import Block, Function, Span, Vectors

pytestmark = pytest.mark.correctness

X86 = Target("cpu", "x86-64-v3", lanes=8, registers=16, has_fma=True)
PLAIN = Target("cpu", "x86-64-v2", lanes=4, registers=16, has_fma=False)
ARM = Target("cpu", "aarch64", lanes=4, registers=32, has_fma=True)


def streamed(target: Target, vectors: Vectors, steps: int = 1, non_temporal: bool = False) -> str:
    def body(block: Block) -> None:
        block.store("y", block.steps(block.load("x"), steps), non_temporal)

    return llvm.streaming_kernel(llvm.entry_name("k", str(vectors)), target, vectors, body)


def entry_of(text: str) -> str:
    return text.split("define ")[1]


def rest_of(text: str) -> str:
    return text.split("define ")[2]


@pytest.mark.parametrize("module", ["roofline.llvm", "roofline.kernels.dial", "roofline.devices.cpu"])
def test_importing_needs_no_compiler(module):
    code = f"import sys, {module}; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_parts_of_a_job_do_not_overlap():
    assert 8 * len(llvm.JOB_SLOTS) <= llvm.SCRATCH
    assert llvm.SCRATCH + llvm.SCRATCH_BYTES <= llvm.JOB_BYTES
    assert len(set(llvm.JOB_SLOTS)) == len(llvm.JOB_SLOTS)


def test_partial_sums_of_the_longest_block_fit_the_scratch_room():
    assert 16 * Vectors(lanes=16, count=1).bytes <= llvm.SCRATCH_BYTES


def test_a_vector_knows_its_type_and_size():
    assert (Vectors(8, 4).type, Vectors(8, 4).bytes, Vectors(8, 4).block) == ("<8 x float>", 32, 32)
    assert (llvm.ONE_BY_ONE.type, llvm.ONE_BY_ONE.bytes) == ("float", 4)


def test_a_loop_over_known_numbers_has_no_guard_and_a_loop_over_values_has_one():
    known, unknown = Function("known"), Function("unknown")
    known.loop(Span(0, 3), "float", ["0.0"], lambda _, states: states)
    unknown.loop(Span(0, "%n"), "float", ["0.0"], lambda _, states: states)
    assert known.text().count("br i1") == 1
    assert unknown.text().count("br i1") == 2


def test_a_loop_that_may_be_empty_returns_its_initial_states_then():
    function = Function("f")
    (result,) = function.loop(Span(0, "%n"), "float", ["7.0"], lambda _, _states: ["%new"])
    assert f"{result} = phi float [ 7.0, %start ], [ %new, %loop1 ]" in function.text()


@pytest.mark.parametrize("steps", [17, 20, 33])
def test_steps_that_no_loop_divides_are_refused(steps):
    with pytest.raises(ValueError, match=f"{steps} steps: more than 16 must be a multiple of 8"):
        streamed(X86, Vectors(8, 4), steps)


@pytest.mark.parametrize("steps", [1, 12, 16, 24, 2048])
def test_expected_fmas_are_those_in_the_text(steps):
    vectors = Vectors(8, 4)
    written = entry_of(streamed(X86, vectors, steps)).count("call <8 x float> @llvm.fma")
    assert llvm.expected_steps(X86, vectors, steps) == {"fma": written, "mul": 0, "add": 0}


def test_without_fma_the_sum_and_the_product_are_prepared_outside_the_loop():
    entry = entry_of(streamed(PLAIN, Vectors(4, 2), steps=3))
    before, loop = entry.split("loop", 1)
    assert before.count("fadd float") == before.count("fmul float") == 1
    assert loop.count("fadd <4 x float>") == loop.count("fmul <4 x float>") == 6
    assert "fma" not in entry
    assert llvm.expected_steps(PLAIN, Vectors(4, 2), 3) == {"fma": 0, "mul": 7, "add": 7}


def test_no_flag_lets_a_compiler_fuse_reorder_or_fold():
    text = streamed(PLAIN, Vectors(4, 2), steps=16)
    assert not any(flag in text for flag in ("fast", "contract", "reassoc", "afn"))


def test_only_whole_vectors_are_stored_past_the_cache():
    text = streamed(X86, Vectors(8, 4), non_temporal=True)
    assert entry_of(text).count(llvm.NON_TEMPORAL) == 4
    assert llvm.NON_TEMPORAL not in rest_of(text)


def test_aarch64_stores_pairs_past_the_cache_and_a_lone_vector_by_itself():
    pairs = entry_of(streamed(ARM, Vectors(4, 4), non_temporal=True))
    assert pairs.count("store <8 x float>") == 2
    assert entry_of(streamed(ARM, Vectors(4, 1), non_temporal=True)).count("store <4 x float>") == 1


@pytest.mark.parametrize(("vectors", "lines"), [(Vectors(8, 4), 2), (Vectors(16, 8), 8), (Vectors(4, 2), 1)])
def test_each_line_of_a_block_is_asked_for_once_and_none_from_the_rest(vectors, lines):
    text = llvm.streaming_kernel("k__v", X86, vectors, lambda block: block.prefetch("x", 2048))
    assert entry_of(text).count(f"call void @{llvm.PREFETCH}") == lines
    assert llvm.expected_prefetches(vectors, 2048) == {"prefetch": lines}
    assert llvm.PREFETCH not in rest_of(text)


def test_asking_no_bytes_ahead_asks_for_nothing():
    assert llvm.PREFETCH not in llvm.streaming_kernel("k__v", X86, Vectors(8, 4), lambda block: block.prefetch("x", 0))
    assert llvm.expected_prefetches(Vectors(8, 4), 0) == {"prefetch": 0}


def test_variants_of_a_kernel_share_one_rest_in_a_module():
    module = llvm.merged([streamed(X86, Vectors(8, count), steps=2) for count in (2, 4, 8)])
    assert module.count("define void @k__rest(") == 1
    assert module.count("define void @k__8x") == 3
    assert module.count("declare float @llvm.fma.f32(") == 1
    assert module.count(llvm.METADATA) == 1


def test_the_rest_begins_where_the_blocks_end():
    text = streamed(X86, Vectors(8, 4))
    high, end = (8 * llvm.JOB_SLOTS.index(name) for name in ("high", "end"))
    assert f"ptr %job, i64 {high}" in entry_of(text)
    assert f"ptr %job, i64 {end}" not in entry_of(text)
    assert f"ptr %job, i64 {end}" in rest_of(text)


def test_expected_stores_tell_kinds_apart():
    nothing = {"spill": 0, "call": 0}
    assert llvm.expected_stores(Vectors(8, 4), non_temporal=True) == {"store": 0, "store_nt": 4, **nothing}
    assert llvm.expected_stores(Vectors(8, 4), non_temporal=False) == {"store": 4, "store_nt": 0, **nothing}
