"""From files to the protocol that runs, with its gates cloned per caller."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol.loading import MINIMAL, STEP, loaded, problems
from tests.refusals import refused
from treadle.errors import ProtocolError
from treadle.protocol.findings import Finding
from treadle.protocol.load import starting_folder
from treadle.protocol.model import Graph, Route
from treadle.protocol.reading.assembly import Changes, Files, Sources, assemble
from treadle.protocol.reading.fragments import FragmentLibrary
from treadle.protocol.reading.yaml import read_yaml
from treadle.protocol.yaml_text import Plain, emit

# Whatever stands in the files, loading ends in a protocol or in findings.


START = starting_folder("start")
TREE: dict[str, Any] = read_yaml(START["protocol.yaml"], "p").plain()
FRAGMENT: dict[str, Any] = {
    "fragment": "part",
    "params": ["x"],
    "include": [],
    "types": {"T": {"id": "text"}},
    "graph": {"steps": {"$x": {"ask": "human", "routes": {"a": "@back"}}}, "ends": ["Lost"]},
}
OVERLAY: dict[str, Any] = {
    "extends": "start@1",
    "+pools": {"p": 1},
    "graphs": {"main": {"steps": {"fix": {"attempts": 2, "timeout": None}, "+more": {"ask": "human"}}}},
}
ODD: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**7)
    | st.floats(0, 9)
    | st.text(max_size=8)
    | st.sampled_from(["@back", "@self", "$x", "fix", "stuck"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=5) | st.sampled_from(["to", "steps", "do", "include", "role"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def paths(tree: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [at, *(path for key, value in inner for path in paths(value, (*at, key)))]


def planted(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = planted(tree[path[0]], path[1:], value)
    return copy


def odd(tree: dict[str, Any]) -> st.SearchStrategy[dict[str, Plain]]:
    places = [path for path in paths(tree) if path]
    return st.builds(planted, st.just(tree), st.sampled_from(places), ODD)


def loads_or_says_why(files: dict[str, str], sources: Sources, changes: Changes) -> None:
    findings: tuple[object, ...] | None = None
    try:
        assemble(Files(files), sources, changes)
    except ProtocolError as error:
        findings = error.findings
    assert findings != ()
    for finding in findings or ():
        assert isinstance(finding, Finding)
        assert finding.place.file
        assert finding.place.line


ODDLY = settings(max_examples=60)


@ODDLY
@given(odd(TREE))
def test_any_protocol_loads_or_is_refused(tree: dict[str, Plain]) -> None:
    loads_or_says_why({**START, "protocol.yaml": emit(tree)}, Sources(), Changes())


@ODDLY
@given(odd(FRAGMENT), ODD)
def test_any_fragment_loads_or_is_refused(fragment: dict[str, Plain], argument: Plain) -> None:
    library = FragmentLibrary(("part",), lambda name: read_yaml(emit(fragment), f"{name}.yaml"))
    include = "    include: " + emit({"include": [{"part": {"x": argument}}]}).split(":", 1)[1]
    text = MINIMAL.replace("    steps:\n", f"{include}    steps:\n") + STEP
    loads_or_says_why({"protocol.yaml": text}, Sources(fragments=library), Changes())


@ODDLY
@given(odd(OVERLAY))
def test_any_overlay_loads_or_is_refused(overlay: dict[str, Plain]) -> None:
    loads_or_says_why(START, Sources(), Changes(overlays=(read_yaml(emit(overlay), "o.yaml"),)))


def test_files_alone_know_no_fragments_and_no_bases() -> None:
    with refused("protocol.malformed", "fragment 'fold'"):
        assemble(Files({"protocol.yaml": MINIMAL + STEP + "include: [fold]\n"}))
    with refused("protocol.malformed", "protocol.yaml:1: ", "extend"):
        assemble(Files({"protocol.yaml": "extends: v3\n"}))
    with refused("protocol.malformed", "protocol.yaml: ", "no such file"):
        assemble(Files({}))


# `@back`: one gate per caller.


HEAD = """\
protocol: gates
root: main
roles: {de: {}}
graphs:
  main:
    start: a
    ends: [Done]
