from pathlib import Path

import pytest

from tests.cli.treadle import treadle

BUILT_IN = ["dptr", "fractal", "riper", "v3", "waterfall"]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_example_of_a_protocol_is_good_for_it(name: str) -> None:
    assert treadle("spec", "new", "--protocol", name, "want.yaml").code == 0
    found = treadle("spec", "check", "want.yaml", "--protocol", name)
    assert (found.code, found.out) == (0, f"want.yaml is good for {name}\n")
    assert name in treadle("spec", "check", "want.yaml").out
    assert "#" in Path("want.yaml").read_text()


def test_the_default_file() -> None:
    assert "spec.yaml is written; edit it, then `treadle spec check" in treadle("spec", "new", "-p", "v3").out
    assert Path("spec.yaml").is_file()


def test_a_file_that_is_there_is_left_alone() -> None:
    Path("spec.yaml").write_text("mine")
    found = treadle("spec", "new", "--protocol", "v3")
    assert (found.code, found.out) == (2, "")
    assert "spec.yaml is already there" in found.err
    assert Path("spec.yaml").read_text() == "mine"


def test_an_unknown_protocol_gets_a_suggestion() -> None:
    Path("mine.yaml").write_text("id: x")
    for command in (["spec", "new"], ["spec", "check", "mine.yaml"]):
        found = treadle(*command, "--protocol", "v33")
        assert found.code == 2
        assert "there is no protocol 'v33' (did you mean 'v3'?)" in found.err


def test_what_is_wrong_is_listed_with_lines() -> None:
    Path("want.yaml").write_text("id: 5\ndescripton: x\n")
    found = treadle("spec", "check", "want.yaml", "--protocol", "v3")
    assert (found.code, found.out) == (2, "")
    assert "want.yaml:1:" in found.err
    assert "want.yaml:2:" in found.err


def test_without_a_protocol_the_nearest_one_is_named() -> None:
    Path("want.yaml").write_text("nothing: useful\n")
    found = treadle("spec", "check", "want.yaml")
    assert (found.code, found.out) == (2, "")
    assert "want.yaml is good for no protocol" in found.err
    assert "treadle spec check want.yaml --protocol" in found.err


def test_files_that_cannot_be_read() -> None:
    found = treadle("spec", "check", "nothing.yaml")
    assert found.code == 2
    assert "nothing.yaml is not there" in found.err
    Path("binary.yaml").write_bytes(b"\xff\xfe\x00")
    assert "binary.yaml is not UTF-8 at byte 0" in treadle("spec", "check", "binary.yaml").err
    Path("big.yaml").write_text("x" * 1_000_001)
    assert "make it smaller" in treadle("spec", "check", "big.yaml").err
    Path("folder").mkdir()
    assert treadle("spec", "check", "folder").code == 2
