"""The command line as a whole: how it starts, where it looks for baselines, and how it ends."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roofline import cli
from roofline.baseline import user_folder
from roofline.cli.places import configured, store_of

pytestmark = pytest.mark.correctness

ROOT = Path(__file__).parents[2]
# What takes long to import, or belongs to one command.
HEAVY = ("numpy", "scipy", "tabulate", "llvmlite", "matplotlib", "cupy", "pytest", "roofline.record")


def run(*arguments, **options):
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


def test_help_and_usage_import_nothing_that_takes_long():
    """`roofline --help` is quick because it reads no library of figures and no pytest."""
    code = "import sys; from roofline.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    ran = run("-c", code + f"print([name for name in {HEAVY!r} if name in sys.modules])")
    assert ran.stdout.splitlines()[-1] == "[]", ran.stderr
    assert all(f"    {command}" in ran.stdout for command in cli.COMMANDS)


def test_it_runs_as_a_module_and_ends_with_the_commands_code(tmp_path):
    ran = run(
        "-m", "roofline", "show", "nothing-like-it", cwd=tmp_path, env=os.environ | {"XDG_DATA_HOME": str(tmp_path)}
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("roofline: 'nothing-like-it' is no file, card or record in ")
    assert "which holds none yet" in ran.stderr


def test_a_reader_that_has_seen_enough_ends_it_quietly(store):
    """`roofline show … | head -1` leaves no traceback."""
    command = [sys.executable, "-m", "roofline", "show", "nvidia-h200", "--storage", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (2, "")


def test_a_terminal_without_the_signs_gets_their_escapes(store):
    """An ASCII terminal, as some containers have."""
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ran = run("-m", "roofline", "show", "rtx-5070-spec", "--storage", str(store), env=environment)
    assert ran.returncode == 0, ran.stderr
    assert "\\xd7 48 SMs" in ran.stdout, "the sign of times"
    assert ran.stdout.isascii()


def test_no_command_is_usage(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 2
    assert "usage: roofline" in capsys.readouterr().err


CONFIGURATIONS = {
    "pytest.ini": "[pytest]\nroofline_baselines = kept\n",
    "tox.ini": "[tox]\n[pytest]\nroofline_baselines = kept\n",
    "setup.cfg": "[tool:pytest]\nroofline_baselines = kept\n",
    "pyproject.toml": '[tool.pytest.ini_options]\nroofline_baselines = "kept"\n',
    "pytest.toml": '[pytest]\nroofline_baselines = "kept"\n',
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_store_is_the_one_that_pytest_would_use_here(name, tmp_path):
    """In the folder of the configuration and in any below it."""
    (tmp_path / name).write_text(CONFIGURATIONS[name])
    (tmp_path / "below").mkdir()
    assert configured(tmp_path) == configured(tmp_path / "below") == tmp_path / "kept"


@pytest.mark.parametrize(
    "text", ["", "[pytest]\naddopts = -q\n", "not an ini file", "[pytest]\nroofline_baselines =\n"]
)
def test_a_configuration_without_the_option_names_no_store(text, tmp_path):
    for name in CONFIGURATIONS:
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_bytes(b"\xff\xfe")
    assert configured(tmp_path) is None or configured(tmp_path).parent not in (tmp_path, *tmp_path.glob("*"))


def test_outside_a_checkout_the_store_is_the_users(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert configured(Path.cwd()) is None
    assert store_of(None).root == user_folder()


def test_a_store_may_be_given_as_pytest_benchmark_takes_it(tmp_path):
    assert store_of(f"file://{tmp_path}").root == store_of(str(tmp_path)).root == tmp_path


DOCUMENTS = (
    "README.md",
    "baselines/README.md",
    *(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")),
)
TYPED = [
    (name, line.partition("#")[0].partition("|")[0].split())
    for name in DOCUMENTS
    for line in re.findall(r"^    roofline (.+)$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize(
    ("document", "typed"), TYPED, ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_a_command_that_a_page_types_is_one_that_there_is(document, typed):
    known, rest = cli._parser().parse_known_args(typed)
    assert known.command in cli.COMMANDS
    assert not rest or known.command == "calibrate"


def test_the_page_of_commands_explains_every_command():
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    assert [command for command in cli.COMMANDS if f"`roofline {command}" not in page] == []


def test_only_the_nearest_configuration_counts_as_it_does_for_pytest(tmp_path):
    """A project within another, whose own configuration names no folder, keeps its runs in the user's."""
    (tmp_path / "pytest.ini").write_text(CONFIGURATIONS["pytest.ini"])
    within = tmp_path / "within"
    within.mkdir()
    (within / "pyproject.toml").write_text("[tool.other]\n")
    assert configured(within) == tmp_path / "kept"
    (within / "pyproject.toml").write_text('[tool.pytest]\naddopts = ["-q"]\n')
    assert configured(within) is None


@pytest.mark.parametrize("name", ["kept#1", "kept?", "[kept", "kept%20here"])
def test_a_store_is_the_very_folder_that_pytest_benchmark_takes(name, tmp_path):
    (tmp_path / name).mkdir()
    assert store_of(f"file://{tmp_path / name}").root == store_of(str(tmp_path / name)).root == tmp_path / name


@pytest.mark.parametrize("given", ["file://[", "x" * 5000, "\0", "\x1b[31m"])
def test_a_storage_that_is_no_folder_is_refused(given, capsys):
    assert cli.main(["baselines", "--storage", given]) == 2
    said = capsys.readouterr().err
    assert "there is no such folder" in said
    assert "\x1b" not in said


def test_a_working_folder_that_is_gone_and_a_user_without_a_home_are_said_in_a_line(tmp_path, monkeypatch, capsys):
    def gone():
        raise FileNotFoundError(2, "No such file or directory")

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "cwd", gone)
    assert cli.main(["baselines"]) == 2
    assert capsys.readouterr().err.startswith("roofline: the working folder cannot be found: No such file")
    monkeypatch.setattr(Path, "cwd", lambda: tmp_path)
    monkeypatch.setattr(Path, "home", homeless)
    assert cli.main(["baselines"]) == 2
    assert "has no home folder" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here that is always full")
def test_a_full_disk_and_a_closed_output_are_said_in_a_line(store):
    command = f"'{sys.executable}' -m roofline baselines --storage '{store}'"
    for output, said in ((">/dev/full", "cannot be written: No space left on device"), (">&-", "it is closed")):
        ran = run("-c", f"import subprocess; raise SystemExit(subprocess.call({command + output!r}, shell=True))")
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), ran.stderr
        assert said in ran.stderr


def test_ctrl_c_is_no_traceback(monkeypatch, capsys):
    def pressed(arguments):
        raise KeyboardInterrupt

    monkeypatch.setitem(cli.COMMANDS, "doctor", cli.Command("", lambda parser: None, pressed))
    assert cli.main(["doctor"]) == 130
    assert capsys.readouterr().err == "roofline: interrupted\n"


def test_an_argument_acts_on_no_terminal(capsys):
    with pytest.raises(SystemExit):
        cli.main(["baselines", "\x1b[31mred"])
    assert "\x1b" not in capsys.readouterr().err
