"""Scopes: globs filled in with an instance's input, and values that would lead elsewhere refused."""

import msgspec
import pytest

from tests.prompts.stage import Memory
from treadle.git.globs import matches
from treadle.kernel.commands import AskHuman
from treadle.prompts.scope import ActivityScope, permissions, scope
from treadle.protocol.artifacts import view_paths
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.protocol.model import Protocol

V3 = load("v3")
PATHS: dict[str, Json] = {"targetPath": "src/slug", "testPath": "tests/slug"}


def writing(*globs: str, hidden: tuple[str, ...] = ()) -> Protocol:
    """V3 with another write scope for the implementer."""
    role = msgspec.structs.replace(V3.roles["impl"], writes=globs, hidden=hidden)
    return msgspec.structs.replace(V3, roles={**V3.roles, "impl": role})


def test_placeholders_are_filled_in() -> None:
    found = scope(V3, "node", "impl", PATHS)
    assert found.writes == ("src/slug", "src/slug/**", "!tests/slug", "!tests/slug/**")
    assert found.refused == ()


def test_a_step_may_narrow_its_role() -> None:
    assert scope(V3, "node", "review", PATHS).writes == ()
    assert scope(V3, "node", "tests", PATHS).writes == ("tests/slug", "tests/slug/**")


def test_a_role_that_may_not_modify_has_no_writable_paths() -> None:
    waterfall = load("waterfall")
    found = scope(waterfall, "task-verify", "work", {"story": "US-1"})
    assert found.writes == ()
    assert found.reads[:2] == ("docs/bdd/US-1.md", "docs/deltas/US-1.md")
    assert found.hidden == (".ai/**",)


@pytest.mark.parametrize(
    ("path", "globs"),
    [
        ("./src//slug/", ("src/slug", "src/slug/**")),
        (".", (".", "**")),
        ("app/[id]", ("app/[id]", "app/[id]/**")),
        ("a{testPath}", ("a{testPath}", "a{testPath}/**")),
    ],
)
def test_paths_are_normalised_and_kept_literal(path: str, globs: tuple[str, ...]) -> None:
    protocol = writing("{targetPath}", "{targetPath}/**")
    assert scope(protocol, "node", "impl", {**PATHS, "targetPath": path}).writes == globs


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/etc", "absolute"),
        ("../other", ".."),
        ("src/../../x", ".."),
        ("C:/x", "absolute"),
        ("~/x", "starts with ~"),
        ("src\\x", "backslash"),
        (".git/hooks", ".git"),
        (".treadle/local", ".treadle"),
        ("**", "pattern"),
        ("src/*", "pattern"),
        ("!src", "pattern"),
        ("", "empty"),
        ("a\nb", "cannot be seen"),
        (None, "null, not a path"),
        (3, "a number, not a path"),
        ({"a": 1}, "an object, not a path"),
    ],
)
def test_a_value_that_leads_elsewhere_is_refused(path: Json, why: str) -> None:
    found = scope(V3, "node", "impl", {**PATHS, "targetPath": path})
    assert found.writes == ()
    assert why in found.refused[0]


def test_an_exclusion_that_cannot_be_filled_in_closes_the_scope() -> None:
    found = scope(V3, "node", "impl", {**PATHS, "testPath": "../tests"})
    assert (found.writes, len(found.refused)) == ((), 1)
    hiding = scope(writing("src/**", hidden=("{testPath}/**",)), "node", "impl", {**PATHS, "testPath": "/"})
    assert (hiding.writes, hiding.hidden) == ((), ())


def test_a_list_gives_a_glob_for_each_of_its_values() -> None:
    protocol = writing("{files}", "{files}/{names}.md")
    found = scope(protocol, "node", "impl", {"files": ["a", "b"], "names": ["x", "y"]})
    assert found.writes == ("a", "b", "a/x.md", "a/y.md", "b/x.md", "b/y.md")


def test_the_input_is_that_of_the_command() -> None:
    store = Memory()

    def found(graph: str, step: str, ref: str) -> ActivityScope:
        command = AskHuman(id="x", inst="root", graph=graph, step=step, choices=(), inputs={"in": (ref,)})
        return permissions(V3, command, store)

    assert found("node", "tests", store.put(PATHS)).writes == ("tests/slug", "tests/slug/**")
    assert found("node", "tests", "").refused
    assert found("", "cost", "") == ActivityScope()


@pytest.mark.parametrize("name", ["dptr", "riper"])
def test_no_role_may_write_files_made_from_the_log(name: str) -> None:
    protocol = load(name)
    steps = [(graph, step) for graph, it in protocol.graphs.items() for step, each in it.steps.items() if each.role]
    allowed = {where: scope(protocol, *where, {"name": "labels"}).writes for where in steps}
    assert any(allowed.values())
    for path in view_paths(protocol):
        assert not [where for where, globs in allowed.items() if matches(path, globs)], path
