"""Diagnoses of constructed cases of every kind: what must be said of a kernel whose place is known beforehand."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline import counting
from roofline.diagnose import diagnose, diagnoses, together
from roofline.layout import RULES, Row, point_of
from roofline.model import (
    Ceiling,
    Device,
    Estimate,
    Measurement,
    Nominal,
    Point,
    RowKey,
    Samples,
    Spread,
    Timer,
    Traffic,
    Work,
)
from roofline.record import assemble, extra_info, load
from roofline.report import Report
from roofline.report.diagnosis import diagnosis_table
from roofline.report.tables import formatted
from roofline.rooflines import MissingCeiling, Roofline, unit_of
from roofline.schema import decode
from roofline.sighting import Situation
from roofline.specsheets import RTX_5070

pytestmark = pytest.mark.correctness

RECORDS = sorted(Path(__file__).with_name("records").glob("*/*.json"))
MEGA, GIGA, TERA = 1e6, 1e9, 1e12
MICRO = 1e-6
L2_BYTES = 60 * 2**20
CLOCK = 1.98e9

GPU = Device("a GPU", "cuda", "sm_90", 132, L2_BYTES, nominal={"clock": Nominal(CLOCK, "Hz", "boost", "a data sheet")})
CPU = Device("a CPU", "cpu", "znver3", 2, 32 * 2**20, nominal={"clock": Nominal(3.0e9, "Hz", "base", "a data sheet")})


def ceiling(resource, rate, noise=0.002, **more):
    return Ceiling(
        resource, rate, rate * (1 - noise), rate * (1 + noise), unit_of(resource), f"best-{resource}", "v", **more
    )


def card(**rates):
    return Roofline({name: ceiling(name, rate, clock_hz=CLOCK) for name, rate in rates.items()})


CARD = card(
    dram=4.27 * TERA,
    dram_read=4.51 * TERA,
    dram_stride_8=0.56 * TERA,
    l2=9.7 * TERA,
    shared=33.1 * TERA,
    fp32=65.7 * TERA,
    fp16=130 * TERA,
    fp32_no_fma=32.9 * TERA,
    fp32_divergent_8=16.4 * TERA,
    sfu_exp2=4.1 * TERA,
    tensor_fp16_fp32acc=834 * TERA,
    tensor_tf32=415 * TERA,
    launch=3.8 * MICRO,
)
CORES = card(
    dram=43.5 * GIGA,
    dram_copy_nt=43.5 * GIGA,
    dram_copy_ordinary=22.9 * GIGA,
    l3=200 * GIGA,
    fp32=202 * GIGA,
    launch=0.056 * MICRO,
)
# The chapter's card by its data sheet with the bandwidth that it reaches in practice.
PRACTICAL = Roofline({**RTX_5070.ceilings, "dram": ceiling("dram", 590 * GIGA)})


def measured(work, seconds, noise=0.002, size=1, **more):
    """A kernel that took `seconds`, with an interval of ± `noise`, on buffers far larger than any cache."""
    state = {name: more.pop(name) for name in ("clock_hz", "flags") if name in more}
    return Measurement(
        key=RowKey("mine", more.pop("kernel", "kernel"), size, work.unit, "dram"),
        work=work,
        variant="v",
        samples=Samples((seconds,), Timer("events", 1e-9), **state),
        seconds=Estimate(seconds, seconds * (1 - noise), seconds * (1 + noise)),
        **({"footprint_bytes": int(2 * GIGA)} | more),
    )


def at(share, work, roofline=CARD, **more):
    """A kernel that reaches `share` of what the model gives it, by all of its lines."""
    levels = [level for level in work.traffic if work.slope(level) in roofline.ceilings]
    least = max([roofline.seconds(work, level) for level in levels] or [roofline.seconds(work)])
    return measured(work, least / share, **more)


def moving(intensity, total=GIGA, unit="fp32", **more):
    """Work with one byte written for each byte read."""
    return Work(intensity * total, unit, {"dram": Traffic(total / 2, total / 2)}, **more)


def computing(flops, unit="fp32"):
    """Work on registers alone."""
    return Work(flops, unit, {"dram": Traffic(0.0, 0.0)})


def tiled(tile, at_shared=8.0, rows=4096):
    """A product in tiles: each matrix once through DRAM, so much through L2 and shared memory."""
    return Work(
        2.0 * rows**3,
        "fp32",
        {
            "dram": Traffic(8.0 * rows**2, 4.0 * rows**2),
            "l2": Traffic(8.0 * rows**3 / tile, 4.0 * rows**2),
            "shared": Traffic(at_shared * rows**3, 0.0),
        },
    )


VECADD = counting.vecadd(2**28)
READ = Work(0.0, "none", {"dram": Traffic(GIGA, 0.0)}, {"dram": "dram_read"})
STRIDED = replace(READ, traffic={"dram": Traffic(0.1 * GIGA, 0.0)})
GEMM = counting.gemm(4096, 4096, 4096)
HALF_GEMM = counting.gemm(4096, 4096, 4096, "float16", "tensor_fp16_fp32acc")
SOFTMAX = counting.softmax(16384, 4096)
ORDINARY = moving(0.25, slopes={"dram": "dram_copy_ordinary"})
# Two loads for each multiply-add, as if nothing were cached, of three matrices that each must cross once.
NAIVE = replace(counting.tiled_gemm(1024, 1024, 1024, 1), algorithmic=Traffic(8.0 * 2**20, 4.0 * 2**20))
IN_L2 = Work(0.25 * GIGA, "fp32", {"dram": Traffic(0.0, 0.0), "l2": Traffic(GIGA, 0.0)})
TINY = counting.vecadd(2**12)


@dataclass(frozen=True)
class Constructed:
    """A measurement with what must be found: the case, what the noise leaves open, and words of both lines."""

    name: str
    measurement: Measurement
    case: str
    finding: str
    advice: str
    perhaps: str | None = None
    roofline: Roofline = CARD
    device: Device = GPU
    other_sizes: list[Measurement] = field(default_factory=list)


def counted(work, times):
    """Bytes that a counter saw cross DRAM: so many times those of the work."""
    moved = work.traffic["dram"]
    return {"achieved": {"dram": Traffic(moved.read * times, moved.written * times)}}


def clocked(hertz):
    return {"clock_hz": Spread(hertz, hertz, hertz)}


CASES = [
    # on the roof at the ideal intensity
    Constructed("vecadd", at(0.97, VECADD), "at-roof", "97.0 % of dram (4.27 TB/s) at its ideal", "smaller type"),
    Constructed("a bare read", at(0.99, READ), "at-roof", "99.0 % of dram_read (4.51 TB/s), no byte", "fusing"),
    Constructed("a good GEMM", at(0.93, GEMM), "at-roof", "93.0 % of fp32 (65.7 TFLOP/s).", "fewer operations"),
    Constructed("three times the bytes, right of the ridge", at(0.95, GEMM, **counted(GEMM, 3)), "at-roof",
                "3.00 × the bytes it needs cost it no time", "faster unit"),
    Constructed("FP16 on CUDA cores by the roof of FP16 there", at(0.95, computing(TERA, "fp16")), "at-roof",
                "95.0 % of fp16 (130 TFLOP/s)", "faster unit"),
    Constructed("a tail of writes still in L2", at(0.97, moving(0.25), **counted(moving(0.25), 0.96)), "at-roof",
                "97.0 % of dram", "smaller type"),
    Constructed("a kernel that set the ceiling", at(1.0, moving(0), kernel="best-dram", measures=("dram",)), "at-roof",
                "the ceiling itself", "nominal rate"),
    Constructed("noise down to below", at(0.91, SOFTMAX, noise=0.03), "at-roof", "(88.2 … 94.0 %)", "Stop here",
                "below-roof"),
    Constructed("noise up to above", at(1.03, SOFTMAX, noise=0.05), "at-roof", "above its roof", "Stop", "impossible"),
    # below the roof
    Constructed("a slow layer norm", at(0.34, counting.layer_norm(16384, 4096)), "below-roof",
                "34.0 % of dram (4.27 TB/s) at 1.00 FLOP/B.", "access pattern"),
    Constructed("one float of every eight", at(0.123, STRIDED), "below-roof", "(one float of every 8 used)",
                "whole sectors"),
    Constructed("in L2, too few bytes in flight", at(0.6, IN_L2), "below-roof", "60.0 % of l2", "bytes in flight"),
    Constructed("no FMA", at(0.495, computing(TERA)), "below-roof", "fp32_no_fma (multiplies and adds that no FMA",
                "instruction mix"),
    Constructed("eight lanes of 32", at(0.245, computing(TERA)), "below-roof", "8 of 32 lanes active", "idle lanes"),
    Constructed("full of exponentials", at(0.061, computing(TERA)), "below-roof", "special functions (exp2)", "mix"),
    Constructed("at a lower clock", at(0.84, computing(TERA), **clocked(1.65e9)), "below-roof",
                "1.65 GHz, the roof's 1.98 GHz: at one clock it is at 100 %", "1.19 ×"),
    Constructed("at the ridge", at(0.8, moving(15.4)), "below-roof", "near the ridge, 80 % of dram too", "Overlap"),
    Constructed("while others used the machine", at(0.7, SOFTMAX, flags=("disturbed",)), "below-roof",
                "not steady (disturbed)", "access pattern"),
    Constructed("a GEMM on tensor cores", at(0.83, HALF_GEMM), "below-roof", "83.0 % of tensor_fp16_fp32acc", "feeds"),
    Constructed("noise up to on", at(0.88, SOFTMAX, noise=0.03), "below-roof", "on its roof", "1.14 ×", "at-roof"),
    Constructed("a chain of loads a thousand launches long", measured(TINY, 0.1), "below-roof", "of dram", "pattern"),
    # left of the ideal point
    Constructed("DRAM bytes counted twice over", at(0.49, SOFTMAX, **counted(SOFTMAX, 2)), "extra-bytes",
                "1.07 GB cross dram, 2.00 × the 537 MB that it needs; at 98.0 %", "fuse passes"),
    Constructed("twice the bytes, slowly", at(0.3, SOFTMAX, **counted(SOFTMAX, 2)), "extra-bytes", "at 60.0 % of dram",
                "3.33 ×"),
    Constructed("limited by shared memory", at(0.92, tiled(32)), "extra-bytes", "cross shared", "registers"),
    Constructed("limited by L2", at(0.92, tiled(2, at_shared=1.0)), "extra-bytes", "cross l2", "larger tiles"),
    Constructed("naive, and nothing is cached", at(0.95, NAIVE), "extra-bytes", "683 × the 12.6 MB", "fuse passes"),
    Constructed("ordinary stores that gather better than a copy's", at(1.15, ORDINARY, CORES), "extra-bytes",
                "(ordinary stores read each line first)", "non-temporal", roofline=CORES, device=CPU),
    Constructed("more than ordinary stores ever gained", at(1.5, ORDINARY, CORES), "impossible", "cannot be",
                "trust no rate", roofline=CORES, device=CPU),
    Constructed("judged in turns with a roof that was slower then",
                at(0.7, moving(50), beside_roof=Estimate(0.95, 0.94, 0.96)),
                "at-roof", "fp32 (48.4 TFLOP/s at that moment)", "Stop here"),
    Constructed("ordinary stores", at(0.98, ORDINARY, CORES), "extra-bytes", "(ordinary stores read each line first)",
                "non-temporal", roofline=CORES, device=CPU),
    # overhead
    Constructed("a tiny vecadd", measured(TINY, 4.1 * MICRO), "overhead", "an empty launch takes 3.80 µs", "graph"),
    Constructed("a chain of launches", measured(TINY, 62 * MICRO, launches=16), "overhead",
                "a chain of 16 launches", "graph"),
    Constructed("a chain that does most of its time's work", at(0.6, moving(0, GIGA), launches=16), "below-roof",
                "empty launches take 16 %", "bytes in flight"),
    Constructed("the same time at half the size", measured(moving(1, GIGA), 0.01, size=2), "overhead",
                "half the work takes 98.6 % of the time", "Nothing inside", roofline=card(dram=4e12, fp32=60e12),
                other_sizes=[measured(moving(1, GIGA / 2), 0.00986)]),
    Constructed("near the launch, yet in proportion", measured(moving(0, 8 * MEGA), 5 * MICRO, size=2), "below-roof",
                "an empty launch takes 76 % of its time", "bytes in flight",
                other_sizes=[measured(moving(0, 4 * MEGA), 2.6 * MICRO)]),
    Constructed("half of it is launch, within noise", measured(TINY, 7.5 * MICRO, noise=0.05), "overhead",
                "below its roof", "graph", "below-roof"),
    Constructed("half of it does not shrink, within noise", measured(moving(0, 2e6), 12.9 * MICRO, 0.1, size=2),
                "overhead", "a fixed cost", "less than a wave", "below-roof",
                other_sizes=[measured(moving(0, 1e6), 10 * MICRO)]),
    Constructed("sizes far apart", measured(moving(0, 1e6), 4.2 * MICRO, size=1), "overhead", "half the work takes",
                "graph", other_sizes=[measured(moving(0, GIGA), 244 * MICRO, size=1000)]),
    Constructed("the larger of sizes far apart", measured(moving(0, GIGA), 300 * MICRO, size=1000), "below-roof",
                "78.1 % of dram", "access pattern", other_sizes=[measured(moving(0, 1e6), 4.2 * MICRO, size=1)]),
    Constructed("a small call on a CPU", measured(TINY, 0.06 * MICRO, footprint_bytes=0), "impossible", "cache",
                "trust no rate", roofline=CORES, device=CPU),
    Constructed("an empty call on a CPU", measured(counting.vecadd(16), 0.08 * MICRO), "overhead", "launches",
                "More work a call", roofline=CORES, device=CPU),
    # where no point can be
    Constructed("16 MB served by L2", at(1.9, SOFTMAX, footprint_bytes=int(16 * MEGA)), "impossible",
                "cache-resident (footprint 16.0 MB, last cache 62.9 MB)", "buffers of 252 MB or more"),
    Constructed("naive, and caches serve it", at(2.4, NAIVE), "impossible", "a cache served what is asked for again",
                "Count the bytes again"),
    Constructed("FLOPs counted twice", at(2.0, computing(TERA)), "impossible", "FLOPs counted twice", "an FMA is two"),
    Constructed("TF32 under the name of FP32", at(5.5, GEMM), "impossible", "87 % of tensor_tf32", "name the unit"),
    Constructed("a clock above the roof's", at(1.1, computing(GIGA), CORES, **clocked(3.6e9)), "impossible",
                "clock above the roof's (3.60 GHz, then 1.98 GHz)", "trust", roofline=CORES, device=CPU),
    Constructed("fewer bytes than the algorithm needs", at(0.9, moving(0.25), **counted(moving(0.25), 0.5)),
                "impossible", "Right of its ideal point", "Count the bytes again"),
    # judged by a data sheet
    Constructed("88 % of what is promised", measured(moving(1, 590 * GIGA), 1.0), "at-roof", "as promised", "Stop",
                "below-roof", roofline=RTX_5070),
    Constructed("74 % of what is promised", measured(moving(1, 500 * GIGA), 1.0), "below-roof", "maker promises",
                "access pattern", roofline=RTX_5070),
]  # fmt: skip


def situation(case):
    return Situation(case.roofline, case.device, case.other_sizes)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_routine_says_which_case_holds_and_what_to_try(case):
    """L3: the five cases of the routine, and the words for each."""
    found = diagnose(case.measurement, situation(case))
    assert (found.case, found.perhaps) == (case.case, case.perhaps), found.finding
    assert case.finding in found.finding
    assert case.advice in found.advice


def test_the_table_has_every_case_and_every_boundary():
    """Thirty cases or more, and of each kind more than one."""
    kinds = [case.case for case in CASES]
    assert len(CASES) >= 30
    assert {kind for kind in kinds if kinds.count(kind) > 1} == {
        "at-roof", "below-roof", "extra-bytes", "overhead", "impossible",
    }  # fmt: skip
    assert {case.perhaps for case in CASES} >= {"at-roof", "below-roof", "impossible"}


def test_both_lines_stay_lines():
    for case in CASES:
        found = diagnose(case.measurement, situation(case))
        assert max(len(found.finding), len(found.advice)) < 400, found.finding
        assert "\n" not in found.finding + found.advice


LAYER_NORM = (16384, 4096)
PASS = 4.0 * 16384 * 4096
# Read x; read x, write xc; read xc, write its square; read that; read xc, write y; read y, write the result.
SIX = [(1, 0), (1, 1), (1, 1), (1, 0), (1, 1), (1, 1)]


def six_kernels(seconds_a_pass):
    works = [Work(PASS / 2, "fp32", {"dram": Traffic(read * PASS, written * PASS)}) for read, written in SIX]
    return [measured(work, seconds_a_pass * work.moved("dram") / PASS) for work in works]


def test_each_of_six_kernels_is_on_its_roof_and_the_whole_is_left_of_its_ideal_point():
    """L1: ten passes of 268 MB take 4.5 ms at 590 GB/s; every kernel is at its roof, and that is not good enough."""
    parts = six_kernels(PASS / (590 * GIGA))
    assert [diagnose(part, Situation(PRACTICAL, GPU)).case for part in parts] == ["at-roof"] * 6
    whole = diagnose(together(parts, counting.layer_norm(*LAYER_NORM), "layer-norm"), Situation(PRACTICAL, GPU))
    assert (whole.case, whole.gain) == ("extra-bytes", pytest.approx(5.0, rel=0.01))
    assert together(parts, counting.layer_norm(*LAYER_NORM), "all").seconds.value == pytest.approx(4.55e-3, rel=0.01)
    assert "2.68 GB cross dram, 5.00 × the 537 MB that it needs" in whole.finding
    assert "fuse passes" in whole.advice


def test_fused_it_is_at_the_algorithmic_intensity_and_done():
    """L2: one read and one write, 0.9 ms: still memory-bound, on its roof, and there the routine stops."""
    fused = diagnose(measured(counting.layer_norm(*LAYER_NORM), 0.91e-3), Situation(PRACTICAL, GPU))
    assert (fused.case, fused.regime, fused.real.intensity) == ("at-roof", "memory", 1.0)


def test_an_fma_counted_as_one_flop_is_suspected_where_it_shows():
    """L4, M7: half of the roof of a unit, or twice; under a slope the mistake changes no share."""
    bare = Situation(card(dram=4.27 * TERA, fp32=65.7 * TERA), GPU)
    half, twice = at(0.5, computing(TERA)), at(2.0, computing(TERA))
    assert "an FMA counted as one FLOP" in diagnose(half, bare).finding
    assert "a roof that counts an FMA as one" in diagnose(twice, bare).finding
    right, wrong = (diagnose(measured(moving(intensity), 3e-4), bare) for intensity in (2.0, 1.0))
    assert (right.case, right.fraction) == (wrong.case, wrong.fraction)


def test_spec_bandwidth_as_the_ceiling_makes_no_kernel_look_slow():
    """L4, M12: 590 of 672 GB/s is a kernel on its roof; by the data sheet alone nobody is told to gain 12 %."""
    kernel = measured(moving(1, 590 * GIGA), 1.0)
    by_sheet, by_measurement = diagnose(kernel, Situation(RTX_5070, GPU)), diagnose(kernel, Situation(PRACTICAL, GPU))
    assert (by_sheet.case, by_measurement.case) == ("at-roof", "at-roof")
    assert (by_sheet.perhaps, by_measurement.perhaps) == ("below-roof", None)


def test_cache_resident_buffers_are_called_out():
    """L4: small buffers put a point above the DRAM slope, where none can be, or may be behind one that is below it."""
    small = {"footprint_bytes": int(16 * MEGA)}
    assert "cache-resident" in diagnose(at(1.9, SOFTMAX, **small), Situation(CARD, GPU)).finding
    assert "may be cached in part" in diagnose(at(0.7, SOFTMAX, **small), Situation(CARD, GPU)).finding
    assert "cache" not in diagnose(at(0.7, SOFTMAX), Situation(CARD, GPU)).finding


def test_the_wrong_precisions_roof_is_impossible_or_suspected():
    """L4, M13: a unit without a roof of its own is not judged by another's; one named wrongly is as fast as another."""
    with pytest.raises(MissingCeiling, match="tensor_fp8"):
        diagnose(measured(computing(TERA, "tensor_fp8"), 1.0), Situation(CARD, GPU))
    on_cuda_cores = measured(computing(TERA, "tensor_fp16_fp32acc"), TERA / (128 * TERA))
    found = diagnose(on_cuda_cores, Situation(CARD, GPU))
    assert "fp16 (another unit's roof)" in found.finding
    as_what_it_is = replace(on_cuda_cores, work=computing(TERA, "fp16"))
    assert diagnose(as_what_it_is, Situation(CARD, GPU)).case == "at-roof"


