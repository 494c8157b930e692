"""The figures of the card: each ceiling and ridge against what the stored baseline of this model has.

Without a stored baseline there is nothing to hold them against, and these tests are left out.
"""

from dataclasses import replace

import pytest

from roofline.claims import Prediction
from roofline.kernels import dial, every_kernel
from roofline.kernels.launch import MODES
from roofline.model import SECONDS
from roofline.rooflines import unit_of

pytestmark = pytest.mark.bench

RESOURCES = sorted({resource for kernel in every_kernel() for resource in kernel.measures})
RIDGES = sorted({f"fp32/{slope}" for slope in dial.SLOPES.values()} | {"fp32/dram"})

# What two runs of one card differ by beyond the spread that each reports of itself: the clock of an arithmetic roof is
# steady, memory follows where the arrays happen to lie, a launch follows what else the host does.
SLACK = {"dram": 0.05, "l2": 0.05, "launch": 0.25}
# A guest shares memory, and each core's units, with neighbours that it cannot see: 1.7 times the bandwidth within
# minutes was seen, and a tenth less arithmetic (docs/method.md).
SLACK_OF_A_GUEST = {"dram": 0.4, "l3": 0.5, "l2": 0.4, "l1": 0.5, "launch": 1.0, "fp32": 0.15}
SLACK_OF_A_GUEST |= dict.fromkeys(("fp64", "int32", "bf16", "sfu"), 0.15)


def slack(baseline, resource):
    """What a kind of resource may differ by from a baseline, beyond the baseline's own interval."""
    kind = resource.split("_")[0]
    shared = SLACK_OF_A_GUEST if baseline.state("virtualised") else {}
    return shared.get(kind, SLACK.get(kind, 0.02))


def no_worse(resource):
    """The prediction that a ceiling is no worse than the baseline has it: rates no lower, latencies no longer."""

    def stored(baseline):
        ceiling = baseline.ceiling(resource)
        if ceiling is None:
            return None
        known = ceiling.estimate
        return replace(known, low=0.0) if ceiling.unit == SECONDS else replace(known, high=float("inf"))

    return Prediction(
        "M12",
        f"{resource} is no worse than in this model's baseline",
        unit=unit_of(resource),
        figure=stored,
        tolerance=lambda baseline: slack(baseline, resource),
    )


def turned(name):
    """The prediction that a ridge is where the baseline has it."""
    unit, _, slope = name.partition("/")
    return Prediction(
        "A4",
        f"ridge {name} is where this model's baseline has it",
        unit="FLOP/B",
        figure=lambda baseline: baseline.ridge(name),
        tolerance=lambda baseline: slack(baseline, unit) + slack(baseline, slope),
    )


@pytest.mark.parametrize(
    "resource", [pytest.param(r, marks=pytest.mark.predicts(no_worse(r)), id=r) for r in (*RESOURCES, *MODES)]
)
def test_ceiling_is_no_worse_than_the_baseline(claim, resource, roofline_session):
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
