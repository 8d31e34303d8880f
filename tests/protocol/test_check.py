"""The checker as a whole: clean protocols are clean, and no protocol, however broken, makes it stumble."""

import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.protocol.checks.planted import batch, bugfix, change, put, to, tree
from treadle.protocol.check import CHECKS, FINER, check
from treadle.protocol.findings import Place
from treadle.protocol.load import BUILT_IN, START, available, load_source
from treadle.protocol.model import Graph, Protocol, Record, Route, Step

CLEAN = [bugfix(), tree(), batch()]
SHIPPED = [*available(), str(BUILT_IN / START)]


@pytest.mark.parametrize("protocol", CLEAN, ids=lambda protocol: protocol.name)
def test_a_clean_protocol_has_no_findings(protocol: Protocol) -> None:
    assert check(protocol) == []


@pytest.mark.parametrize("name", SHIPPED, ids=lambda name: name.rpartition("/")[2])
def test_a_shipped_protocol_has_no_findings(name: str) -> None:
    loaded = load_source(name)
    assert [str(finding) for finding in check(loaded.protocol, loaded.place_of)] == []


def test_findings_come_in_the_order_of_the_checks() -> None:
    broken = change(
        change(tree(), "graphs.node", handlers={}, ok={}), "graphs.node.steps.plan", attempts=0, exits=("X",)
    )
    numbers = [finding.check for finding in check(broken)]
    assert len(set(numbers)) > 4
    assert numbers == sorted(numbers)


def test_every_check_has_a_number_in_its_docstring() -> None:
    numbers = [int((prove.__doc__ or "0.").partition(".")[0]) for prove in (*CHECKS.values(), *FINER.values())]
    assert set(numbers) == set(range(1, 24))


def test_a_finding_stands_at_the_row_it_is_about() -> None:
    protocol = put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("reviwe"))
    [finding] = check(protocol, Place)
    assert (finding.place.file, finding.code) == ("graphs.main.steps.fix.routes.Fixed", "protocol.unknown_target")


def test_a_finding_about_a_clone_has_the_place_of_its_original() -> None:
    human = bugfix().graphs["main"].steps["human"]
    cloned = put(bugfix(), "graphs.main.steps", "human@fix", human)
    places = {finding.place.file for finding in check(cloned, Place)}
    assert places == {"graphs.main.steps.human"}


def test_an_empty_protocol_has_one_finding_its_missing_root() -> None:
    [finding] = check(Protocol(name="empty", version="1", root="main"))
    assert (finding.code, "'main'" in finding.message) == ("protocol.undeclared", True)


@pytest.mark.parametrize(
    "protocol",
    [
        Protocol(name="p", version="1", root="g", graphs={"g": Graph(start="x", ends={}, steps={})}),
        Protocol(
            name="p", version="1", root="g", graphs={"g": Graph(start="a", ends={}, steps={"a": Step(kind="map")})}
        ),
        Protocol(
            name="p",
            version="1",
            root="g",
            types={"T": Record(fields={})},
            graphs={"g": Graph(start="a", ends={}, steps={"a": Step(kind="agent", exits=("X",), routes={"X": ()})})},
        ),
        Protocol(
            name="p",
            version="1",
            root="g",
            graphs={
                "g": Graph(
                    start="a",
                    ends={"": ()},
                    steps={"a": Step(kind="ask", routes={"": (Route(to=""), Route(to="^"), Route(to="@end:"))})},
                )
            },
        ),
    ],
)
def test_dangling_names_are_findings(protocol: Protocol) -> None:
    assert check(protocol)


Path = tuple[str | int, ...]


def _paths(value: Any, path: Path = ()) -> list[Path]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, entry in items for inner in _paths(entry, (*path, key)))]


def _words(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(word for entry in value.values() for word in _words(entry))]
    if isinstance(value, list):
        return [word for entry in value for word in _words(entry)]
    return [value] if isinstance(value, str) else []


def _mutate(value: Any, path: Path, data: st.DataObject, words: list[str]) -> Any:
    if path:
        changed = value.copy()
        changed[path[0]] = _mutate(value[path[0]], path[1:], data, words)
        return changed
    match value:
        case dict() if value:
            key = data.draw(st.sampled_from(sorted(value)))
            rest = {name: entry for name, entry in value.items() if name != key}
            return data.draw(st.sampled_from([rest, {**rest, data.draw(st.sampled_from(words)): value[key]}, {}]))
        case list() if value:
            return data.draw(st.sampled_from([value[1:], value + value, value[::-1], []]))
        case str():
            return data.draw(st.sampled_from(words) | st.text(max_size=8) | st.sampled_from(STRANGE))
        case bool():
            return not value
        case int():
            return data.draw(st.integers(-2, 10**6))
    return value


STRANGE = [
    *("@resume", "@end:", "^", "^^x", "!*", "!gate.x", "a.b.c", "in.", ".", "..", "in.x", "{", "{x}/**", "!", "?"),
    *("[text]", "[[A]]?", "A | B", "last.x", "data.", "1 <", "{{ x.y.z }}", "{% if x %}", "{{ a | b(c) is d }}"),
    *("{% for a, b in c.items() recursive %}{{ loop(b) }}{% endfor %}", "{% call(x) y() %}{% endcall %}"),
    *("{% from 'x' import y as z %}", "{% extends x %}", "{% import 'review.jinja' as r with context %}", "1" * 5000),
]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.sampled_from(CLEAN), st.data())
def test_no_protocol_makes_it_stumble(protocol: Protocol, data: st.DataObject) -> None:
    tree_ = msgspec.to_builtins(protocol)
    words = sorted(set(_words(tree_)))
    for _ in range(data.draw(st.integers(1, 6))):
        tree_ = _mutate(tree_, data.draw(st.sampled_from(_paths(tree_))), data, words)
    try:
        mutant = msgspec.convert(tree_, Protocol)
    except msgspec.ValidationError:
        assume(False)
    findings = check(mutant)
    assert findings == check(mutant)
    assert all(finding.message and finding.check for finding in findings)


def test_the_order_does_not_depend_on_hashing() -> None:
    code = (
        "from tests.protocol.checks.planted import tree, change\n"
        "from treadle.protocol.check import check\n"
        "p = change(tree(), 'graphs.node', handlers={}, ok={}, budgets={}, system={})\n"
        "print('\\n'.join(map(str, check(p))))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1
    assert len(seen.pop().splitlines()) > 5