def test_a_kernel_is_judged_by_the_roof_above_its_point():
    """M4: 6 TFLOP/s at 10 FLOP/B are a fifth of the peak and nine tenths of what its bytes allow."""
    found = diagnose(measured(Work(6.1e12, "fp32", {"dram": Traffic(0.61e12, 0.0)}), 1.0), Situation(RTX_5070, GPU))
    assert (found.case, found.bound_by) == ("at-roof", "dram")


def test_a_quarter_of_the_peak_at_intensity_ten_cannot_be():
    """M5: it stays above its roof, unclamped, with what may be behind it."""
    work = Work(0.25 * 30.9 * TERA, "fp32", {"dram": Traffic(0.025 * 30.9 * TERA, 0.0)})
    found = diagnose(measured(work, 1.0), Situation(RTX_5070, GPU))
    assert (found.case, found.regime, found.fraction.value) == (
        "impossible",
        "above-roof",
        pytest.approx(1.15, abs=0.01),
    )


def sweep(seconds_of, named):
    """One kernel at sizes from 4 kB to 256 MB, each twice the one before."""
    sizes = [2**power for power in range(12, 29)]
    return [measured(moving(0, float(size)), seconds_of(size), size=size, kernel=named(size)) for size in sizes]


@pytest.mark.parametrize("named", ["copy".format, "copy-{:010d}B".format], ids=["by size", "by name"])
@pytest.mark.parametrize("with_launch", [True, False], ids=["launch known", "launch unknown"])
def test_launch_bound_sizes_are_told_from_the_others_by_their_neighbours(with_launch, named):
    """C6: time that halving the work does not halve; past the floor the same kernel is on its roof."""
    rows = sweep(lambda size: 4e-6 + size / (4.1 * TERA), named)
    ceilings = {n: c for n, c in CARD.ceilings.items() if with_launch or n != "launch"}
    found = diagnoses(Report(GPU, None, ceilings, rows, {row.key: None for row in rows}))
    cases = [found[row.key].case for row in rows]
    assert (set(cases[:12]), cases[-1]) == ({"overhead"}, "at-roof")
    assert sorted(cases, key=["overhead", "below-roof", "at-roof"].index) == cases


