"""A project whose runs keep what their agents write: small gates, no toolchain."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.cli.chores import DECIDING, PROTOCOL, Chores
from tests.cli.treadle import Outcome, treadle

GATES: Final = "gates: {Did: commit scope, Stuck: scope}"
KEPT: Final = (
    PROTOCOL.format(name="kept", routes=DECIDING, patience="")
    .replace(
        "exits: [Did, Stuck]",
        "exits: [Did, Stuck]\n        gates: {Did: commit scope, Stuck: scope}\n        attempts: 3",
    )
    .replace('writes: ["**"]', 'writes: ["swept/**"]')
    .replace("Did: {summary: text}", 'Did: {summary: text, details: "text?"}')
)
TURN: Final = {"write": {"swept/floor.txt": "clean\n"}, "exit": {"type": "Did", "summary": "swept"}}


class Kept(Chores):
    """Chores with the protocol `kept`, and the agent `sweeper.yaml` that writes a file."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.add("kept", KEPT)
        (root / "sweeper.yaml").write_text(json.dumps({"agents": [{"turns": [TURN]}]}))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "second")

    def git(self, *words: str) -> str:
        program = [shutil.which("git") or "git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
        done = subprocess.run([*program, *words], cwd=self.root, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()


def run(*arguments: str, agent: str = "scripted:sweeper.yaml") -> Outcome:
    return treadle("run", "chore.yaml", "-p", "kept", "--agent", agent, *arguments)
