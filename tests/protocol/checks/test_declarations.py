"""Planted faults in types, exits, roles and the toolchain."""

import pytest

from tests.protocol.checks.planted import COMMIT, TEXT, batch, bugfix, change, faults_of, put, said, tree
from treadle.protocol.model import Budget, Exit, Field, Handler, Limits, Mode, Protocol, Record, Role


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "", root="mian"),
            ["undeclared: mian -> main"],
            id="an_unknown_root",
        ),
        pytest.param(
            put(bugfix(), "types.Bug.fields", "kind", Field(type="strng")),
            ["undeclared Bug: kind, strng"],
            id="an_unknown_type",
        ),
        pytest.param(
            put(bugfix(), "exits.Fixed.fields", "note", Field(type="[text")),
            ["undeclared Fixed: note, [text"],
            id="a_type_that_is_none",
        ),
        pytest.param(
            put(tree(), "exits.Planned.fields", "parts", Field(type="Spec?", route="items")),
            ["undeclared Planned: parts, Spec?"],
            id="items_that_are_no_list",
        ),
        pytest.param(
            change(tree(), "types.Spec", key="name"),
            ["undeclared Planned: parts, Spec, name"],
            id="items_without_a_key",
        ),
        pytest.param(
            change(bugfix(), "exits.Stuck", route_on="wy"),
            ["undeclared Stuck: wy -> why"],
            id="an_unknown_route_on",
        ),
        pytest.param(
            change(bugfix(), "exits.Stuck", route_on="story"),
            ["undeclared Stuck: story, text"],
            id="a_route_on_that_is_no_enum",
        ),
        pytest.param(
            change(bugfix(), "roles.qa", template="reproduce.jinja"),
            [
                "undeclared qa: reproduce.jinja -> repro.jinja",
            ],
            id="an_unknown_template_of_a_role",
        ),
        pytest.param(
            change(bugfix(), "roles.qa", modes={"Red": Mode(exits=("Reproduce",))}),
            ["undeclared qa: Red, Reproduce -> Reproduced"],
            id="an_unknown_exit_of_a_mode",
        ),
        pytest.param(
            change(bugfix(), "roles.qa", models=()),
            ["undeclared qa"],
            id="a_role_without_models",
        ),
        pytest.param(
            change(bugfix(), "", toolchain=("build", "tests")),
            ["undeclared: tests -> test"],
            id="an_unknown_command_of_the_toolchain",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


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
    assert said(protocol, 3)[0].startswith("3 Bug: ")
    assert said(protocol, 3)[0].endswith(f"written down: {expected}")
    assert len(said(protocol, 3)) == len(fields)


@pytest.mark.parametrize("kind", ["Bug?", "[Bug]", "[Bug]?"])
def test_a_record_that_may_end_holds_itself(kind: str) -> None:
    assert said(put(bugfix(), "types.Bug.fields", "inner", Field(type=kind))) == []


def test_a_record_is_not_called_like_a_type_of_the_language() -> None:
    assert faults_of(put(bugfix(), "types", "text", bugfix().types["Fault"]), 3) == ["undeclared text: text"]


# Planted names that could mean two things in an answer.


LONG = "S" * 60


def aliased(*also: str) -> Field:
    return Field(type="text", also=also)


def stuck(**fields: Field) -> Protocol:
    own = bugfix().exits["Stuck"].fields
    return change(bugfix(), "exits.Stuck", fields={**own, **fields})


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            stuck(type=TEXT),
            ["ambiguous_name Stuck: type"],
            id="a_field_called_as_the_tag",
        ),
        pytest.param(
            stuck(kind=aliased("type")),
            ["ambiguous_name Stuck: type"],
            id="an_alias_called_as_the_tag",
        ),
        pytest.param(
            stuck(one=aliased("cause"), two=aliased("cause")),
            ["ambiguous_name Stuck: cause, one, two"],
            id="an_alias_of_two_fields",
        ),
        pytest.param(
            stuck(one=aliased("story")),
            ["ambiguous_name Stuck: story, story, one"],
            id="an_alias_that_is_a_field",
        ),
        pytest.param(
            put(bugfix(), "types.Fault.fields", "why", aliased("what")),
            ["ambiguous_name Fault: what, what, why"],
            id="an_alias_in_a_record",
        ),
        pytest.param(
            change(bugfix(), "exits.Stuck", also=("Fixed",)),
            ["ambiguous_name main.fix: Fixed, Fixed, Stuck"],
            id="an_alias_that_is_another_exit_of_the_step",
        ),
    ],
)
def test_a_planted_fault_in_aliases_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_an_exit_with_too_long_a_tool_name_is_ambiguous() -> None:
    [fault, _] = faults_of(put(bugfix(), "exits", LONG, Exit()))
    assert fault == f"ambiguous_name {LONG}: exit_{LONG}"
    assert len(said(put(bugfix(), "exits", LONG[1:], Exit()))) == 1