def test_other_kernels_and_other_fills_are_no_other_sizes():
    """Only rows that differ in nothing but size tell whether time grows."""
    rows = [
        measured(moving(0, GIGA), 0.001, size=2, kernel="one"),
        measured(moving(0, GIGA / 2), 0.001, size=1, kernel="two"),
    ]
    found = diagnoses(Report(GPU, None, CARD.ceilings, rows, {row.key: None for row in rows}))
    assert {d.case for d in found.values()} == {"below-roof"}


@given(st.lists(st.floats(0.05, 5.0), min_size=2, max_size=8), st.floats(0.1, 200.0))
def test_a_slower_kernel_is_never_nearer_to_the_impossible(shares, intensity):
    """As a kernel slows down it goes from above its roof to it and below it, and never back."""
    order = ["impossible", "at-roof", "below-roof"]
    cases = [diagnose(at(s, moving(intensity)), Situation(CARD, GPU)).case for s in sorted(shares, reverse=True)]
    assert sorted(cases, key=order.index) == cases


@given(st.floats(1.0, 50.0), st.floats(0.2, 0.99))
def test_bytes_beyond_the_ideal_are_the_case_exactly_where_they_cost_time(times, share):
    """Left of the ridge bytes are time, so they are extra from a tenth on; the gain is then as many times."""
    kernel = at(share / times, SOFTMAX, **counted(SOFTMAX, times))
    found = diagnose(kernel, Situation(CARD, GPU))
    assert (found.case == "extra-bytes") == (times > 1.1)
    assert found.gain == pytest.approx(times / share)
    assert found.real.bytes == pytest.approx(times * found.ideal.bytes)


