"""The figures of the card: each ceiling and ridge against what the stored baseline of this model has.

Without a stored baseline there is nothing to hold them against, and these tests are left out.
"""

import pytest
from roofline.kernels import chains, dial, dram
from roofline.kernels.launch import MODES

from roofline.claims import Prediction
from roofline.rooflines import unit_of

pytestmark = pytest.mark.bench

RESOURCES = sorted(
    {resource for module in (chains, dial, dram) for kernel in module.every_kernel() for resource in kernel.measures}
)
RIDGES = sorted({f"fp32/{slope}" for slope in dial.SLOPES.values()} | {"fp32/dram"})

# What two runs of one card differ by beyond the spread that each reports of itself: the clock of an arithmetic roof is
# steady, memory follows where the arrays happen to lie, a launch follows what else the host does.
TOLERANCE = {"dram": 0.05, "launch": 0.25}


def tolerance(resource):
    """The slack for a kind of resource."""
    return TOLERANCE.get(resource.split("_")[0], 0.02)


def held(resource):
    """The prediction that a ceiling is what the baseline has."""

    def stored(baseline):
        ceiling = baseline.ceiling(resource)
        return ceiling.estimate if ceiling else None

    return Prediction(
        "M12",
        f"{resource} is what this model's baseline has",
        unit=unit_of(resource),
        figure=stored,
        tolerance=tolerance(resource),
    )


def turned(name):
    """The prediction that a ridge is what the baseline has."""
    slack = tolerance("dram") + tolerance("fp32")
    return Prediction(
        "A4",
        f"ridge {name} is where this model's baseline has it",
        unit="FLOP/B",
        figure=lambda baseline: baseline.ridge(name),
        tolerance=slack,
    )


@pytest.mark.parametrize(
    "resource", [pytest.param(r, marks=pytest.mark.predicts(held(r)), id=r) for r in (*RESOURCES, *MODES)]
)
def test_ceiling_is_what_the_baseline_has(claim, resource, roofline_session):
    """M12: a measured ceiling holds for the card, so another run finds it again."""
    ceiling = roofline_session.ceilings().get(resource)
    rows = [row for row in roofline_session.measurements.values() if resource in row.measures]
    claim(ceiling.estimate if ceiling else None, rows, note="" if ceiling else "not measured in this run")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.predicts(turned(n)), id=n.replace("/", "-")) for n in RIDGES]
)
def test_ridge_is_where_the_baseline_has_it(claim, name, roofline_session):
    """A4: the measured ridge replaces the nominal one, and stays."""
    ridge = roofline_session.ridges().get(name)
    claim(ridge, list(roofline_session.measurements.values()), note="" if ridge else "not measured in this run")
