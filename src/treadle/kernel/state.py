"""A run's state: instances, activities, questions, timers and pools.

Values do not change once they are part of a `State`: the run-wide maps are persistent (an update shares all that it
does not touch), and an instance is copied the first time an event touches it. So an old state stays valid, and the cost
of an event does not depend on the size of the run.
"""

from typing import Any, Final, Literal, get_args, get_origin

import msgspec
from immutables import Map

from treadle.kernel.commands import ActivityCommand, AskHuman
from treadle.kernel.events import Envelope, Outages, Usage
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import CheckRef

SEMANTICS = 1
"""The version of the reducer's rules; a run pins it."""


class Slot(msgspec.Struct, frozen=True, omit_defaults=True):
    """An accepted exit, the report of a system exit, an input, a result or an answer.

    It has the reference of the payload, the fields that guards see, and the number of the event that wrote it.
    """

    ref: str = ""
    fields: dict[str, Routed] = {}
    seq: int = 0


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """A signal in a mailbox. `ask` is set when the sender waits for an answer."""

    name: str
    sender: str
    refs: tuple[str, ...]
    seq: int
    ask: str = ""


class Frame(msgspec.Struct, omit_defaults=True):
    """One position in a graph: the main one, or that of a handler on top of it."""

    step: str
    status: Literal["queued", "active", "waiting", "synced"] = "queued"
    signal: str = ""
    """The signal that a handler frame serves; empty for the main frame."""
    signals: tuple[Message, ...] = ()
    cause: str = ""
    """The system exit that led here, and its report."""
    cause_ref: str = ""
    id: str = ""
    """The activity or the question that the frame is busy with."""
    reply: str = ""
    """The answer to its question, not yet routed, and its payload."""
    reply_slot: Slot = Slot()
    landing: str = ""
    """Where a synced frame goes when its barrier opens."""
    asker: str = ""
    """The step with open questions; the frame has not left it."""
    note_ref: str = ""
    """A person's note for the next agent at this frame."""
    anew: str = ""
    """The item of the next map that a person wants to redo; the other items keep their good results."""


class Group(msgspec.Struct, frozen=True, omit_defaults=True):
    """The children of a spawn or of a map step."""

    members: Map[str, str] = Map()
    """Key → instance: the roster of a spawn, everything a map has started."""
    open: int = 0
    """How many members have not ended well."""
    mapped: bool = False
    # maps only
    pending: tuple[Item, ...] = ()
    current: tuple[str, ...] = ()
    live: int = 0
    bad: int = 0
    total: int = 0
    window: int = 0
    arrived: int = 0
    """How many of the current chunk have arrived at its barrier."""


class Instance(msgspec.Struct, omit_defaults=True):
    """A graph being executed."""

    id: str
    n: int
    graph: str
    input: Slot
    parent: str = ""
    group: str = ""
    key: str = ""
    depth: int = 0
    outcome: str = ""
    result: Slot = Slot()
    frames: list[Frame] = []
    mailbox: list[Message] = []
    attempts: dict[str, int] = {}
    visits: dict[str, int] = {}
    spent: dict[str, int] = {}
    """Budget → how often it was charged."""
    last: dict[str, str] = {}
    """Step → the key of its last exit."""
    left: dict[str, int] = {}
    """Step → the number of the event by which a frame last left it."""
    slots: dict[str, Slot] = {}
    history: dict[str, tuple[str, ...]] = {}
    failures: dict[str, tuple[str, int]] = {}
    """Step → the fingerprints of all failures of its current visit, a line each, and the count of the last one."""
    asked: dict[str, int] = {}
    """How often each question was asked here, by its fingerprint; only of exits that route one."""
    groups: dict[str, Group] = {}
    tiers: dict[str, int] = {}
    threads: dict[str, str] = {}
    vars: dict[str, int | str | bool] = {}
    released: list[str] = []
    """Steps that a person has released by `go`, and that have not started since."""
    paused: bool = False
    ticket: tuple[str, int] | None = None
    """Its place in the queue of a pool."""

    @property
    def live(self) -> bool:
        return not self.outcome

    def begin_visit(self, step: str) -> None:
        """Count a new visit of a step, with new attempts (R7)."""
        self.attempts[step] = 0
        self.visits[step] = self.visits.get(step, 0) + 1
        self.failures.pop(step, None)

    def draft(self) -> "Instance":
        """Return a copy to change; this instance stays as it is."""
        copy = msgspec.structs.replace(self)
        for name in _CONTAINERS:
            setattr(copy, name, getattr(self, name).copy())
        copy.frames = [msgspec.structs.replace(frame) for frame in self.frames]
        return copy


