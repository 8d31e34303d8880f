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
        {"id": "US-2", "title": "Coupons", "description": "As a customer I want coupons.", "blocked_by": ["US-1"]},
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
def test_a_supplementary_test_of_working_code_is_added(root: Path) -> None:
    done = run("backlog.yaml", "--only", "test:supplements", "--name", "more")
    assert done.code == 0, done.out + done.err
    assert changed(root, "more") == ["tests/test_total_integration.py"]


def test_a_step_of_one_story_is_done_and_merged(root: Path) -> None:
    done = run("backlog.yaml", "--only", "US-1:bdd", "--name", "one")
    assert done.code == 0, done.out + done.err
    assert changed(root, "one") == ["docs/bdd/US-1.md"]
    state = json.loads((root / STATE).read_text())
    assert (state["story"], state["step"], state["status"]) == ("US-1", "bdd", "pass")
    assert "## US-1 Totals: bdd done, sdd-delta " in (root / ".ai/history.md").read_text()
    for words in (("say", "status"), ("status", "one")):
        assert "US-1: bdd is done (" in treadle(*words).out
    assert git(root, "log", "-1", "--format=%s", "treadle/one/result") == "docs(US-1): Totals (BDD scenarios)"


def test_a_step_alone_waits_for_no_other_story(root: Path) -> None:
    done = treadle("run", "backlog.yaml", "-p", "waterfall", "--only", "US-2:bdd", "--level", "0")
    assert done.code == 3, done.err
    state = json.loads((root / STATE).read_text())
    assert (state["story"], state["status"], state["blocked_by"]) == ("US-2", "running", [])


def committed(root: Path, files: dict[str, str]) -> None:
    write(root, files)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "more")


def merged(root: Path, name: str) -> None:
    git(root, "merge", "-q", "--ff-only", f"treadle/{name}/result")


def manifest(**tests: str) -> str:
    return json.dumps({"spec_id": "US-1", "acceptance_criteria_map": tests})


TESTS = "tests/US-1/test_manifest.json"
OLD = {"test_total": "a cart has a total"}
MORE = SCENARIOS.replace(
    "## Tasks",
    """@integration
Scenario: a basket is counted
Given a basket with two things
When the things are counted
Then there MUST be two

## Tasks""",
)
COUNTED = (
    "from cart import count, total\n\n\ndef test_counted():\n    assert count([3, 4]) == 2\n    assert count([]) == 0\n"
)
SUMMED = "from cart import total\n\n\ndef test_summed():\n    assert total([3, 4]) == 7\n    assert total([]) == 0\n"
SKELETON = "\n\ndef count(things):\n    raise NotImplementedError\n"
CODE = "def total(prices):\n    return sum(prices)\n"
DELTA = "# US-1\n\n## ADDED\n- `count(things)`\n\n## MODIFIED\nNone\n\n## REMOVED\nNone\n"
VERIFIED = {
    "type": "pass_verified",
    "summary": "Good.",
    "completeness": "all",
    "correctness": "all",
    "coherence": "all",
}


def agents(root: Path, **turns: dict[str, Any]) -> None:
    """Who is scripted for which step; what has a dash in its name has `_` here."""
    rules = [
        {"step": step.replace("_", "-"), "turns": [{"exit": {"type": "pass", "summary": "Done."}, **turn}]}
        for step, turn in turns.items()
    ]
    (root / "agents.yaml").write_text(json.dumps({"agents": rules}))


@pytest.mark.soak
def test_a_missing_test_of_working_code_is_added_to_a_story(root: Path) -> None:
    committed(root, {"docs/bdd/US-1.md": MORE, TESTS: manifest(**OLD)})
    new = {"tests/test_summed.py": SUMMED, TESTS: manifest(**OLD, test_summed="a basket is counted")}
    agents(root, scaffold={"write": new})
    done = run("backlog.yaml", "--only", "US-1:scaffold", "--name", "more")
    assert done.code == 0, done.out + done.err
    assert changed(root, "more") == [TESTS, "tests/test_summed.py"]


@pytest.mark.soak
def test_a_vacuous_test_is_not_added(root: Path) -> None:
    committed(root, {"docs/bdd/US-1.md": MORE, TESTS: manifest(**OLD)})
    idle = "def test_idle():\n    assert sum([1, 1]) == 2\n"
    agents(
        root, scaffold={"write": {"tests/test_idle.py": idle, TESTS: manifest(**OLD, test_idle="a basket is counted")}}
    )
    done = run("backlog.yaml", "--only", "US-1:scaffold", "--name", "more")
    assert done.code == 3, done.out + done.err
    assert "[red.vacuous]" in treadle("status").out + treadle("show", "more").out + done.out + done.err