"""


def main(body: str) -> Graph:
    return loaded(HEAD + body).protocol.graphs["main"]


def to(graph: Graph, step: str, key: str) -> str:
    (route,) = graph.steps[step].routes[key]
    return route.to


def test_every_caller_has_its_own_gate() -> None:
    graph = main("""\
    steps:
      a: {role: de, routes: {Ok: b, Bad: stuck}}
      stuck: {ask: human, routes: {retry: "@back", again: "@self", end: "@end:Done"}}
      b: {role: de, routes: {Ok: "@end:Done", Bad: stuck}}
""")
    assert list(graph.steps) == ["a", "stuck@a", "stuck@b", "b"]
    assert to(graph, "a", "Bad") == "stuck@a"
    assert {key: to(graph, "stuck@b", key) for key in ("retry", "again", "end")} == {
        "retry": "b",
        "again": "stuck@b",
        "end": "@end:Done",
    }


def test_a_gate_without_a_way_back_is_shared() -> None:
    graph = main("""\
    steps:
      a: {role: de, routes: {Ok: b, Bad: stuck}}
      b: {role: de, routes: {Ok: "@end:Done", Bad: stuck}}
      stuck: {ask: human, routes: {retry: a}}
""")
    assert list(graph.steps) == ["a", "b", "stuck"]


def test_system_rows_to_a_gate_become_rows_of_each_step() -> None:
    graph = main("""\
    system: {"!*": stuck, "!timeout": b, "!gate.red": stuck}
    steps:
      a: {role: de, gates: {Ok: red}, routes: {Ok: b, "!crash": "@self"}}
      b: {effect: merge, attempts: 2, gates: {Ok: red}, routes: {Ok: c}}
      c: {role: de, routes: {Ok: "@end:Done", "!*": a}}
      stuck: {ask: human, routes: {retry: "@back"}}
""")
    assert {key: to(graph, "a", key) for key in graph.steps["a"].routes} == {
        "Ok": "b",
        "!crash": "a",
        "!invalid": "stuck@a",
        "!gate": "stuck@a",
        "!exhausted": "stuck@a",
        "!blocked": "stuck@a",
        "!store": "stuck@a",
        "!limit": "stuck@a",
        "!gate.red": "stuck@a",
    }
    # A step with attempts tries again after !gate; !timeout keeps the graph's row.
    assert set(graph.steps["b"].routes) == {"Ok", "!crash", "!exhausted"}
    assert set(graph.steps["c"].routes) == {"Ok", "!*"}
    assert graph.system == {"!timeout": (Route(to="b"),)}


def test_a_materialised_row_points_at_the_line_of_the_graphs_row() -> None:
    found = loaded(
        HEAD
        + """\
    system:
      "!*": stuck
    steps:
      a: {role: de, routes: {Ok: "@end:Done"}}
      stuck: {ask: human, routes: {retry: "@back"}}
"""
    )
    assert found.place_of("graphs.main.steps.a.routes.!crash").line == 9
    assert found.place_of("graphs.main.steps.stuck@a.routes.retry").line == 12
    assert found.place_of("graphs.main.steps.stuck@a.timeout").line == 12
    assert found.place_of("graphs.main.steps.a.routes.Ok.0").line == 11
    assert found.place_of("graphs.other").line == 4
    assert found.place_of("nothing").line == 1


def test_a_budget_leads_to_the_callers_gate() -> None:
    graph = main("""\
    budgets: {rounds: {max: 3, to: stuck, resets: [stuck, a]}, other: {max: 1, to: b}}
    steps:
      a: {role: de, routes: {Ok: {to: b, charge: rounds}, More: {to: b, charge: other}}}
      b: {role: de, routes: {Ok: "@end:Done", Bad: {to: a, charge: rounds}}}
      stuck: {ask: human, routes: {retry: {to: "@back", charge: rounds}}}
