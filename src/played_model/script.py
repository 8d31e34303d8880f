"""Scripts of the model: named lists of steps, one step for each turn of the model."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

StopReason = Literal["", "end_turn", "tool_use", "max_tokens", "refusal"]
Misbehaviour = Literal["", "hang", "cut"]
Count = Annotated[int, Meta(ge=0)]
Part = TypeVar("Part")


class Tokens(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reported usage of an answer; no token counts twice."""

    tokens_in: Count = 1000
    """Input tokens, without those read from a cache or written to one."""
    tokens_out: Count = 50
    cache_read: Count = 0
    cache_write: Count = 0
    reasoning: Count = 0
    """The part of the output tokens that were thoughts."""


class ScriptedCall(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"tools": "tool", "arguments": "with"}
):
    """A call of the first tool among several that the client offers."""

    tools: Annotated[tuple[str, ...], Meta(min_length=1)]
    """Names or patterns, the preferred one first."""
    arguments: dict[str, Any] = {}
    input: str | None = None
    """The input for a tool without a schema."""
    unoffered: bool = False
    """Whether the first name is called even if the client offers none of them."""

    def __post_init__(self) -> None:
        if self.unoffered and set(self.tools[0]) & set("*?["):
            raise ValueError("a pattern cannot be called; with `unoffered`, write a whole name first")


class ModelFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer with a status that is no success."""

    status: Annotated[int, Meta(ge=400, le=599)]
    times: Annotated[int, Meta(ge=1)] = 0
    """How often, before the step is played; 0, the default: always."""
    message: str = ""
    type: str = ""
    """In place of the word that the wire format has for the status."""
    headers: dict[Annotated[str, Meta(pattern="^[A-Za-z0-9-]{1,80}$")], Annotated[str, Meta(pattern="^[ -~]*$")]] = {}
    body: dict[str, Any] | None = None
    """In place of the wire format's own."""


class ModelStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"calls": "call"}):
    """One turn of the model."""

    say: str = ""
    calls: tuple[tuple[ScriptedCall, ...], ...] = ()
    """Calls, each as a list of alternatives; the first alternative with an offered tool is used."""
    fail: ModelFailure | None = None
    sleep: Annotated[float, Meta(ge=0, le=3600)] = 0.0
    misbehave: Misbehaviour = ""
    usage: Tokens | None = None
    """None: estimated from the lengths of request and answer."""
    stop_reason: StopReason = ""