_CONTAINERS: Final = tuple(
    field.name for field in msgspec.structs.fields(Instance) if get_origin(field.type) in (list, dict)
)
"""The fields of an instance that can be changed in place."""


class Activity(msgspec.Struct, frozen=True, omit_defaults=True):
    """One execution of an agent, effect or check step."""

    command: ActivityCommand
    phase: Literal["running", "verifying", "held"] = "running"
    """`held`: its agent's service has an outage, and the kernel will issue the activity again."""
    claim: Envelope | None = None
    checks: tuple[CheckRef, ...] = ()
    nudges: int = 0
    pools: tuple[str, ...] = ()
    losses: int = 0
    """How often its runner has lost it."""
    grant: str = ""
    """The budget that a person extends by letting the activity continue."""
    session: str = ""
    """The conversation that it has begun or joined."""


class Ask(msgspec.Struct, frozen=True, omit_defaults=True):
    """An open question: to a person (then with its command) or to the parent."""

    inst: str
    step: str
    command: AskHuman | None = None


class Pool(msgspec.Struct, frozen=True, omit_defaults=True):
    """The number of activities that occupy a pool, and its queue in order of arrival."""

    held: int = 0
    queue: Map[int, str] = Map()
    head: int = 0
    tail: int = 0


class DeadLetter(msgspec.Struct, frozen=True, omit_defaults=True):
    """An undeliverable signal."""

    inst: str
    name: str
    sender: str = ""


class Outage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last outage of a service; forgotten when an agent answers again."""

    why: Outages
    detail_ref: str = ""
    count: int = 1
    """The number of outages in a row."""


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything about a run that the next event may depend on."""

    run: str = ""
    protocol: str = ""
    semantics: int = SEMANTICS
    level: int = 2
    seq: int = 0
    now: int = 0
    started: int = 0
    created: int = 0
    live: int = 0
    insts: Map[str, Instance] = Map()
    acts: Map[str, Activity] = Map()
    asks: Map[str, Ask] = Map()
    timers: Map[str, int] = Map()
    pools: Map[str, Pool] = Map()
    dead: tuple[DeadLetter, ...] = ()
    usage: Usage = Usage()
    allowances: int = 1
    """How often the cost and time limits have been granted."""
    outage: Outage | None = None
    grants: Map[str, int] = Map()
    """Budget of a step or of a day → how often a person has extended it."""
    outcome: str = ""

    def inst(self, id_: str) -> Instance | None:
        """Return an instance by its id."""
        return self.insts.get(id_)


def dump_state(state: State) -> bytes:
    """Encode a state as canonical JSON: equal states give equal bytes."""
    return msgspec.json.encode(state, enc_hook=_encode, order="deterministic")


def load_state(data: bytes) -> State:
    """Decode a state that `dump_state` has encoded."""
    return msgspec.json.decode(data, type=State, dec_hook=_decode)


def _encode(value: Any) -> Any:
    if isinstance(value, Map):
        return {str(key): item for key, item in value.items()}
    raise NotImplementedError(type(value))


def _decode(kind: Any, value: Any) -> Any:
    if get_origin(kind) is Map:
        key, item = get_args(kind)
        return Map(msgspec.convert(value, dict[key, item], dec_hook=_decode, str_keys=True))  # type: ignore[valid-type]
    raise NotImplementedError(kind)
