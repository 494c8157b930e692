"""`roofline chart`: one record a file, several files by a rule, and what cannot be drawn."""

import pytest

pytestmark = pytest.mark.correctness


def test_a_record_is_drawn_into_the_file_that_was_named(roofline, tmp_path):
    target = tmp_path / "roof.svg"
    code, out, _ = roofline("chart", "nvidia-h200", "-o", str(target))
    assert code == 0
    assert out.endswith(f"roofline: chart in {target}\n")
    assert "NVIDIA H200" in target.read_text(encoding="utf-8")


def test_several_records_are_drawn_into_a_file_each(roofline, tmp_path):
    code, out, _ = roofline("chart", "nvidia-h200", "amd-epyc-znver3-2c", "-o", str(tmp_path / "roof.png"))
    assert code == 0
    names = {"roof-nvidia-h200-0001_cuda13.png", "roof-amd-epyc-znver3-2c-0001_2-vcpu.png"}
    assert {path.name for path in tmp_path.glob("roof*")} == names
    assert all(name in out for name in names)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nvidia-h200", "-o", "roof.gif"), "ends in one of .pdf, .png, .svg"),
        (("nvidia-h200", "-o", "nowhere/roof.svg"), "the folder does not exist"),
        (("h200-spec",), "is a specification, which has no points"),
        (("nvidia-h200", "cuda13"), "two of these records would be drawn into "),
        (("nothing",), "is no file, card or record"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_leaves_no_file(roofline, tmp_path, monkeypatch, arguments, why):
    monkeypatch.chdir(tmp_path)
    code, out, err = roofline("chart", *arguments)
    assert (code, out) == (2, "")
    assert why in err
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []
