"""What the tests of the page share: records, runs as records, and what a page's scripts are given."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roofline.model import Absent, Claim, Environment, RowKey
from roofline.record import Record, Run

RECORDS = Path(__file__).parents[1] / "records"
H200 = RECORDS / "nvidia-h200" / "0001_cuda13.json"
EPYC = RECORDS / "amd-epyc-znver3-2c" / "0001_2-vcpu.json"

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><b>& &lt; $x_1$ ${y} `z`",
    "\u2028\u2029\u202eright to left\x00\x1b[31m",
    "ядро 核 🔥",
    "_ZN3foo" + "X" * 600 + "Ev",
]


def record_of(run: Run, name: str = "0001_constructed.json") -> Record:
    """A run as if it had been read from a file of that name."""
    return Record(run, datetime(2026, 11, 29, tzinfo=UTC), Path(run.device.slug, name))


def data_of(html: str) -> Any:
    """What the scripts of a page are given."""
    _, _, rest = html.partition('<script type="application/json" id="data">')
    return json.loads(rest.partition("</script>")[0])


def hostile(record: Record, text: str) -> Record:
    """The record with that text wherever a device, a driver, a test or a kernel chooses one."""
    run = record.run
    first = run.measurements[0]
    renamed = replace(first, key=replace(first.key, kernel=text, experiment="placed"), variant=text)
    dram = replace(run.ceilings["dram"], kernel=text, variant=text)
    changed = replace(
        run,
        device=replace(run.device, name=text),
        environment=Environment({text: text}, {"driver": text}),
        measurements=(renamed, *run.measurements[1:]),
        points={**run.points, renamed.key: run.points[first.key]},
        claims=(Claim("X", text, None, None, "inconclusive", text),),
        absent=(Absent(RowKey(text, text, 1, "fp32", "dram"), "skipped", text),),
        ceilings={**run.ceilings, "dram": dram, text: replace(dram, resource=text)},
        missing=(text,),
        complete=False,
        selection=text,
    )
    return replace(record, run=changed)
