"""The short form of an edge table: gates are no longer told apart by caller, nor steps by their system exits."""

from collections import Counter
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from treadle.protocol.drawing.row import ANY_STEP, BACK, SELF, Row
from treadle.protocol.model import base_of, target


def merge_clones(rows: list[Row]) -> list[Row]:
    """Rows of `stuck@impl` and `stuck@review` become rows of `stuck`; those that lead to each caller lead `@back`."""
    back = _back_keys(rows)
    merged: dict[Row, None] = {}
    for found in rows:
        to = BACK if (base_of(found.step), found.exit) in back and _leads_back(found) else _plain(found.to)
        to = SELF if to == base_of(found.step) else to
        merged[replace(found, step=base_of(found.step), to=to, then=_plain(found.then))] = None
    return list(merged)


def _back_keys(rows: list[Row]) -> set[tuple[str, str]]:
    cloned = [found for found in rows if "@" in found.step]
    callers = Counter(base_of(step) for step in {found.step for found in cloned})
    leads: dict[tuple[str, str], list[bool]] = {}
    for found in cloned:
        leads.setdefault((base_of(found.step), found.exit), []).append(_leads_back(found))
    return {place for place, back in leads.items() if all(back) and callers[place[0]] > 1}


def _leads_back(found: Row) -> bool:
    caller = found.step.partition("@")[2]
    return found.to in (caller, f"@{caller}")


def _plain(to: str) -> str:
    """A target without the caller a gate was cloned for: `stuck@impl` → `stuck`."""
    return to if target(to).kind in ("end", "resume") or to == SELF else base_of(to)


def merge_system(rows: list[Row]) -> list[Row]:
    """One row `*` for what most steps do after a system exit, and the rows of the steps that do otherwise."""
    rules = {place: tuple(map(_as_rule, found)) for place, found in _by(rows, lambda it: (it.step, it.exit)).items()}
    common = _common(rules)
    known = len({key for _, key in rules})
    here: dict[tuple[str, tuple[Row, ...]], list[str]] = {}
    for (step, key), rule in rules.items():
        place = ANY_STEP if _is_retry(rule) or rule == common.get(key) else step
        keys = here.setdefault((place, rule), [])
        if key not in keys:
            keys.append(key)
    first = {found.step: found for found in reversed(rows)}
    return [
        _placed(first.get(step), step, _joined(keys, known), found)
        for (step, rule), keys in here.items()
        for found in rule
    ]


def _joined(keys: list[str], known: int) -> str:
    return "!*" if 1 < known == len(keys) else " ".join(keys)


def _as_rule(found: Row) -> Row:
    """The row without the step it belongs to, for comparing what different steps do."""
    bare = replace(found, step="", kind="system", who="", symbol="", wait=(), gates=(), exit="")
    return (
        replace(bare, max=0, then="")
        if found.to == SELF
        else replace(bare, to=_plain(found.to), then=_plain(found.then))
    )


def _is_retry(rule: tuple[Row, ...]) -> bool:
    return len(rule) == 1 and rule[0].to == SELF and not rule[0].charge


def _common(rules: dict[tuple[str, str], tuple[Row, ...]]) -> dict[str, tuple[Row, ...]]:
    """For each exit what most steps do that do not try again; fewer are enough if they do what is usual."""
    acting = {place: rule for place, rule in rules.items() if not _is_retry(rule)}
    usual = [rule for rule, count in Counter(acting.values()).most_common(1) if count > 1]
    found: dict[str, tuple[Row, ...]] = {}
    for key in dict.fromkeys(key for _, key in acting):
        its = [rule for (_, its_key), rule in acting.items() if its_key == key]
        rule, count = Counter(its).most_common(1)[0]
        if rule in usual or 1 < count > len(its) / 2:
            found[key] = rule
    return found


def _placed(origin: Row | None, step: str, exits: str, rule: Row) -> Row:
    if origin is None:
        return replace(rule, step=step, exit=exits)
    kept = {"kind": origin.kind, "who": origin.who, "symbol": origin.symbol, "wait": origin.wait}
    return replace(rule, step=step, exit=exits, **kept)


def _by(rows: Iterable[Row], place: Callable[[Row], tuple[str, str]]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for it in rows:
        found.setdefault(place(it), []).append(it)
    return found
