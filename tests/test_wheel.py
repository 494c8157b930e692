"""The wheel holds the whole suite: it runs outside a checkout."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.correctness

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this checkout, built from a copy, offline, with the build tools that the test environment has."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in ("roofline", "kernels", "bench"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs/experiments", source / "docs/experiments")
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    return next(out.glob("*.whl"))


def test_the_wheel_holds_kernels_and_experiments(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        f"roofline/{folder}/{path.name}" for folder in ("kernels", "bench") for path in (ROOT / folder).glob("*")
    }
    expected = {name for name in expected if name.endswith((".py", ".cu", ".cuh"))}
    library = {f"roofline/{path.relative_to(ROOT / 'roofline')}" for path in (ROOT / "roofline").rglob("*.py")}
    sheets = {f"roofline/specs/{path.name}" for path in (ROOT / "roofline/specs").glob("*.json")}
    assets = {f"roofline/page/assets/{path.name}" for path in (ROOT / "roofline/page/assets").glob("*")}
    assert sheets
    assert "roofline/page/assets/d3-LICENSE" in assets
    pages = {f"roofline/docs/experiments/{path.name}" for path in (ROOT / "docs/experiments").glob("*.md")}
    assert expected | library | sheets | assets | pages | {"roofline/py.typed"} <= names


def test_the_installed_wheel_explains_itself(wheel, tmp_path):
    """`roofline explain` finds modules, predictions and pages outside a checkout, and needs no store."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "roofline", "explain", "in-flight"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr
    assert f"page: {tmp_path / 'site/roofline/docs/experiments/in-flight.md'}" in ran.stdout
    assert "OTHERWISE" in ran.stdout
    assert "no record is stored here" in ran.stdout


def test_the_installed_wheel_measures_outside_a_checkout(wheel, tmp_path):
    """`pytest --pyargs roofline.bench -m bench` needs nothing but the installed package."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-p", "roofline", "--pyargs", "roofline.bench", "-m", "bench"]
    command += ["-k", "launch or dial-000", "--device", "fake", "-p", "no:cacheprovider"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-2000:]
    assert "PASTE dial" in ran.stdout
    where = [sys.executable, "-c", "import roofline.kernels, roofline.bench; print(roofline.kernels.__file__)"]
    found = subprocess.run(where, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True)
    assert str(tmp_path / "site" / "roofline" / "kernels") in found.stdout
