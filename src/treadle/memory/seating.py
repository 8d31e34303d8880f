"""Seats agents in the dialogues of runs: an agent with a session in its role sees the accepted answers of the others.

A dialogue is a view of the log plus the agents' own messages; each accepted answer is added once, by any process.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from treadle.errors import MemoryFailure, PortError
from treadle.kernel.commands import RunAgent
from treadle.kernel.state import Instance, State
from treadle.memory.claims import FAILED, MERGED, PASSED
from treadle.memory.dialogue import AcceptedAnswer, Seat, dialogues_in
from treadle.ports import Payloads
from treadle.prompts.variables import dialogue, dialogue_kind, has_dialogue, input_values, parameters_of
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.results.assignment import MEMORY
from treadle.results.exits import mark_of


class Seating:
    """Seats the agents of one run in their dialogues. All methods block for a moment."""

    def __init__(self, path: Path, payloads: Payloads) -> None:
        self._path, self._payloads = path, payloads
        self._ended: set[str] = set()

    def seat(self, protocol: Protocol, state: State, job: RunAgent, token: str) -> dict[str, str]:
        """Return the variables that lead an agent to its dialogue; empty if its role has no session."""
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
        task = _text(input_values(job.inputs, self._payloads))
        accepted = _accepted_answers(protocol, inst, self._payloads)
        facts = _known_facts(protocol, state, inst, self._payloads)
        try:
            with dialogues_in(self._path) as dialogues:
                dialogues.admit(seat, mark_of(token), dialogue_kind(protocol, inst), task, accepted, facts)
        except PortError as error:
            raise MemoryFailure(
                f"the dialogue {seat.session} cannot be kept: {error}", code="memory.dialogue"
            ) from error
        return {MEMORY: str(self._path)}

    def dismiss(self, token: str) -> None:
        """Give up the seat of an ended activity; harmless if it had none, or the dialogues cannot be opened."""
        if self._path.exists():
            with suppress(PortError), dialogues_in(self._path) as dialogues:
                dialogues.dismiss(mark_of(token))

    def show(self, protocol: Protocol, state: State) -> None:
        """Add the last accepted answers to dialogues that are over; in others, the next seated agent gets them."""
        if not any(map(has_dialogue, protocol.roles.values())) or not self._path.exists():
            return
        over = [inst for id_, inst in state.insts.items() if inst.outcome and id_ not in self._ended]
        if over:
            self._ended |= {inst.id for inst in over}
            with suppress(PortError), dialogues_in(self._path) as dialogues:
                for inst in over:
                    dialogues.tell(
                        dialogue(protocol, state.run, inst), _accepted_answers(protocol, inst, self._payloads)
                    )


def _accepted_answers(protocol: Protocol, inst: Instance, payloads: Payloads) -> list[AcceptedAnswer]:
    """Return the accepted answers of a dialogue's agents, oldest first; only the last of each exit."""
    steps = protocol.graphs[inst.graph].steps
    answers = []
    for name, slot in sorted(inst.slots.items(), key=lambda entry: entry[1].seq):
        step, _, exit_ = name.rpartition(".")
        role = protocol.roles.get(steps[step].role) if step in steps else None
        if role and has_dialogue(role) and not exit_.startswith("!"):
            answer = _text(payloads.get(slot.ref)) if slot.ref else ""
            answers.append(AcceptedAnswer(f"{name}@{slot.seq}", step, f"→{exit_}", answer))
    return answers


_PASSING: Final = ("passed_tests", "passedTests")
_FAILING: Final = ("failed_tests", "failedTests", "failing_tests", "failingTests")


def _known_facts(protocol: Protocol, state: State, inst: Instance, payloads: Payloads) -> dict[str, str]:
    """Return the facts to compare agents' statements with: the last measured tests, and the merged parts."""
    facts: dict[str, str] = {}
    for name, slot in sorted(inst.slots.items(), key=lambda entry: entry[1].seq):
        declared = protocol.exits.get(name.rpartition(".")[2])
        given = payloads.get(slot.ref) if declared and slot.ref else None
        if not declared or not isinstance(given, dict):
            continue
        # Only what Treadle has measured is a fact; a field that the agent fills in is another claim.
        measured = {
            key: it for key, it in given.items() if key in declared.fields and declared.fields[key].by == "tests"
        }
        passing = next((it for key in _PASSING if isinstance(it := measured.get(key), list)), None)
        if passing is not None:
            failing = next((it for key in _FAILING if isinstance(it := measured.get(key), list)), [])
            facts |= {PASSED: str(len(passing)), FAILED: str(len(failing))}
    for other in state.insts.values():
        steps = protocol.graphs[other.graph].steps
        merges = [step for step, one in steps.items() if one.effect == "merge"]
        if other.key and merges:
            is_merged = any(
                step in merges and protocol.exits[exit_].severity == "INFO"
                for step, _, exit_ in (name.rpartition(".") for name in other.slots)
                if exit_ in protocol.exits
            )
            facts[f"{MERGED}{other.key}"] = "yes" if is_merged else "no"
    return facts


def _text(value: Json) -> str:
    """Format a payload for reading: only its message, if it has no other fields."""
    filled = (
        {name: part for name, part in value.items() if part not in (None, "", [])} if isinstance(value, dict) else {}
    )
    if isinstance(value, dict) and set(filled) <= {"message"}:
        return str(filled.get("message", ""))
    text = json.dumps(filled or value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace").decode()
