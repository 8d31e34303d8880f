"""A story of the waterfall that a person does by hand, up to its implementation: real git, real tests, no agent."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.git.place import git, write

STORY: Final = "US-001"
SETTINGS: Final = f"""
[protocol]
default = "waterfall"

[toolchain]
kind = "pytest"
test = [{json.dumps(sys.executable)}, "-m", "pytest"]
"""
BACKLOG: Final = {
    "project": "coins",
    "stories": [
        {
            "id": STORY,
            "title": "Change",
            "description": "As a cashier I want the change of a payment, so that I can give it back.",
            "complexity": "S",
            "acceptance_criteria": [{"id": "AC-1", "text": "The change is what was paid less the price."}],
        }
    ],
}
FILES: Final = {
    "treadle.toml": SETTINGS,
    "backlog.json": json.dumps(BACKLOG),
    "coins/__init__.py": "",
    "coins/change.py": "def change(paid: int, price: int) -> int:\n    raise NotImplementedError\n",
    "docs/sdd.md": "# Design\n\n## coins\nCounts money.\n",
    "docs/constitution.md": "# Constitution\n\n1. Money SHALL be counted in whole cents.\n",
    "PROJECT_CONTEXT.md": "# coins\n",
    "PROJECT_MEMORY.md": "# Memory\n\n## NOW\nUS-001\n",
}
BDD: Final = f"""# {STORY}: Change [S]

Feature: Change

@unit @AC-1
Scenario: More is paid than the price
  Given a price of 70
  When 100 is paid
  Then the change MUST be 30

## Tasks
- [ ] count the change

## Non-Goals
- Notes and coins.
"""
DELTA: Final = """# US-001

## ADDED
- coins.change: `change(paid: int, price: int) -> int`

## MODIFIED
None

## REMOVED
None
"""
TESTS: Final = {
    "tests/test_change.py": (
        f"# docs/bdd/{STORY}.md @unit @AC-1\nfrom coins.change import change\n\n\n"
        "def test_the_change_is_what_is_left() -> None:\n    assert change(100, 70) == 30\n\n\n"
        "def test_nothing_is_left_of_the_price() -> None:\n    assert change(70, 70) == 0\n"
    ),
    f"tests/{STORY}/test_manifest.json": json.dumps(
        {
            "spec_id": STORY,
            "acceptance_criteria_map": {
                "test_the_change_is_what_is_left": "AC-1",
                "test_nothing_is_left_of_the_price": "AC-1",
            },
        }
    ),
}
HONEST: Final = "def change(paid: int, price: int) -> int:\n    return paid - price\n"
WRONG: Final = "def change(paid: int, price: int) -> int:\n    return paid\n"


class ByHand:
    """The project, and the person in it."""

    def __init__(self, root: Path, env: Mapping[str, str], more: Mapping[str, str] | None = None) -> None:
        self.root, self._env = root, dict(env)
        write(root, {**FILES, **(more or {})})
        git(root, "init", "-q", "-b", "main")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "Start")

    def treadle(self, *words: str, stdin: str = "", codes: tuple[int, ...] = (0, 3)) -> str:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "treadle", *words],
            cwd=self.root, env=self._env, input=stdin, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in codes, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def begins(self) -> None:
        """Start the run, and do every step before the implementation."""
        self.treadle("run", "backlog.json", "--level", "0", "--name", "it")
        self.does("bdd", {f"docs/bdd/{STORY}.md": BDD}, "pass_bdd", clarifications=[], risks=[])
        self.does("sdd-delta", {f"docs/deltas/{STORY}.md": DELTA}, "pass")
        self.does("contract", {}, "needs_human", question="There is no interface over the network; skip it?")
        self.treadle("skip", "it")
        self.treadle("answer", "it", "approve")
        self.does("scaffold", TESTS, "pass_red")

    def does(self, step: str, files: Mapping[str, str], exit_: str, **fields: Any) -> None:
        """Write files for a step, and hand it in."""
        mine = self.yours()
        assert mine["step"] == step, mine
        write(Path(mine["lane"]), dict(files))
        summary = {} if exit_ == "needs_human" else {"summary": f"{step} is done"}
        answer = json.dumps({"exit": {"type": exit_, **summary, **fields}})
        self.treadle("done", "it", "-", stdin=answer)

    def yours(self) -> dict[str, Any]:
        """What is in the person's hands."""
        found: dict[str, Any] = json.loads(self.treadle("status", "it", "--json"))
        return dict(found["yours"][0])

    def log(self) -> str:
        return "\n".join(json.loads(line)["text"] for line in self.treadle("log", "it", "--json").splitlines())
