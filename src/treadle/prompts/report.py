"""Why an attempt came to nothing, told twice: to the agent that tries again, and to people."""

from typing import Final

from treadle.protocol.items import Json

_AGENT: Final = "report"
_PERSON: Final = "told"
KEYS: Final = (_AGENT, _PERSON)
"""Where a payload with more to it has the words."""


def report(agent: str, person: str) -> dict[str, Json]:
    """The words for both; once, if they are the same."""
    return {_AGENT: agent} if agent == person else {_AGENT: agent, _PERSON: person}


def for_agent(found: Json) -> Json:
    """What a report says to an agent; a report that is nothing but words is the same for everybody."""
    return found.get(_AGENT, found) if isinstance(found, dict) else found


def for_person(found: Json) -> Json:
    """What a report says to a person."""
    return found.get(_PERSON, for_agent(found)) if isinstance(found, dict) else found