class Script(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The turns of a conversation, from the prompt that names the script on."""

    steps: tuple[ModelStep, ...]
    when: tuple[str, ...] = ()
    """A prompt that has all of these texts names the script too."""
    find: dict[str, str] = {}
    """Regular expressions by name: the last match in the request replaces `{name}`."""

    @property
    def calls_tools(self) -> bool:
        return any(step.calls for step in self.steps)

    def __post_init__(self) -> None:
        for name, pattern in self.find.items():
            try:
                groups = re.compile(pattern).groups
            except re.error as error:
                raise ValueError(f"find.{name} is no regular expression: {error}") from None
            if groups != 1:
                raise ValueError(f"find.{name} must have one group, such as `Directory: (\\S+)`")


class Library(Protocol):
    """Where scripts come from."""

    @property
    def names(self) -> tuple[str, ...]:
        """The scripts that a prompt may name."""
        ...

    def named_by(self, text: str, current: str) -> str:
        """The script that a prompt names; empty if it names none, and the current one goes on."""
        ...

    def script(self, name: str) -> Script | None: ...


_MARKER: Final = re.compile(r"\[\[script:\s*([^\[\]\s]{1,80})\s*\]\]")


class Scripts(msgspec.Struct, frozen=True):
    """A file of scripts."""

    scripts: dict[str, Script]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.scripts)

    def named_by(self, text: str, current: str) -> str:  # noqa: ARG002
        """Return the script that a prompt names, by a marker or by its texts; empty if it names none."""
        if marked := _MARKER.findall(text):
            return str(marked[-1])
        fits = (name for name, it in self.scripts.items() if it.when and all(part in text for part in it.when))
        return next(fits, "")

    def script(self, name: str) -> Script | None:
        return self.scripts.get(name)


def suggest(word: str, known: Sequence[str]) -> str:
    """`did you mean 'say'?` if a known word is similar, else nothing."""
    near = get_close_matches(word[:100], known, n=1)
    return f"did you mean '{near[0]}'?" if near else ""


# Reading scripts from YAML.


class ScriptMistake(msgspec.Struct, frozen=True):
    """A mistake in a file of scripts."""

    line: int
    path: str
    """Keys and numbers from the top, such as `scripts.hello.0.call`."""
    message: str


class ScriptError(ValueError):
    """A file that holds no scripts, with all its mistakes."""

    def __init__(self, file: str, mistakes: Sequence[ScriptMistake]) -> None:
        self.mistakes = tuple(sorted(mistakes, key=lambda it: it.line))
        super().__init__("\n".join(f"{file}:{it.line}: {it.path}: {it.message}" for it in self.mistakes))


def read_scripts(text: str, file: str) -> Scripts:
    """Parse a file of scripts; raise a `ScriptError` that names the mistakes of every script, step and call."""
    yaml = YAML(typ="safe", pure=True)
    try:
        tree = yaml.compose(text)
        top = yaml.constructor.construct_document(tree) if tree else None
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it cannot be read"
        raise ScriptError(file, [ScriptMistake(mark.line + 1 if mark else 1, "", f"no YAML: {problem}")]) from None

    reader = _ModelScriptReader(tree)
    given = top.get("scripts") if isinstance(top, dict) and set(top) == {"scripts"} else None
    if not isinstance(given, dict) or not given:
        reader.blame("", "write `scripts:`, nothing else beside it, and below it `NAME:` with a list of steps")
        raise ScriptError(file, reader.mistakes)
    scripts = {name: reader.script(part, f"scripts.{name}") for name, part in given.items()}
    if reader.mistakes:
        raise ScriptError(file, reader.mistakes)
    return Scripts({name: script for name, script in scripts.items() if script})


class _ModelScriptReader:
    """Converts scripts, steps and calls each by itself: one mistake hides only what stands in the same one.

    Before that it writes the short forms out: `tool: Read` for `tool: [Read]`, `fail: 401` for `fail: {status: 401}`.
    """

    def __init__(self, tree: Node | None) -> None:
        self.tree = tree
        self.mistakes: list[ScriptMistake] = []

    def script(self, given: Any, path: str) -> Script | None:
        if not re.fullmatch(r"scripts\.[A-Za-z0-9_-]{1,80}", path):
            self.blame(path, "is no name; use ASCII letters, digits, _ and -")
        parts = dict(given) if isinstance(given, dict) else {"steps": given}
        steps = parts.get("steps")
        if not isinstance(steps, list) or not steps:
            self.blame(path, "write the steps as a list with at least one, such as `- say: Done.`")
            return None
        below = f"{path}.steps" if isinstance(given, dict) else path
        parts["steps"] = [step for at, one in enumerate(steps) if (step := self.step(one, f"{below}.{at}"))]
        if isinstance(parts.get("when"), str):
            parts["when"] = [parts["when"]]
        return self.convert(parts, Script, path)

    def step(self, given: Any, path: str) -> ModelStep | None:
        if not isinstance(given, dict):
            return self.convert(given, ModelStep, path)
        parts = dict(given)
        if "call" in parts:
            calls = parts["call"]
            where = [f"{path}.call.{at}" for at in range(len(calls))] if isinstance(calls, list) else [f"{path}.call"]
            calls = calls if isinstance(calls, list) else [calls]
            parts["call"] = [self.alternatives(*each) for each in zip(calls, where, strict=True)]
        if isinstance(parts.get("fail"), int):
            parts["fail"] = {"status": parts["fail"]}
        elif isinstance(parts.get("fail"), dict) and isinstance(parts["fail"].get("headers"), dict):
            headers = parts["fail"]["headers"].items()
            texts = {name: str(value) if type(value) is int else value for name, value in headers}
            parts["fail"] = {**parts["fail"], "headers": texts}
        return self.convert(parts, ModelStep, path)

    def alternatives(self, given: Any, path: str) -> list[ScriptedCall]:
        calls, where = [given], [path]
        if isinstance(given, dict) and "first" in given:
            calls = given["first"] if isinstance(given["first"], list) else [given["first"]]
            where = [f"{path}.first.{at}" for at in range(len(calls))]
            if not calls or len(given) > 1:
                self.blame(path, "`first` stands alone and lists at least one call: `first: [{tool: NAME}]`")
        for at, call in enumerate(calls):
            if isinstance(call, dict) and isinstance(call.get("tool"), str):
                calls[at] = {**call, "tool": [call["tool"]]}
            if isinstance(call, dict) and {"with", "input"} <= call.keys():
                self.blame(where[at], "has both 'with', for a tool with a schema, and 'input', for one without")
        return [call for each, at in zip(calls, where, strict=True) if (call := self.convert(each, ScriptedCall, at))]

    def convert(self, given: Any, kind: type[Part], path: str) -> Part | None:
        try:
            return msgspec.convert(given, kind)
        except msgspec.ValidationError as error:
            message, _, place = str(error).partition(" - at ")
            below = re.sub(r"^.*?\$|`$", "", place).replace("[...]", "").replace("[", ".").replace("]", "")
            if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", message):
                holder: Any = {".usage": Tokens, ".fail": ModelFailure}.get(below, kind)
                known = [field.encode_name for field in msgspec.structs.fields(holder)]
                hint = suggest(unknown[1], known) or f"known here: {', '.join(known)}"
                message = f"unknown key '{unknown[1]}' ({hint})"
            self.blame(path + below, f"{message[:1].lower()}{message[1:]}")
        return None

    def blame(self, path: str, message: str) -> None:
        """Note a mistake, with the line of the deepest part of the path that the file has."""
        node, line = self.tree, 1
        for word in filter(None, path.split(".")):
            line = node.start_mark.line + 1 if node else 1
            if isinstance(node, SequenceNode) and word.isdigit() and int(word) < len(node.value):
                node = node.value[int(word)]
                line = node.start_mark.line + 1
            elif isinstance(node, MappingNode) and (found := [pair for pair in node.value if pair[0].value == word]):
                line, node = found[0][0].start_mark.line + 1, found[0][1]
            else:
                break
        self.mistakes.append(ScriptMistake(line, path, message))
