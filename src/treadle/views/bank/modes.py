"""Where a run is, in the words of its protocol: modes Ω, phases ℜ, rounds, sessions."""

from collections.abc import Iterator
from typing import Final

from treadle.kernel.commands import RunAgent
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import Activity, Instance, State
from treadle.prompts.names import dialogue, dialogue_kind, has_dialogue
from treadle.protocol.model import Protocol, Step
from treadle.views.bank.course import Course
from treadle.views.chronicle import Deed

_PLAN: Final = "plan_loop"
_MODE: Final = "Ω"
_REFACTOR: Final = "ℜᶠ"


def mode(protocol: Protocol, course: Course) -> str:
    """Ω_current: that of whoever is at work or waited for; else the last one at work, or the first one."""
    for inst in leaves(course.state):
        if found := mode_at(protocol, course.state, inst, inst.frames[-1].step):
            return found
    before = (mode_of(protocol, course.state, deed) for deed in reversed(course.deeds()))
    root = course.state.insts.get(ROOT)
    begin = mode_at(protocol, course.state, root, protocol.graphs[root.graph].start) if root else ""
    return next(filter(None, before), begin)


def mode_of(protocol: Protocol, state: State, deed: Deed) -> str:
    """The mode that an activity belongs to."""
    inst = state.insts.get(deed.command.inst)
    return mode_at(protocol, state, inst, deed.command.step) if inst else ""


def mode_at(protocol: Protocol, state: State, inst: Instance, step: str) -> str:
    """The mode of a step: the first on the way from the root down to it that has one."""
    symbols = [it.symbol for it in _way(protocol, state, inst, step)]
    return next((symbol for symbol in reversed(symbols) if symbol.startswith(_MODE)), "")


def _way(protocol: Protocol, state: State, inst: Instance, step: str) -> Iterator[Step]:
    """A step, and those that the instances around it are at, from the inside out."""
    around: Instance | None = inst
    while around is not None:
        if found := protocol.graphs[around.graph].steps.get(step):
            yield found
        step, around = around.group, state.insts.get(around.parent)


def leaves(state: State) -> list[Instance]:
    """The instances that go on and have no children that do, in order of birth."""
    live = [it for it in state.insts.values() if it.live and it.frames]
    parents = {it.parent for it in live}
    return sorted((it for it in live if it.id not in parents), key=lambda it: it.n)


def is_cycle(protocol: Protocol, inst: Instance) -> bool:
    """Whether an instance is a cycle ℜ→ℜᴳ→ℜᶠ."""
    return protocol.graphs[inst.graph].input[1] == "Cycle"


def live_cycles(protocol: Protocol, state: State) -> list[Instance]:
    """The cycles that go on, in order of birth."""
    found = [it for it in state.insts.values() if it.live and it.frames and is_cycle(protocol, it)]
    return sorted(found, key=lambda it: it.n)


def phase(protocol: Protocol, inst: Instance) -> str:
    """The phase of a cycle: that of its step, or of the last one that had one."""
    step = inst.frames[-1].step if inst.frames else ""
    here = (step, step.partition("@")[2])  # a question that several steps lead to is one for each of them
    before = sorted(inst.left, key=lambda name: -inst.left[name])
    return next(filter(None, (_phase(protocol, inst, name) for name in (*here, *before))), "")


def _phase(protocol: Protocol, inst: Instance, name: str) -> str:
    step = protocol.graphs[inst.graph].steps.get(name)
    role = protocol.roles.get(step.role) if step else None
    found = role.modes.get(step.mode) if role and step else None
    return found.symbol if found else ""


def stage(protocol: Protocol, state: State, inst: Instance) -> str:
    """The stage of a refactoring: its step, and while what was refactored is validated, that; empty before it."""
    if not phase(protocol, inst).startswith(_REFACTOR) and not _is_review(protocol, inst):
        return ""
    frame = inst.frames[-1]
    act = state.acts.get(frame.id)
    if act and act.phase == "verifying" and act.claim and _proves_green(protocol, act):
        return f"{getattr(act.command, 'role', '')}_validation"
    return frame.step


def _is_review(protocol: Protocol, inst: Instance) -> bool:
    step = protocol.graphs[inst.graph].steps.get(inst.frames[-1].step)
    return bool(step and step.mode.startswith("review"))


def _proves_green(protocol: Protocol, act: Activity) -> bool:
    declared = protocol.exits.get(act.claim.type) if act.claim else None
    return bool(declared and declared.proves == "green")


def is_at_work(state: State, role: str) -> bool:
    """Whether an agent of a role is at work."""
    commands = [act.command for act in state.acts.values() if act.phase == "running"]
    return any(isinstance(it, RunAgent) and it.role == role for it in commands)


def planning(protocol: Protocol, course: Course) -> list[Deed]:
    """The activities of agents in dialogues about plans, the earliest first."""
    return [deed for deed in course.deeds() if _is_planning(protocol, course.state, deed)]


def _is_planning(protocol: Protocol, state: State, deed: Deed) -> bool:
    job = deed.command
    talks = isinstance(job, RunAgent) and has_dialogue(protocol.roles[job.role])
    return talks and dialogue_kind(protocol, state.insts[job.inst]) == _PLAN


def session(protocol: Protocol, state: State, inst: str) -> str:
    """The name of an instance's dialogue."""
    return dialogue(protocol, state.run, state.insts[inst])
