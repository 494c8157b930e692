"""`--counters`: runs every row that moves bytes once more, under hardware counters, and keeps what they saw."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from roofline.counters import countable, request
from roofline.devices.cuda.counters import CountersUnavailable, count
from roofline.session import Session

COUNTED_KIND = "cuda"
NOT_ASKED = "hardware counters are read with --counters"
NO_GPU = "no hardware counters: only those of a CUDA GPU are read (--device cuda)"
NOTHING = "no hardware counters: no row of this run could be counted"


class Counting:
    """Reads the counters of a run once, whoever asks first."""

    def __init__(self, config: pytest.Config, say: Callable[[str], None]) -> None:
        self._wanted: bool = config.option.roofline_counters
        self._say = say
        self._why: str | None = None if self._wanted else NOT_ASKED

    def read(self, session: Session) -> str:
        """Put the bytes that moved into the session's rows; why there are none, empty where there are."""
        if self._why is None:
            self._why = self._read(session)
            if self._why:
                self._say(f"roofline: {self._why}")
        return self._why

    def _read(self, session: Session) -> str:
        if session.device.kind != COUNTED_KIND:
            return NO_GPU
        rows = countable(session.measurements.values())
        try:
            answers = count(f"cuda:{session.backend.unit}", list(map(request, rows)))
        except CountersUnavailable as reason:
            return str(reason)
        for row, answer in zip(rows, answers, strict=True):
            if isinstance(answer, str):
                self._say(f"roofline: {row.key.experiment}/{row.key.kernel} was not counted: {answer}")
            else:
                session.measurements[row.key] = replace(row, achieved=answer)
        return NOTHING if all(isinstance(answer, str) for answer in answers) else ""
