"""Where a work order that somebody else has left says that its story stands, and how a run takes the story up."""

from typing import Any, Final

import msgspec

from treadle.prompts.foreign import inline
from treadle.protocol.model import Protocol
from treadle.views.rows import row_of
from treadle.views.state import DONE
from treadle.views.stories import story_graph

_LONGEST: Final = 100
_NOT_BEGUN: Final = "pending"


class LeftOff(msgspec.Struct, frozen=True, kw_only=True):
    """A story in the middle, by the word of a file."""

    file: str
    story: str
    step: str
    how: str
    """Attempt and status, as far as they are told."""
    first: str
    """Where a run begins the story."""
    is_alone: bool
    """Whether the step can be done by itself."""

    @property
    def stands(self) -> str:
        """`US-005 stands at impl (attempt 2 of 5, failing)`."""
        return f"{self.story} stands at {self.step}{f' ({self.how})' if self.how else ''}"

    @property
    def part(self) -> str:
        """What `--only` has to be for the step where the story stands; empty if a run of the story has to do."""
        return f"{self.story}:{self.step}" if self.is_alone and self.step != self.first else ""

    @property
    def begins(self) -> str:
        """What a run of the whole story does."""
        return f"begins it at {self.first} and takes over the documents that are right"


def left_off(file: str, data: bytes, protocol: Protocol) -> LeftOff | None:
    """What a work order says; None if it is none, or if nothing was begun, or nothing is left."""
    try:
        order = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    graph = protocol.graphs[story_graph(protocol)]
    rows = {one.row for one in graph.steps.values() if one.row and one.row != DONE}
    first, story, step = row_of(graph, graph.start), order.get("story"), order.get("step")
    if not isinstance(story, str) or not story or not isinstance(step, str) or step not in rows:
        return None
    if step == first and order.get("status") == _NOT_BEGUN:
        return None
    is_alone = step in graph.steps and graph.steps[step].kind == "agent"
    name = inline(story, _LONGEST)
    return LeftOff(file=file, story=name, step=step, how=_how(order), first=first, is_alone=is_alone)


def _how(order: dict[str, Any]) -> str:
    attempt, most, status = order.get("attempt"), order.get("max_attempts"), order.get("status")
    tries = f"attempt {attempt}{f' of {most}' if isinstance(most, int) else ''}" if isinstance(attempt, int) else ""
    return ", ".join(filter(None, (tries, inline(status, _LONGEST) if isinstance(status, str) else "")))
