from pathlib import Path

import pytest

from tests.cli.treadle import treadle

BUILT_IN = ["dptr", "fractal", "riper", "v3", "waterfall"]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_example_of_a_protocol_is_a_valid_spec(name: str) -> None:
    assert treadle("spec", "new", "--protocol", name, "want.yaml").code == 0
    found = treadle("spec", "check", "want.yaml", "--protocol", name)
    assert (found.code, found.out.split()[0], found.out.split()[-1]) == (0, "want.yaml", name)
    assert name in treadle("spec", "check", "want.yaml").out
    assert "#" in Path("want.yaml").read_text()


def test_the_default_file() -> None:
    assert "`treadle spec check spec.yaml " in treadle("spec", "new", "-p", "v3").out
    assert Path("spec.yaml").is_file()


def test_the_default_example_is_that_of_the_default_protocol(tmp_path: Path) -> None:
    assert "check spec.yaml --protocol v3`" in treadle("spec", "new").out
    (tmp_path / ".git").mkdir()
    (tmp_path / "treadle.toml").write_text('[protocol]\ndefault = "riper"\n')
    assert "check other.yaml --protocol riper`" in treadle("spec", "new", "other.yaml").out


def test_a_file_that_is_there_is_left_alone() -> None:
    Path("spec.yaml").write_text("mine")
    found = treadle("spec", "new", "--protocol", "v3")
    assert (found.code, found.out, found.error) == (2, "", "file.exists")
    assert "spec.yaml" in found.err
    assert Path("spec.yaml").read_text() == "mine"


def test_an_unknown_protocol_gets_a_suggestion() -> None:
    Path("mine.yaml").write_text("id: x")
    for command in (["spec", "new"], ["spec", "check", "mine.yaml"]):
        found = treadle(*command, "--protocol", "v33")
        assert (found.code, found.error, found.lacks("'v33'", "'v3'")) == (2, "protocol.unknown", [])


def test_mistakes_are_listed_with_their_lines() -> None:
    Path("want.yaml").write_text("id: 5\ndescripton: x\n")
    found = treadle("spec", "check", "want.yaml", "--protocol", "v3")
    assert (found.code, found.out) == (2, "")
    assert "want.yaml:1:" in found.err
    assert "want.yaml:2:" in found.err


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("ending", ["yml", "md", "json"])
def test_the_name_of_the_file_says_which_form_it_has(name: str, ending: str) -> None:
    assert treadle("spec", "new", "--protocol", name, f"want.{ending}").code == 0
    assert treadle("spec", "check", f"want.{ending}", "--protocol", name).code == 0
    text = Path(f"want.{ending}").read_text()
    assert text.startswith({"yml": "#", "md": "---\n", "json": "{"}[ending])


def test_an_unknown_form_is_refused() -> None:
    found = treadle("spec", "new", "--protocol", "v3", "want.txt")
    assert (found.code, found.error, Path("want.txt").exists()) == (2, "spec.format", False)
    assert found.lacks(".yaml", ".md", ".json") == []


@pytest.mark.parametrize(("text", "message"), [("a: [", "want.yaml:1: this is not YAML"), ("", "the file is empty")])
def test_a_file_that_no_protocol_could_read_is_refused_first(text: str, message: str) -> None:
    Path("want.yaml").write_text(text)
    found = treadle("spec", "check", "want.yaml")
    assert (found.code, found.out) == (2, "")
    assert message in found.err


def test_without_a_protocol_the_file_is_checked_as_the_one_that_knows_its_fields() -> None:
    Path("want.yaml").write_text("project: x\nbacklog: 3\nstories: 5\n")
    found = treadle("spec", "check", "want.yaml")
    assert (found.code, found.out) == (2, "")
    assert " an input of waterfall" in found.err
    assert "want.yaml:3: stories: " in found.err
    Path("want.yaml").write_text("nothing: useful\n")
    assert treadle("spec", "check", "want.yaml").error == "spec.no_protocol"


def test_of_several_fitting_protocols_the_one_of_the_settings_is_chosen() -> None:
    treadle("spec", "new", "--protocol", "v3", "want.yaml")
    Path("want.yaml").write_text(Path("want.yaml").read_text().replace("id: slug", "id: [slug]"))
    assert " an input of v3" in treadle("spec", "check", "want.yaml").err
    Path("treadle.toml").write_text('[protocol]\ndefault = "fractal"\n')
    assert " an input of fractal" in treadle("spec", "check", "want.yaml").err
    Path("treadle.toml").write_text("not = [toml")
    assert " an input of " in treadle("spec", "check", "want.yaml").err


def test_the_judgement_as_json() -> None:
    treadle("spec", "new", "--protocol", "waterfall")
    assert treadle("spec", "check", "spec.yaml", "--json").json()["protocols"] == ["waterfall"]
    found = treadle("spec", "check", "spec.yaml", "--protocol", "v3", "--json")
    assert (found.code, found.err) == (2, "")
    assert found.json()["findings"]
    missing = treadle("spec", "check", "nothing.yaml", "--json")
    assert (missing.code, missing.json()["protocols"]) == (2, [])


def test_files_that_cannot_be_read() -> None:
    found = treadle("spec", "check", "nothing.yaml")
    assert (found.code, found.error, found.lacks("nothing.yaml")) == (2, "spec.missing", [])
    Path("binary.yaml").write_bytes(b"\xff\xfe\x00")
    Path("big.yaml").write_text("x" * 1_000_001)
    Path("folder").mkdir()
    codes = [treadle("spec", "check", name).error for name in ("binary.yaml", "big.yaml", "folder")]
    assert codes == ["file.encoding", "file.too_large", "spec.unreadable"]


def test_the_advice_can_be_copied_into_a_shell() -> None:
    found = treadle("spec", "new", "--protocol", "v3", "my spec.json")
    assert "check 'my spec.json' --protocol v3`" in found.out
    found = treadle("spec", "check", "it's not there.yaml")
    assert """NAME 'it'"'"'s not there.yaml'`""" in found.err


@pytest.mark.parametrize("name", ["mine", "v3"])
def test_the_example_is_inherited_from_the_protocol_that_is_extended(name: str) -> None:
    folder = Path(".treadle/protocols") / name
    folder.mkdir(parents=True)
    expected = treadle("spec", "new", "--protocol", "v3", "-").out
    (folder / "protocol.yaml").write_text(f"protocol: {name}\nextends: v3\n")
    found = treadle("spec", "new", "--protocol", name, "-")
    assert (found.code, found.out) == (0, expected)


def test_a_path_that_leaves_the_repository_through_a_link(tmp_path: Path) -> None:
    for folder in (".git", "src"):
        Path(folder).mkdir()
    Path("src/ln").symlink_to(tmp_path.parent)
    assert treadle("spec", "new", "--protocol", "v3").code == 0
    text = Path("spec.yaml").read_text().replace("targetPath: src/slug", "targetPath: src/ln/x")
    Path("spec.yaml").write_text(text)
    line = text.splitlines().index("targetPath: src/ln/x") + 1
    for command in ("spec check spec.yaml --protocol v3", "run spec.yaml --protocol v3 --agent manual"):
        found = treadle(*command.split())
        assert found.code == 2
        assert found.lacks(f"spec.yaml:{line}: targetPath: ", "'src/ln/x'", "src/ln is a link") == []
    assert not Path(".treadle").exists()
