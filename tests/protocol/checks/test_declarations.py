"""Planted faults in types, exits, roles and the toolchain."""

import pytest

from tests.protocol.checks.planted import bugfix, change, put, said, tree
from treadle.protocol.model import Field, Mode, Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "", root="mian"),
            ["3 the root is unknown graph 'mian' (did you mean 'main'?)"],
            id="an_unknown_root",
        ),
        pytest.param(
            put(bugfix(), "types.Bug.fields", "kind", Field(type="strng")),
            [
                (
                    "3 Bug: field 'kind': unknown type 'strng' (describe it under `types`, or write text, "
                    "int, number, bool, path, `A | B`, the name of a record, `[T]` or `T?`)"
                )
            ],
            id="an_unknown_type",
        ),
        pytest.param(
            put(bugfix(), "exits.Fixed.fields", "note", Field(type="[text")),
            ["3 Fixed: field 'note': '[text' does not end with ] (a list is `[T]`)"],
            id="a_type_that_is_none",
        ),
        pytest.param(
            put(tree(), "exits.Planned.fields", "parts", Field(type="Spec?", route="items")),
            [
                (
                    "3 Planned: field 'parts' is routed as items, but 'Spec?' is not a list (write `[T]`, "
                    "or `route: true`)"
                )
            ],
            id="items_that_are_no_list",
        ),
        pytest.param(
            change(tree(), "types.Spec", key="name"),
            [
                (
                    "3 Planned: field 'parts' is routed as items, but type 'Spec' has no field 'name' "
                    "(say with `key` which field identifies an item)"
                )
            ],
            id="items_without_a_key",
        ),
        pytest.param(
            change(bugfix(), "exits.Stuck", route_on="wy"),
            ["3 Stuck: routes on unknown field 'wy' (did you mean 'why'?)"],
            id="an_unknown_route_on",
        ),
        pytest.param(
            change(bugfix(), "exits.Stuck", route_on="story"),
            ["3 Stuck: routes on 'story', which is 'text' and not an enum (write its values as `A | B`)"],
            id="a_route_on_that_is_no_enum",
        ),
        pytest.param(
            change(bugfix(), "roles.qa", template="reproduce.jinja"),
            [
                "3 qa: unknown template 'reproduce.jinja' (did you mean 'repro.jinja'?)",
            ],
            id="an_unknown_template_of_a_role",
        ),
        pytest.param(
            change(bugfix(), "roles.qa", modes={"Red": Mode(exits=("Reproduce",))}),
            ["3 qa: mode 'Red': unknown exit 'Reproduce' (did you mean 'Reproduced'?)"],
            id="an_unknown_exit_of_a_mode",
        ),
        pytest.param(
            change(bugfix(), "roles.qa", models=()),
            ["3 qa: has no models (name at least one tier)"],
            id="a_role_without_models",
        ),
        pytest.param(
            change(bugfix(), "", toolchain=("build", "tests")),
            ["3 unknown toolchain command 'tests' (did you mean 'test'?)"],
            id="an_unknown_command_of_the_toolchain",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"Bug": "Bug"}, "it needs a 'Bug', and so on (make one of them optional, as in `Bug?`, or a list)"),
        (
            {"Bug": "Fault", "Fault": "Bug"},
            "it needs a 'Fault', which needs a 'Bug', and so on (make one of them optional, as in `Fault?`, or a list)",
        ),
    ],
    ids=["a_record_in_itself", "records_in_each_other"],
)
def test_a_record_without_a_finite_value(fields: dict[str, str], expected: str) -> None:
    protocol = bugfix()
    for name, kind in fields.items():
        protocol = put(protocol, f"types.{name}.fields", "inner", Field(type=kind))
    assert said(protocol, 3)[0] == f"3 Bug: no value of 'Bug' can be written down: {expected}"
    assert len(said(protocol, 3)) == len(fields)


@pytest.mark.parametrize("kind", ["Bug?", "[Bug]", "[Bug]?"])
def test_a_record_that_may_end_holds_itself(kind: str) -> None:
    assert said(put(bugfix(), "types.Bug.fields", "inner", Field(type=kind))) == []


def test_a_record_is_not_called_like_a_type_of_the_language() -> None:
    [line] = said(put(bugfix(), "types", "text", bugfix().types["Fault"]), 3)
    assert line == "3 text: a record cannot be called 'text', which is a type of the language (rename it)"
