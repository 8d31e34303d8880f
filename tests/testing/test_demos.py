import tomllib
from pathlib import Path

import pytest

from tests.cli.treadle import treadle
from tests.refusals import refused
from treadle.agents.script import load_script
from treadle.protocol.load import load
from treadle.protocol.model import tag_of
from treadle.testing.demos import DEMOS, SCRIPT, SPEC, Beat, demo, demos, lay_out


@pytest.mark.parametrize("name", demos())
def test_a_demo_is_a_folder_that_can_be_read(name: str, tmp_path: Path) -> None:
    told = demo(name)
    patterns = [beat.see for beat in told.scenes]
    assert len(set(patterns)) == len(patterns)
    load_script(DEMOS / name / SCRIPT)
    lay_out(name, tmp_path / "new", "/a python")
    assert '"/a python"' in (tmp_path / "new" / "treadle.toml").read_text()
    with refused("file.exists"):
        lay_out(name, tmp_path / "new", "python")


@pytest.mark.parametrize("name", demos())
def test_a_demo_uses_only_steps_and_exits_of_its_protocol(name: str) -> None:
    assert treadle("spec", "check", str(DEMOS / name / SPEC), "--protocol", name).code == 0
    settings = (DEMOS / name / "repository/treadle.toml").read_text().replace("{python}", '""')
    assert tomllib.loads(settings)["protocol"]["default"] == name
    protocol = load(name)
    ways = [it for graph in protocol.routing_keys.values() for it in graph.items()]
    for rule in load_script(DEMOS / name / SCRIPT).rules:
        exits = {tag_of(key) for step, keys in ways if step in rule.when["step"] for key in keys}
        exits |= {name for exit_ in exits & protocol.exits.keys() for name in protocol.exits[exit_].also}
        said = {turn.exit["type"] for turn in rule.turns if turn.exit}
        assert said <= exits, f"the rule in line {rule.line}"


def test_laying_out_a_demo_ignores_git_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    lay_out("v3", tmp_path / "new", "python")
    assert (tmp_path / "new" / ".git").is_dir()
    assert not (tmp_path / "other").exists()


def test_a_beat_has_another_caption_for_boxed_agents() -> None:
    beat = Beat("a cheat is found", "Found.", kept_in=Beat("*fails*", "Kept in."))
    found = [beat.fitting(text) for text in ("a cheat is found", "a test fails", "all is well")]
    assert [one.say if one else "" for one in found] == ["Found.", "Kept in.", ""]
