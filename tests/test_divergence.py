"""Divergence: what is computed and counted while only a part of the lanes is active, and what code that becomes."""

import re

import numpy as np
import pytest

from roofline.devices.base import KernelUnsupported, Launch
from roofline.devices.cpu import machine_code, open_cpu
from roofline.devices.cpu.jit import assembly_for
from roofline.kernel import Kernel, Target
from roofline.kernels import chains_cpu, divergence, divergence_cuda, kernels_of
from roofline.rooflines import unit_of
from roofline.session import Session

pytestmark = pytest.mark.correctness

X86 = "x86_64-unknown-linux-gnu"
HASWELL = Target("cpu", "x86-64-v3", lanes=8, registers=16, has_fma=True)
# target, triple, LLVM's name of a CPU, the comparison that makes the mask
MACHINES = {
    "x86-64-v2": (Target("cpu", "x86-64-v2", 4, 16, has_fma=False), X86, "x86-64-v2", "pcmpeqd"),
    "x86-64-v3": (HASWELL, X86, "haswell", r"vpcmpeqd\s.*%ymm"),
    "x86-64-v4": (Target("cpu", "x86-64-v4", 16, 32), X86, "skylake-avx512", r"vptestn?md\s.*%k"),
    "aarch64": (Target("cpu", "aarch64", 4, 32), "aarch64-unknown-linux-gnu", "neoverse-n1", r"cmeq\s|cmtst\s"),
}


@pytest.fixture(scope="module")
def session():
    with open_cpu() as backend:
        yield Session(backend)


def cpu_kernels(target: Target) -> list[Kernel]:
    return [kernel for kernel in divergence.every_kernel() if kernel.variants(target)]


@pytest.mark.parametrize("kernel", list(divergence.every_kernel()), ids=lambda kernel: kernel.name)
def test_lanes_that_do_not_count_keep_what_they_had(session, kernel):
    """R3: exactly one element in so many takes the steps; the bits of the others stay."""
    backend = session.backend
    if not kernel.variants(backend.target):
        pytest.skip(kernel.unsupported["cpu"])
    one_in = int(kernel.name[-2:])
    start = np.random.default_rng(3).uniform(-8, 8, 1025).astype(np.float32)
    binary = session.binaries(kernel)[0]
    buffers = backend.bind([start, np.zeros_like(start)])
    backend.run(Launch(binary, buffers, start.size), 1)
    after = backend.read_back(buffers)[1]
    backend.free(buffers)
    idle = np.arange(start.size) % one_in != 0
    np.testing.assert_array_equal(after[idle], start[idle])
    assert (after[~idle] > start[~idle] + 500).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_the_masked_code_is_the_roofs_own_and_a_mask_made_at_run_time(machine):
    """R3: no step is left out and none is added; only the operands pass a mask."""
    target, triple, cpu, comparison = MACHINES[machine]
    for kernel in cpu_kernels(target)[1:]:
        variant = kernel.variants(target)[0]
        source = kernel.sources["cpu"](target, variant)
        text = machine_code.functions(assembly_for(source.text, triple, cpu))[source.entry]
        found = machine_code.count(text, target.architecture)
        assert {name: found[name] for name in source.expects} == dict(source.expects)
        roof = chains_cpu.variants(target, variant.integer("vectors"), "widest")[0]
        assert source.expects == chains_cpu.source(target, roof, divergence.STEPS).expects
        assert re.search(comparison, text), kernel.name


def test_only_active_lanes_count_on_a_cpu():
    """R3: FLOPs of one element in so many, so the rate is a part of the roof's at the same time."""
    everything = divergence.kernel(1).work(4096).flops
    for one_in in divergence.ONE_IN:
        assert divergence.kernel(one_in).work(4096).flops * one_in == everything


@pytest.mark.parametrize("split", divergence_cuda.SPLITS, ids=lambda split: split.name)
def test_every_split_of_a_warp_issues_as_many_ffma(split):
    """R3: FLOPs over the active lanes are the same for all, so at the same rate of instructions all take as long."""
    kernel = divergence_cuda.kernel(split)
    warps = divergence_cuda.THREADS // divergence_cuda.WARP
    issued = kernel.work(kernel.size(0)).flops / split.active
    assert issued == 2.0 * warps * divergence_cuda.TURNS * divergence_cuda.DEPTH
    assert kernel.size(0) % divergence_cuda.elements_a_turn(split) == 0


def test_paths_leave_as_many_lanes_active_as_there_are_on_each():
    assert [split.active for split in divergence_cuda.SPLITS if split.form == "paths"] == [16]


def test_the_lower_roofs_are_named_by_the_lanes_of_32_that_are_left():
    """R3: the same name for the same part on every kind of device; paths and all lanes set none."""
    named = {kernel.name: kernel.measures for kernel in kernels_of("divergence")}
    assert named["lanes-16-of-32"] == named["lanes-1-in-02"] == ("fp32_divergent_16",)
    assert named["lanes-02-of-32"] == named["lanes-1-in-16"] == ("fp32_divergent_2",)
    assert named["lanes-01-of-32"] == ("fp32_divergent_1",)
    assert named["lanes-32-of-32"] == named["lanes-1-in-01"] == named["paths-02"] == ()
    assert {unit_of(resource) for measures in named.values() for resource in measures} == {"FLOP/s"}


def test_a_vector_that_is_too_short_to_hold_an_active_lane_is_absent_with_that_reason(session, monkeypatch):
    """One in sixteen needs sixteen lanes: with fewer, some vectors would do nothing that counts."""
    kernel = divergence.kernel(16)
    assert kernel.variants(HASWELL) == ()
    monkeypatch.setattr(session.backend, "target", HASWELL)
    with pytest.raises(KernelUnsupported, match="vectors have fewer than 16 lanes"):
        session.measure(kernel)
    with pytest.raises(KernelUnsupported, match="vectors have fewer than 16 lanes"):
        session.backend.build(kernel, ())
    assert [absent.status for absent in session.absent.values()] == ["unsupported"]
