"""The tools of a memory: the nine of the public server, and those of dialogues on top."""

import re
from collections.abc import Mapping
from typing import Any, Final

from treadle.errors import TreadleError
from treadle.memory import dialogue_tools, knowledge_tools
from treadle.memory.dialogue import Dialogue
from treadle.results.offered import Said

TOOLS: Final = (*knowledge_tools.TOOLS, *dialogue_tools.TOOLS)
NAMES: Final = frozenset(tool.name for tool in TOOLS)
_OF_DIALOGUES: Final = frozenset(tool.name for tool in dialogue_tools.TOOLS)

_ADDING: Final = "add_observations"
_ERASING: Final = {"delete_entities": "entityNames", "delete_observations": "deletions"}

_PREFIX: Final = re.compile(r"mcp__[A-Za-z0-9-]+__")
"""How clients tell the tools of several servers apart; the published protocols write `mcp__filesystem__…`."""


def named(name: str) -> str:
    """The tool of this memory that a name means; empty if there is none."""
    plain = _PREFIX.sub("", name, count=1) if _PREFIX.match(name) else name
    return plain if plain in NAMES else ""


def call(dialogue: Dialogue, name: str, given: Mapping[str, Any]) -> Said:
    """What a tool does; whatever it is given, the model gets words that help."""
    try:
        if name in _OF_DIALOGUES:
            return dialogue_tools.call(dialogue, name, given)
        signed = _signed(dialogue, given) if name == _ADDING else given
        return _kept(dialogue, name, given) or knowledge_tools.call(dialogue.space, name, signed)
    except TreadleError as error:
        return Said(str(error), ok=False)


def _signed(dialogue: Dialogue, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is to be added, with the speaker's name where it is said in the dialogue: nobody speaks for another."""
    added = given.get("observations")
    if dialogue.seat is None or not isinstance(added, list):
        return given
    return {**given, "observations": [_signed_one(dialogue, dialogue.seat.session, each) for each in added]}


def _signed_one(dialogue: Dialogue, session: str, added: Any) -> Any:
    contents = added.get("contents") if isinstance(added, dict) and added.get("entityName") == session else None
    if not isinstance(contents, list):
        return added
    return {**added, "contents": [dialogue.signed(it) if isinstance(it, str) else it for it in contents]}


def _kept(dialogue: Dialogue, name: str, given: Mapping[str, Any]) -> Said | None:
    """Why something is not forgotten: what was said in a dialogue was said."""
    if dialogue.seat is None or name not in _ERASING:
        return None
    asked = given.get(_ERASING[name])
    names = (
        [each.get("entityName") if isinstance(each, dict) else each for each in asked]
        if isinstance(asked, list)
        else []
    )
    if dialogue.seat.session not in names:
        return None
    return Said(f"{dialogue.seat.session} is the dialogue itself: what was said there stays said", ok=False)
