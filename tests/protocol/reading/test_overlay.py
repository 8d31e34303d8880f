"""Overlays: patches by path, and which keys belong to the language."""

from pathlib import Path

import pytest

from treadle.errors import ProtocolError
from treadle.protocol.load import load_source
from treadle.protocol.model import Protocol, Route
from treadle.protocol.reading.overlay import is_keyword

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


def test_null_deletes_a_key(base: Path) -> None:
    found = patched(base, "extends: base\ngraphs: {main: {steps: {work: {attempts: , routes: {Bad: null}}}}}\n")
    assert found.graphs["main"].steps["work"].attempts == 1
    assert list(found.graphs["main"].steps["work"].routes) == ["Ok"]


def test_a_plus_adds(base: Path) -> None:
    found = patched(
        base, "extends: base\n+pools: {p: 1}\ngraphs: {main: {steps: {work: {routes: {+More: '@self'}}}}}\n"
    )
    assert found.pools == {"p": 1}
    assert found.graphs["main"].steps["work"].routes["More"] == (Route(to="work"),)


def test_an_overlay_can_change_parts_of_a_fragment(base: Path) -> None:
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


def test_templates_are_overridden_by_path(base: Path, tmp_path: Path) -> None:
    mine = {"work.jinja": tmp_path / "mine.jinja", "more.jinja": tmp_path / "new.jinja"}
    for path in mine.values():
        path.write_text(path.stem)
    found = load_source(base, templates=mine)
    assert found.protocol.templates == {"work.jinja": "mine", "more.jinja": "new"}
    assert {name: found.place_of(f"templates.{name}").file for name in mine} == {k: str(v) for k, v in mine.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "extends: base\ngrahps: {}\n",
            "overlay0.yaml:2: unknown key 'grahps' (did you mean 'graphs'?)",
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
def test_a_mistake_in_an_overlay_has_its_line(base: Path, text: str, expected: str) -> None:
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
    with pytest.raises(ProtocolError, match=r"b/protocol.yaml:1: .*: a → b → a "):
        load_source("a", search=[tmp_path])


@pytest.mark.parametrize("by_name", [True, False])
def test_a_folder_that_extends_its_own_name_is_refused(tmp_path: Path, by_name: bool) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/protocol.yaml").write_text("protocol: mine\nextends: mine\n")
    with pytest.raises(ProtocolError, match=r"mine/protocol.yaml:2: .*: mine → mine "):
        load_source("mine" if by_name else tmp_path / "mine", search=[tmp_path] if by_name else [])


def test_a_folder_may_extend_the_built_in_protocol_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "dptr").mkdir()
    (tmp_path / "dptr/protocol.yaml").write_text("extends: dptr\ntitle: ours\n")
    assert load_source("dptr", search=[tmp_path]).protocol.title == "ours"


def test_a_base_that_is_not_there_is_missed_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/protocol.yaml").write_text("protocol: mine\nextends: dptrr\n")
    with pytest.raises(ProtocolError, match=r"mine/protocol.yaml:2: .*'dptrr' .*'dptr'"):
        load_source("mine", search=[tmp_path])


def test_a_long_chain_is_refused(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"p{number}").mkdir()
        (tmp_path / f"p{number}/protocol.yaml").write_text(f"protocol: p{number}\nextends: p{number + 1}\n")
    with pytest.raises(ProtocolError, match=r"p8/protocol.yaml:2: .* more than 8 protocols"):
        load_source("p0", search=[tmp_path])


@pytest.mark.parametrize(
    "patch",
    [
        "limits: {agents: 3}",
        "title: mine",
        "protections: [{glob: 'src/**', level: 4}]",
        "roles: {de: {writes: ['src/**']}}",
        "types: {T: {id: text}}",
        "graphs: {main: {title: Main}}",
        "graphs: {main: {vars: {round: 0}}}",
        "graphs: {main: {steps: {work: {timeout: 5m, thread: resume}}}}",
        "graphs: {main: {budgets: {rounds: {resets: [work]}}}}",
    ],
)
def test_a_word_of_the_language_has_its_default_until_it_is_set(base: Path, patch: str) -> None:
    assert patched(base, f"extends: base\n{patch}\n") != patched(base)


def test_words_of_exits_types_and_fields_are_set_and_names_are_new(base: Path) -> None:
    records = "extends: base\n+exits: {Ok: {why: {type: text}}}\n+types: {T: {id: text, name: text}}\n"
    words = "extends: base\nexits: {Ok: {severity: WARN, why: {help: Why?}}}\ntypes: {T: {key: name}}\n"
    found = patched(base, records, words)
    assert (found.exits["Ok"].severity, found.exits["Ok"].fields["why"].help) == ("WARN", "Why?")
    assert found.types["T"].key == "name"
    (missing,) = problems(base, records, "extends: base\nexits: {Ok: {wy: text}}\n")
    assert [text for text in ("'wy'", "'why'", "'+wy'") if text not in missing] == []


def test_the_agents_of_a_shipped_protocol_are_limited_without_further_ado(tmp_path: Path) -> None:
    overlay = tmp_path / "fewer.yaml"
    overlay.write_text("extends: dptr\nlimits: {agents: 3}\n")
    assert load_source("dptr", overlays=[overlay]).protocol.limits.agents == 3


def test_an_overlay_may_not_set_step_rules(base: Path) -> None:
    (found,) = problems(base, "extends: base\nstep_rules: {file: x.yaml, graph: main}\n")
    assert found.startswith("overlay0.yaml:2: step_rules: ")


def test_an_overlay_that_renames_the_protocol_is_at_fault_itself(base: Path) -> None:
    (found,) = problems(base, "extends: base\nprotocol: foo\n")
    assert found.startswith("overlay0.yaml:2: protocol: ")
    assert [text for text in ("'base' to 'foo'", "`extends: base`") if text not in found] == []


def test_a_template_keeps_the_place_of_its_file(base: Path) -> None:
    fragments = base.parent / "fragments/templates"
    fragments.mkdir()
    (fragments / "shared.jinja").write_text("shared")
    (base / "templates/work.jinja").write_text("{% include 'shared.jinja' %}")
    mine = base.parent / "mine"
    (mine / "templates").mkdir(parents=True)
    (mine / "protocol.yaml").write_text("extends: base\nprotocol: mine\n")
    (mine / "templates/own.jinja").write_text("own")
    found = load_source(mine, search=[base.parent])
    assert {name: found.place_of(f"templates.{name}").file for name in found.protocol.templates} == {
        "own.jinja": str(mine / "templates/own.jinja"),
        "work.jinja": str(base / "templates/work.jinja"),
        "shared.jinja": str(fragments / "shared.jinja"),
    }


# Words of the language, and names that authors give.


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("", "limits"),
        ("limits", "agents"),
        ("graphs main steps work", "attempts"),
        ("graphs main steps work routes Stuck.Loop", "charge"),
        ("exits Done", "severity"),
        ("exits Done why", "help"),
        ("types Bug", "about"),
    ],
)
def test_these_keys_are_words_of_the_language(path: str, key: str) -> None:
    assert is_keyword(tuple(path.split()), key)


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("graphs", "main"),
        ("graphs main steps", "work"),
        ("graphs main steps work routes", "Done"),
        ("roles", "de"),
        ("pools", "merges"),
        ("exits", "Done"),
        ("exits Done", "why"),
        ("types Bug", "severity"),
    ],
)
def test_these_keys_are_names_of_the_protocol(path: str, key: str) -> None:
    assert not is_keyword(tuple(path.split()), key)
