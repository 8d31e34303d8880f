"""`treadle run --only`: the first documents of a project, a supplement, a step of a story, on real git."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.treadle import Outcome, treadle
from tests.git.place import git, repository, write
from tests.views.storied import STATE

SCENARIOS = """# US-1 Totals [S]

Feature: totals

@unit
Scenario: a cart has a total
Given a cart with one thing
When the total is asked for
Then it MUST be the price

## Tasks
- [ ] The total
"""
TEST = "from cart import total\n\n\ndef test_integration_total():\n    assert total([3]) == 3\n"
BACKLOG: dict[str, Any] = {
    "project": "cart",
    "supplements": [
        {"id": "glossary", "request": "The words of carts."},
        {"id": "test", "request": "US-1 is missing an integration test."},
    ],
    "stories": [
        {"id": "US-1", "title": "Totals", "description": "As a customer I want a total."},
        {"id": "US-2", "title": "Coupons", "description": "As a customer I want coupons."},
    ],
}
TURNS: list[dict[str, Any]] = [
    {"instance": "root/repo", "write": {"PROJECT_CONTEXT.md": "# Cart\n", "docs/sdd.md": "# Design\n"}},
    {"instance": "root/glossary", "write": {"docs/ddd/glossary.md": "# Words\n- cart\n"}},
    {"instance": "root/test", "write": {"tests/test_total_integration.py": TEST}},
    {
        "step": "bdd",
        "write": {"docs/bdd/US-1.md": SCENARIOS},
        "exit": {"type": "pass_bdd", "summary": "One.", "clarifications": [], "risks": []},
    },
]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = repository(tmp_path)
    monkeypatch.chdir(found)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    rules: list[Any] = []
    for turn in TURNS:
        given: dict[str, Any] = {key: turn[key] for key in ("instance", "step") if key in turn}
        exit_ = turn.get("exit", {"type": "pass", "summary": "Done."})
        rules.append({**given, "turns": [{"write": turn["write"], "exit": exit_}]})
    files: dict[str, str] = {
        "agents.yaml": json.dumps({"agents": rules}),
        "backlog.yaml": json.dumps(BACKLOG),
        "treadle.toml": f'[toolchain]\nkind = "pytest"\ntest = "{sys.executable} -m pytest"\n',
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
        "src/cart.py": "def total(prices):\n    return sum(prices)\n",
        "tests/test_total.py": "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    }
    write(found, files)
    git(found, "add", "-A")
    git(found, "commit", "-q", "-m", "start")
    return found


def run(*words: str) -> Outcome:
    return treadle("run", *words, "-p", "waterfall", "--agent", "scripted:agents.yaml", "--merge", "branch")


def changed(root: Path, name: str) -> list[str]:
    """What a run has changed."""
    return git(root, "diff", "--name-only", f"HEAD...treadle/{name}/result").split()


@pytest.mark.soak
def test_the_first_documents_need_no_spec(root: Path) -> None:
    done = run("--only", "bootstrap", "--name", "first")
    assert done.code == 0, done.out + done.err
    assert changed(root, "first") == ["PROJECT_CONTEXT.md", "docs/sdd.md"]
    state = json.loads((root / STATE).read_text())
    assert (state["story"], state["status"]) == (None, "pending")


@pytest.mark.soak
def test_a_test_that_is_missing_for_what_works_is_added(root: Path) -> None:
    done = run("backlog.yaml", "--only", "test:supplements", "--name", "more")
    assert done.code == 0, done.out + done.err
    assert changed(root, "more") == ["tests/test_total_integration.py"]


def test_a_step_of_one_story_is_done_and_merged(root: Path) -> None:
    done = run("backlog.yaml", "--only", "US-1:bdd", "--name", "one")
    assert done.code == 0, done.out + done.err
    assert changed(root, "one") == ["docs/bdd/US-1.md"]
    state = json.loads((root / STATE).read_text())
    assert (state["story"], state["step"], state["status"]) == ("US-1", "done", "pass")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "bdd"], "waterfall needs a SPEC"),
        (["backlog.yaml", "--only", "impl"], "--only impl: this step cannot be done alone: it needs what others leave"),
        (["backlog.yaml", "--only", "US-9:bdd"], "the input has no 'US-9' among the stories"),
        (["backlog.yaml", "--only", "bootstrap"], "the input has no bootstrap"),
        (["backlog.yaml", "--only", "suplements"], "did you mean 'supplements'?"),
        (["--only", "../bootstrap"], "waterfall needs a SPEC"),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_begins(root: Path, words: list[str], said: str) -> None:
    done = run(*words)
    assert done.code == 2
    assert said in done.err
    assert git(root, "for-each-ref", "refs/heads/treadle", "refs/treadle") == ""