@pytest.mark.parametrize(
    "protocol",
    [
        pytest.param(stuck(one=aliased("cause", "cause"), two=aliased("two", "reason")), id="aliases_of_one_field"),
        pytest.param(change(bugfix(), "exits.Stuck", also=("Approved",)), id="an_exit_of_another_step"),
        pytest.param(put(bugfix(), "types.Fault.fields", "type", TEXT), id="a_type_in_a_record"),
        pytest.param(stuck(note=aliased("commit"), commit=COMMIT), id="a_computed_field_is_not_looked_for"),
    ],
)
def test_a_name_with_one_meaning_is_right(protocol: Protocol) -> None:
    assert said(protocol, 3) == []


# Planted commands that no check runs, and checks whose command nobody is asked for.


@pytest.mark.parametrize(
    ("toolchain", "expected"),
    [
        pytest.param(
            ("build", "lint"),
            ["command_not_run: lint"],
            id="a_command_that_nothing_runs",
        ),
        pytest.param(
            ("test",),
            ["command_not_run main.fix: build, build"],
            id="a_check_without_its_command",
        ),
        pytest.param(("build", "test"), [], id="what_is_used"),
        pytest.param((), [], id="no_toolchain_at_all"),
    ],
)
def test_declared_commands_and_checks_must_match(toolchain: tuple[str, ...], expected: list[str]) -> None:
    assert faults_of(change(bugfix(), "", toolchain=toolchain)) == expected


# Planted numbers out of range.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", attempts=0),
            ["number_out_of_range main.fix"],
            id="no_attempts",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", timeout=0),
            ["number_out_of_range main.fix"],
            id="no_time",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=0, to="human")),
            ["number_out_of_range main: rounds"],
            id="no_budget",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", prio=4),
            ["number_out_of_range main.fix"],
            id="no_such_class",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "Shift", Handler(step="rebase", prio=-1)),
            ["number_out_of_range node: Shift"],
            id="no_such_class_of_a_handler",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "Shift", Handler(step="rebase", preempt=-2)),
            ["number_out_of_range node: Shift"],
            id="a_negative_grace",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", window="0"),
            ["number_out_of_range main.cycles: 0"],
            id="no_window",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", window="two"),
            ["number_out_of_range main.cycles: two"],
            id="no_number_as_a_window",
        ),
        pytest.param(
            put(bugfix(), "pools", "branch", 0),
            ["number_out_of_range: branch"],
            id="an_empty_pool",
        ),
        pytest.param(
            change(bugfix(), "", limits=Limits(depth=0)),
            ["number_out_of_range: depth"],
            id="no_depth",
        ),
        pytest.param(
            change(bugfix(), "", limits=Limits(cost=-1.0)),
            ["number_out_of_range: cost"],
            id="a_negative_limit",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", default="abort"),
            ["number_out_of_range main.human: abort"],
            id="a_default_that_never_comes",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", default_after=60),
            ["number_out_of_range main.human: default_after, default"],
            id="a_time_without_a_default",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", estimate=(5, 1, 1, 5)),
            ["number_out_of_range main.fix"],
            id="an_estimate_upside_down",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", remind=-1),
            ["number_out_of_range main.human"],
            id="a_negative_reminder",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", nudges=-1),
            ["number_out_of_range main.fix"],
            id="a_negative_nudge",
        ),
    ],
)
def test_a_number_out_of_range_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


# What is declared and never used is a warning, and only that.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), "exits", "Spare", Exit()),
            ["unused: Spare"],
            id="an_exit",
        ),
        pytest.param(
            put(bugfix(), "roles", "spare", Role()),
            ["unused: spare"],
            id="a_role",
        ),
        pytest.param(
            put(bugfix(), "types", "Spare", Record(fields={"id": TEXT})),
            ["unused: Spare"],
            id="a_type",
        ),
        pytest.param(
            put(bugfix(), "pools", "spare", 1),
            ["unused: spare"],
            id="a_pool",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.ends", "Spare", ()),
            ["unused main: Spare"],
            id="an_outcome",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "child:Merged", Handler(step="lost")),
            ["unused node: child:Merged"],
            id="a_handler_of_a_good_outcome",
        ),
        pytest.param(
            put(bugfix(), "templates", "spare.jinja", ""),
            ["unfit_template: spare.jinja"],
            id="a_template",
        ),
    ],
)
def test_an_unused_declaration_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected
