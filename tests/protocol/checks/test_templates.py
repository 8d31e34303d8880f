"""Planted faults in templates, and templates that are right in unusual ways."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, faults_of, needs, put, said, tree
from treadle.protocol.check import check
from treadle.protocol.findings import Place
from treadle.protocol.model import Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.commit }}\n{{ bgu.id }}"),
            ["unfit_template main.review: bgu -> bug"],
            id="an_undeclared_variable",
        ),
        pytest.param(
            put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.commit }}{{ fix.Stuck }}"),
            ["unfit_template main.review: fix.Stuck"],
            id="an_undeclared_slot",
        ),
        pytest.param(
            put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.commit }}{{ bug.txt }}"),
            ["unfit_template main.review: bug.txt, Bug, txt -> text"],
            id="an_unknown_field_of_the_input",
        ),
        pytest.param(
            put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.comit }}"),
            ["unfit_template main.review: fix.Fixed.comit, fix.Fixed, comit -> commit"],
            id="an_unknown_field_of_an_exit",
        ),
        pytest.param(
            put(
                bugfix(),
                "templates",
                "fix.jinja",
                "{{ repro.Reproduced.tests }}{% if review.Rejected %}"
                "{% for fault in review.Rejected.faults | sort %}{{ fault.why }}{% endfor %}{% endif %}",
            ),
            ["unfit_template main.fix: fault.why, Fault, why"],
            id="an_unknown_field_of_an_item",
        ),
        pytest.param(
            put(
                bugfix(),
                "templates",
                "fix.jinja",
                "{{ repro.Reproduced.tests }}{% if review.Rejected %}"
                "{% set one = review.Rejected.faults | first %}{{ one.why }}{% endif %}",
            ),
            ["unfit_template main.fix: one.why, Fault, why"],
            id="an_unknown_field_of_the_first_item",
        ),
        pytest.param(
            put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.commit.hash }}"),
            ["unfit_template main.review: fix.Fixed.commit.hash, text, hash"],
            id="a_field_of_a_text",
        ),
        pytest.param(
            put(bugfix(), "templates", "again.jinja", "{{ run.name }}"),
            ["unfit_template main.repro: run.name, run, name"],
            id="an_unknown_part_of_the_run",
        ),
        pytest.param(
            put(bugfix(), "templates", "fix.jinja", "{{ repro.Reproduced.tests }}{{ review.Rejected.faults }}"),
            ["unfit_template main.fix: review.Rejected.faults, review.Rejected"],
            id="an_absent_slot",
        ),
        pytest.param(
            put(
                bugfix(),
                "templates",
                "fix.jinja",
                "{{ repro.Reproduced.tests }}{% if not review.Rejected %}{{ review.Rejected.faults }}{% endif %}",
            ),
            ["unfit_template main.fix: review.Rejected.faults, review.Rejected"],
            id="an_absent_slot_in_the_other_branch",
        ),
        pytest.param(
            put(tree(), "templates", "work.jinja", "{% for part in plan.Planned.parts %}{{ part.text }}{% endfor %}"),
            ["unfit_template node.work: plan.Planned.parts"],
            id="a_loop_over_an_absent_list",
        ),
        pytest.param(
            put(tree(), "templates", "work.jinja", "{{ plan.Planned.parts | length }}"),
            ["unfit_template node.work: length, plan.Planned.parts"],
            id="a_count_of_an_absent_list",
        ),
        pytest.param(
            put(
                bugfix(),
                "templates",
                "repro.jinja",
                "{{ bug.id }}{% include 'agian.jinja' %}{% include 'again.jinja' %}",
            ),
            ["unfit_template main.repro: agian.jinja -> again.jinja"],
            id="an_unknown_template",
        ),
        pytest.param(
            put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.commit }}{% include '../../etc/passwd' %}"),
            ["unfit_template main.review: ../../etc/passwd"],
            id="a_template_outside_of_the_folder",
        ),
        pytest.param(
            put(bugfix(), "templates", "repro.jinja", "{{ bug.id }}{% include bug.id %}{% include 'again.jinja' %}"),
            ["unfit_template main.repro"],
            id="a_computed_template",
        ),
        pytest.param(
            put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.commit | fense }}"),
            ["unfit_template main.review: fense -> fence"],
            id="an_unknown_filter",
        ),
        pytest.param(
            put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.commit is definde }}"),
            ["unfit_template main.review: definde -> defined"],
            id="an_unknown_test",
        ),
        pytest.param(
            put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.commit.__class__ }}"),
            ["unfit_template main.review: __class__"],
            id="a_private_attribute",
        ),
        pytest.param(
            put(
                put(bugfix(), "templates", "parts.jinja", "{% macro m(x) %}{{ x }}{{ bug.id }}{% endmacro %}"),
                "templates",
                "review.jinja",
                "{% import 'parts.jinja' as parts %}{{ parts.m(fix.Fixed.commit) }}",
            ),
            ["unfit_template main.review: bug"],
            id="an_import_without_context",
        ),
        pytest.param(
            put(bugfix(), "templates", "review.jinja", "{% for it in reports %}{{ it.data.comit }}{% endfor %}"),
            ["unfit_template main.review: it.data.comit, report.data, comit -> commit"],
            id="a_field_that_no_exit_has",
        ),
        pytest.param(
            put(bugfix(), "templates", "review.jinja", "Look at it."),
            ["unfit_template main.review: fix.Fixed"],
            id="a_need_that_is_never_shown",
        ),
        pytest.param(
            put(
                put(
                    change(bugfix(), "graphs.main", input=("review", "Bug")),
                    "templates",
                    "repro.jinja",
                    "{{ review.id }}{% include 'again.jinja' %}",
                ),
                "templates",
                "human.jinja",
                "{{ fix.Stuck and fix.Stuck.why }}",
            ),
            [
                "unfit_template main.fix: review, review",
                "unfit_template main.human: review.Rejected?",
                "unfit_template main.human: review, review",
            ],
            id="a_step_whose_name_is_taken",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_syntax_error_has_its_line() -> None:
    protocol = put(bugfix(), "templates", "repro.jinja", "{{ bug.id }}\n{% if bug %}")
    [finding] = check(protocol)
    assert (finding.code, finding.where, finding.place.line) == ("protocol.unfit_template", "repro.jinja", 2)
    assert "Unexpected end of template" in finding.message


def test_a_fault_has_its_line_in_the_template_it_stands_in() -> None:
    protocol = put(bugfix(), "templates", "again.jinja", "{% if gate_report %}\n\n{{ gate_reprt }}{% endif %}")
    [finding] = check(protocol, Place)
    assert (str(finding.place), finding.where) == ("templates.again.jinja:3", "main.repro")


@pytest.mark.parametrize(
    "text",
    [
        "{{ fix.Fixed.commit }}{{ node.branch }}{{ toolchain.test }}{{ scope.writes | join }}{{ mode.type }}",
        "{% if fix.Fixed.note %}{{ fix.Fixed.note | length }}{% endif %}",
        "{{ fix.Fixed.note and fix.Fixed.note | length }}",
        "{{ fix.Fixed.note | default('', true) | length }}",
        "{{ fix.Fixed.note | length if fix.Fixed.note is not none else 0 }}",
        "{% if fix.Fixed.note is none %}-{% else %}{{ fix.Fixed.note | length }}{% endif %}",
        "{% if not fix.Fixed.note %}-{% else %}{{ fix.Fixed.note | length }}{% endif %}",
        "{% set fixed = fix.Fixed %}{{ fixed.commit }}",
        "{% with one = fix.Fixed %}{{ one.commit }}{% endwith %}",
        "{{ fix['Fixed']['commit'] }}",
        "{% for name, value in fix.Fixed.items() %}{{ loop.index }}{{ name }}{{ value }}{% endfor %}",
        "{% macro show(x, y=1) %}{{ x.commit }}{{ y }}{{ bug.id }}{% endmacro %}{{ show(fix.Fixed) }}",
        "{% if mode.type == 'Other' %}{{ nothing }}{% else %}{{ fix.Fixed.commit }}{% endif %}",
        "{% if step != 'review' %}{{ nothing }}{% endif %}{{ fix.Fixed.commit }}",
        "{% for signal in signals %}{{ signal.data.whatever }}{% endfor %}{{ fix.Fixed.commit }}",
        "{% for report in reports %}{{ report.title }}{{ report.data.commit }}{% endfor %}",
        "{% filter upper %}{{ fix.Fixed.commit }}{% endfilter %}",
        "{% set text %}{{ fix.Fixed.commit }}{% endset %}{{ text }}",
        "{% block one %}{{ fix.Fixed.commit }}{% endblock %}",
    ],
)
def test_a_template_that_is_right(text: str) -> None:
    assert said(put(bugfix(), "templates", "review.jinja", text)) == []


def test_default_does_not_replace_a_null_value() -> None:
    text = "{{ fix.Fixed.note | default('') | length }}"
    assert said(put(bugfix(), "templates", "review.jinja", text)) != []


def test_a_private_name_in_a_filter() -> None:
    text = "{{ fix.Fixed.commit }}{{ [attempt] | map(attribute='__class__') | list }}"
    assert faults_of(put(bugfix(), "templates", "review.jinja", text)) == ["unfit_template main.review: __class__"]


def test_an_unreadable_template_is_the_only_finding() -> None:
    broken = put(bugfix(), "templates", "fix.jinja", "{{ nobody }}{% if %}")
    assert faults_of(broken) == ["unfit_template fix.jinja: end of statement block"]


def test_an_unreadable_included_template_is_the_only_finding() -> None:
    text = "{% from 'again.jinja' import note %}{{ note(bug) }}"
    broken = put(put(bugfix(), "templates", "again.jinja", "{% if %}"), "templates", "fix.jinja", text)
    assert [line.partition(":")[0] for line in said(broken)] == ["15 again.jinja"]


def test_a_template_nested_too_deeply_is_a_finding() -> None:
    text = "{{ fix.Fixed.commit }}{{ " + "(" * 4000 + "1" + ")" * 4000 + " }}"
    assert "nested too deeply" in " ".join(said(put(bugfix(), "templates", "review.jinja", text)))


MODULE = "{% macro two(x) %}{{ x.commit }}{% endmacro %}"


@pytest.mark.parametrize(
    ("text", "module", "expected"),
    [
        pytest.param(
            "{% macro one(x) %}{{ x.comit }}{% endmacro %}{{ one(fix.Fixed) }}",
            "",
            "template reads 'x.comit', but 'fix.Fixed' has no field 'comit' (did you mean 'commit'?)",
            id="a_field_of_an_argument",
        ),
        pytest.param(
            "{% import 'm.jinja' as m %}{{ m.two(x=fix.Fixed) }}",
            MODULE.replace("x.commit", "x.comit"),
            "template reads 'x.comit', but 'fix.Fixed' has no field 'comit' (did you mean 'commit'?)",
            id="a_field_of_an_argument_of_an_imported_macro",
        ),
        pytest.param(
            "{% import 'm.jinja' as m %}{{ m.tow(fix.Fixed) }}",
            MODULE,
            "template reads 'm.tow', but 'm' has no field 'tow' (did you mean 'two'?)",
            id="an_unknown_macro_of_a_module",
        ),
        pytest.param(
            "{% from 'm.jinja' import tow %}{{ tow(fix.Fixed) }}",
            MODULE,
            "template imports 'tow', which 'm.jinja' does not offer (did you mean 'two'?)",
            id="an_unknown_macro_by_name",
        ),
        pytest.param(
            "{% macro one(x) %}{{ x | length }}{% endmacro %}{{ one(fix.Fixed.note) }}",
            "",
            "template takes 'length' of 'x', which may be absent (put it inside `if x`)",
            id="an_argument_that_may_be_absent",
        ),
    ],
)
def test_a_fault_in_a_macro_is_named(text: str, module: str, expected: str) -> None:
    protocol = put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.commit }}" + text)
    protocol = put(protocol, "templates", "m.jinja", module) if module else protocol
    assert said(protocol) == [f"15 main.review: {expected}"]


@pytest.mark.parametrize(
    "text",
    [
        "{% macro one(x) %}{{ x | length }}{% endmacro %}{% if fix.Fixed.note %}{{ one(fix.Fixed.note) }}{% endif %}",
        "{% macro one(x) %}{% if x.commit %}{{ one(x.note) }}{% endif %}{% endmacro %}{{ one(fix.Fixed) }}",
        "{% macro one(x) %}{{ one(x) if x.commit }}{{ x.commit and one(x) }}{% endmacro %}{{ one(fix.Fixed) }}",
        "{% macro one(x) %}{{ x.anything }}{% endmacro %}{{ one(vars) }}",
    ],
    ids=[
        "an_argument_that_is_there",
        "a_macro_that_ends",
        "a_macro_with_a_choice",
        "an_argument_of_which_nothing_is_known",
    ],
)
def test_a_macro_that_is_right(text: str) -> None:
    assert said(put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.commit }}" + text)) == []


def test_a_part_of_a_list_has_the_items_of_the_list() -> None:
    text = "{{ fix.Fixed.commit }}{% for one in review.Rejected[-2:] %}{{ one.fault }}{% endfor %}"
    listed = change(bugfix(), "graphs.main.steps.review", needs=needs("fix.Fixed", "review.Rejected*"))
    assert faults_of(put(listed, "templates", "review.jinja", text)) == [
        "unfit_template main.review: one.fault, review.Rejected, fault -> faults"
    ]


def test_a_signal_has_the_fields_of_the_asking_exit() -> None:
    text = "{{ plan.Planned }}{% for signal in signals %}{{ signal.data.quetsion }}{% endfor %}"
    assert faults_of(put(tree(), "templates", "answer.jinja", text)) == [
        "unfit_template node.answer: signal.data.quetsion, signal.data, quetsion -> question"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "{% for one in scope.writes %}{{ loop.indx }}{% endfor %}",
            "template reads 'loop.indx', but 'loop' has no field 'indx' (did you mean 'index'?)",
            id="a_loop",
        ),
        pytest.param(
            "{% for one in [fix.Fixed, fix.Fixed] %}{{ one.comit }}{% endfor %}",
            "template reads 'one.comit', but 'fix.Fixed' has no field 'comit' (did you mean 'commit'?)",
            id="a_list_that_is_written_out",
        ),
    ],
)
def test_loops_and_literal_lists_have_known_fields(text: str, expected: str) -> None:
    protocol = put(bugfix(), "templates", "review.jinja", "{{ fix.Fixed.commit }}" + text)
    assert said(protocol) == [f"15 main.review: {expected}"]


def test_the_result_of_a_map_has_known_parts() -> None:
    protocol = change(batch(), "graphs.main.steps.halt", template="halt.jinja")
    shown = put(
        protocol, "templates", "halt.jinja", "{% if cycles.SomeFailed %}{{ cycles.SomeFailed.total }}{% endif %}"
    )
    assert said(shown) == []
    wrong = put(
        protocol, "templates", "halt.jinja", "{% if cycles.SomeFailed %}{{ cycles.SomeFailed.totl }}{% endif %}"
    )
    assert faults_of(wrong) == ["unfit_template main.halt: cycles.SomeFailed.totl, cycles.SomeFailed, totl -> total"]


@pytest.mark.parametrize("name", ["step", "run", "range", "loop", "vars", "none"])
def test_an_input_may_not_have_a_reserved_name(name: str) -> None:
    found = faults_of(change(bugfix(), "graphs.main", input=(name, "Bug")), 15)
    assert f"unfit_template main: {name}" in found


@pytest.mark.parametrize(
    "text",
    [
        "{% if review.Rejected is defined %}{{ review.Rejected.faults | length }}{% endif %}",
        "{{ review.Rejected.faults | length if review.Rejected is defined else '' }}",
        "{% if review.Rejected is undefined %}none{% else %}{{ review.Rejected.faults | length }}{% endif %}",
    ],
)
def test_a_slot_that_is_defined_is_there(text: str) -> None:
    shown = "{{ repro.Reproduced.tests | join }}"
    assert said(put(bugfix(), "templates", "fix.jinja", shown + text)) == []


def test_a_field_that_is_defined_may_be_null() -> None:
    text = "{{ fix.Fixed.commit }}{% if fix.Fixed.note is defined %}{{ fix.Fixed.note | length }}{% endif %}"
    assert faults_of(put(bugfix(), "templates", "review.jinja", text)) == [
        "unfit_template main.review: length, fix.Fixed.note"
    ]


# Templates that lead back to themselves, by whatever statement.


SHOWN = "{{ fix.Fixed.commit }}"


def with_templates(**texts: str) -> Protocol:
    new = {f"{name}.jinja": text for name, text in texts.items()}
    return change(bugfix(), "", templates={**bugfix().templates, **new})


@pytest.mark.parametrize(
    "statement",
    [
        "{% include 'review.jinja' %}",
        "{% extends 'review.jinja' %}",
        "{% import 'review.jinja' as r %}",
        "{% from 'review.jinja' import r %}",
        "{% include ['review.jinja', 'again.jinja'] ignore missing %}",
        "{% include 'review.jinja' if attempt > 3 else 'again.jinja' %}",
        "{% if attempt > 9 %}{% include 'review.jinja' %}{% endif %}",
        "{% macro m() %}{% include 'review.jinja' %}{% endmacro %}",
    ],
)
def test_a_template_that_leads_to_itself(statement: str) -> None:
    [line] = said(with_templates(review=SHOWN + statement))
    assert line.startswith("15 review.jinja: ")
    assert ": review.jinja → review.jinja " in line


def test_a_circle_is_spelled_out_once_where_it_begins() -> None:
    circle = with_templates(
        review=f"{SHOWN}\n\n{{% include 'b.jinja' %}}",
        b="{% import 'c.jinja' as c %}",
        c="{% include 'review.jinja' %}",
    )
    [finding] = check(circle, Place)
    assert (finding.place.file, finding.place.line) == ("templates.review.jinja", 3)
    assert finding.message.endswith(": review.jinja → b.jinja → c.jinja → review.jinja")


def test_the_shortest_circle_of_includes_is_named() -> None:
    circle = with_templates(
        review=SHOWN + "{% include 'b.jinja' %}{% include 'c.jinja' %}",
        b="{% include 'c.jinja' %}",
        c="{% include 'review.jinja' %}",
    )
    [line] = said(circle)
    assert "review.jinja → c.jinja → review.jinja" in line


def test_two_circles_are_two_findings() -> None:
    apart = with_templates(review=SHOWN + "{% include 'review.jinja' %}", human="{% include 'human.jinja' %}")
    assert sorted(line.partition(":")[0] for line in said(apart)) == ["15 human.jinja", "15 review.jinja"]


def test_a_template_may_be_included_many_times_by_many() -> None:
    twice = "{% include 'again.jinja' %}" * 2
    assert said(with_templates(review=SHOWN + twice)) == []
