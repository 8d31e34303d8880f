"""Dialogues of runs: agents whose role has a session get a seat in that of their instance, and hear what was accepted.

A dialogue is a view of the log with what agents add to it: what was accepted is told once, whoever tells it.
"""

import json
from contextlib import suppress
from pathlib import Path

from treadle.errors import MemoryFailure, PortError
from treadle.kernel.commands import RunAgent
from treadle.kernel.state import Instance, State
from treadle.memory.dialogue import Accepted, Seat, dialogues_in
from treadle.ports import Payloads
from treadle.prompts.names import dialogue, dialogue_kind, has_dialogue
from treadle.prompts.variables import given, parameters_of
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.results.assignment import MEMORY
from treadle.results.exits import mark_of


class Seating:
    """Seats the agents of one run. Everything here blocks, if only for a moment."""

    def __init__(self, path: Path, payloads: Payloads) -> None:
        self._path, self._payloads = path, payloads
        self._ended: set[str] = set()

    def seat(self, protocol: Protocol, state: State, job: RunAgent, token: str) -> dict[str, str]:
        """The variables that lead an agent to its dialogue; none if its role has no session."""
        role, inst = protocol.roles[job.role], state.insts[job.inst]
        if not has_dialogue(role):
            return {}
        letters = parameters_of(protocol, state, job, self._payloads)
        seat = Seat(
            run=state.run,
            session=dialogue(protocol, state.run, inst),
            act=job.id,
            step=job.step,
            agent=role.symbol or job.role,
            round=letters.get("R", ""),
            phase=letters.get("P", ""),
        )
        task = _text(given(job.inputs, self._payloads))
        accepted = _accepted(protocol, inst, self._payloads)
        try:
            with dialogues_in(self._path) as dialogues:
                dialogues.admit(seat, mark_of(token), dialogue_kind(protocol, inst), task, accepted)
        except PortError as error:
            raise MemoryFailure(
                f"the dialogue {seat.session} cannot be kept: {error}", code="memory.dialogue"
            ) from error
        return {MEMORY: str(self._path)}

    def leave(self, token: str) -> None:
        """The activity has ended; harmless if it had no seat, and if nobody can be told."""
        if self._path.exists():
            with suppress(PortError), dialogues_in(self._path) as dialogues:
                dialogues.dismiss(mark_of(token))

    def show(self, protocol: Protocol, state: State) -> None:
        """Tell what was accepted last in dialogues that are over; in others, whoever is seated next is told."""
        if not any(map(has_dialogue, protocol.roles.values())) or not self._path.exists():
            return
        over = [inst for id_, inst in state.insts.items() if inst.outcome and id_ not in self._ended]
        if over:
            self._ended |= {inst.id for inst in over}
            with suppress(PortError), dialogues_in(self._path) as dialogues:
                for inst in over:
                    dialogues.tell(dialogue(protocol, state.run, inst), _accepted(protocol, inst, self._payloads))


def _accepted(protocol: Protocol, inst: Instance, payloads: Payloads) -> list[Accepted]:
    """What the agents of a dialogue have answered, oldest first; of answers by the same exit, the last."""
    steps = protocol.graphs[inst.graph].steps
    found = []
    for name, slot in sorted(inst.slots.items(), key=lambda entry: entry[1].seq):
        step, _, exit_ = name.rpartition(".")
        role = protocol.roles.get(steps[step].role) if step in steps else None
        if role and has_dialogue(role) and not exit_.startswith("!"):
            said = _text(payloads.get(slot.ref)) if slot.ref else ""
            found.append(Accepted(f"{name}@{slot.seq}", step, f"→{exit_}", said))
    return found


def _text(value: Json) -> str:
    """A payload as somebody would say it: its message, if there is nothing else to it."""
    said = {name: part for name, part in value.items() if part not in (None, "", [])} if isinstance(value, dict) else {}
    if isinstance(value, dict) and set(said) <= {"message"}:
        return str(said.get("message", ""))
    text = json.dumps(said or value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace").decode()
