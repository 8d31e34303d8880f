"""A script from YAML: everything that is wrong with it is found at once, each with its line."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, cast, get_args

from treadle.agents.placeholders import faults
from treadle.agents.script import CHANNELS, CRITERIA, Broken, Channel, Misbehaviour, Rule, Script, Turn
from treadle.errors import ProtocolError, TreadleError
from treadle.kernel.events import Outages, Usage
from treadle.protocol.answers.paths import path_fault
from treadle.protocol.findings import Finding, Place, suggest
from treadle.protocol.items import Json
from treadle.protocol.reading.source import MAX_TEXT, Node, kind_of, read

_TOP: Final = ("agents",)
_TURNS: Final = "turns"
_MISBEHAVIOUR: Final = ("hang", "crash", "blocked")
_OUTAGES: Final = get_args(Outages)
_USAGE: Final = ("tokens_in", "tokens_out", "cached", "cost")
_MAX_DELAY: Final = 86_400


def load_script(path: Path) -> Script:
    """The script in a file; a `TreadleError` says all that is wrong with it."""
    return read_script(script_text(path), str(path))


def script_text(path: Path) -> str:
    """The text of a script, for agents or for a model that is played."""
    try:
        if path.stat().st_size > MAX_TEXT:
            raise TreadleError(f"{path} has more than {MAX_TEXT} bytes; split it", code="file.too_large")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TreadleError(
            f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8", code="file.encoding"
        ) from None
    except OSError as error:
        raise TreadleError(
            f"the script {path} cannot be read: {error.strerror}; check its path", code="file.unreadable"
        ) from None


def read_script(text: str, file: str) -> Script:
    """The script in a text."""
    reading = _Reading()
    script = reading.script(read(text, file), file)
    if reading.findings:
        found = sorted(reading.findings, key=lambda finding: finding.place)
        raise ProtocolError(f"{file} is no script for an agent", tuple(found), code="script.invalid")
    return script


class _Reading:
    """Reads on after each fault, so that all of them are told."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def blame(self, place: Place, where: str, message: str, hint: str = "") -> None:
        self.findings.append(Finding(place, where, message, hint, code="script.invalid"))

    def script(self, node: Node, file: str) -> Script:
        top = self.mapping(node, "", _TOP)
        if "agents" not in top:
            self.blame(node.place, "", "there is no 'agents'", "write `agents:` and below it a list of rules")
            return Script(file, ())
        rules = [self.rule(each, f"agents[{at}]") for at, each in enumerate(self.items(top["agents"], "agents"))]
        if not rules:
            self.blame(top["agents"].place, "agents", "there is no rule", "write `- step: NAME` and `turns:`")
        return Script(file, tuple(rules))

    def rule(self, node: Node, where: str) -> Rule:
        parts = self.mapping(node, where, (*CRITERIA, _TURNS))
        when: dict[str, tuple[str, ...]] = {
            name: self.patterns(parts[name], f"{where}.{name}") for name in CRITERIA if name in parts
        }
        if _TURNS not in parts and isinstance(node.value, dict):
            self.blame(node.place, where, "a rule without 'turns'", "write `turns:` and below it a list of turns")
        given = self.items(parts[_TURNS], f"{where}.{_TURNS}") if _TURNS in parts else []
        if _TURNS in parts and not given:
            self.blame(parts[_TURNS].place, where, "there is no turn", "write at least one: `- exit: {type: NAME}`")
        turns = tuple(self.turn(each, f"{where}.{_TURNS}[{at}]") for at, each in enumerate(given))
        return Rule(line=node.place.line, when=when, turns=turns)

    def turn(self, node: Node, where: str) -> Turn:
        parts = self.mapping(node, where, tuple(_READERS))
        read_ = {name: _READERS[name](self, part, f"{where}.{name}") for name, part in parts.items()}
        return Turn(**{name: value for name, value in read_.items() if value is not None})

    def mapping(self, node: Node, where: str, known: Iterable[str]) -> dict[str, Node]:
        """The entries that are known; the others are told with what may be meant."""
        if not isinstance(node.value, dict):
            self.blame(node.place, where, f"must be a mapping, not {kind_of(node)}", f"of {', '.join(known)}")
            return {}
        for key in node.value:
            if key not in known:
                hint = suggest(key, known) or f"known are {', '.join(known)}"
                self.blame(node.key_place(key), where, f"unknown key '{key}'", hint)
        return {key: value for key, value in node.value.items() if key in known}

    def items(self, node: Node, where: str) -> list[Node]:
        if isinstance(node.value, list):
            return node.value
        self.blame(node.place, where, f"must be a list, not {kind_of(node)}", "write each entry after `- `")
        return []

    def text(self, node: Node, where: str) -> str:
        if not isinstance(node.value, str):
            self.blame(node.place, where, f"must be text, not {kind_of(node)}", "write it in quotes")
            return ""
        self.check_placeholders(node, where, node.value)
        return node.value

    def check_placeholders(self, node: Node, where: str, text: str) -> None:
        for message, hint in faults(text):
            self.blame(node.place, where, message, hint)

    def path(self, node: Node, where: str, text: str | None = None, place: Place | None = None) -> str:
        found = self.text(node, where) if text is None else text
        # With a placeholder in it, it can be judged only when it is played.
        fault = "" if not found or "{" in found else path_fault(found)
        if fault:
            self.blame(place or node.place, where, f"the path '{found[:80]}' {fault}")
        return found

    def patterns(self, node: Node, where: str) -> tuple[str, ...]:
        given = node.value if isinstance(node.value, list) else [node]
        found: list[str] = []
        for each in given:
            if isinstance(each.value, str) or (isinstance(each.value, int) and not isinstance(each.value, bool)):
                found.append(str(each.value))
            else:
                self.blame(each.place, where, f"must be a pattern such as `root/*`, not {kind_of(each)}")
        if not given:
            self.blame(node.place, where, "an empty list fits nothing", "leave it away to fit everything")
        return tuple(found)

    def lines(self, node: Node, where: str) -> tuple[str, ...]:
        given = node.value if isinstance(node.value, list) else [node]
        return tuple(self.text(each, where) for each in given)

    def paths(self, node: Node, where: str) -> tuple[str, ...]:
        given = node.value if isinstance(node.value, list) else [node]
        return tuple(self.path(each, where) for each in given)

    def contents(self, node: Node, where: str) -> dict[str, str]:
        found = self.named(node, where)
        return {name: self.text(each, f"{where}.{name}") for name, each in found.items()}

    def renames(self, node: Node, where: str) -> dict[str, str]:
        return {name: self.path(each, f"{where}.{name}") for name, each in self.named(node, where).items()}

    def named(self, node: Node, where: str) -> dict[str, Node]:
        """Entries whose keys are paths."""
        if not isinstance(node.value, dict):
            self.blame(node.place, where, f"must be a mapping, not {kind_of(node)}", "write `path: …`")
            return {}
        for name in node.value:
            self.check_placeholders(Node(name, node.key_place(name)), where, name)
            self.path(node, where, name, node.key_place(name))
        return node.value

    def commands(self, node: Node, where: str) -> tuple[tuple[str, ...], ...]:
        return tuple(self.argv(each, f"{where}[{at}]") for at, each in enumerate(self.items(node, where)))

    def argv(self, node: Node, where: str) -> tuple[str, ...]:
        if isinstance(node.value, str):
            hint = "write the program and its arguments as a list; no shell is used"
            self.blame(node.place, where, "a command is a list of texts", hint)
            return ()
        found = tuple(self.text(each, where) for each in self.items(node, where))
        if isinstance(node.value, list) and not found:
            self.blame(node.place, where, "a command needs a program")
        return found

    def number(self, node: Node, where: str, low: float, high: float) -> float:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            self.blame(node.place, where, f"must be a number from {low:g} to {high:g}, not {kind_of(node)} like this")
            return low
        return value

    def whole(self, node: Node, where: str, low: int, high: int) -> int:
        value = self.number(node, where, low, high)
        if value != int(value):
            self.blame(node.place, where, "must be a whole number")
        return int(value)

    def usage(self, node: Node, where: str) -> Usage:
        """What a turn uses; without a cost its price is not known."""
        parts = self.mapping(node, where, _USAGE)
        counts = {name: self.whole(parts[name], f"{where}.{name}", 0, 10**12) for name in _USAGE[:3] if name in parts}
        if "cost" in parts:
            return Usage(cost=float(self.number(parts["cost"], f"{where}.cost", 0, 1e9)), **counts)
        return Usage(unpriced=counts.get("tokens_in", 0) + counts.get("tokens_out", 0), **counts)

    def outage(self, node: Node, where: str) -> Broken | None:
        parts = self.mapping(node, where, ("why", "wait", "times"))
        if "why" not in parts:
            self.blame(node.place, where, "does not say which outage", "write `why: rate` in it")
            return None
        given = {name: part for name, part in parts.items() if name != "why"}
        counts = {name: self.whole(part, f"{where}.{name}", 0, 10**6) for name, part in given.items()}
        return Broken(why=cast(Outages, self.word(parts["why"], f"{where}.why", _OUTAGES)), **counts)

    def exit(self, node: Node, where: str) -> dict[str, Json]:
        if not isinstance(node.value, dict):
            self.blame(node.place, where, f"must be a mapping, not {kind_of(node)}", "write `exit: {type: NAME}`")
            return {}
        if "type" not in node.value:
            self.blame(node.place, where, "does not say which exit", "write `type: NAME` in it")
        elif not isinstance(node.value["type"].value, str):
            self.blame(node.value["type"].place, f"{where}.type", f"must be text, not {kind_of(node.value['type'])}")
        self._below(node, where)
        return cast(dict[str, Json], node.plain())

    def _below(self, node: Node, where: str) -> None:
        """The placeholders in all texts of a value."""
        match node.value:
            case dict():
                for key, each in node.value.items():
                    self._below(each, f"{where}.{key}")
            case list():
                for each in node.value:
                    self._below(each, where)
            case str():
                self.check_placeholders(node, where, node.value)
            case _:
                pass

    def word(self, node: Node, where: str, known: tuple[str, ...]) -> str:
        if node.value not in known:
            hint = suggest(str(node.value), known) or f"known are {', '.join(known)}"
            self.blame(node.place, where, f"there is no '{node.value}'", hint)
            return known[0]
        return str(node.value)


def _channel(reading: _Reading, node: Node, where: str) -> Channel:
    return cast(Channel, reading.word(node, where, CHANNELS))


def _misbehaviour(reading: _Reading, node: Node, where: str) -> Misbehaviour:
    return cast(Misbehaviour, reading.word(node, where, _MISBEHAVIOUR))


_READERS: Final[dict[str, Callable[[_Reading, Node, str], Any]]] = {
    "delay": lambda reading, node, where: float(reading.number(node, where, 0, _MAX_DELAY)),
    "say": _Reading.lines,
    "write": _Reading.contents,
    "append": _Reading.contents,
    "rename": _Reading.renames,
    "delete": _Reading.paths,
    "executable": _Reading.paths,
    "run": _Reading.commands,
    "usage": _Reading.usage,
    "outage": _Reading.outage,
    "misbehave": _misbehaviour,
    "exit": _Reading.exit,
    "channel": _channel,
    "exit_code": lambda reading, node, where: reading.whole(node, where, 0, 255),
}
