"""Stories that were in the middle before Treadle was there: where they stand is told, and their documents hold."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.treadle import treadle
from tests.git.place import git, repository, write
from tests.views.storied import HANDOFF, STATE
from treadle.cli.run_request import PreparedRun, RunArguments, describe_uncommitted, prepare_run
from treadle.config.project import open_project

SCENARIOS = """# US-5: Coupons [S]

Feature: coupons

@unit @AC-1
Scenario: a coupon lowers the price
Given a price of 10
When a coupon of 3 is applied
Then the price MUST be 7

## Tasks
- [ ] The discount
"""
DELTA = "# Delta\n\n## ADDED\n- cart: `apply(price, coupon)`\n\n## MODIFIED\nNone\n\n## REMOVED\nNone\n"
ORDER = {"project": "cart", "story": "US-5", "step": "impl", "attempt": 2, "max_attempts": 5, "status": "failing"}
STANDS = f"{STATE} says that US-5 stands at impl (attempt 2 of 5, failing)"
HOW = "begins it at bdd and takes over the documents that are right"
NOTES = "---\nstory: US-5\nstep: impl\nattempt: 2\nstatus: failing\n---\n\n# HANDOFF\n\nMind the rounding.\n"
STORIES: list[dict[str, Any]] = [
    {"id": id_, "title": "Coupons", "description": "…", "acceptance_criteria": [{"id": "AC-1", "text": "Lower."}]}
    for id_ in ("US-5", "US-7")
]
PASS: dict[str, Any] = {"type": "pass", "summary": "It was right."}
OWN = {"run": [["grep", "-q", "rounding", HANDOFF]]}
NONE = {"run": [["test", "!", "-e", HANDOFF]]}


def _agents() -> dict[str, Any]:
    """US-5 has its documents, US-7 writes them; each looks at the hand-over that it finds."""
    bdd = {"exit": PASS | {"clarifications": [], "risks": []}}
    texts = {"docs/bdd/US-7.md": SCENARIOS.replace("US-5", "US-7")}
    own = [
        {"instance": "root/US-5", "step": "bdd", "turns": [OWN | bdd]},
        {"instance": "root/US-7", "step": "bdd", "turns": [NONE | bdd | {"write": texts}]},
        {
            "instance": "root/US-7",
            "step": "sdd-delta",
            "turns": [{"write": {"docs/deltas/US-7.md": DELTA}, "exit": PASS}],
        },
    ]
    return {"agents": [*own, {"turns": [{"exit": PASS}]}]}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = repository(tmp_path)
    monkeypatch.chdir(found)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    files: dict[str, str] = {
        STATE: json.dumps(ORDER),
        HANDOFF: NOTES,
        "agents.yaml": json.dumps(_agents()),
        "backlog.yaml": json.dumps({"project": "cart", "stories": STORIES}),
        "other.yaml": json.dumps({"project": "cart", "stories": STORIES[1:]}),
        "docs/bdd/US-5.md": SCENARIOS,
        "docs/deltas/US-5.md": DELTA,
        "treadle.toml": (
            f'[toolchain]\nkind = "pytest"\ntest = "{sys.executable} -m pytest"\n[protocol]\ndefault = "waterfall"\n'
        ),
        "tests/test_it.py": "def test_it():\n    assert True\n",
    }
    write(found, files)
    git(found, "add", "-A")
    git(found, "commit", "-q", "-m", "in the middle")
    return found


def _run(spec: str, *more: str) -> str:
    result = treadle("run", spec, "--agent", "scripted:agents.yaml", *more)
    return result.out + result.err


@pytest.mark.usefixtures("root")
def test_each_command_shows_where_a_story_stands_before_any_run() -> None:
    alone = "`treadle run SPEC --only US-5:impl` runs only its current step"
    for words in (("init", "--protocol", "waterfall"), (), ("status",), ("say", "status")):
        result = treadle(*words)
        assert f"{STANDS}: `treadle run SPEC` {HOW}; {alone}" in result.out + result.err, words


def test_files_that_treadle_wrote_are_no_unfinished_story(root: Path) -> None:
    (root / STATE).unlink()
    treadle("init", "--protocol", "waterfall")
    assert "stands at" not in treadle().out


def test_valid_documents_are_accepted_as_they_are(root: Path) -> None:
    said = _run("backlog.yaml")
    assert f"{STANDS}; this run {HOW}; `--only US-5:impl` " in said
    assert "committed" not in said
    assert [f"root/{id_}: review · asks" in said for id_ in ("US-5", "US-7")] == [True, True]
    assert "refused" not in treadle("log").out
    steps = [one for one in json.loads(treadle("evidence", "--json").out)["accepted"] if one["instance"] == "root/US-5"]
    assert [(one["step"], one["attempt"]) for one in steps] == [("bdd", 1), ("sdd-delta", 1), ("contract", 1)]
    assert git(root, "diff", "--name-only", "HEAD", steps[-1]["commit"]) == ""


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(("spec", "only"), [("other.yaml", ""), ("backlog.yaml", "US-5:sdd-delta")])
def test_no_note_appears_unless_the_run_begins_the_story_anew(spec: str, only: str) -> None:
    assert _prepared(spec, only).notes == []


def test_treadles_own_uncommitted_files_give_no_warning(root: Path) -> None:
    made = _prepared("other.yaml").made
    write(root, {HANDOFF: "mine\n", ".ai/states/US-5.json": "{}", ".ai/handoff/US-5.md": "mine\n"})
    assert describe_uncommitted(root, [], made) == ""
    write(root, {".ai/step-rules.yaml": "steps: {}\n"})
    assert describe_uncommitted(root, [], made).endswith(": .ai/step-rules.yaml")


def _prepared(spec: str, only: str = "") -> PreparedRun:
    agents = ["scripted:agents.yaml"]
    order = RunArguments(
        spec=Path(spec), protocol=None, agents=agents, changes=(), name="", level=2, merge=None, only=only
    )  # fmt: skip
    return prepare_run(open_project(), order)
