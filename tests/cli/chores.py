"""A small project whose runs need no checks, agents for it, and `treadle` as real processes in it."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PROTOCOL: Final = """
protocol: {name}
version: "1"
title: Do it, and ask
root: main
types:
  Chore: {{id: text, what: text}}
exits:
  Did: {{summary: text}}
  Stuck: {{severity: WARN, why: text}}
roles:
  worker: {{display: Worker, template: work.jinja, perms: [read_files, modify], writes: ["**"]}}
graphs:
  main:
    input: {{chore: Chore}}
    start: work
    ends: {{Finished: ["work.Did?"], Failed: ["work.Stuck?"], Aborted: []}}
    system: {{"!*": confirm}}
    steps:
      work:
        role: worker
        exits: [Did, Stuck]
        routes: {routes}
      confirm:
        title: Is it done?
        ask: human
        needs: ["work.Did?", "work.Stuck?", "!*?"]
        choices: {{accept: take it, retry: once more, abort: give up}}
        routes: {{accept: "@end:Finished", retry: work, abort: "@end:Aborted"}}{patience}
"""
ASKING: Final = "{Did: confirm, Stuck: confirm}"
DECIDING: Final = '{Did: "@end:Finished", Stuck: "@end:Failed"}'
PATIENT: Final = "\n        default: abort\n        default_after: 1h"

AGENT: Final = """#!{python}
import json, os, pathlib, sys, time
here = pathlib.Path({root!r})
with (here / "started").open("a") as file:
    file.write(f"{{os.getpid()}}\\n")
pathlib.Path("work.txt").write_text("half done")
print("sweeping", flush=True)
while not (here / "release").exists():
    time.sleep(0.01)
print(json.dumps({{"exit": {{"type": "Did", "summary": "swept"}}}}))
"""

FAN: Final = """
protocol: fan
version: "1"
title: Several at once
root: main
types:
  Chore: {key: id, id: text, what: text}
  Chores: {id: text, chores: {type: "[Chore]", route: items}}
exits:
  Did: {summary: text}
roles:
  worker: {display: Worker, template: work.jinja, perms: [read_files, modify], writes: ["**"]}
graphs:
  main:
    input: {chores: Chores}
    start: each
    ok: {each: [Done]}
    ends: {Finished: [each.AllOk], Failed: ["each.SomeFailed?", "!limit?"]}
    system: {"!*": "@end:Failed"}
    steps:
      each: {map: one, over: in.chores, keep_going: true, routes: {AllOk: "@end:Finished", SomeFailed: "@end:Failed"}}
  one:
    input: {chore: Chore}
    start: work
    ends: {Done: ["work.Did?"], Aborted: []}
    system: {"!*": confirm}
    commands: {/again: work}
    steps:
      work:
        role: worker
        exits: [Did]
        routes: {Did: confirm}
      confirm:
        title: Is it done?
        ask: human
        needs: ["work.Did?", "!*?"]
        choices: {accept: take it, retry: once more, abort: give up}
        routes: {accept: "@end:Done", retry: work, abort: "@end:Aborted"}
"""


class Chores:
    """A repository with the protocols `ask`, `decide` and `patient`, an input, and agents."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, routes, patience in (("ask", ASKING, ""), ("decide", DECIDING, ""), ("patient", ASKING, PATIENT)):
            self.add(name, PROTOCOL.format(name=name, routes=routes, patience=patience))
        self.add("fan", FAN)
        (root / "chores.yaml").write_text("id: ALL\nchores: [{id: floor, what: sweep}, {id: dishes, what: wash}]\n")
        (root / "chore.yaml").write_text("id: SWEEP-1\nwhat: sweep the floor\n")
        for name, exit_ in (
            ("did", {"type": "Did", "summary": "swept"}),
            ("stuck", {"type": "Stuck", "why": "no broom"}),
        ):
            (root / f"{name}.yaml").write_text(json.dumps({"agents": [{"turns": [{"exit": exit_}]}]}))
        agent = root / "agent.py"
        agent.write_text(AGENT.format(python=sys.executable, root=str(root)))
        agent.chmod(0o755)
        git = [shutil.which("git") or "git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
            subprocess.run([*git, *words], cwd=root, check=True)

    def add(self, name: str, text: str) -> None:
        """Add a protocol, or replace one."""
        folder = self.root / ".treadle" / "protocols" / name
        (folder / "templates").mkdir(parents=True, exist_ok=True)
        (folder / "protocol.yaml").write_text(text)
        (folder / "templates" / "work.jinja").write_text("Do {{ chore.what }}. {{ human_note }}\n")

    @contextmanager
    def background(self, *arguments: str, is_script: bool = False) -> Iterator["subprocess.Popen[str]"]:
        """A command that runs meanwhile; ended with the test. Of what a script starts so, shells ignore Ctrl-C."""
        shell = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"] if is_script else []
        env = {**os.environ, "HOME": str(self.root / "home"), "PYTHONUTF8": "1"}
        with subprocess.Popen(
            [*shell, sys.executable, "-m", "treadle", *arguments],
            cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=env,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def on_terminal(self, *arguments: str, typed: bytes = b"", release_at: str = "", columns: int = 100) -> str:
        """Everything that a command prints on a terminal; `agent.py` may finish once that text was shown."""
        ours, theirs = pty.openpty()
        os.write(ours, typed)
        shown = b""
        with subprocess.Popen(
            [sys.executable, "-m", "treadle", *arguments],
            cwd=self.root, stdout=theirs, stderr=theirs, stdin=theirs, env={**os.environ, "COLUMNS": str(columns)},
        ) as process:  # fmt: skip
            os.close(theirs)
            for piece in iter(lambda: _read(ours), b""):
                shown += piece
                if release_at and release_at.encode() in shown:
                    self.release()
            process.wait(timeout=20)
        os.close(ours)
        return shown.decode(errors="replace")

    def agents(self) -> list[int]:
        """The processes of `agent.py`, in the order they were started."""
        path = self.root / "started"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def release(self) -> None:
        """Let `agent.py` finish its work."""
        (self.root / "release").touch()


def _read(terminal: int) -> bytes:
    """A piece of what was printed; empty at the end, which a terminal tells as an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def until(condition: Callable[[], object], what: str = "it happens") -> None:
    """Look again and again until a condition holds."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, f"waited too long until {what}"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def end(pid: int) -> None:
    """End a process of ours, if it is still there."""
    if is_running(pid):
        os.kill(pid, signal.SIGKILL)
