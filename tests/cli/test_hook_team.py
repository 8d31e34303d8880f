"""What agents of a team are told when a task is marked as completed, or when they have nothing to do."""

from pathlib import Path

import pytest

from tests.cli.chores import FAN
from tests.cli.hooked import Agent, lane
from tests.cli.kept import GATES, KEPT, Kept, run
from tests.cli.treadle import Outcome, status, treadle
from treadle.hooks.call import GOES_ON

CHECKED = KEPT.replace(
    GATES,
    "gates: {Did: [commit, scope, {check: post_check, arg: 'cat swept/floor.txt | grep -q clean'}], Stuck: scope}",
).replace("graphs:\n", 'artifacts:\n  bdd: {path: "docs/{id}.md", writer: worker}\ngraphs:\n', 1)
STORY = "# SWEEP-1\n\n## Tasks\n- [x] T1 [P] the floor\n- [ ] T2 [P] the stairs\n- [ ] T3 the rest\n"
TEAM = (
    FAN.replace("protocol: fan", "protocol: team").replace("map: one", "map: task-one").replace("  one:", "  task-one:")
)


def test_a_task_is_not_completed_before_the_projects_own_check_succeeds(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.add("kept", CHECKED)
    agent = Agent(lane(run("--level", "0")), monkeypatch)
    held = agent.ends("TaskCompleted", task_subject="sweep the floor")
    assert held.code == GOES_ON
    named = ("'sweep the floor'", "`cat swept/floor.txt | grep -q clean`")
    assert [text for text in named if text not in held.err] == []
    agent.writes("swept/floor.txt", "clean\n")
    assert agent.ends("TaskCompleted") == Outcome(0, "", "")
    assert "claims" not in treadle("log", "sweep-1").out, "a task is not the step"

    assert agent.ends("TeammateIdle") == Outcome(0, "", ""), "the story has no document"
    agent.writes("docs/SWEEP-1.md", STORY)
    idle = agent.ends("TeammateIdle", teammate_name="ann")
    assert idle.code == GOES_ON
    assert idle.err.splitlines()[1:] == ["- docs/SWEEP-1.md: T2 [P] the stairs"]
    assert agent.ends("TeammateIdle", teammate_name="ann") == Outcome(0, "", ""), "nobody is told twice"
    assert agent.ends("TeammateIdle", teammate_name="bea").code == GOES_ON
    agent.writes("docs/SWEEP-1.md", STORY.replace("[ ]", "[X]"))
    assert agent.ends("TeammateIdle", teammate_name="cyd") == Outcome(0, "", "")


def test_an_idle_teammate_gets_the_unfinished_tasks_of_its_wave(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.add("team", TEAM)
    treadle("run", "chores.yaml", "-p", "team", "--level", "0")
    first, second = [Path(work["lane"]) for work in status("all")["yours"]]
    idle = Agent(first, monkeypatch).ends("TeammateIdle")
    assert idle.code == GOES_ON
    assert f"in {first}" in idle.err
    assert f"in {second}" in idle.err
    Agent(first, monkeypatch).writes(".ai/executor-result", "status: Did\nsummary: swept\n")
    assert Agent(first, monkeypatch).ends().code == 0
    idle = Agent(second, monkeypatch).ends("TeammateIdle")
    assert f"in {first}" not in idle.err
    assert f"in {second}" in idle.err
