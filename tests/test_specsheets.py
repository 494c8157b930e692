"""Spec sheets: each figure has its source, is dense, and agrees with the maker's own arithmetic (C21, C22)."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from roofline import specsheets
from roofline.devices.cuda.nominal import Properties, nominal
from roofline.rooflines import unit_of
from roofline.schema import DocumentError
from roofline.specsheets import FOLDER, RTX_5070, NoSuchSheet, sheet, slugs

pytestmark = pytest.mark.correctness

TERA, GIGA = 1e12, 1e9
SHEETS = {slug: sheet(slug) for slug in slugs()}
# The generation of each card whose SMs and clock its sheet states.
GENERATIONS = {
    "rtx-5090-spec": (12, 0),
    "rtx-5070-spec": (12, 0),
    "rtx-5060-spec": (12, 0),
    "rtx-4090-spec": (8, 9),
    "rtx-3090-spec": (8, 6),
    "a100-40gb-spec": (8, 0),
    "a100-80gb-spec": (8, 0),
    "h100-sxm-spec": (9, 0),
    "h100-pcie-spec": (9, 0),
}
RESOURCES = {
    *("dram", "shared", "fp64", "fp32", "fp16", "bf16", "int32", "fp32_no_fma"),
    *("tensor_fp64", "tensor_tf32", "tensor_fp16_fp32acc", "tensor_fp16_fp16acc", "tensor_bf16", "tensor_fp8"),
    *("tensor_int8", "tensor_fp4"),
}


def test_the_common_cards_have_a_sheet():
    wanted = "rtx-5070 rtx-5090 rtx-4090 rtx-3090 a100-40gb a100-80gb h100-sxm h100-pcie h200 b200 l40s rtx-5060"
    assert set(slugs()) >= {f"{card}-spec" for card in wanted.split()}


@pytest.mark.parametrize("slug", SHEETS)
def test_every_figure_names_a_source_with_its_address(slug):
    found = SHEETS[slug]
    for figure in (*found.facts.values(), *found.rates.values()):
        source = found.sources[figure.source]
        assert source.title
        assert source.url.startswith("https://") or "chapter" in source.title
    assert {figure.source for figure in (*found.facts.values(), *found.rates.values())} == set(found.sources)


@pytest.mark.parametrize("slug", SHEETS)
def test_resources_are_called_as_records_call_them_and_are_specifications(slug):
    assert set(SHEETS[slug].rates) <= RESOURCES
    for name, ceiling in SHEETS[slug].roofline.ceilings.items():
        assert (ceiling.source, ceiling.unit) == ("specification", unit_of(name))
        assert ceiling.kernel


@pytest.mark.parametrize(
    ("slug", "resource", "tera"),
    [
        ("a100-80gb-spec", "tensor_fp16_fp32acc", 312),
        ("h100-sxm-spec", "tensor_fp16_fp32acc", 989),
        ("h200-spec", "tensor_fp16_fp32acc", 989),
        ("h100-pcie-spec", "tensor_fp16_fp32acc", 756),
        ("h200-spec", "tensor_fp8", 1979),
        ("l40s-spec", "tensor_fp16_fp32acc", 362),
        ("rtx-5060-spec", "tensor_fp4", 307),
        ("a100-40gb-spec", "fp32", 19.5),
        ("h200-spec", "fp32", 66.9),
    ],
)
def test_tensor_rates_are_dense(slug, resource, tera):
    """C21, C22: never the figure with sparsity, and never halved twice."""
    assert SHEETS[slug].rates[resource].value == pytest.approx(tera * TERA, rel=0.005)


@pytest.mark.parametrize(
    ("slug", "giga"), [("a100-80gb-spec", 2039), ("h200-spec", 4814.3), ("rtx-5070-spec", 672), ("rtx-4090-spec", 1008)]
)
def test_bandwidths_are_in_powers_of_ten(slug, giga):
    """C22, C25: within half a percent of bus width times data rate."""
    assert SHEETS[slug].rates["dram"].value == pytest.approx(giga * GIGA, rel=0.005)


@pytest.mark.parametrize("slug", GENERATIONS)
def test_rates_follow_from_sms_and_clock(slug):
    """C22: what the formulas give for a card of so many SMs at its boost clocks, within half a percent."""
    found = SHEETS[slug]
    sms, clock = int(found.facts["sms"].value), found.facts["clock_hz"].value
    tensor_clock = found.facts.get("tensor_clock_hz", found.facts["clock_hz"]).value
    card = Properties(found.name, GENERATIONS[slug], sms, 0, clock_hz=clock)
    rates, tensor_rates = nominal(card), nominal(replace(card, clock_hz=tensor_clock))
    assert "fp32" in rates
    for resource in found.rates.keys() & rates.keys():
        narrow = resource.startswith("tensor") and resource != "tensor_fp64"
        formula = (tensor_rates if narrow else rates)[resource]
        assert found.rates[resource].value == pytest.approx(formula.rate, rel=0.006), formula.formula


@pytest.mark.parametrize("slug", SHEETS)
def test_halving_the_bits_doubles_the_rate(slug):
    """C21: a figure with sparsity among dense ones would break the row."""
    rates = {name: figure.value for name, figure in SHEETS[slug].rates.items()}
    for wider, narrower in (
        ("tensor_tf32", "tensor_bf16"),
        ("tensor_bf16", "tensor_fp8"),
        ("tensor_fp16_fp16acc", "tensor_int8"),
    ):
        if wider in rates and narrower in rates:
            assert rates[narrower] == pytest.approx(2 * rates[wider], rel=0.03)
    if "tensor_bf16" in rates:
        assert rates["tensor_bf16"] == rates["tensor_fp16_fp32acc"]


@pytest.mark.parametrize("slug", SHEETS)
def test_sparsity_is_named_only_where_it_was_taken_out(slug):
    """C21: the word stands beside a half, or in what a source is about."""
    for figure in SHEETS[slug].rates.values():
        assert "spars" not in figure.formula or figure.formula.startswith("half of")


def test_the_reference_card_has_the_figures_of_the_chapter():
    """M3: ridges of 46 (FP32), 92 (FP16 tensor) and 735 (FP4)."""
    assert SHEETS["rtx-5070-spec"].roofline == RTX_5070
    ridges = [round(RTX_5070.ridge(unit).value) for unit in ("fp32", "tensor_fp16_fp32acc", "tensor_fp4")]
    assert ridges == [46, 92, 735]


def test_a_geforce_has_two_accumulator_rates_and_a_data_centre_card_one():
    """B2: half with FP32 accumulators there, the same here."""
    ratios = {
        slug: found.rates["tensor_fp16_fp16acc"].value / found.rates["tensor_fp16_fp32acc"].value
        for slug, found in SHEETS.items()
        if "tensor_fp16_fp16acc" in found.rates
    }
    assert {slug: round(ratio) for slug, ratio in ratios.items()} == {
        slug: 2 if slug.startswith("rtx") else 1 for slug in ratios
    }


def test_an_unknown_name_says_which_there_are():
    with pytest.raises(NoSuchSheet, match=r"no spec sheet '\.\./h200-spec'; there are: a100-40gb-spec, "):
        sheet("../h200-spec")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"rates": {"dram": {"value": -1, "source": "data sheet"}}},
            "rates.dram.value is -1; allowed: a number above 0",
        ),
        (
            {"rates": {"dram": {"value": 1, "source": "hearsay"}}},
            'dram.source is "hearsay"; allowed: one of data sheet',
        ),
        ({"rates": {"dram": {"value": 1}}}, "rates.dram.source is missing"),
        ({"slug": "other-spec"}, 'slug is "other-spec"; allowed: h200-spec'),
    ],
)
def test_a_wrong_sheet_is_refused_with_file_key_and_value(change, said, tmp_path, monkeypatch):
    path = tmp_path / "h200-spec.json"
    path.write_text(json.dumps(json.loads((FOLDER / "h200-spec.json").read_text()) | change))
    monkeypatch.setattr(specsheets, "FOLDER", tmp_path)
    with pytest.raises(DocumentError, match=re.escape(said)):
        sheet("h200-spec")


def test_a_sheet_is_a_file_of_its_own_name():
    assert {Path(path).stem for path in FOLDER.iterdir()} == set(slugs())
