"""People can be told of each part of a run that ends."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.chores import Chores
from tests.cli.treadle import treadle

NOTE = "import json, sys; print(json.dumps(sys.argv[2:]), file=open(sys.argv[1], 'a'))"


def test_each_part_is_notified_once_and_only_if_the_settings_ask_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    told = tmp_path / "told"
    command = json.dumps([sys.executable, "-c", NOTE, str(told)])
    settings = ["--set", f"notifications.command={command}", "--set", 'notifications.on=["part"]']
    run = ["run", "chores.yaml", "-p", "fan", "--agent", "scripted:did.yaml", *settings]
    assert treadle(*run).code == 3
    assert not told.exists()
    assert treadle("answer", "root/floor:confirm", "accept").code == 0
    assert treadle("resume").code == 3
    assert treadle("answer", "root/dishes:confirm", "abort").code == 1
    notified = [json.loads(line) for line in told.read_text().splitlines()]
    assert [(run_, event, text.split()[1]) for run_, event, text in notified] == [
        ("all", "part", "floor"),
        ("all", "part", "dishes"),
    ]
    assert notified[1][2].endswith("Aborted")
