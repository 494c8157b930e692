"""`--device cuda:all`: one run after the other for each card of this machine, a record and a verdict each."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from roofline.devices.base import DeviceUnavailable
from roofline.devices.cuda import list_cuda
from roofline.foreground import exit_code

EVERY_CARD = "cuda:all"


def run_each(config: pytest.Config) -> int:
    """Run the same command once for each card, in a process of its own; the worst exit code of all.

    Raises:
        pytest.UsageError: CUDA cannot be used here.
    """
    try:
        cards = list_cuda()
    except DeviceUnavailable as reason:
        raise pytest.UsageError(str(reason)) from None
    codes = []
    for number, card in enumerate(cards):
        print(f"roofline: card {number + 1} of {len(cards)}: {card}", flush=True)  # noqa: T201 - no reporter runs yet
        command = [sys.executable, "-m", "pytest", *config.invocation_params.args, *_own(config, number, card)]
        codes.append(exit_code(command, config.invocation_params.dir))
    return max(codes)


def _own(config: pytest.Config, number: int, card: str) -> Sequence[str]:
    """What differs from card to card: the device, and the file of the chart. The last value of an option counts."""
    chart: Path | None = config.option.roofline_chart
    own = [f"--roofline-device=cuda:{card}"]
    return [*own, f"--roofline-chart={chart.with_stem(f'{chart.stem}-{number}')}"] if chart else own
