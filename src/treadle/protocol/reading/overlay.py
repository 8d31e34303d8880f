"""Overlays: a patch by path. Maps merge, anything else replaces, `null` deletes, and a new name is written `+name`."""

import re
from typing import Final, NamedTuple

from treadle.protocol.findings import Place, suggest
from treadle.protocol.reading.parse import EXIT_KEYS, RECORD_KEYS
from treadle.protocol.reading.part import Log, quote_name
from treadle.protocol.reading.yaml import Node

# Keywords of the language versus names that an author chose: `attempts` is a keyword, `impl` a name.


def is_keyword(path: tuple[str, ...], key: str) -> bool:
    """Whether a key below this path belongs to the language.

    Where only keywords can stand, any key counts as one: the strict reader knows them all and suggests the right one.
    """
    match path:
        case () | ("limits",) | ("roles" | "artifacts" | "graphs", _):
            return True
        case ("types" | "exits", _, _) | ("roles", _, "modes", _):
            return True
        case ("graphs", _, "steps" | "budgets" | "handlers" | "system", _):
            return True
        case ("graphs", _, "steps", _, "thread") | ("graphs", _, "steps", _, "routes", _):
            return True
        case ("types", _):
            return key in RECORD_KEYS
        case ("exits", _):
            return key in EXIT_KEYS
        case _:
            return False


_EXTENDS: Final = re.compile(r"(?P<name>[A-Za-z0-9_-]+)(@(?P<version>\S+))?")


class Extends(NamedTuple):
    """The protocol that an overlay changes."""

    name: str
    version: str
    place: Place


def extends(overlay: Node, log: Log) -> Extends | None:
    """Read `extends: NAME` or `NAME@VERSION`."""
    entry = overlay.entries.get("extends")
    match = _EXTENDS.fullmatch(entry.value) if entry and isinstance(entry.value, str) else None
    if match is None:
        place = entry.place if entry else overlay.place
        log.add(place, "extends", "an overlay says what it changes", "write `extends: NAME` or `extends: NAME@VERSION`")
        return None
    return Extends(match["name"], match["version"] or "", overlay.key_place("extends"))


def apply(base: Node, overlay: Node, log: Log) -> Node:
    """The base with an overlay applied; a mismatch of name or version, or a path that is not there, is an error."""
    wanted = extends(overlay, log)
    if wanted is None:
        return base
    name, version = _text(base, "protocol", "?"), _text(base, "version", "1")
    if wanted.name != name:
        log.add(wanted.place, "extends", f"this overlay is for {quote_name(wanted.name)}, not for {quote_name(name)}")
        return base
    if wanted.version and wanted.version != version:
        hint = f"check it against {name} {version}, then write `extends: {name}@{version}`"
        log.add(wanted.place, "extends", f"this overlay is for {name} {wanted.version}, and this is {version}", hint)
        return base
    return _merge(base, overlay.without("extends"), (), log)


def _text(node: Node, key: str, default: str) -> str:
    value = node.at(key).value
    return value if isinstance(value, str) else default


def _merge(base: Node, patch: Node, path: tuple[str, ...], log: Log) -> Node:
    if not isinstance(base.value, dict) or not isinstance(patch.value, dict):
        return _new(patch, ".".join(path), log)
    entries, keys = dict(base.value), dict(base.keys)
    for written, value in patch.value.items():
        key, place = written.removeprefix("+"), patch.key_place(written)
        inner = (*path, key)
        if written != key and key in entries:
            message = f"{quote_name(key)} is there already, at {entries[key].place}"
            log.add(place, ".".join(inner), message, f"write '{key}' to change it")
            continue
        # A word that the base does not use has its default there: it is set, never new, and cannot be deleted.
        is_set = value.value is not None and is_keyword(path, key)
        if written == key and key not in entries and not is_set:
            near, new = suggest(key, entries), f"write '+{key}' if it is new"
            hint = f"{near} otherwise {new}" if near else new
            log.add(place, ".".join(inner), f"there is no {quote_name(key)} to change", hint)
            continue
        if value.value is None and written == key:
            del entries[key], keys[key]
            continue
        is_known = key in entries
        entries[key] = _merge(entries[key], value, inner, log) if is_known else _new(value, ".".join(inner), log)
        keys[key] = keys.get(key, place) if isinstance(value.value, dict) and written == key else place
    return Node(entries, base.place, keys)


def _new(node: Node, path: str, log: Log) -> Node:
    """A value that replaces another or is new: it is complete in itself, so `+` has no meaning in it."""
    if isinstance(node.value, list):
        return Node([_new(item, path, log) for item in node.value], node.place)
    if not isinstance(node.value, dict):
        return node
    for key in node.value:
        if key.startswith("+"):
            hint = f"write {quote_name(key[1:])}: everything below a new value is new"
            log.add(node.key_place(key), f"{path}.{key}", f"there is no mapping to add {quote_name(key)} to", hint)
    return Node({key: _new(value, path, log) for key, value in node.value.items()}, node.place, node.keys)