""")
    assert graph.steps["a"].routes["Ok"] == (Route(to="b", charge="rounds", over="stuck@a"),)
    assert graph.steps["a"].routes["More"] == (Route(to="b", charge="other", over="b"),)
    assert graph.steps["b"].routes["Bad"] == (Route(to="a", charge="rounds", over="stuck@b"),)
    assert graph.steps["stuck@b"].routes["retry"] == (Route(to="b", charge="rounds", over="stuck@b"),)
    assert graph.budgets["rounds"].resets == ("stuck@a", "stuck@b", "a")


def test_gates_that_lead_to_gates() -> None:
    graph = main("""\
    steps:
      a: {role: de, routes: {Ok: "@end:Done", Bad: stuck}}
      stuck: {ask: human, routes: {retry: "@back", more: halt}}
      halt: {ask: human, routes: {back: "@back", up: stuck}}
""")
    assert list(graph.steps) == ["a", "stuck@a", "halt@stuck@a"]
    assert to(graph, "stuck@a", "more") == "halt@stuck@a"
    assert to(graph, "halt@stuck@a", "back") == "stuck@a"
    assert to(graph, "halt@stuck@a", "up") == "stuck@a"


def test_a_gate_that_a_handler_starts_with_goes_back_to_the_interrupted_work() -> None:
    graph = main("""\
    handlers: {Lost: {step: stuck}, Gone: {step: stuck}, Other: {step: b}}
    steps:
      a: {role: de, routes: {Ok: "@end:Done"}}
      b: {role: de, routes: {Ok: "@resume", Bad: stuck}}
      stuck: {ask: human, routes: {retry: "@back"}}
""")
    assert {name: handler.step for name, handler in graph.handlers.items()} == {
        "Lost": "stuck@resume",
        "Gone": "stuck@resume",
        "Other": "b",
    }
    assert to(graph, "stuck@resume", "retry") == "@resume"
    assert to(graph, "stuck@b", "retry") == "b"


def test_a_gate_without_a_caller_stays() -> None:
    graph = main("""\
    system: {"!*": "@end:Done"}
    steps:
      a: {role: de, routes: {Ok: "@end:Done"}}
      stuck: {ask: human, routes: {retry: "@back", more: halt}}
      halt: {ask: human, routes: {back: "@back"}}
""")
    assert list(graph.steps) == ["a", "stuck", "halt"]
    assert to(graph, "stuck", "retry") == "@back"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            '    steps:\n      a: {role: de, routes: {Ok: "@back"}}\n',
            "9: main.a: only an ask has a way @back (name the step, or write @self)",
        ),
        (
            '    steps:\n      a: {role: de, routes: {Ok: "^g"}}\n      g: {ask: human, routes: {r: "@back"}}\n',
            "9: main.a: '^g' has no way @back (name a step)",
        ),
        (
            '    commands: {/g: g}\n    steps:\n      g: {ask: human, routes: {r: "@back"}}\n',
            "8: main.commands./g: 'g' has nobody to go @back to (name another step)",
        ),
        (
            '    steps:\n      a: {ask: human, routes: {r: "@back"}}\n',
            "6: main.start: the start 'a' has nobody to go @back to (name the step)",
        ),
        (
            (
                "    handlers: {S: g}\n    steps:\n      resume: {role: de, routes: {Ok: g}}\n"
                '      g: {ask: human, routes: {r: "@back"}}\n'
            ),
            "10: main.resume: this name is taken by the gates that handlers start with (rename it)",
        ),
    ],
)
def test_an_impossible_way_back_is_refused(body: str, problem: str) -> None:
    assert problems(HEAD + body)[0] == f"protocol.yaml:{problem}"


def test_too_many_clones_are_refused() -> None:
    gates = "".join(
        f"      g{n}: {{ask: human, routes: {{back: '@back', {', '.join(f'c{m}: g{m}' for m in range(n))}}}}}\n"
        for n in range(1, 14)
    ).replace("c0: g0", "c0: a")
    found = problems(HEAD + "    steps:\n      a: {role: de, routes: {Ok: g13}}\n" + gates)
    assert "more than 500 copies" in found[0]
