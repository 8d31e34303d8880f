from pathlib import Path

import pytest

from treadle.errors import ProtocolError
from treadle.protocol.load import load_source
from treadle.protocol.model import Protocol, Route

HEAD = """\
protocol: small
root: main
"""
MAIN = """\
graphs:
  main:
    start: work
    ends: [Done]
    include: [{retry: {step: work, max: 3}}]
    steps:
      work: {role: de, routes: {Ok: "@end:Done", Bad: {to: "@self", fresh: true, charge: work-tries}}}
"""
RETRY = """\
fragment: retry
params: [step, max]
exits: {Bad: {why: text}}
roles: {de: {}}
graph:
  budgets: {"$step-tries": {max: $max, to: stuck}}
  steps:
    stuck: {ask: human, title: "costs $$5", needs: ["$step.Bad?"], routes: {retry: "^$step", more: $step}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small").mkdir()
    (tmp_path / "fragments").mkdir()
    return tmp_path


def write(folder: Path, main: str, **fragments: str) -> None:
    (folder / "small/protocol.yaml").write_text(main)
    for name, text in fragments.items():
        (folder / f"fragments/{name}.yaml").write_text(text)


def load(folder: Path) -> Protocol:
    return load_source(folder / "small").protocol


def problems(folder: Path) -> list[str]:
    with pytest.raises(ProtocolError) as caught:
        load(folder)
    return [str(finding).replace(f"{folder}/", "") for finding in caught.value.findings]


def test_a_fragment_is_united_with_the_graph_and_the_protocol(folder: Path) -> None:
    write(folder, HEAD + MAIN, retry=RETRY)
    protocol = load(folder)
    graph = protocol.graphs["main"]
    assert list(protocol.exits) == ["Bad"]
    assert graph.budgets["work-tries"].max == 3
    assert graph.steps["stuck"].title == "costs $5"
    assert graph.steps["stuck"].routes == {"retry": (Route(to="^work"),), "more": (Route(to="work"),)}
    assert str(graph.steps["stuck"].needs[0]) == "work.Bad?"
    assert graph.steps["work"].routes["Bad"][0].over == "stuck"


def test_parts_of_a_fragment_stand_in_its_file(folder: Path) -> None:
    write(folder, HEAD + MAIN, retry=RETRY)
    place = load_source(folder / "small").place_of("graphs.main.steps.stuck.needs")
    assert (place.file, place.line) == (str(folder / "fragments/retry.yaml"), 8)


def test_two_graphs_may_include_the_same_fragment(folder: Path) -> None:
    other = MAIN.removeprefix("graphs:\n").replace("main:", "other:")
    write(folder, HEAD + MAIN + other, retry=RETRY)
    assert [list(graph.steps) for graph in load(folder).graphs.values()] == [["work", "stuck"]] * 2


def test_fragments_include_fragments(folder: Path) -> None:
    outer = "fragment: outer\nparams: [of]\ninclude: [{retry: {step: $of, max: 2}}, types]\npools: {p: 1}\n"
    main = HEAD + MAIN.replace("{retry: {step: work, max: 3}}", "{outer: {of: work}}, types")
    write(folder, main, outer=outer, retry=RETRY, types="fragment: types\ntypes: {T: {id: text}}\n")
    protocol = load(folder)
    assert list(protocol.types) == ["T"]
    assert protocol.pools == {"p": 1}
    assert protocol.graphs["main"].budgets["work-tries"].max == 2


def test_a_protocol_includes_a_fragment_without_a_graph(folder: Path) -> None:
    write(folder, f"{HEAD}include: [types]\n{MAIN}", retry=RETRY, types="fragment: types\ntypes: {T: {id: text}}\n")
    assert list(load(folder).types) == ["T"]


@pytest.mark.parametrize(
    ("main", "fragments", "expected"),
    [
        (
            MAIN.replace("{retry", "{rety"),
            {"retry": RETRY},
            "small/protocol.yaml:7: include: unknown fragment 'rety' (did you mean 'retry'?)",
        ),
        (
            MAIN.replace("step: work, ", ""),
            {"retry": RETRY},
            "small/protocol.yaml:7: include: the fragment 'retry' needs 'step' (write {retry: {step: …}})",
        ),
        (
            MAIN.replace("max: 3", "max: 3, stop: 4"),
            {"retry": RETRY},
            "small/protocol.yaml:7: include: the fragment 'retry' has no parameter 'stop' (did you mean 'step'?)",
        ),
        (
            MAIN + "      stuck: {ask: human}\n",
            {"retry": RETRY},
            "fragments/retry.yaml:8: main.stuck: 'stuck' is also at small/protocol.yaml:10 (rename one of them)",
        ),
        (
            f"exits: {{Bad: {{}}}}\n{MAIN}",
            {"retry": RETRY},
            "fragments/retry.yaml:3: exits.Bad: 'Bad' is also at small/protocol.yaml:3 (rename one of them)",
        ),
        (
            MAIN,
            {"retry": RETRY + "grpah: {}\n"},
            "fragments/retry.yaml:9: unknown key 'grpah' (did you mean 'graph'?)",
        ),
        (
            MAIN,
            {"retry": RETRY.replace("$step.Bad", "$stp.Bad")},
            "fragments/retry.yaml:8: include: unknown parameter $stp (did you mean 'step'?)",
        ),
        (
            MAIN,
            {
                "retry": RETRY.replace("params", "include: [again]\nparams"),
                "again": "fragment: again\ninclude: [retry]\n",
            },
            (
                "fragments/again.yaml:2: include: the fragment 'retry' includes itself: retry → again → retry"
                " (break the circle)"
            ),
        ),
        (
            MAIN,
            {"retry": RETRY.replace("fragment: retry", "fragment: other")},
            "fragments/retry.yaml:1: this file is the fragment 'other' (write `fragment: retry`)",
        ),
        (
            MAIN,
            {"retry": "fragment: [\n"},
            (
                "fragments/retry.yaml:2: this is not YAML: expected the node content, but found '<stream end>'"
                " (while parsing a flow node) (check quotes, brackets and indentation)"
            ),
        ),
        (
            MAIN,
            {"retry": RETRY.replace("  budgets:", "  start: x\n  budgets:")},
            (
                "fragments/retry.yaml:6: graph: unknown key 'start'"
                " (known here: steps, handlers, budgets, vars, system, ok, ends, commands)"
            ),
        ),
        (
            f"include: [{{retry: {{step: work, max: 1}}}}]\n{MAIN}",
            {"retry": RETRY},
            "small/protocol.yaml:3: include: the fragment 'retry' has a graph part (include it in a graph)",
        ),
    ],
)
def test_a_mistake_in_an_include_has_its_line(
    folder: Path, main: str, fragments: dict[str, str], expected: str
) -> None:
    write(folder, HEAD + main, **fragments)
    assert expected in problems(folder)


def test_includes_that_multiply_are_refused(folder: Path) -> None:
    fragments = {f"f{n}": f"fragment: f{n}\ninclude: [f{n + 1}, f{n + 1}]\n" for n in range(20)}
    write(folder, HEAD + MAIN.replace("{retry: {step: work, max: 3}}", "f0"), **fragments, f20="fragment: f20\n")
    assert any("more than 200 includes" in problem for problem in problems(folder))
