"""Step rules: a project's table laid over the defaults, compiled, and woven into a protocol."""

from treadle.protocol.findings import suggest
from treadle.protocol.reading.part import quoted
from treadle.protocol.reading.source import Node, fail
from treadle.protocol.rules.graph import compile_rules
from treadle.protocol.rules.team import compile_team

__all__ = ["compile_rules", "compile_team", "merge_rules", "weave"]


def merge_rules(default: Node, override: Node) -> Node:
    """A project's table over the defaults: mappings merge, anything else replaces, nothing (`null`) removes."""
    return _merge(_one_default(default), _one_default(override))


def weave(base: Node, addition: Node, path: str = "") -> Node:
    """Put a part into a tree that has room for it: names of roles and graphs must be there, values must not."""
    if not isinstance(base.value, dict) or not isinstance(addition.value, dict):
        fail(
            addition.place,
            f"{quoted(path)} is also at {base.place}",
            "leave one of them out",
            code="protocol.malformed",
        )
    entries, keys = dict(base.value), dict(base.keys)
    for key, node in addition.value.items():
        inner = f"{path}.{key}".lstrip(".")
        if key in entries:
            entries[key] = weave(entries[key], node, inner)
        elif path in ("roles", "graphs"):
            hint = suggest(key, entries) or f"known: {', '.join(entries)}"
            fail(node.place, f"the protocol has no {path[:-1]} {quoted(key)}", hint, code="protocol.malformed")
        else:
            entries[key], keys[key] = node, addition.key_place(key)
    return Node(entries, base.place, keys)


def _merge(base: Node, patch: Node) -> Node:
    if not isinstance(base.value, dict) or not isinstance(patch.value, dict):
        return patch
    entries, keys = dict(base.value), dict(base.keys)
    for key, node in patch.value.items():
        if node.value is None:
            entries.pop(key, None)
            keys.pop(key, None)
        else:
            entries[key] = _merge(entries[key], node) if key in entries else node
            keys[key] = patch.key_place(key)
    return Node(entries, base.place, keys)


def _one_default(rules: Node) -> Node:
    """`next_on_fail` written as `on_fail.default`, so that a project's word for it replaces the other one."""
    steps = rules.value.get("steps") if isinstance(rules.value, dict) else None
    if steps is None or not isinstance(steps.value, dict) or not isinstance(rules.value, dict):
        return rules
    rewritten = Node({name: _rewritten(step) for name, step in steps.value.items()}, steps.place, steps.keys)
    return Node({**rules.value, "steps": rewritten}, rules.place, rules.keys)


def _rewritten(step: Node) -> Node:
    if not isinstance(step.value, dict) or "next_on_fail" not in step.value:
        return step
    table = step.value.get("on_fail")
    if table is not None and (not isinstance(table.value, dict) or "default" in table.value):
        return step  # read_rules says what is wrong with it
    target, place = step.value["next_on_fail"], step.key_place("next_on_fail")
    rows = table.value if table is not None and isinstance(table.value, dict) else {}
    on_fail = Node({**rows, "default": target}, place, {**(table.keys if table else {}), "default": place})
    entries = {key: node for key, node in step.value.items() if key not in ("next_on_fail", "on_fail")}
    keys = {key: at for key, at in step.keys.items() if key != "next_on_fail"}
    return Node({**entries, "on_fail": on_fail}, step.place, {**keys, "on_fail": place})