@pytest.mark.soak
def test_a_story_is_made_step_by_step(root: Path) -> None:
    """Tests first, red and merged so; then the code; then the verification; then the memory."""
    memory = {"PROJECT_MEMORY.md": "# Memory\n\n## NOW\nUS-1\n\n## DONE\n"}
    files = {
        "docs/bdd/US-1.md": MORE,
        "docs/deltas/US-1.md": DELTA,
        "docs/sdd.md": "# Design\n",
        TESTS: manifest(**OLD),
    }
    committed(root, {**files, **memory, "src/cart.py": CODE + SKELETON})
    red = {"tests/test_counted.py": COUNTED, TESTS: manifest(**OLD, test_counted="a basket is counted")}
    code = {"src/cart.py": CODE + "\n\ndef count(things):\n    return len(things)\n"}
    agents(
        root,
        scaffold={"write": red},
        impl={"write": code},
        verify={"write": {"docs/sdd.md": "# Design\n\n`count(things)`\n"}, "exit": VERIFIED},
        update_memory={"write": {"PROJECT_MEMORY.md": memory["PROJECT_MEMORY.md"] + "- US-1\n"}},
    )
    refused = run("backlog.yaml", "--only", "US-1:impl", "--name", "early")
    assert refused.code == 3, "no test fails yet: " + refused.out + refused.err
    assert "[owed.none]" in treadle("status", "early").out
    assert treadle("abort", "early").code == 0
    subjects: list[str] = []
    later = {"project": "cart", "stories": [{**BACKLOG["stories"][1], "id": "US-3"}]}
    (root / "later.yaml").write_text(json.dumps(later))
    waiting = {
        "scaffold": "'US-1' is not done: impl is next, after the work of scaffold",
        "impl": "'US-1' is not done: verify is next, after the work of impl",
        "verify": "'US-1' is not done: update-memory is next, after the work of verify",
        "update-memory": "and main does not have its result yet; `treadle deliver update-memory` comes first",
    }
    for step, paths in (
        ("scaffold", [TESTS, "tests/test_counted.py"]),
        ("impl", ["src/cart.py"]),
        ("verify", ["docs/deltas/archive", "docs/sdd.md"]),
        ("update-memory", ["PROJECT_MEMORY.md"]),
    ):
        done = run("backlog.yaml", "--only", f"US-1:{step}", "--name", step)
        assert done.code == 0, step + done.out + done.err
        assert [path for path in paths if not any(one.startswith(path) for one in changed(root, step))] == []
        subjects.append(git(root, "log", "-1", "--format=%s", f"treadle/{step}/result"))
        waits = treadle("spec", "check", "later.yaml", "-p", "waterfall")
        assert (waits.code, waiting[step] in waits.out + waits.err) == (2, True), waits.out + waits.err
        merged(root, step)
    assert treadle("spec", "check", "later.yaml", "-p", "waterfall").code == 0, "all of US-1 is done, and here"
    assert subjects == [
        "test(US-1): Totals (Test scaffold)",
        "feat(US-1): Totals (Implementation)",
        "docs(US-1): Totals (Verification)",
        "docs(US-1): Totals (Project memory)",
    ]
    state = json.loads((root / STATE).read_text())
    assert (state["story"], state["step"], state["tests"]) == ("US-1", "done", {"pass": 2, "fail": 0, "skip": 0})


@pytest.mark.soak
def test_an_implementation_that_leaves_the_storys_tests_red_is_refused(root: Path) -> None:
    files = {"docs/bdd/US-1.md": MORE, "src/cart.py": CODE + SKELETON, "tests/test_counted.py": COUNTED}
    committed(root, {**files, TESTS: manifest(**OLD, test_counted="a basket is counted")})
    agents(root, impl={"write": {"src/cart.py": CODE + SKELETON + "\n"}})
    done = run("backlog.yaml", "--only", "US-1:impl", "--name", "idle")
    assert done.code == 3, "they failed before the run, and are its own: " + done.out + done.err
    assert git(root, "for-each-ref", "refs/heads/treadle/idle/result") == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "bdd"], "waterfall needs a SPEC"),
        (
            ["backlog.yaml", "--only", "US-1:impl"],
            "--only impl: docs/bdd/US-1.md does not exist; run `treadle run backlog.yaml --only US-1:bdd` first; ",
        ),
        (
            ["backlog.yaml", "--only", "US-1:impl"],
            "tests/US-1/test_manifest.json does not exist; run `treadle run backlog.yaml --only US-1:scaffold` first",
        ),
        (
            ["backlog.yaml", "--only", "US-1:verify"],
            "docs/deltas/US-1.md and docs/deltas/archive/*-US-1.md do not exist; ",
        ),
        (
            ["backlog.yaml", "--only", "update-memory"],
            "PROJECT_MEMORY.md does not exist; run `treadle run backlog.yaml --only bootstrap`",
        ),
        (["backlog.yaml", "--only", "coordinate"], "--only coordinate: this step cannot be done alone: it answers"),
        (["backlog.yaml", "--only", "US-9:bdd"], "the input has no 'US-9' among the stories"),
        (["backlog.yaml", "--only", "bootstrap"], "the input has no bootstrap"),
        (["backlog.yaml", "--only", "suplements"], "did you mean 'supplements'?"),
        (["--only", "../bootstrap"], "waterfall needs a SPEC"),
    ],
)
def test_a_step_with_missing_inputs_is_refused_before_the_run_begins(root: Path, words: list[str], said: str) -> None:
    done = run(*words)
    assert done.code == 2
    assert said in done.err
    assert git(root, "for-each-ref", "refs/heads/treadle", "refs/treadle") == ""
