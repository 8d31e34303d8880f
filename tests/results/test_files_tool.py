"""Tools to read by, for agents who have no shell."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treadle.results.files_tool import (
    LIST,
    MOST_FILES,
    MOST_LINES,
    PIECE,
    READ,
    SEARCH,
    TOOLS,
    call,
    is_offered,
    named,
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    lane, bundle = tmp_path / "lane", tmp_path / "bundle"
    for path, text in {
        lane / "src/a.py": "def one():\n    return 1\n",
        lane / "src/deep/b.py": "ONE = 1\n",
        lane / ".git/config": "[secret]\n",
        bundle / "files/memory-bank/progress.md": "# Progress\none\n",
        tmp_path / "outside.txt": "one, and a secret\n",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (lane / "link.txt").symlink_to(tmp_path / "outside.txt")
    (lane / "folder").symlink_to(tmp_path)
    return tmp_path


def data(place: Path, name: str, **given: Any) -> dict[str, Any]:
    said = call(place / "lane", place / "bundle", name, given)
    assert said.ok, said.text
    assert json.loads(said.text) == said.data
    found: dict[str, Any] = said.data
    return found


def test_what_there_is(place: Path) -> None:
    assert data(place, LIST) == {"files": ["src/a.py", "src/deep/b.py"]}
    assert data(place, LIST, glob="src/*.py") == {"files": ["src/a.py"]}
    own = "$TREADLE_BUNDLE/files/memory-bank/progress.md"
    for glob in ("$TREADLE_BUNDLE/**", f"{place}/bundle/**"):
        assert data(place, LIST, glob=glob) == {"files": [own]}
    assert data(place, LIST, glob="../**") == {"files": []}


def test_a_file_is_read(place: Path) -> None:
    whole = {"path": "src/a.py", "lines": 2, "line": 1, "text": "def one():\n    return 1"}
    assert data(place, READ, path="src/a.py") == whole
    assert data(place, READ, path=f"{place}/lane/./src//a.py")["text"] == whole["text"]
    assert data(place, READ, path="src/a.py", line=2)["text"] == "    return 1"
    assert data(place, READ, path="src/a.py", line=9) == {"path": "src/a.py", "lines": 2, "line": 9, "text": ""}
    assert data(place, READ, path="$TREADLE_BUNDLE/files/memory-bank/progress.md")["lines"] == 2


def test_a_long_file_comes_in_pieces(place: Path) -> None:
    lines = [f"{number} {'é' * 90}" for number in range(2_000)]
    (place / "lane" / "long").write_text("\n".join(lines))
    parts, at = [], 1
    while at:
        found = data(place, READ, path="long", line=at)
        assert len(found["text"]) <= PIECE
        parts += found["text"].split("\n")
        at = found.get("next_line", 0)
    assert parts == lines
    (place / "lane" / "wide").write_text("x" * (PIECE + 7) + "\nlast\n")
    found = data(place, READ, path="wide")
    assert found["text"].endswith("x[cut: 7 more characters]")
    assert data(place, READ, path="wide", line=found["next_line"])["text"] == "last"


def test_lines_are_found(place: Path) -> None:
    assert data(place, SEARCH, text="one") == {"lines": ["src/a.py:1: def one():", "src/deep/b.py:1: ONE = 1"]}
    assert data(place, SEARCH, text="one", glob="$TREADLE_BUNDLE/**")["lines"] == [
        "$TREADLE_BUNDLE/files/memory-bank/progress.md:2: one"
    ]
    assert data(place, SEARCH, text="secret") == {"lines": []}


def test_too_much_is_said_to_be(place: Path) -> None:
    for number in range(MOST_FILES + 3):
        (place / "lane" / "src" / f"{number}").write_text("many\n")
    assert data(place, LIST)["left_out"] == 5
    found = data(place, SEARCH, text="MANY")
    assert len(found["lines"]) == MOST_LINES
    assert "narrower" in found["more"]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        (READ, {"path": "src/c.py"}, "there is no file 'src/c.py'; did you mean 'src/a.py'?"),
        (READ, {"path": "../outside.txt"}, "there is no file '../outside.txt'"),
        (READ, {"path": "/etc/passwd"}, "there is no file '/etc/passwd'"),
        (READ, {"path": "$TREADLE_BUNDLE/../outside.txt"}, "there is no file"),
        (READ, {"path": ".git/config"}, "there is no file '.git/config'"),
        (READ, {"path": "link.txt"}, "a symbolic link"),
        (READ, {"path": "folder/outside.txt"}, "there is no file"),
        (READ, {"path": "src"}, "a folder"),
        (READ, {"path": "a\0b"}, ""),
        (READ, {}, "`path` is a text"),
        (READ, {"path": "src/a.py", "line": 0}, "`line` a whole number"),
        (SEARCH, {"text": ""}, "`text` is what to look for"),
        (SEARCH, {"text": "a", "glob": 7}, "`glob` is a text"),
        (LIST, {"glob": ""}, "`glob` is a text"),
    ],
)
def test_what_is_refused_helps(place: Path, name: str, given: dict[str, Any], words: str) -> None:
    said = call(place / "lane", place / "bundle", name, given)
    assert not said.ok
    assert words in said.text
    assert "secret" not in said.text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([tool.name for tool in TOOLS]), st.text(max_size=30) | st.integers() | st.none())
def test_nothing_leads_out_and_nothing_fails(place: Path, name: str, value: object) -> None:
    said = call(place / "lane", place / "bundle", name, dict.fromkeys(("path", "glob", "text", "line"), value))
    assert "secret" not in said.text


@pytest.mark.parametrize(
    ("context", "offered"),
    [
        ('{"permissions": {"may": ["read_files", "modify"]}}', True),
        ('{"permissions": {"may": ["read_files", "run_commands"]}}', False),
        ('{"permissions": {}}', False),
        ("[]", False),
        ("no JSON", False),
    ],
)
def test_they_are_for_those_who_may_not_run_commands(tmp_path: Path, context: str, offered: bool) -> None:
    (tmp_path / "context.json").write_text(context)
    assert is_offered(tmp_path) == offered


def test_without_a_context_nothing_is_offered(tmp_path: Path) -> None:
    assert not is_offered(tmp_path)
    assert named(READ)
    assert not named("emit_exit")