def test_the_nearest_lines_of_all_levels_are_kept():
    """H4: what limits comes first."""
    found = diagnose(at(0.92, tiled(32)), Situation(CARD, GPU))
    assert [name for name, _ in found.nearest] == ["shared", "fp32", "l2", "dram"]


# What is stored and shown


def report(*rows, roofline=CARD):
    return Report(GPU, None, roofline.ceilings, rows, {row.key: roofline.place(row) for row in rows})


def test_a_row_holds_its_diagnosis_and_what_it_was_made_of():
    """Everything that the judgement took is in the row, so a reader of the file can make it anew."""
    row = at(0.49, SOFTMAX, **counted(SOFTMAX, 2))
    found = diagnose(row, Situation(CARD, GPU))
    info = json.loads(json.dumps(extra_info(row, CARD.place(row), found)))
    assert info["diagnosis"]["case"] == "extra-bytes"
    assert info["diagnosis"]["ideal"]["bytes"] == SOFTMAX.moved("dram")
    assert info["achieved_bytes"]["dram"]["read"] == SOFTMAX.moved("dram")
    assert decode(Row, info, "", RULES).diagnosis == found


def test_a_record_is_written_with_the_diagnosis_of_each_placed_row():
    """What a run saves and what its file gives when it is diagnosed again are the same."""
    run = load(RECORDS[0]).run
    theirs = {"benchmarks": [], "datetime": "2026-01-01T00:00:00+00:00", "version": "5.2.3", "commit_info": {}}
    rows = [entry["extra_info"] for entry in assemble(theirs, run)["benchmarks"]]
    stored = [decode(Row, row, "", RULES) for row in rows]
    assert {row.key: row.diagnosis for row in stored if row.diagnosis} == diagnoses(run)


