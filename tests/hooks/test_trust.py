"""Whether Codex runs the hook, as it says itself; here a program that answers as it does, or worse."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from treadle.hooks.installation import HookTrust, ask_codex

ANSWERS = """#!{python}
import json, sys
for line in sys.stdin:
    said = json.loads(line)
    if said.get("method") == "hooks/list":
        print(json.dumps({{"method": "note", "params": {{}}}}), flush=True)
        print({answer!r}.replace('"ID"', str(said["id"])), flush=True)
    elif "id" in said:
        print(json.dumps({{"id": said["id"], "result": {{}}}}), flush=True)
"""


def ask(folder: Path, answer: str) -> HookTrust | None:
    program = folder / "codex"
    program.write_text(ANSWERS.format(python=sys.executable, answer=answer))
    program.chmod(0o755)
    return asyncio.run(ask_codex(str(program), folder))


def listed(*hooks: dict[str, Any]) -> str:
    return json.dumps({"id": "ID", "result": {"data": [{"cwd": "/", "hooks": list(hooks)}]}})


def hook(event: str, trust: str, command: str = "treadle hook") -> dict[str, Any]:
    return {"eventName": event, "command": command, "trustStatus": trust, "enabled": True}


def test_trusted_and_untrusted_hooks_are_separated(tmp_path: Path) -> None:
    said = listed(hook("stop", "trusted"), hook("subagentStop", "untrusted"), hook("stop", "untrusted", "make"))
    assert ask(tmp_path, said) == HookTrust(("stop",), ("subagentStop",))


@pytest.mark.parametrize("answer", ["nonsense", "{}", '{"id": "ID", "result": 1}', '{"id": "ID", "error": {}}'])
def test_a_malformed_answer_of_codex_is_ignored(tmp_path: Path, answer: str) -> None:
    program = answer if answer != "{}" else '{"id": "ID", "result": {"data": 5}}'
    assert ask(tmp_path, program) is None


def test_a_codex_that_is_not_there(tmp_path: Path) -> None:
    assert asyncio.run(ask_codex(str(tmp_path / "codex"), tmp_path)) is None
