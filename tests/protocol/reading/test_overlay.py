from pathlib import Path

import pytest

from treadle.errors import ProtocolError
from treadle.protocol.load import load_source
from treadle.protocol.model import Protocol, Route

BASE = """\
protocol: base
version: "2"
root: main
roles: {de: {template: work.jinja, models: [weak, strong]}}
graphs:
  main:
    start: work
    ends: {Done: []}
    include: [gate]
    budgets: {rounds: {max: 3, to: human}}
    steps:
      work: {role: de, attempts: 3, routes: {Ok: "@end:Done", Bad: human}}
"""
GATE = """\
fragment: gate
graph:
  steps:
    human: {ask: human, title: Help, routes: {retry: "@back"}}
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base/templates").mkdir(parents=True)
    (tmp_path / "fragments").mkdir()
    (tmp_path / "base/protocol.yaml").write_text(BASE)
    (tmp_path / "base/templates/work.jinja").write_text("work")
    (tmp_path / "fragments/gate.yaml").write_text(GATE)
    return tmp_path / "base"


def patched(base: Path, *texts: str) -> Protocol:
    paths = []
    for number, text in enumerate(texts):
        paths.append(base.parent / f"overlay{number}.yaml")
        paths[-1].write_text(text)
    return load_source(base, overlays=paths).protocol


def problems(base: Path, *texts: str) -> list[str]:
    with pytest.raises(ProtocolError) as caught:
        patched(base, *texts)
    return [str(finding).replace(f"{base.parent}/", "") for finding in caught.value.findings]


def test_maps_merge_and_the_rest_replaces(base: Path) -> None:
    found = patched(
        base,
        "extends: base@2\nroles: {de: {models: [best]}}\n"
        "graphs: {main: {budgets: {rounds: {max: 9}}, steps: {work: {routes: {Bad: {to: human, charge: rounds}}}}}}\n",
    )
    assert found.roles["de"].models == ("best",)
    assert found.roles["de"].template == "work.jinja"
    assert found.graphs["main"].budgets["rounds"].max == 9
    assert found.graphs["main"].steps["work"].routes["Bad"] == (
        Route(to="human@work", charge="rounds", over="human@work"),
    )


def test_null_deletes(base: Path) -> None:
    found = patched(base, "extends: base\ngraphs: {main: {steps: {work: {attempts: , routes: {Bad: null}}}}}\n")
    assert found.graphs["main"].steps["work"].attempts == 1
    assert list(found.graphs["main"].steps["work"].routes) == ["Ok"]


def test_a_plus_adds(base: Path) -> None:
    found = patched(
        base, "extends: base\n+pools: {p: 1}\ngraphs: {main: {steps: {work: {routes: {+More: '@self'}}}}}\n"
    )
    assert found.pools == {"p": 1}
    assert found.graphs["main"].steps["work"].routes["More"] == (Route(to="work"),)


def test_what_a_fragment_brought_can_be_changed(base: Path) -> None:
    found = patched(base, "extends: base\ngraphs: {main: {steps: {human: {title: Decide}}}}\n")
    assert found.graphs["main"].steps["human@work"].title == "Decide"


def test_overlays_apply_in_order(base: Path) -> None:
    found = patched(base, "extends: base\n+title: one\n", "extends: base\ntitle: two\n")
    assert found.title == "two"


def test_an_overlay_may_include_a_fragment(base: Path) -> None:
    (base.parent / "fragments/more.yaml").write_text("fragment: more\ntypes: {T: {id: text}}\n")
    assert list(patched(base, "extends: base\n+include: [more]\n").types) == ["T"]


def test_changed_parts_stand_in_the_overlay(base: Path) -> None:
    path = base.parent / "overlay.yaml"
    path.write_text("extends: base\ngraphs:\n  main:\n    steps:\n      work:\n        attempts: 5\n")
    found = load_source(base, overlays=[path])
    assert found.place_of("graphs.main.steps.work.attempts").file == str(path)
    assert found.place_of("graphs.main.steps.work.routes").file == str(base / "protocol.yaml")


def test_templates_are_overridden_by_path(base: Path) -> None:
    found = load_source(base, templates={"work.jinja": "mine", "more.jinja": "new"}).protocol
    assert found.templates == {"work.jinja": "mine", "more.jinja": "new"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "extends: base\ngrahps: {}\n",
            (
                "overlay0.yaml:2: grahps: there is no 'grahps' to change"
                " (did you mean 'graphs'? otherwise write '+grahps' if it is new)"
            ),
        ),
        (
            "extends: base\ngraphs: {main: {steps: {wrok: {attempts: 2}}}}\n",
            (
                "overlay0.yaml:2: main.wrok: there is no 'wrok' to change"
                " (did you mean 'work'? otherwise write '+wrok' if it is new)"
            ),
        ),
        (
            "extends: base\nzzz: null\n",
            "overlay0.yaml:2: zzz: there is no 'zzz' to change (write '+zzz' if it is new)",
        ),
        (
            "extends: base\n+roles: {}\n",
            "overlay0.yaml:2: roles: 'roles' is there already, at base/protocol.yaml:4 (write 'roles' to change it)",
        ),
        (
            "extends: base\ngraphs: {main: {steps: {work: {routes: {Bad: {+charge: rounds}}}}}}\n",
            (
                "overlay0.yaml:2: main.work: there is no mapping to add '+charge' to"
                " (write 'charge': everything below a new value is new)"
            ),
        ),
        ("extends: other\n", "overlay0.yaml:1: extends: this overlay is for 'other', not for 'base'"),
        (
            "extends: base@1\n",
            (
                "overlay0.yaml:1: extends: this overlay is for base 1, and this is 2"
                " (check it against base 2, then write `extends: base@2`)"
            ),
        ),
        (
            "title: x\n",
            (
                "overlay0.yaml:1: extends: an overlay says what it changes"
                " (write `extends: NAME` or `extends: NAME@VERSION`)"
            ),
        ),
        (
            "- x\n",
            (
                "overlay0.yaml:1: extends: an overlay says what it changes"
                " (write `extends: NAME` or `extends: NAME@VERSION`)"
            ),
        ),
        (
            "extends: base\ngraphs: {main: {steps: {work: {attempts: lots}}}}\n",
            "overlay0.yaml:2: main.work: 'attempts' must be a whole number, not text",
        ),
    ],
)
def test_mistakes(base: Path, text: str, expected: str) -> None:
    assert problems(base, text)[0] == expected


def test_a_folder_may_extend_another(base: Path) -> None:
    mine = base.parent / "mine"
    (mine / "templates").mkdir(parents=True)
    (mine / "protocol.yaml").write_text("extends: base@2\nprotocol: mine\nroles: {de: {template: own.jinja}}\n")
    (mine / "templates/own.jinja").write_text("own")
    found = load_source(mine, search=[base.parent]).protocol
    assert found.name == "mine"
    assert found.templates == {"work.jinja": "work", "own.jinja": "own"}
    assert found.graphs["main"].steps["work"].template == "own.jinja"


def test_a_folder_that_extends_itself_is_refused(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "protocol.yaml").write_text(f"extends: {other}\n")
    with pytest.raises(ProtocolError, match=r"a/protocol.yaml:1: it extends itself: b → a → b"):
        load_source("a", search=[tmp_path])
