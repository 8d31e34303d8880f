"""Any step of any protocol as if a run had come to it: a state, the command, and a store with plausible payloads."""

from collections.abc import Iterator
from typing import NamedTuple

from immutables import Map

from tests.prompts.plausible import fields, payload
from treadle.kernel.commands import AskHuman, Inputs, RunAgent
from treadle.kernel.state import Frame, Instance, Message, Slot, State
from treadle.protocol.checks.shapes import TemplateVariables
from treadle.protocol.checks.subject import ProtocolSubject
from treadle.protocol.items import Json, content_ref
from treadle.protocol.model import Need, Protocol, Step, base_of, tag_of

TOOLCHAIN = {name: f"run-{name}" for name in ("build", "test", "contract", "lint", "format", "collect")}
REPORT = "the third assertion of test_totals fails"
NOTE = "mind the empty list"


class Memory:
    """Payloads in memory."""

    def __init__(self) -> None:
        self.values: dict[str, Json] = {}

    def put(self, value: Json) -> str:
        ref = content_ref(value)
        self.values[ref] = value
        return ref

    def get(self, ref: str) -> Json:
        return ref.removeprefix("text:") if ref.startswith("text:") else self.values[ref]


class Scene(NamedTuple):
    """A command, and everything that is needed to tell somebody what to do about it."""

    protocol: Protocol
    state: State
    command: RunAgent | AskHuman
    payloads: Memory

    @property
    def step(self) -> Step:
        return self.protocol.graphs[self.command.graph].steps[self.command.step]

    @property
    def input(self) -> Json:
        return self.payloads.get(self.command.inputs["in"][0])


def places(protocol: Protocol, *kinds: str) -> Iterator[tuple[str, str]]:
    """Every step of these kinds that somebody is told about; of the copies of a question, one."""
    for graph, found in protocol.graphs.items():
        for name in {base_of(name): name for name in found.steps}.values():
            if found.steps[name].kind in kinds and found.steps[name].asks != "parent":
                yield graph, name


def scene(
    protocol: Protocol, graph: str, name: str, *, bare_needs: bool = False, text: str = "", swap: int = 0
) -> Scene:
    """A step with all it can need, on its second attempt; with `bare_needs` with what it must have, on its first.

    `text` is what every text says. `swap` gives each need what another exit of its step would bring (1, 2, …) or, if
    negative, a bare text: what spent attempts turn into carries such payloads.
    """
    store, step = Memory(), protocol.graphs[graph].steps[name]
    type_ = protocol.graphs[graph].input[1]
    given = fields(protocol, protocol.types[type_].fields, type_, text) if type_ else {}
    slots: dict[str, Slot] = {}
    inputs: Inputs = {"in": (store.put(given),)}
    for need in step.needs:
        if need.step and not (bare_needs and (need.optional or need.every)):
            slot = _slot(protocol, graph, need, store, text, swap)
            slots[need.slot] = slot
            inputs[str(need).rstrip("?*")] = (slot.ref, slot.ref) if need.every else (slot.ref,)
    if not bare_needs:
        inputs |= {"gate_report": (store.put(text or REPORT),), "human_note": (store.put(text or NOTE),)}
    id_ = f"root/n1:{name}#1.1"
    frame = Frame(name, status="active", id=id_, signals=_signals(protocol, graph, name, store, text))
    inst = Instance("root/n1", 2, graph, Slot(inputs["in"][0]), parent="root", key="n1", depth=1, frames=[frame])
    inst.slots, inst.vars = slots, dict(protocol.graphs[graph].vars)
    root = Instance("root", 1, graph, Slot(), slots=slots)
    state = State(run="r1", protocol="digest", insts=Map({"root": root, inst.id: inst}))
    return Scene(protocol, state, _command(step, id_, inst, name, inputs, 1 if bare_needs else 2), store)


def _command(step: Step, id_: str, inst: Instance, name: str, inputs: Inputs, attempt: int) -> RunAgent | AskHuman:
    if step.kind == "ask":
        choices = tuple(step.routes)
        return AskHuman(id=id_, inst=inst.id, graph=inst.graph, step=name, choices=choices, inputs=inputs)
    attempt = min(attempt, step.attempts)
    return RunAgent(
        id=id_,
        inst=inst.id,
        graph=inst.graph,
        step=name,
        visit=1,
        attempt=attempt,
        inputs=inputs,
        role=step.role,
        attempts=step.attempts,
        mode=step.mode,
        vars=dict(inst.vars),
    )


def _slot(protocol: Protocol, graph: str, need: Need, store: Memory, text: str, swap: int) -> Slot:
    source = protocol.graphs[graph].steps.get(need.step)
    if source is not None and source.kind == "map" and source.over:
        return Slot("", {"total": 3, "failed": 1})
    if source is not None and source.kind in ("check", "ask") and not (source.asks == "parent" and swap == 0):
        return Slot(store.put(text or f"what {need.step} said"))
    if swap < 0:
        return Slot(store.put(text or "the deadline has passed"))
    others = source.exits if source is not None and source.exits else (need.exit,)
    name = need.exit if swap == 0 else others[swap % len(others)]
    if tag_of(name) in protocol.exits:
        return Slot(store.put(payload(protocol, tag_of(name), text)))
    return Slot(store.put({}))


def _signals(protocol: Protocol, graph: str, name: str, store: Memory, text: str) -> tuple[Message, ...]:
    subject = ProtocolSubject(protocol, None)
    flow = subject.flows[graph]
    base = name.partition("@")[0]
    received = [signal for signal, steps in flow.handled.items() if base in {step.partition("@")[0] for step in steps}]
    shape = TemplateVariables(subject).of_step(flow, name)["signals"].item
    assert shape is not None
    assert shape.parts is not None
    parts = shape.parts["data"].parts
    known: dict[str, Json] = {}
    if parts is not None:
        exits = [exit_ for exit_ in protocol.exits.values() if parts.keys() >= exit_.fields.keys()]
        for exit_ in exits:
            known |= fields(protocol, exit_.fields, "signal", text)
    return tuple(Message(signal, "root/n1/c1", (store.put(known),), 1) for signal in received)