def test_infinite_intensity_is_stored_with_its_reason():
    row = at(0.9, computing(TERA))
    info = extra_info(row, CARD.place(row), diagnose(row, Situation(CARD, GPU)))
    assert info["diagnosis"]["ideal"]["intensity_reason"] == "infinite"
    assert decode(Row, info, "", RULES).diagnosis.ideal.intensity == float("inf")


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_every_placed_row_of_a_real_record_is_diagnosed(path):
    """Rows that were placed have a diagnosis, those that set a ceiling say so, and no row of these is impossible."""
    run = load(path).run
    found = diagnoses(run)
    assert found.keys() == run.points.keys()
    assert {d.case for d in found.values()} <= {"at-roof", "below-roof", "extra-bytes", "overhead"}
    for name in ("dram", "fp32"):
        holder = next(row for row in run.measurements if row.key.kernel == run.ceilings[name].kernel)
        assert "ceiling itself" in found[holder.key].finding


def test_records_from_before_have_no_diagnosis():
    """Null, as it was until there were any."""
    row = at(0.97, VECADD)
    info = extra_info(row, CARD.place(row))
    assert info["diagnosis"] is None
    assert point_of(decode(Row, info, "", RULES)) == CARD.place(row)


def test_the_summary_tells_the_worst_first_and_leaves_out_what_sets_a_ceiling():
    rows = [
        at(0.97, VECADD, kernel="vecadd"),
        at(0.34, SOFTMAX, kernel="softmax"),
        at(0.99, moving(0), kernel="best-dram", measures=("dram",)),
        at(1.9, SOFTMAX, kernel="resident", footprint_bytes=1000),
    ]
    table = diagnosis_table(report(*rows))
    assert [(name, case) for name, case, _ in table.rows if case] == [
        ("mine/resident", "impossible"),
        ("mine/softmax", "below-roof"),
        ("mine/vecadd", "at-roof"),
    ]
    assert max(map(len, formatted(table).splitlines())) <= 100


def test_kernels_that_share_finding_and_advice_are_told_together():
    rows = [at(share, VECADD, kernel=f"vecadd-{share}", size=int(100 * share)) for share in (0.95, 0.92, 0.99)]
    table = diagnosis_table(report(*rows))
    assert [row[0] for row in table.rows] == ["mine/vecadd-0.92 and 2 more", "92.0 … 99.0 %"]


def test_a_point_that_these_ceilings_do_not_give_is_left_out():
    row = measured(computing(TERA, "tensor_fp8"), 1.0)
    point = Point(float("inf"), TERA, 2 * TERA, "tensor_fp8", 0.5, "compute")
    assert diagnoses(Report(GPU, None, CARD.ceilings, [row], {row.key: point})) == {}
