"""Dialogues of real runs: who is seated where, what is told there, and when a seat is lost."""

import asyncio
from contextlib import closing
from pathlib import Path

import msgspec

from tests.kernel.protocols import agent, graph, protocol, to
from tests.runtime.stage import Stage
from treadle.agents.command import CommandRunner
from treadle.kernel.state import Instance, Slot
from treadle.memory.dialogue import Dialogue, Seat, sessions_in
from treadle.memory.seating import Seating
from treadle.memory.store import Memory
from treadle.ports import Abilities
from treadle.prompts.variables import dialogue, dialogue_kind, has_dialogue
from treadle.protocol.load import load
from treadle.protocol.model import Exit, Field, Protocol, Role
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch
from treadle.runtime.world import RunWorld
from treadle.store.records import Run

ANSWERS = """
printf '%s' "$TREADLE_MEMORY" > seen
case $TREADLE_STEP in
  plan) treadle emit --type PC --field message="the plan | of $TREADLE_STEP" ;;
  critic) treadle emit --type PA ;;
esac
"""
PLAN: Protocol = protocol(
    graph(
        {
            "plan": agent({"PC": to("critic")}, role="planner", nudge_after=0),
            "critic": agent({"PA": to("@end:Done")}, role="critic", nudge_after=0),
        },
        input=("task", ""),
        system={"!*": to("@end:Failed")},
    ),
    exits={"PC": Exit(fields={"message": Field(type="text?")}), "PA": Exit(fields={"message": Field(type="text?")})},
    templates={"work.jinja": "Do your part."},
)


class Seated(Stage):
    """A run whose agents have seats."""

    @property
    def seating(self) -> Seating:
        return Seating(self.root / "memory.db", self.store.payloads)

    def dispatch(self, run: Run, desk: Desk, world: RunWorld) -> Dispatch:
        return Dispatch(desk, world, self.root / "runs" / run.id, {}, seating=self.seating)


def with_roles(**params: str) -> Protocol:
    roles = {
        "planner": Role(template="work.jinja", symbol="Ω₂ˢ", params=params),
        "critic": Role(template="work.jinja", params=params),
    }
    return msgspec.structs.replace(PLAN, roles=roles)


def driven(root: Path, table: Protocol) -> Seated:
    runner = CommandRunner(argv=("/bin/sh", "-c", ANSWERS), root=root, abilities=Abilities(survives=True))
    stage = Seated(root, table, runner)
    state = asyncio.run(stage.drive())
    assert state.outcome == "Done"
    stage.seating.show(table, state)
    stage.seating.show(table, state)
    stage.store.close()
    return stage


def test_a_dialogue_of_a_run(tmp_path: Path) -> None:
    driven(tmp_path, with_roles(S="{session}", P="{phase}"))
    with closing(Memory(tmp_path / "memory.db")) as memory:
        (session,) = sessions_in(memory)
        seat = Seat(run="r", session=session, act="", step="", agent="")
        read = Dialogue(memory, seat).read(session)
        with memory.reading() as db:
            assert db.execute("SELECT count(*), sum(open) FROM seats").fetchone() == (2, 0)
    assert read
    assert read.type.endswith("_loop")
    told = [(it.phase, it.agent, it.status, it.content) for it in read.records]
    assert told == [
        ("", "MT", "→INIT", '"task"'),
        ("plan", "Ω₂ˢ", "→PC", "the plan | of plan"),
        ("critic", "critic", "→PA", ""),
    ]
    assert {path.read_text() for path in tmp_path.glob("lanes/*/*/seen")} == {str(tmp_path / "memory.db")}


def test_roles_without_a_session_have_no_dialogue(tmp_path: Path) -> None:
    driven(tmp_path, with_roles(C="{id}"))
    assert not (tmp_path / "memory.db").exists()
    assert {path.read_text() for path in tmp_path.glob("lanes/*/*/seen")} == {""}


def test_the_protocol_decides_which_roles_have_a_dialogue() -> None:
    found = {name: [role for role, it in load(name).roles.items() if has_dialogue(it)] for name in ("v3", "dptr")}
    assert found["v3"] == []
    assert {"spec", "spec_critic", "qa", "de"} <= set(found["dptr"])


def test_dialogues_are_called_as_the_published_protocols_call_them() -> None:
    for name, graph_, kind, start in (
        ("dptr", "plan", "plan_loop", "PLAN_r1_"),
        ("dptr", "cycle", "tdd_loop", "TDD_r1_"),
        ("riper", "rcycle", "tdd_loop", "TDD_r1_"),
        ("riper", "riper", "plan_loop", "PLAN_r1_"),
        ("v3", "node", "node_loop", "NODE_r1_"),
    ):
        inst = Instance(id="k", n=1, graph=graph_, input=Slot())
        assert dialogue_kind(load(name), inst) == kind
        assert dialogue(load(name), "r1", inst).startswith(start)
