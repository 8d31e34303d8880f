"""What the evidence of a run needs from its log besides the activities: the order of things, and what people said."""

from typing import NamedTuple

from treadle.kernel.events import Checked, Exited, Failed, Reopened, Replied, Signalled, Upgraded, Vouched
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.replay import Move
from treadle.kernel.state import Ask


class Said(NamedTuple):
    """A person's word, as it was recorded."""

    seq: int
    ts: int
    who: str
    inst: str
    step: str
    ask: str
    choice: str
    note_ref: str


class Record:
    """Takes the moves of a run one by one."""

    def __init__(self) -> None:
        self.settled: dict[str, int] = {}
        """Activity → the number of the last event that was about it."""
        self.said: list[Said] = []
        self.vouched = 0
        """The number of the last event by which a person let the result pass as it is; 0: there is none."""
        self.times: dict[int, int] = {}
        """The number of an event → when it happened."""

    def take(self, made: Move) -> None:
        """Note what one event adds."""
        self.times[made.state.seq] = made.event.ts
        match made.event:
            case Exited(act=act) | Checked(act=act) | Failed(act=act):
                self.settled[act] = made.state.seq
            case Replied() as event:
                asked = made.before.asks.get(event.ask, Ask("", ""))
                self._hear(made, event.actor, asked.inst, asked.step, event.ask, event.choice, event.note_ref)
            case Signalled() as event:
                self._hear(made, "", event.inst, event.step, "", event.name, event.data_ref)
            case Upgraded() as event:
                self._hear(made, "", "", "", "", f"moves the run to the protocol {event.protocol[:19]}", "")
            case Reopened() as event:
                self._hear(made, event.actor, ROOT, "", "", "takes the run up again, for the branch has moved", "")
            case Vouched() as event:
                self.vouched = made.state.seq
                self._hear(made, event.actor, ROOT, "", "", "accepts the result as it is", event.note_ref)
            case _:
                pass

    def _hear(self, made: Move, *rest: str) -> None:
        self.said.append(Said(made.state.seq, made.event.ts, *rest))
