"""What an agent is told, as a line: `[S:…,R:2,C:TDD₁,P:ℜ,M:…,CTX:design=…, plan=…, interface="…"]`.

Both spellings are read, `S:{sid}` and `S{sid}`, with or without the agent in front of the bracket. CTX comes last: its
parts are separated by commas, each is `key=value` or a mere word. A value that could be misread is a JSON string.
"""

import re
from typing import Final, Literal

import msgspec

from treadle.protocol.lines.quoting import quoted, said, unquoted

Spelling = Literal["colon", "bare"]
CONTEXT: Final = "CTX"
LETTERS: Final = ("S", "R", "C", "P", "M")
_SPECIAL: Final = ',[]"'
_KEY: Final = re.compile(rf"\s*(?P<key>{CONTEXT}|[{''.join(LETTERS)}])(?P<colon>:?)")
_VALUE: Final = re.compile(r"[^,\]]*")
_NAME: Final = re.compile(r"\s*(?P<name>[^\W\d][\w.-]*)=")
_INDENT: Final = re.compile(r"\s*")
_END: Final = re.compile(r"\s*\]\s*")
_NEXT: Final = re.compile(r"\s*,")
_PART: Final = re.compile(r".*?(?=,|\s*\]\s*\Z)", re.DOTALL)


class Part(msgspec.Struct, frozen=True):
    """A part of the context: `key=value`, or a mere value if the key is empty."""

    key: str
    value: str
    quoted: bool = False
    """Written as a JSON string, even if it need not be."""


class Parameters(msgspec.Struct, frozen=True):
    """The parameters of a dispatch; only what is set is there."""

    letters: dict[str, str] = {}
    context: tuple[Part, ...] = ()
    agent: str = ""
    """Who is told; empty: the line does not say."""


def render(parameters: Parameters, spelling: Spelling = "colon") -> str:
    """The line."""
    told = [_letter(letter, value, spelling) for letter, value in parameters.letters.items()]
    if parameters.context:
        told.append(f"{CONTEXT}:{context(parameters.context)}")
    who = said(parameters.agent, _SPECIAL) if parameters.agent else ""
    return f"{who}[{','.join(told)}]"


def context(parts: tuple[Part, ...]) -> str:
    """What follows `CTX:`."""
    return ", ".join(_part(part) for part in parts)


def parse(text: str) -> Parameters | None:
    """The parameters in a line; None if it is none."""
    agent, at = _agent(text.strip())
    return _Reading(text.strip(), at).parameters(agent) if at else None


def _letter(letter: str, value: str, spelling: Spelling) -> str:
    text = said(value, _SPECIAL)
    bare = f"{letter}{text}"
    found = _KEY.match(bare) if spelling == "bare" else None
    is_clear = found is not None and (found["key"], found["colon"]) == (letter, "")
    return bare if is_clear else f"{letter}:{text}"


def _part(part: Part) -> str:
    special = _SPECIAL if part.key else f"{_SPECIAL}="
    text = quoted(part.value) if part.quoted else said(part.value, special)
    return f"{part.key}={text}" if part.key else text


def _agent(text: str) -> tuple[str, int]:
    """Who stands in front of the bracket, and where its inside begins; 0 if there is none."""
    if found := unquoted(text):
        agent, end = found
        return (agent, end + 1) if text[end : end + 1] == "[" else ("", 0)
    name, bracket, _ = text.partition("[")
    return name.strip(), (len(name) + 1 if bracket else 0)


class _Reading:
    """One line, read from left to right."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def parameters(self, agent: str) -> Parameters | None:
        letters: dict[str, str] = {}
        if self._ends():
            return Parameters(letters, (), agent)
        while found := _KEY.match(self.text, self.at):
            self.at = found.end()
            if found["key"] == CONTEXT:
                parts = tuple(self._parts())
                return Parameters(letters, parts, agent) if self._ends() else None
            letters[found["key"]] = self._value(_VALUE)[0]
            if self._ends():
                return Parameters(letters, (), agent)
            if not self._goes_on():
                return None
        return None

    def _parts(self) -> list[Part]:
        parts = []
        while not self._ends():
            name = _NAME.match(self.text, self.at)
            self.at = name.end() if name else self.at
            value, is_quoted = self._value(_PART)
            parts.append(Part(name["name"] if name else "", value, is_quoted))
            if not self._goes_on():
                break
        return parts

    def _value(self, plain: re.Pattern[str]) -> tuple[str, bool]:
        """A value and whether it was quoted. A quotation that is none is taken as it is."""
        indent = _INDENT.match(self.text, self.at)
        if (found := unquoted(self.text, indent.end() if indent else self.at)) and self._stops(found[1]):
            self.at = found[1]
            return found[0], True
        match = plain.match(self.text, self.at)
        self.at = match.end() if match else len(self.text)
        return (match[0].strip() if match else ""), False

    def _stops(self, at: int) -> bool:
        return bool(_NEXT.match(self.text, at) or _END.match(self.text, at))

    def _goes_on(self) -> bool:
        found = _NEXT.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return bool(found)

    def _ends(self) -> bool:
        return bool(_END.fullmatch(self.text, self.at))
