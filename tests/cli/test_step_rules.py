"""`.ai/step-rules.yaml`: read from the checkout when a run starts, and pinned; nothing begins with a bad one."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.treadle import status, treadle
from tests.git.place import git, write

SETTINGS = f"""
[protocol]
default = "waterfall"

[toolchain]
kind = "pytest"
test = [{json.dumps(sys.executable)}, "-m", "pytest"]
"""
BACKLOG = 'project: p\nstories:\n  - {id: "US-1", title: t, description: d}\n'
RULES = ".ai/step-rules.yaml"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"treadle.toml": SETTINGS, "backlog.yaml": BACKLOG, RULES: "steps: {}\n"})
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "Start")


def began() -> list[str]:
    """What a run would have left."""
    return [name for name in (".treadle", ".ai/STATE.json", ".ai/states", ".ai/HANDOFF.md") if Path(name).exists()]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("steps:\n\timpl: {max_attempts: 2}\n", f"{RULES}:2: this is not YAML"),
        ("steps:\n  impl: {max_attemps: 2}\n", f"{RULES}:2: steps.impl: unknown key 'max_attemps' (did you mean"),
        ("steps:\n  impll: {max_attempts: 2}\n", f"{RULES}:2: steps.impll: nothing follows a pass of 'impll' (did you"),
        (
            "steps:\n  impl:\n    on_fail: {needs_clarify: review}\n",
            f"{RULES}:3: steps.impl: unknown reason 'needs_clarify' (did you mean 'needs_clarification'?)",
        ),
        (
            "steps:\n  verify: {on_fail: {default: implement}}\n",
            f"{RULES}:2: steps.verify: 'implement' is not a step of the rules table (did you mean 'impl'?)",
        ),
        ("steps:\n  contract: {next_on_pass: bdd}\n", f"{RULES}:2: steps.contract: passes lead from contract to bdd"),
        ("steps:\n  bdd: {claude_writes: ['../{story}.md']}\n", f"{RULES}:2: steps.bdd: '../{{story}}.md'"),
        ("steps:\n  bdd: {claude_writes: ['{stroy}.md']}\n", f"{RULES}:2: steps.bdd: unknown placeholder {{stroy}}"),
    ],
)
def test_a_run_with_invalid_step_rules_is_refused(rules: str, said: str) -> None:
    Path(RULES).write_text(rules, encoding="utf-8")
    found = treadle("run", "backlog.yaml", "--agent", "command:true")
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    assert began() == []


@pytest.mark.parametrize("id_", ["../x", "a/b", ".", "-x", "US 1", "US-*"])
def test_a_story_id_that_is_no_plain_name_is_refused(id_: str) -> None:
    Path("backlog.yaml").write_text(BACKLOG.replace("US-1", id_), encoding="utf-8")
    found = treadle("run", "backlog.yaml", "--agent", "command:true")
    assert (found.code, found.out, found.error) == (2, "", "spec.invalid")
    assert found.lacks(f"backlog.yaml:3: stories[0].id: '{id_}'") == []
    assert began() == []


def test_a_run_keeps_the_rules_that_it_began_with() -> None:
    Path(RULES).write_text("steps: {bdd: {max_attempts: 2, timeout_min: 7}}\n", encoding="utf-8")
    assert treadle("run", "backlog.yaml", "--level", "0", "--name", "it").code in (0, 3)
    Path(RULES).write_text("steps: {bdd: {max_attemps: 9}}\n", encoding="utf-8")
    for _ in range(2):
        state = json.loads(Path(".ai/STATE.json").read_text(encoding="utf-8"))
        assert (state["step"], state["max_attempts"], state["timeout_min"]) == ("bdd", 2, 7)
        answer = ("--exit", "failing", "--field", "reason=none", "--field", "summary=not yet")
        assert treadle("done", "it", *answer).code in (0, 3)
    assert [ask["instance"] for ask in status("it")["questions"]] == ["root/US-1"]
    assert "US-1: stuck · asks" in treadle("status", "it").out
