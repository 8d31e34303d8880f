"""The first `treadle.toml` of a project, and the files that a protocol adds to it."""

import re
from pathlib import Path

import pytest

from treadle.config.detection import DetectedLanguage, Guess, guess
from treadle.config.model import KEYS, SECTIONS
from treadle.config.project import Project
from treadle.config.settings import EffectiveSettings, load_settings
from treadle.config.starter import ChosenValue, detected_values, protocol_project_files, render_starter, toml_value
from treadle.errors import ProtocolError
from treadle.protocol.load import load


def loaded(text: str, place: Path) -> EffectiveSettings:
    (place / "treadle.toml").write_text(text)
    return load_settings(Project(place), {"HOME": str(place)})


def test_an_empty_starter_sets_no_value_but_shows_every_key(tmp_path: Path) -> None:
    text = render_starter({})
    assert loaded(text, tmp_path).by_key == {}
    for key in KEYS:
        assert key.is_open or f"\n#{key.parts[1]} = " in text, key.name
    assert [line[1:-1] for line in text.splitlines() if line.startswith("[")] == list(SECTIONS)


@pytest.mark.parametrize("protocol", [None, "v3", "fractal", "dptr", "riper", "waterfall"])
def test_every_example_in_it_is_sound(tmp_path: Path, protocol: str | None) -> None:
    text = render_starter({}, load(protocol) if protocol else None)
    said = loaded(re.sub(r"(?m)^#(\w[\w-]* = )", r"\1", text), tmp_path).by_key
    assert {key.name for key in KEYS if not key.is_open} <= set(said)


def test_the_protocols_own_roles_and_tiers_are_shown() -> None:
    text = render_starter({}, load("fractal"))
    for word in ("#test_author = ", "#strongest = { claude"):
        assert word in text


@pytest.mark.parametrize(("agent", "model"), [("claude", "sonnet"), ("codex", "a-model"), ("gemini", "flash")])
def test_examples_are_for_the_agent_that_is_here(agent: str, model: str, tmp_path: Path) -> None:
    text = render_starter({"agents.default": ChosenValue(agent)}, load("v3"))
    assert f'\n#standard = {{ {agent} = "{model}" }}\n' in text
    said = loaded(re.sub(r"(?m)^#(\w[\w-]* = )", r"\1", text), tmp_path)
    assert said.config().agents["default"] == agent
    assert agent in said.config().agents.values()


def test_detected_values_are_set_with_their_reason(tmp_path: Path) -> None:
    commands = {"test": guess("go test ./...", "go.mod"), "format": Guess(("sh", "-c", 'test -z "$(x)"'), "x")}
    found = DetectedLanguage(language="Go", why="go.mod", kind="gotest", commands=commands, report="out/*.xml")
    text = render_starter(detected_values(found))
    assert "# Why: go.mod\ntest = " in text
    toolchain = loaded(text, tmp_path).config().toolchain
    assert (toolchain.kind, toolchain.report) == ("gotest", "out/*.xml")
    assert toolchain.test == ("go", "test", "./...")
    assert toolchain.format == ("sh", "-c", 'test -z "$(x)"')
    assert detected_values(None) == {}


def test_no_name_of_a_file_can_set_a_key(tmp_path: Path) -> None:
    why = 'tests/test_\nmerge = "auto"\n\x07.py'
    text = render_starter({"toolchain.test": ChosenValue(("pytest", "a\n\x7f\x1b"), why)})
    settings = loaded(text, tmp_path)
    assert set(settings.by_key) == {"toolchain.test"}
    assert settings.config().toolchain.test == ("pytest", "a\n\x7f\x1b")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("limits.wall", 28_800, '"8h"'),
        ("limits.wall", 90, '"90s"'),
        ("limits.output", 1500, '"1500B"'),
        ("limits.cost", 20.0, "20"),
        ("notifications.bell", True, "true"),
        ("toolchain.test", ("a", "b c"), '["a", "b c"]'),
        ("toolchain.test", ("a", "b"), '"a b"'),
        ("environment.pass", ("A", "B"), '["A", "B"]'),
    ],
)
def test_values_are_written_as_people_would(
    key: str, value: int | float | bool | tuple[str, ...], expected: str
) -> None:
    assert toml_value(value, next(it for it in KEYS if it.name == key)) == expected


def put(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_folder_is_copied_as_it_is(tmp_path: Path) -> None:
    put(tmp_path / "project" / ".ai" / "rules.yaml", "a: 1\n")
    put(tmp_path / "project" / "docs" / "nfr.md", "# NFR\n")
    put(tmp_path / "protocol.yaml")
    assert protocol_project_files(tmp_path) == {".ai/rules.yaml": "a: 1\n", "docs/nfr.md": "# NFR\n"}


def test_a_protocol_without_files_of_its_own(tmp_path: Path) -> None:
    assert protocol_project_files(tmp_path) == {}


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", "treadle.toml", ".treadle/protocols/x.yaml", "a\nb", "-x"])
def test_names_that_no_protocol_may_use(tmp_path: Path, name: str) -> None:
    put(tmp_path / "project" / name)
    with pytest.raises(ProtocolError, match="of this name", check=lambda error: error.code == "protocol.own_files"):
        protocol_project_files(tmp_path)


def test_links_large_files_and_other_encodings(tmp_path: Path) -> None:
    secret = put(tmp_path / "secret")
    link = tmp_path / "project" / "link"
    link.parent.mkdir()
    link.symlink_to(secret)
    with pytest.raises(ProtocolError, match="only plain files", check=lambda error: error.code == "protocol.own_files"):
        protocol_project_files(tmp_path)
    link.unlink()
    put(link, "x" * 300_000)
    with pytest.raises(ProtocolError, match="only plain files", check=lambda error: error.code == "protocol.own_files"):
        protocol_project_files(tmp_path)
    link.write_bytes(b"\xff")
    with pytest.raises(ProtocolError, check=lambda error: error.code == "file.encoding"):
        protocol_project_files(tmp_path)
    for number in range(101):
        put(tmp_path / "project" / f"f{number}")
    with pytest.raises(ProtocolError, match="100 at most", check=lambda error: error.code == "protocol.own_files"):
        protocol_project_files(tmp_path)
