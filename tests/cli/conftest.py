"""A store of real records to work on, and the command line as a function."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roofline.cli import main

RECORDS = Path(__file__).parents[1] / "records"
H200 = RECORDS / "nvidia-h200" / "0001_cuda13.json"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two cards with a record each."""
    folder = tmp_path / "baselines"
    shutil.copytree(RECORDS, folder, copy_function=shutil.copyfile)
    return folder


@pytest.fixture
def roofline(capsys: pytest.CaptureFixture[str], store: Path) -> Callable[..., tuple[int, str, str]]:
    """`roofline("diff", "a", "b")`: exit code, output and errors of a command on the store."""

    def run(command: str, *arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            code = main([command, "--storage", str(store), *arguments])
        except SystemExit as usage:
            code = usage.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def another(store: Path) -> Callable[..., Path]:
    """`another(name, change)`: one more run of the H200, its document changed by a function."""

    def save(name: str, change: Callable[[dict[str, Any]], None] = lambda document: None) -> Path:
        document = json.loads(H200.read_text(encoding="utf-8"))
        change(document)
        path = store / "nvidia-h200" / f"{len(list((store / 'nvidia-h200').iterdir())) + 1:04d}_{name}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return save


def rows_of(document: dict[str, Any], kernel: str) -> list[dict[str, Any]]:
    """What the benchmarks of a kernel hold."""
    infos = [benchmark["extra_info"] for benchmark in document["benchmarks"]]
    return [info for info in infos if info.get("kernel") == kernel]


@pytest.fixture
def slowed() -> Callable[[str, float], Callable[[dict[str, Any]], None]]:
    """`slowed(kernel, factor)`: a change that makes every row of a kernel take that many times as long."""

    def change_of(kernel: str, factor: float) -> Callable[[dict[str, Any]], None]:
        def change(document: dict[str, Any]) -> None:
            for row in rows_of(document, kernel):
                row["samples_s"] = [second * factor for second in row["samples_s"]]
                row["seconds"] *= factor
                row["interval"] = {side: value * factor for side, value in row["interval"].items()}
                row["flop_per_s"] /= factor
                if row["bytes_per_s"] is not None:
                    row["bytes_per_s"] /= factor

        return change

    return change_of


@pytest.fixture
def without() -> Callable[[str], Callable[[dict[str, Any]], None]]:
    """`without(kernel)`: a change that takes every row of a kernel out."""

    def change_of(kernel: str) -> Callable[[dict[str, Any]], None]:
        def change(document: dict[str, Any]) -> None:
            kept = [b for b in document["benchmarks"] if b["extra_info"].get("kernel") != kernel]
            document["roofline"]["rows"] -= len(document["benchmarks"]) - len(kept)
            document["benchmarks"] = kept

        return change

    return change_of
