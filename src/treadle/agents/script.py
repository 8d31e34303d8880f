"""The script of a scripted agent: rules that select turns, turns that act, and the YAML parser for both."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

import msgspec

from treadle.errors import PortError, ProtocolError, TreadleError
from treadle.kernel.events import Outages, Usage
from treadle.protocol.findings import Finding, Place, suggest
from treadle.protocol.items import Json
from treadle.protocol.paths import path_fault
from treadle.protocol.reading.yaml import MAX_TEXT, Node, kind_of, read_yaml

Channel = Literal["answer", "executor-result", "handoff", "message", "code"]
CHANNELS: Final[tuple[Channel, ...]] = get_args(Channel)
Misbehaviour = Literal["", "hang", "crash", "blocked"]
CRITERIA: Final = ("role", "step", "instance", "graph", "mode", "visit", "attempt")


class ScriptedFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A service that cannot be used, the first times that an activity is issued."""

    why: Outages
    wait: int = 0
    times: int = 1


class ScriptTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One session of an agent, from its start to its answer; things happen in the order of these fields."""

    delay: float = 0.0
    say: tuple[str, ...] = ()
    write: dict[str, str] = {}
    append: dict[str, str] = {}
    rename: dict[str, str] = {}
    delete: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()
    run: tuple[tuple[str, ...], ...] = ()
    usage: Usage = Usage()
    outage: ScriptedFailure | None = None
    misbehave: Misbehaviour = ""
    exit: dict[str, Json] | None = None
    channel: Channel = "answer"
    exit_code: int = 0


class ScriptRule(msgspec.Struct, frozen=True, kw_only=True):
    """The turns for a set of activities; a missing criterion matches everything."""

    line: int
    when: dict[str, tuple[str, ...]]
    turns: tuple[ScriptTurn, ...]

    def fits(self, facts: dict[str, str]) -> bool:
        """Whether each criterion has a pattern that fits."""
        return all(
            any(fnmatchcase(facts.get(name, ""), pattern) for pattern in patterns)
            for name, patterns in self.when.items()
        )

    def turn(self, visit: int, attempt: int) -> ScriptTurn:
        """Return the turn for an attempt: each further attempt or visit uses the next one, and the last repeats."""
        return self.turns[min(visit + attempt - 2, len(self.turns) - 1)]


class AgentScript(msgspec.Struct, frozen=True):
    """A file of rules; the first that fits counts."""

    file: str
    rules: tuple[ScriptRule, ...]

    def rule(self, facts: dict[str, str]) -> ScriptRule | None:
        return next((rule for rule in self.rules if rule.fits(facts)), None)


# Placeholders such as `{spec[targetPath]}`: values of an activity's context in the texts of a script, looked up and
# never computed.

NAMES: Final = (
    "run act instance graph step role mode visit attempt max_attempts spec parameters permissions inputs".split()
)
_NAME: Final = "|".join(NAMES)
_PLACEHOLDER: Final = re.compile(rf"(\{{)?\{{({_NAME})((?:\[[^\[\]{{}}]{{1,200}}\])*)\}}(?(1)\}}|)")
_KEY: Final = re.compile(r"\[([^\[\]]+)\]")
_BROKEN: Final = re.compile(rf"\{{({_NAME})(\[[^\]}}]*|\[\]|\.[\w.]+|\[[^\]]*\]\.[\w.]+)\}}")


def placeholder_faults(text: str) -> Iterator[tuple[str, str]]:
    """Yield a message and a fix for each text that looks like a placeholder but is none."""
    for found in _BROKEN.finditer(text):
        yield (
            f"'{found[0]}' is not a placeholder",
            f"write `{{{found[1]}[name]}}`, one pair of brackets for each step down",
        )


def fill(value: Json, context: Mapping[str, Json]) -> Json:
    """Fill the placeholders of a value; a text that is nothing but a placeholder becomes the value itself."""
    match value:
        case str():
            whole = _PLACEHOLDER.fullmatch(value)
            return look_up(context, whole[2], whole[3]) if whole and not whole[1] else fill_text(value, context)
        case list():
            return [fill(each, context) for each in value]
        case dict():
            return {fill_text(key, context): fill(each, context) for key, each in value.items()}
        case _:
            return value


def fill_text(text: str, context: Mapping[str, Json]) -> str:
    """Fill in the placeholders of a text; values that are no text are written as JSON."""

    def filled(found: re.Match[str]) -> str:
        if found[1]:
            return f"{{{found[2]}{found[3]}}}"
        value = look_up(context, found[2], found[3])
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return _PLACEHOLDER.sub(filled, text)


def look_up(context: Mapping[str, Json], name: str, keys: str) -> Json:
    """Return the value that a name and its keys lead to, or raise a `PortError` that names the missing one."""
    if name not in context:
        raise PortError(
            f"the placeholder '{{{name}{keys}}}' finds no '{name}' in the context of this activity",
            code="agent.placeholder",
        )
    value, way = context[name], name
    for key in _KEY.findall(keys):
        value = _step(value, key, way)
        way += f"[{key}]"
    return value


def _step(value: Json, key: str, way: str) -> Json:
    if isinstance(value, dict) and key in value:
        return value[key]
    if isinstance(value, list) and key.isascii() and key.isdecimal() and len(key) < 9 and int(key) < len(value):
        return value[int(key)]
    if isinstance(value, dict):
        hint = suggest(key, value) or f"choose from {', '.join(sorted(value)[:20])}"
    else:
        hint = f"it is a list of {len(value)}, counted from 0" if isinstance(value, list) else "it has nothing below it"
    raise PortError(f"the placeholder '{{{way}[{key}]}}' finds no '{key}' in {way} ({hint})", code="agent.placeholder")


# Parsing a script from YAML: all faults are found at once, each with its line.

_TURNS: Final = "turns"
_USAGE: Final = ("tokens_in", "tokens_out", "cached", "cost")


def load_script(path: Path) -> AgentScript:
    """Load a script from a file, or raise a `TreadleError` with all its faults."""
    return read_script(script_text(path), str(path))


def script_text(path: Path) -> str:
    """Return the text of a script, for agents or for a scripted model."""
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


def read_script(text: str, file: str) -> AgentScript:
    """Parse the script in a text."""
    reading = _ScriptReader()
    script = reading.script(read_yaml(text, file), file)
    if reading.findings:
        found = sorted(reading.findings, key=lambda finding: finding.place)
        raise ProtocolError(f"{file} is not a script for an agent", tuple(found), code="script.invalid")
    return script


class _ScriptReader:
    """Parses a script and collects all faults instead of stopping at the first."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def blame(self, place: Place, where: str, message: str, hint: str = "") -> None:
        self.findings.append(Finding(place, where, message, hint, code="script.invalid"))

    def script(self, node: Node, file: str) -> AgentScript:
        top = self.mapping(node, "", ("agents",))
        if "agents" not in top:
            self.blame(node.place, "", "there is no 'agents'", "write `agents:` and below it a list of rules")
            return AgentScript(file, ())
        rules = [self.rule(each, f"agents[{at}]") for at, each in enumerate(self.items(top["agents"], "agents"))]
        if not rules:
            self.blame(top["agents"].place, "agents", "there is no rule", "write `- step: NAME` and `turns:`")
        return AgentScript(file, tuple(rules))

    def rule(self, node: Node, where: str) -> ScriptRule:
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
        return ScriptRule(line=node.place.line, when=when, turns=turns)

    def turn(self, node: Node, where: str) -> ScriptTurn:
        found: dict[str, Any] = {}
        for name, part in self.mapping(node, where, ScriptTurn.__struct_fields__).items():
            at = f"{where}.{name}"
            match name:
                case "delay":
                    found[name] = float(self.number(part, at, 0, 86_400))
                case "say":
                    found[name] = tuple(self.text(each, at) for each in _one_or_more(part))
                case "write" | "append":
                    found[name] = {file: self.text(it, f"{at}.{file}") for file, it in self.files(part, at).items()}
                case "rename":
                    found[name] = {file: self.path(it, f"{at}.{file}") for file, it in self.files(part, at).items()}
                case "delete" | "executable":
                    found[name] = tuple(self.path(each, at) for each in _one_or_more(part))
                case "run":
                    commands = enumerate(self.items(part, at))
                    found[name] = tuple(self.command(each, f"{at}[{number}]") for number, each in commands)
                case "usage":
                    found[name] = self.usage(part, at)
                case "outage":
                    found[name] = self.outage(part, at)
                case "misbehave":
                    found[name] = self.word(part, at, ("hang", "crash", "blocked"))
                case "exit":
                    found[name] = self.exit(part, at)
                case "channel":
                    found[name] = self.word(part, at, CHANNELS)
                case "exit_code":
                    found[name] = self.whole(part, at, 0, 255)
        return ScriptTurn(**found)

    def mapping(self, node: Node, where: str, known: Iterable[str]) -> dict[str, Node]:
        """Return the known entries; report the others with a suggestion."""
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
        for message, hint in placeholder_faults(text):
            self.blame(node.place, where, message, hint)

    def path(self, node: Node, where: str, text: str | None = None, place: Place | None = None) -> str:
        found = self.text(node, where) if text is None else text
        # With a placeholder in it, it can be judged only when it is played.
        fault = "" if not found or "{" in found else path_fault(found)
        if fault:
            self.blame(place or node.place, where, f"the path '{found[:80]}' {fault}")
        return found

    def patterns(self, node: Node, where: str) -> tuple[str, ...]:
        found: list[str] = []
        for each in _one_or_more(node):
            if isinstance(each.value, str) or (isinstance(each.value, int) and not isinstance(each.value, bool)):
                found.append(str(each.value))
            else:
                self.blame(each.place, where, f"must be a pattern such as `root/*`, not {kind_of(each)}")
        if node.value == []:
            self.blame(node.place, where, "an empty list matches nothing", "leave it out to match everything")
        return tuple(found)

    def files(self, node: Node, where: str) -> dict[str, Node]:
        """Return the entries of a mapping with paths as keys."""
        if not isinstance(node.value, dict):
            self.blame(node.place, where, f"must be a mapping, not {kind_of(node)}", "write `path: …`")
            return {}
        for name in node.value:
            self.check_placeholders(Node(name, node.key_place(name)), where, name)
            self.path(node, where, name, node.key_place(name))
        return node.value

    def command(self, node: Node, where: str) -> tuple[str, ...]:
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
        """Return the usage of a turn; without a cost, its price is unknown."""
        parts = self.mapping(node, where, _USAGE)
        counts = {name: self.whole(parts[name], f"{where}.{name}", 0, 10**12) for name in _USAGE[:3] if name in parts}
        if "cost" in parts:
            return Usage(cost=float(self.number(parts["cost"], f"{where}.cost", 0, 1e9)), **counts)
        return Usage(unpriced=counts.get("tokens_in", 0) + counts.get("tokens_out", 0), **counts)

    def outage(self, node: Node, where: str) -> ScriptedFailure | None:
        parts = self.mapping(node, where, ("why", "wait", "times"))
        if "why" not in parts:
            self.blame(node.place, where, "does not say which outage", "write `why: rate` in it")
            return None
        given = {name: part for name, part in parts.items() if name != "why"}
        counts = {name: self.whole(part, f"{where}.{name}", 0, 10**6) for name, part in given.items()}
        return ScriptedFailure(why=cast(Outages, self.word(parts["why"], f"{where}.why", get_args(Outages))), **counts)

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


def _one_or_more(node: Node) -> list[Node]:
    """Return the nodes of a list; a single value counts as a list of one."""
    return node.value if isinstance(node.value, list) else [node]
