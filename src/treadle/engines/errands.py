"""What the words of a command mean in a run as it stands: a step, and perhaps an item of its map."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from treadle.errors import TreadleError
from treadle.kernel.commanded import refused
from treadle.kernel.groups import keys_of
from treadle.kernel.state import Instance
from treadle.protocol.findings import suggest
from treadle.protocol.model import Errand, Graph


class Sent(NamedTuple):
    """Where a command sends an instance."""

    step: str
    item: str = ""

    def __str__(self) -> str:
        return f"{self.step} for {self.item}" if self.item else self.step


def sent(run: str, graph: Graph, inst: Instance, command: str, words: Sequence[str]) -> Sent:
    """The step that a command with its words leads to; an error says what else could have been said, or is missing."""
    goal = graph.commands[command]
    said = f"treadle go {run} {command}"
    if isinstance(goal, str):
        if words:
            raise TreadleError(f"{command} takes no words: `{said}`", code="go.words")
        found = Sent(goal)
    else:
        found = _errand(said, graph, inst, goal, words)
    is_there = any(frame.step == found.step for frame in inst.frames) and not found.item
    if not is_there and (why := refused(graph, inst, found.step, found.item)):
        raise TreadleError(f"{inst.id} of {run} cannot do {command} now: {why}", code="go.refused")
    return found


def _errand(said: str, graph: Graph, inst: Instance, errands: tuple[Errand, ...], words: Sequence[str]) -> Sent:
    errand = _meant(said, errands, words[0]) if words else errands[0]
    said = f"{said} {errand.word}"
    if len(words) > (2 if errand.item else 1):
        raise TreadleError(
            f"there are too many words: `{said}{f' {errand.item.upper()}' if errand.item else ''}`", code="go.words"
        )
    if not errand.item:
        return Sent(errand.to[0])
    known = {key: step for step in reversed(errand.to) for key in keys_of(inst, step, graph.steps[step])}
    if len(words) < 2:
        raise TreadleError(
            f"say which {errand.item}: `{said} {errand.item.upper()}`; {_listed('', known)}", code="go.words"
        )
    if words[1] not in known:
        raise TreadleError(f"there is no {errand.item} '{words[1]}'; {_listed(words[1], known)}", code="go.unknown")
    return Sent(known[words[1]], words[1])


def _meant(said: str, errands: tuple[Errand, ...], word: str) -> Errand:
    for errand in errands:
        if _spelt(word) in map(_spelt, (errand.word, *errand.also)):
            return errand
    spellings = [spelling for errand in errands for spelling in (errand.word, *errand.also)]
    ways = " or ".join(f"`{said} {it.word}{f' {it.item.upper()}' if it.item else ''}`" for it in errands)
    hint = suggest(word, spellings)
    raise TreadleError(f"'{word}' means nothing here; {f'{hint} ' if hint else ''}say {ways}", code="go.unknown")


def _spelt(word: str) -> str:
    """Λ₁, Λ1 and λ1 are one word."""
    return unicodedata.normalize("NFKC", word).casefold()


def _listed(word: str, known: Iterable[str]) -> str:
    names = list(known)
    hint = suggest(word, names) if word else ""
    there = f"there are {', '.join(names)}" if names else "there are none"
    return f"{hint} {there}" if hint else there
