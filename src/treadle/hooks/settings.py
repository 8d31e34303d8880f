"""The hooks in a program's settings: add, remove and find ours; everything else stays unchanged."""

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from treadle.errors import TreadleError
from treadle.results.intake import Faulty, parse

# Edit one member of a settings text; all others keep their exact text.

_HOOKS: Final = "hooks"
_OURS: Final = "treadle"
_SPACE: Final = re.compile(r"\s*")
_FIRST: Final = re.compile(r"\{[ \t]*\r?\n([ \t]+)")


def format_settings(settings: dict[str, Any], before: str) -> str:
    """Format the settings as the text that was there before, with only the hooks changed, added or removed.

    Where that is impossible, format the settings as a whole.
    """
    indent = found[1] if (found := _FIRST.search(before)) else "  "
    text = _with_member(before, settings, _HOOKS, indent)
    try:
        if list(json.loads(text).items()) == list(settings.items()):
            return text
    except (ValueError, AttributeError):
        pass
    return json.dumps(settings, indent=indent, ensure_ascii=False) + "\n"


def _with_member(before: str, settings: dict[str, Any], name: str, indent: str) -> str:
    spans = _spans(before)
    others = [span for key, span in spans.items() if key != name]
    if not others:
        return ""
    start, end = spans.get(name, (0, 0))
    if name in settings:
        member = json.dumps({name: settings[name]}, indent=indent, ensure_ascii=False)[2:-2].removeprefix(indent)
        if end:
            return before[:start] + member + before[end:]
        last = max(stop for _, stop in others)
        return f"{before[:last]},\n{indent}{member}{before[last:]}"
    if not end:
        return before
    # With the member goes the comma that set it apart: the one before it, or, of the first member, the one after it.
    head, rest = before[:start].rstrip(), before[end:]
    if head.endswith(","):
        return head[:-1] + rest
    return before[:start] + rest.lstrip().removeprefix(",").lstrip()


def _spans(text: str) -> dict[str, tuple[int, int]]:
    """Return where each member of an object begins and ends; empty if the text is no object."""
    decoder, found = json.JSONDecoder(), dict[str, tuple[int, int]]()
    at = _after_space(text, 0)
    while at < len(text) and text[at] in "{,":
        start = _after_space(text, at + 1)
        try:
            key, colon = decoder.raw_decode(text, start)
            _, end = decoder.raw_decode(text, _after_space(text, _after_space(text, colon) + 1))
        except ValueError:
            return {}
        found[str(key)] = (start, end)
        at = _after_space(text, end)
    return found


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def read_settings(text: str, file: str) -> dict[str, Any]:
    """Parse the settings in a text; an empty text has none."""
    if not text.strip():
        return {}
    value = parse(text.removeprefix("\ufeff"), file)
    if isinstance(value, Faulty):
        raise TreadleError(f"{value.problems[0]}; nothing was changed", code="hook.settings")
    if not isinstance(value, dict):
        _refuse(file, "the settings", "an object")
    return value


def with_hook(settings: dict[str, Any], file: str, events: Iterable[str], command: str, timeout: int) -> dict[str, Any]:
    """Return the settings with our hook once for each event; it replaces the hook of an earlier treadle."""
    ours = {"type": "command", "command": command, "timeout": timeout}
    hooks = dict(_events(settings, file))
    for event in events:
        groups = _groups(hooks, event, file)
        if [hook for group in groups for hook in _handlers(group, event, file) if is_ours(hook)] != [ours]:
            hooks[event] = [*_without_ours(groups, event, file), {_HOOKS: [ours]}]
    return {**settings, _HOOKS: hooks}


def without_hook(settings: dict[str, Any], file: str) -> dict[str, Any]:
    """Return the settings without our hook, and without the containers that it leaves empty."""
    if _HOOKS not in settings:
        return settings
    hooks = dict(_events(settings, file))
    for event in list(hooks):
        groups = _groups(hooks, event, file)
        left = _without_ours(groups, event, file)
        if left:
            hooks[event] = left
        elif groups:
            del hooks[event]
    rest = {name: value for name, value in settings.items() if name != _HOOKS}
    return {**settings, _HOOKS: hooks} if hooks or not settings[_HOOKS] else rest


def hook_commands(settings: dict[str, Any], file: str) -> dict[str, str]:
    """Event → the command of our hook there."""
    hooks = _events(settings, file)
    found = {
        event: [it for group in _groups(hooks, event, file) for it in _handlers(group, event, file)] for event in hooks
    }
    return {event: str(it["command"]) for event, handlers in found.items() for it in handlers if is_ours(it)}


def is_ours(hook: object) -> bool:
    """Whether a handler is `treadle hook`, however it is started."""
    command = hook.get("command") if isinstance(hook, dict) else None
    words = command.split() if isinstance(command, str) else []
    words = [word.strip("'\"") for word in words if word != "--legacy"]
    return words[-1:] == ["hook"] and len(words) > 1 and words[-2].rpartition("/")[2] == _OURS


def _without_ours(groups: list[Any], event: str, file: str) -> list[Any]:
    found = []
    for group in groups:
        handlers = _handlers(group, event, file)
        left = [hook for hook in handlers if not is_ours(hook)]
        if len(left) == len(handlers):
            found.append(group)
        elif left:
            found.append({**group, _HOOKS: left})
    return found


def _events(settings: dict[str, Any], file: str) -> dict[str, Any]:
    hooks = settings.get(_HOOKS, {})
    if not isinstance(hooks, dict):
        _refuse(file, "`hooks`", "an object")
    return hooks


def _groups(hooks: dict[str, Any], event: str, file: str) -> list[Any]:
    groups = hooks.get(event, [])
    if not isinstance(groups, list):
        _refuse(file, f"`hooks.{event}`", "a list")
    return groups


def _handlers(group: object, event: str, file: str) -> list[Any]:
    handlers = group.get(_HOOKS, []) if isinstance(group, dict) else None
    if not isinstance(handlers, list):
        _refuse(file, f"an entry of `hooks.{event}`", "an object with a list `hooks`")
    return handlers


def _refuse(file: str, what: str, wanted: str) -> NoReturn:
    raise TreadleError(
        f"{file}: {what} must be {wanted}; correct it, then try again; nothing was changed", code="hook.settings"
    )
