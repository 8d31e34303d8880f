import re
from pathlib import Path

import pytest

from treadle.config.detect.found import Found, Guess, guess
from treadle.config.keys import KEYS, SECTIONS
from treadle.config.load import load_settings
from treadle.config.project import Project
from treadle.config.settings import Settings
from treadle.config.starter import Chosen, chosen_for, starter, toml_value
from treadle.protocol.load import load


def loaded(text: str, place: Path) -> Settings:
    (place / "treadle.toml").write_text(text)
    return load_settings(Project(place), {"HOME": str(place)})


def test_an_empty_one_says_nothing_but_shows_every_key(tmp_path: Path) -> None:
    text = starter({})
    assert loaded(text, tmp_path).said == {}
    for key in KEYS:
        assert key.is_open or f"\n#{key.parts[1]} = " in text, key.name
    assert [line[1:-1] for line in text.splitlines() if line.startswith("[")] == list(SECTIONS)


@pytest.mark.parametrize("protocol", [None, "v3", "fractal", "dptr", "riper", "waterfall"])
def test_every_example_in_it_is_sound(tmp_path: Path, protocol: str | None) -> None:
    text = starter({}, load(protocol) if protocol else None)
    said = loaded(re.sub(r"(?m)^#(\w[\w-]* = )", r"\1", text), tmp_path).said
    assert {key.name for key in KEYS if not key.is_open} <= set(said)


def test_the_protocols_own_roles_and_tiers_are_shown() -> None:
    text = starter({}, load("fractal"))
    for word in ("#test_author = ", "#strongest = { claude"):
        assert word in text


@pytest.mark.parametrize(("agent", "model"), [("claude", "sonnet"), ("codex", "a-model"), ("gemini", "flash")])
def test_examples_are_for_the_agent_that_is_here(agent: str, model: str, tmp_path: Path) -> None:
    text = starter({"agents.default": Chosen(agent)}, load("v3"))
    assert f'\n#standard = {{ {agent} = "{model}" }}\n' in text
    said = loaded(re.sub(r"(?m)^#(\w[\w-]* = )", r"\1", text), tmp_path)
    assert said.config().agents["default"] == agent
    assert agent in said.config().agents.values()


def test_what_was_detected_is_set_with_its_reason(tmp_path: Path) -> None:
    commands = {"test": guess("go test ./...", "go.mod"), "format": Guess(("sh", "-c", 'test -z "$(x)"'), "x")}
    found = Found(language="Go", why="go.mod", kind="gotest", commands=commands, report="out/*.xml")
    text = starter(chosen_for(found))
    assert "# Why: go.mod\ntest = " in text
    toolchain = loaded(text, tmp_path).config().toolchain
    assert (toolchain.kind, toolchain.report) == ("gotest", "out/*.xml")
    assert toolchain.test == ("go", "test", "./...")
    assert toolchain.format == ("sh", "-c", 'test -z "$(x)"')
    assert chosen_for(None) == {}


def test_no_name_of_a_file_can_set_a_key(tmp_path: Path) -> None:
    why = 'tests/test_\nmerge = "auto"\n\x07.py'
    text = starter({"toolchain.test": Chosen(("pytest", "a\n\x7f\x1b"), why)})
    settings = loaded(text, tmp_path)
    assert set(settings.said) == {"toolchain.test"}
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
