"""What a turn counts as where its script does not say so: by its length, as services count it.

Nothing is remembered. What stands before the model's last turn was sent when that turn was asked for, so a service has
it in its cache, whoever sends it now: a conversation that goes on, or one that branches off.
"""

from typing import Final

from treadle.testing.model_server.answer import Made
from treadle.testing.model_server.request import Asked
from treadle.testing.model_server.script import Tokens

_CHARACTERS: Final = 4
"""About as many make a token."""


def tokens_in(length: int) -> int:
    """How many tokens a text of so many characters is, about; no request is nothing."""
    return max(1, length // _CHARACTERS)


def counted(asked: Asked, text: str, calls: tuple[Made, ...] = ()) -> Tokens:
    """What a request and its answer consume."""
    before, since = _parted(asked)
    given = tokens_in(before + since)
    read = given - since // _CHARACTERS if before and asked.cache else 0
    written = given - read if asked.cache == "asked" else 0
    said = len(text) + sum(len(call.written) + len(call.input) for call in calls)
    return Tokens(tokens_in=given - read - written, cache_read=read, cache_write=written, tokens_out=tokens_in(said))


def _parted(asked: Asked) -> tuple[int, int]:
    """How long is what was sent before, and how long the model's last turn is with all that follows."""
    lengths = [entry.length if asked.length else len(entry.text) for entry in asked.entries]
    by = [entry.by for entry in asked.entries]
    last = len(by) - by[::-1].index("model") - 1 if "model" in by else 0
    while last and by[last - 1] == "model":  # several entries may be one turn
        last -= 1
    total = asked.length or sum(lengths)
    since = min(sum(lengths[last:]), total) if last else total
    return total - since, since
