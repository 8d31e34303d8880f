"""What a project's table changes in the defaults: rows that it leaves out, and rows that a person lets begin."""

from typing import Final

from treadle.protocol.reading.source import Node

STEPS: Final = "steps"
HUMAN: Final = "requires_human"
_CONFIRM: Final = "confirm"
_NEEDS: Final = "needs"


def entries(node: Node | None) -> dict[str, Node]:
    """The entries of a mapping; none of anything else."""
    return node.value if node is not None and isinstance(node.value, dict) else {}


def rows(rules: Node) -> dict[str, Node]:
    """The rows of a table, as far as it can be read."""
    return entries(entries(rules).get(STEPS))


def asks(row: Node) -> bool:
    """Whether a row is a question to a person."""
    found = entries(row).get(HUMAN)
    return found is not None and found.value is True


def left_out(default: Node, rules: Node) -> list[str]:
    """The rows of the defaults that a project's table removes."""
    return [name for name, row in rows(rules).items() if row.value is None and name in rows(default)]


def confirmed(default: Node, rules: Node) -> Node:
    """A33: a project's table, in which `requires_human` of a row that an executor works on is `confirm`."""
    working = [name for name, row in rows(default).items() if not asks(row)]
    steps = entries(rules).get(STEPS)
    if steps is None or not isinstance(steps.value, dict) or not isinstance(rules.value, dict):
        return rules
    read = {name: _confirmed(row) if name in working else row for name, row in rows(rules).items()}
    return Node({**rules.value, STEPS: Node(read, steps.place, steps.keys)}, rules.place, rules.keys)


def _confirmed(row: Node) -> Node:
    if not isinstance(row.value, dict) or not asks(row):
        return row
    named = {_CONFIRM if key == HUMAN else key: node for key, node in row.value.items()}
    return Node(named, row.place, {_CONFIRM if key == HUMAN else key: at for key, at in row.keys.items()})


def without_needs(node: Node, names: list[str]) -> Node:
    """A step or a row without its optional needs of rows that are not there."""
    needs = entries(node).get(_NEEDS)
    if not names or not isinstance(node.value, dict) or needs is None or not isinstance(needs.value, list):
        return node
    kept = [need for need in needs.value if is_required(str(need.value)) or _source(need) not in names]
    return Node({**node.value, _NEEDS: Node(kept, needs.place)}, node.place, node.keys)


def requires(node: Node, name: str) -> bool:
    """Whether a row cannot begin without what another has left."""
    needs = entries(node).get(_NEEDS)
    found = needs.value if needs is not None and isinstance(needs.value, list) else []
    return any(_source(need) == name and is_required(str(need.value)) for need in found)


def is_required(need: str) -> bool:
    """Whether a need has no mark that it may be absent."""
    return not need.endswith(("?", "*"))


def _source(need: Node) -> str:
    return str(need.value).partition(".")[0]
