"""`treadle run --only` where nothing says how tests are run: what needs none is done, the rest is told beforehand."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_only import BACKLOG, DELTA, SCENARIOS
from tests.cli.treadle import Outcome, treadle
from tests.git.place import git, write

CONTRACT = """openapi: 3.1.0
info: {title: Cart, version: "1"}
paths: {}
"""
TURNS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "write": ({"PROJECT_CONTEXT.md": "# Cart\n\nIn Go, tested by `go test ./...`.\n"}, {"type": "pass"}),
    "bdd": ({"docs/bdd/US-1.md": SCENARIOS}, {"type": "pass_bdd", "clarifications": [], "risks": []}),
    "sdd-delta": ({"docs/deltas/US-1.md": DELTA}, {"type": "pass"}),
    "contract": ({"docs/api/openapi.yaml": CONTRACT}, {"type": "pass"}),
}
MANIFEST = json.dumps({"spec_id": "US-1", "acceptance_criteria_map": {"test_total": "a cart has a total"}})


@pytest.fixture
def new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project: an empty repository, and `treadle init`."""
    root = tmp_path / "cart"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "A")
    git(root, "config", "user.email", "a@example.org")
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    done = treadle("init", "--protocol", "waterfall", "--yes")
    assert done.code == 0, done.err
    rules = [
        {"step": step, "turns": [{"write": files, "exit": {"summary": "Done.", **exit_}}]}
        for step, (files, exit_) in TURNS.items()
    ]
    write(root, {"agents.yaml": json.dumps({"agents": rules}), "backlog.yaml": json.dumps(BACKLOG)})
    return root


def run(*words: str) -> Outcome:
    return treadle("run", *words, "--agent", "scripted:agents.yaml")


def committed(root: Path, *names: str) -> None:
    write(root, dict.fromkeys(names, MANIFEST))
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "more")


def test_a_project_writes_its_first_documents_without_a_test_command(new: Path) -> None:
    begun = treadle("run", "--only", "bootstrap", "--level", "0", "--name", "by-hand")
    assert begun.code == 3, begun.err
    assert treadle("abort", "by-hand").code == 0
    done = run("--only", "bootstrap", "--name", "first")
    assert done.code == 0, done.out + done.err
    assert treadle("deliver", "first").code == 0
    assert "go test" in (new / "PROJECT_CONTEXT.md").read_text()


@pytest.mark.soak
def test_a_story_is_specified_without_a_test_command(new: Path) -> None:
    for step in ("bdd", "sdd-delta", "contract"):
        done = run("backlog.yaml", "--only", f"US-1:{step}", "--name", step)
        assert done.code == 0, step + done.out + done.err
        assert treadle("deliver", step).code == 0
    assert (new / "docs/bdd/US-1.md").read_text() == SCENARIOS
    assert (new / "docs/deltas/US-1.md").read_text() == DELTA


BEFORE = "possible before that: `--only bootstrap`, `--only bdd`, `--only sdd-delta`, `--only contract`"


@pytest.mark.parametrize(
    ("only", "who"),
    [
        ("", "supplement.write (added)"),
        ("supplements", "supplement.write (added)"),
        ("stories", "story.suite (green)"),
        ("US-1:scaffold", "story.scaffold (manifest_complete)"),
        ("US-1:impl", "story.impl (green)"),
        ("US-1:verify", "story.verify (green)"),
        ("US-1:update-memory", "story.update-memory-ready (green)"),
    ],
)
def test_a_step_that_needs_tests_is_refused_before_it_begins(new: Path, only: str, who: str) -> None:
    committed(new, "docs/bdd/US-1.md", "docs/deltas/US-1.md", "tests/US-1/test_manifest.json")
    done = run("backlog.yaml", *(["--only", only] if only else []))
    assert (done.code, done.error, done.lacks(f"{who} ", "`toolchain.test`")) == (2, "toolchain.unfit", [])
    assert BEFORE in done.err
    assert git(new, "for-each-ref", "refs/heads/treadle", "refs/treadle") == ""


def test_doctor_names_the_steps_that_need_no_tests(new: Path) -> None:
    said = treadle("doctor")
    assert said.code == 1
    assert BEFORE in said.out
    (new / "go.mod").write_text("module cart\n")
    assert BEFORE not in treadle("doctor").out


@pytest.mark.usefixtures("new")
def test_init_names_the_command_that_writes_the_first_documents() -> None:
    assert "`treadle run --protocol waterfall --only bootstrap`: " in treadle("init", "--protocol", "waterfall").out
    assert "treadle run --only bootstrap --level 0 " in treadle().out
    assert run("--only", "bootstrap").code == 0
    assert "--only bootstrap" not in treadle().out


def test_an_agent_that_the_step_does_not_use_may_be_missing(new: Path) -> None:
    text = (
        (new / "treadle.toml")
        .read_text()
        .replace('#executor = "command:my-agent --quiet"', 'executor = "command:gone"')
    )
    (new / "treadle.toml").write_text(text)
    committed(new, "docs/bdd/US-1.md")
    words = ["--agent", "writer=scripted:agents.yaml", "--name"]
    done = treadle("run", "--only", "bootstrap", *words, "first")
    assert done.code == 0, done.out + done.err
    refused = treadle("run", "backlog.yaml", "--only", "US-1:bdd", *words, "second")
    assert refused.code == 2
    assert "gone" in refused.err
