"""Which checks and write scopes a row of the rules table stands for."""

from collections.abc import Iterator
from typing import Any

from treadle.protocol.catalogue import RECORDS, REQUIRED
from treadle.protocol.model import CheckRef
from treadle.protocol.reading.notation import checks
from treadle.protocol.reading.part import Log, Part
from treadle.protocol.reading.source import Node
from treadle.protocol.rules.table import Rule, RuleTable


def bounds(writes: tuple[str, ...], gates: Node | None, *scopes: str) -> list[str]:
    """The checks that follow from what may be written, as far as the row does not name them itself."""
    named = set(check_names(gates))
    recorded = () if named & RECORDS else ("commit_once" if writes and not _finds(gates) else "checkpoint",)
    return [name for name in (*recorded, *(scopes if writes else ("readonly",))) if name not in named]


def _finds(gates: Node | None) -> bool:
    """Whether a check finds what the row is to write, so that what is there and right may stay as it is."""
    return any(ref.name == "schema" and ref.arg in REQUIRED and not ref.advisory for ref in _refs(gates))


def bounds_of(rule: Rule) -> list[str]:
    """Those of a pass of this row."""
    return bounds((*rule.writes, *rule.amends), rule.gates.get("pass"), "scope")


def enforced(rule: Rule) -> set[str]:
    """The checks that can refuse a pass of this row."""
    named = check_names(rule.gates.get("pass"), advice=False)
    return {*bounds_of(rule), *named, *(["post_check"] if rule.post_check else [])}


def writable(writes: tuple[str, ...], gates: Node | None, table: RuleTable) -> tuple[str, ...]:
    """X10: who may not change tests may not write them either, even where a glob such as `*.go` would match one."""
    if "tests_unmodified" not in check_names(gates) or not any("*" in glob for glob in writes):
        return writes
    authors = [rule for rule in table.steps.values() if {"red", "red_one"} & set(check_names(rule.gates.get("pass")))]
    return tuple(
        dict.fromkeys((*writes, *(glob for rule in authors for glob in excluded((*rule.writes, *rule.amends)))))
    )


def excluded(globs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"!{glob}" for glob in globs if not glob.startswith("!"))


def post_check(rule: Rule) -> list[Any]:
    return [{"check": "post_check", "arg": rule.post_check}] if rule.post_check else []


def check_names(gates: Node | None, advice: bool = True) -> Iterator[str]:
    """The names of the checks, without arguments and marks; those that only advise as well, unless told otherwise."""
    yield from (ref.name for ref in _refs(gates) if advice or not ref.advisory)


def _refs(gates: Node | None) -> tuple[CheckRef, ...]:
    """The checks as they will be read; what is wrong with them is told when they are."""
    return checks(Part(gates, "gates", "", Log())) if gates else ()


def listed(gates: Node | None) -> list[Node]:
    """Checks as a list, however they are written; what is neither text nor a list is left to the loader."""
    if gates is None or gates.value is None:
        return []
    return list(gates.value) if isinstance(gates.value, list) else [gates]
