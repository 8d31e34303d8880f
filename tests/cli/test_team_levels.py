"""A team at levels 0 and 1: a person is each executor in turn, or lets the lead and each wave go."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.treadle import Outcome, treadle
from tests.end_to_end.test_waterfall_team import FUNCTION, PAGE, SITE, TEAMED, breakdown
from tests.end_to_end.waterfall import MEMORY, OPENAPI, SDD, SPECIFIED, VERIFIED, says
from tests.git.place import git, write
from tests.talk.shop import set_up

pytestmark = pytest.mark.soak
WRITTEN: dict[str, dict[str, str]] = {
    "bdd": {TEAMED.bdd_file: TEAMED.bdd()},
    "sdd-delta": {TEAMED.delta_file: TEAMED.delta()},
    "contract": {OPENAPI: TEAMED.openapi()},
    "scaffold": TEAMED.scaffold(),
    "function": {TEAMED.file: TEAMED.code()},
    "page": {PAGE: "<p>label</p>\n"},
    "verify": {SDD: TEAMED.sdd()},
    "update-memory": {MEMORY: TEAMED.memory()},
}
SAID: dict[str, dict[str, Any]] = {
    "bdd": SPECIFIED,
    "breakdown": breakdown(backend=[FUNCTION], frontend=[SITE]),
    "function": says("task_done", "label is there."),
    "page": says("task_done", "The page is there."),
    "verify": VERIFIED,
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "shop"
    set_up(found, TEAMED)
    rules = []
    for name in [*WRITTEN, "breakdown"]:
        at = {"instance": f"{TEAMED.at}/{name}"} if name in ("function", "page") else {"step": name}
        rules.append({**at, "turns": [{"write": WRITTEN.get(name, {}), "exit": SAID.get(name, says("pass"))}]})
    write(found, {"script.yaml": json.dumps({"agents": rules})})
    git(found, "rm", "-q", ".treadle/overlays/waterfall.yaml", ".ai/step-rules.yaml")
    git(found, "commit", "-q", "-a", "-m", "nothing of our own")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(found)
    return found


def run(level: str) -> Outcome:
    begun = treadle("run", "backlog.yaml", "-p", "waterfall", "--agent", "scripted:script.yaml", "--level", level)
    assert begun.code == 3, begun.out + begun.err
    return begun


def say(words: str) -> Outcome:
    return treadle("say", words)


def waiting() -> list[str]:
    """The steps that wait for a go."""
    return [f"{it['instance']}:{it['step']}" for it in treadle("status", "shop", "--json").json()["starts"]]


FUNCTION_TASK, PAGE_TASK = f"{TEAMED.at}/function:work", f"{TEAMED.at}/page:work"


def test_each_wave_of_a_team_waits_for_a_go(root: Path) -> None:
    run("1")
    for step in ("bdd", "sdd-delta", "contract", "", "scaffold", "breakdown"):
        if step:
            assert waiting() == [f"{TEAMED.at}:{step}"]
        went = say("continue" if step else "approve")
        assert went.code == 3, went.out + went.err
    assert waiting() == [FUNCTION_TASK, PAGE_TASK]
    say(f"continue {TEAMED.id} page")
    assert waiting() == [FUNCTION_TASK], "the other task still waits"
    say(f"continue {TEAMED.id}")
    assert waiting() == [f"{TEAMED.at}:verify"]
    say("continue")
    assert waiting() == [f"{TEAMED.at}:update-memory"]
    done = say("continue")
    assert "has ended with Done" in done.out, done.out + done.err
    assert {TEAMED.file, PAGE} <= set(git(root, "ls-tree", "-r", "--name-only", "treadle/shop/result").split())


@pytest.mark.usefixtures("root")
def test_one_go_starts_all_tasks_of_a_wave() -> None:
    run("2")
    say("level 1")
    said = say("approve")
    while waiting() != [FUNCTION_TASK, PAGE_TASK]:
        assert said.code == 3, said.out + said.err
        said = say("continue")
    say("continue")
    assert waiting() == [f"{TEAMED.at}:verify"]


def test_one_person_plays_every_member_of_a_team(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("0")
    for step in ("bdd", "sdd-delta", "contract"):
        hand_in(root, step)
    say("approve")
    for step in ("scaffold", "breakdown"):
        hand_in(root, step)
    mine = treadle("status", "shop", "--json").json()["yours"]
    assert [one["instance"] for one in mine] == [f"{TEAMED.at}/function", f"{TEAMED.at}/page"]
    for one in mine:
        assert "You own " in treadle("show", "shop", one["id"], "--prompt").out
    answer(root, "page")
    which = treadle("done", "answer.json")
    assert (which.code, which.error) == (2, "work.ambiguous")
    assert "`treadle done shop --step function`; `treadle done shop --step page`" in which.err
    write(Path(mine[1]["lane"]), WRITTEN["page"])
    assert treadle("done", "shop", "answer.json", "--step", "page", "--resume").code == 3
    write(Path(mine[0]["lane"]), WRITTEN["function"])
    answer(root, "function")
    with monkeypatch.context() as there:
        there.chdir(mine[0]["lane"])
        assert treadle("done", str(root / "answer.json"), "--resume").code == 3
    for step in ("verify", "update-memory"):
        hand_in(root, step)
    assert treadle("status", "shop", "--json").json()["outcome"] == "Done"


def answer(root: Path, name: str) -> None:
    (root / "answer.json").write_text(json.dumps({"exit": SAID.get(name, says("pass"))}))


def hand_in(root: Path, step: str) -> None:
    """Do a step by hand, and drive the run on."""
    (mine,) = treadle("status", "shop", "--json").json()["yours"]
    assert mine["step"] == step
    write(Path(mine["lane"]), WRITTEN.get(step, {}))
    answer(root, step)
    done = treadle("done", "answer.json", "--resume")
    assert done.code in (0, 3), done.out + done.err
