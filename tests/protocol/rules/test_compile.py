"""The rules table: what it compiles to, how a project's table is laid over the defaults, and what is refused."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.errors import ProtocolError
from treadle.protocol.check import check
from treadle.protocol.findings import Finding
from treadle.protocol.load import BUILT_IN, load, load_files, load_source
from treadle.protocol.model import Graph, Protocol, Route, row
from treadle.protocol.reading.yaml import Node, read_yaml
from treadle.protocol.rules.compiler import compile_rules, compile_team
from treadle.protocol.rules.overrides import merge_rules, weave
from treadle.protocol.rules.table import REASONS, read_rules

SMALL = """\
steps:
  plan:   {next_on_pass: review, claude_writes: [docs/plan.md]}
  review: {next_on_pass: build, requires_human: true, on_fail: {default: plan, scope_warning: plan}}
  build:  {next_on_pass: done, max_attempts: 3, claude_writes: ["src/**"], on_fail: {default: build, nfr_missing: plan}}
"""
DEFAULTS = (BUILT_IN / "waterfall" / "step-rules.yaml").read_text(encoding="utf-8")


def table(text: str) -> Node:
    return read_yaml(text, "rules.yaml")


def compiled(text: str) -> dict[str, Any]:
    plain: dict[str, Any] = compile_rules(read_rules(table(text))).plain()
    return plain


def step(text: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = compiled(text)["steps"][name]
    return found


@cache
def story() -> Graph:
    """The graph of a story by the default table."""
    return load("waterfall").graphs["story"]


def ruled(tmp_path: Path, rules: str) -> Protocol:
    """The waterfall with a project's own table."""
    path = tmp_path / "step-rules.yaml"
    path.write_text(rules, encoding="utf-8")
    return load_source("waterfall", rules=path).protocol


def only(graph: Graph, name: str, key: str) -> Route:
    rows = row(graph, name, key)
    assert rows is not None
    assert len(rows) == 1
    return rows[0]


def problems(text: str) -> list[str]:
    with pytest.raises(ProtocolError) as caught:
        compile_rules(read_rules(table(text)))
    return [str(finding) for finding in caught.value.findings]


# what a row becomes


def test_a_row_becomes_an_agent_step_with_three_exits() -> None:
    assert step(SMALL, "plan") == {
        "row": "plan",
        "role": "executor",
        "exits": ["pass", "failing", "needs_human"],
        "attempts": 1,
        "timeout": "5m",
        "reads": [],
        "writes": ["docs/plan.md"],
        "gates": {"pass": ["commit_once", "scope"]},
        "needs": ["plan.failing?", "build.failing?"],
        "routes": {"pass": "review", "failing": "@self", "needs_human": "stuck"},
    }


def test_stubs_are_added_where_the_step_writes_that_replaces_them() -> None:
    said = "plan:   {next_on_pass: review, stubs_for: build, claude_writes: [docs/plan.md]}"
    rows = SMALL.replace("plan:   {next_on_pass: review, claude_writes: [docs/plan.md]}", said)
    assert step(rows, "plan")["stubs"] == ["src/**"]
    assert "stubs" not in step(rows, "build")
    wrong = problems(rows.replace("stubs_for: build", "stubs_for: biuld"))
    assert [text for text in ("'biuld'", "'build'") if text not in wrong[0]] == []
    scaffold = story().steps["scaffold"]
    assert scaffold.stubs == story().steps["impl"].writes, "also where a project has its own"


def test_a_person_answers_with_the_reason() -> None:
    # A1: in the published dispatch these rows can never be reached
    review = step(SMALL, "review")
    assert review["ask"] == "human"
    assert review["routes"] == {"approve": "build", "reject": "plan", "scope_warning": "plan", "abort": "@end:Aborted"}
    assert review["choices"].keys() == review["routes"].keys()


def test_minutes_remind_a_person_and_stop_an_executor() -> None:
    timed = SMALL.replace("requires_human: true", "requires_human: true, timeout_min: 90")
    assert step(timed, "review")["remind"] == "90m"
    assert step(SMALL.replace("max_attempts: 3", "timeout_min: 7"), "build")["timeout"] == "7m"


def test_going_back_charges_a_budget_with_a_question_behind_it() -> None:
    graph = compiled(SMALL)
    assert graph["steps"]["build"]["routes"]["failing.nfr_missing"] == {"to": "plan", "charge": "build-rework"}
    assert graph["budgets"] == {"build-rework": {"max": 3, "to": "build-rework", "resets": ["review"]}}
    asked = graph["steps"]["build-rework"]
    assert asked["ask"] == "human"
    assert asked["routes"] == {"plan": "plan", "review": "review", "retry": "build", "abort": "@end:Aborted"}
    assert asked["needs"] == ["build.failing?"]


CHECKED = """\
steps:
  build: {next_on_pass: try, max_attempts: 3, claude_writes: ["src/**"]}
  try:   {next_on_pass: done, max_attempts: 2, gates: {pass: [green lint?, {check: minimal, advisory: true}]}, ROW}
"""


@pytest.mark.parametrize(
    ("row", "routes"),
    [
        ("on_fail: {default: build}, fails_by: [green]", {"!gate.readonly": "@self", "!gate.green": "BACK"}),
        (
            "on_fail: {default: build}, fails_by: [green], claude_writes: [a.md]",
            {"!gate.scope": "@self", "!gate.green": "BACK"},
        ),
        (
            "on_fail: {default: build}, fails_by: [post_check], post_check: make",
            {"!gate.readonly": "@self", "!gate.post_check": "BACK"},
        ),
        ("on_fail: {default: build}, fails_by: [build, post_check, lint, minimal]", {}),
        ("on_fail: {default: build}, fails_by: null", {}),
        ("on_fail: {default: try}, fails_by: [green]", {}),
    ],
)
def test_a_pass_refused_by_a_named_check_goes_back_to_that_step(row: str, routes: dict[str, str]) -> None:
    steps = compiled(CHECKED.replace("ROW", row))["steps"]
    back = {"to": "build", "charge": "try-rework"}
    found = {key: to for key, to in steps["try"]["routes"].items() if key.startswith("!")}
    assert found == {key: back if to == "BACK" else to for key, to in routes.items()}
    told = {name for name in ("build", "try-rework") if "!gate?" in steps.get(name, {}).get("needs", ())}
    assert told == ({"build", "try-rework"} if routes else set())


def test_a_step_with_one_attempt_that_wrote_too_much_asks_at_once() -> None:
    row = "on_fail: {default: build}, fails_by: [green]"
    routes = step(CHECKED.replace("ROW", row).replace("max_attempts: 2", "max_attempts: 1"), "try")["routes"]
    assert routes["!gate.readonly"] == "stuck"


def test_the_number_of_times_to_go_back_is_data() -> None:
    assert compiled("max_rework: 7\n" + SMALL)["budgets"]["build-rework"]["max"] == 7


def test_a_persons_rejection_charges_no_budget() -> None:
    assert all("review" not in budget for budget in compiled(SMALL)["budgets"])


@pytest.mark.parametrize(
    ("writes", "gates", "expected"),
    [
        ("[src/**]", "", ["commit_once", "scope"]),
        ("[src/**]", "build green", ["commit_once", "scope", "build green"]),
        ("[src/**]", "checkpoint build", ["scope", "checkpoint build"]),
        ("[src/**]", "scope? build", ["commit_once", "scope? build"]),
        ("[a.md]", "schema:gherkin", ["checkpoint", "scope", "schema:gherkin"]),
        ("[a.md]", "schema:delta no_secrets", ["checkpoint", "scope", "schema:delta no_secrets"]),
        ("[a.md]", "schema?:delta", ["commit_once", "scope", "schema?:delta"]),
        ("[a.md]", "schema:openapi", ["commit_once", "scope", "schema:openapi"]),
        ("[]", "", ["checkpoint", "readonly"]),
        ("[]", "readonly measure", ["checkpoint", "readonly measure"]),
    ],
)
def test_the_checkpoint_depends_on_the_writes_and_the_gates(writes: str, gates: str, expected: list[str]) -> None:
    rows = f"{{next_on_pass: done, claude_writes: {writes}, gates: {{pass: '{gates}'}}}}"
    found = step(f"steps:\n  only: {rows}\n", "only")["gates"]["pass"]
    assert found == (expected if gates else [*expected, ""])


def test_a_read_only_step_is_checked_by_every_exit() -> None:
    assert step("steps: {look: {next_on_pass: done}}", "look")["gates"] == {
        "pass": ["checkpoint", "readonly"],
        "failing": ["readonly"],
        "needs_human": ["readonly"],
    }


def test_a_post_check_keeps_its_command_in_one_piece() -> None:
    rules = "steps: {only: {next_on_pass: done, claude_writes: [a], post_check: 'eslint . && tsc --noEmit'}}"
    assert step(rules, "only")["gates"]["pass"][-1] == {"check": "post_check", "arg": "eslint . && tsc --noEmit"}


def test_done_is_the_end_unless_a_step_stands_for_it() -> None:
    assert step(SMALL, "build")["routes"]["pass"] == "@end:Done"
    assert step("done: merge\n" + SMALL, "build")["routes"]["pass"] == "merge"


def test_an_effect_comes_between_a_row_and_the_next() -> None:
    rules = "effects: {keep: {after: plan, effect: archive, exit: Archived, title: Keep}}\n" + SMALL
    steps = compiled(rules)["steps"]
    assert steps["plan"]["routes"]["pass"] == "keep"
    assert steps["keep"] == {
        "effect": "archive",
        "title": "Keep",
        "row": "plan",
        "exits": ["Archived"],
        "routes": {"Archived": "review"},
        "needs": ["plan.pass?"],
    }
    assert "keep.Archived?" in steps["review"]["needs"]


def test_the_target_of_an_exit_reads_it() -> None:
    steps = compiled(SMALL)["steps"]
    assert steps["review"]["needs"] == ["plan.pass?"]
    assert steps["stuck"]["needs"] == ["!*?", "plan.needs_human?", "build.needs_human?"]


def test_a_need_of_the_row_is_not_listed_twice() -> None:
    rules = SMALL.replace("max_attempts: 3", "needs: [review.approve, plan.pass]").replace(
        "pass: review", "pass: build"
    )
    assert step(rules, "build")["needs"] == ["review.approve", "plan.pass", "build.failing?"]


def test_a_step_that_may_be_skipped_has_that_answer() -> None:
    # A25
    steps = compiled(SMALL.replace("claude_writes: [docs/plan.md]", "claude_writes: [a], skippable: true"))["steps"]
    asked = steps["stuck-plan"]
    assert asked["skippable"] is True
    assert asked["routes"] == {"retry": "plan", "skip": "review", "abort": "@end:Aborted"}
    routes = steps["plan"]["routes"]
    assert (routes["!*"], routes["needs_human"]) == ("stuck-plan", "stuck-plan")
    assert not {"!gate", "!invalid"} & set(routes)


def test_a_step_that_may_be_skipped_still_tries_again_by_itself() -> None:
    routes = step(SMALL.replace("max_attempts: 3", "max_attempts: 3, skippable: true"), "build")["routes"]
    assert (routes["!gate"], routes["!invalid"]) == ("@self", "@self")


def test_the_language_s_own_keys_go_through_untouched() -> None:
    rules = SMALL.replace("max_attempts: 3", "wait: manual, thread: resume, estimate: [1, 2, 3, 4], keep_work: true")
    found = step(rules, "build")
    assert (found["wait"], found["thread"], found["estimate"]) == ("manual", "resume", [1, 2, 3, 4])
    assert found["keep_work"] is True


def test_findings_of_later_stages_point_at_the_row() -> None:
    protocol = (
        "protocol: small\nroot: main\nstep_rules: {file: rules.yaml, graph: main}\ngraphs: {main: {start: plan}}\n"
    )
    with pytest.raises(ProtocolError) as caught:
        load_files({"protocol.yaml": protocol, "rules.yaml": SMALL.replace("[docs/plan.md]", "[a], estimate: [1, 2]")})
    found = [str(finding) for finding in caught.value.findings]
    assert "rules.yaml:2: main.plan: 'estimate' " in found[-1]


def test_every_step_knows_its_row() -> None:
    rows = compile_rules(read_rules(table(SMALL))).value
    assert isinstance(rows, dict)
    assert {name: rows["steps"].key_place(name).line for name in ("plan", "review", "build", "build-rework")} == {
        "plan": 2,
        "review": 3,
        "build": 4,
        "build-rework": 4,
    }


# dispatch to a team


PUBLISHED = Path(__file__).parents[2] / "protocols" / "fixtures" / "published-step-rules.yaml"
TEAM = """\
dispatch_mode: {S: single, M: auto, L: team}
sized_by: plan
team: lead
steps:
  plan:  {next_on_pass: build, claude_writes: [a]}
  build:
    next_on_pass: done
    claude_writes: ["src/**"]
    post_check: make lint
    team_roles:
      back: {claude_reads: ["docs/{story}.md"], claude_writes: ["*.go"], gates: build}
      look: {claude_reads: [b], claude_writes: [], hidden: [".ai/**"]}
"""


def test_the_size_of_a_story_decides_between_a_team_and_one_executor() -> None:
    # A18, A19
    routes = step(TEAM, "plan")["routes"]["pass"]
    guard = "(data.complexity == 'M' and data.parallel_tasks >= 2) or (data.complexity == 'L')"
    assert routes == [
        {"to": "lead", "when": "team", "sets": {"team": guard}},
        {"to": "build", "sets": {"team": guard}},
    ]
    assert compiled(TEAM)["vars"] == {"team": False}


def test_a_project_may_do_without_teams() -> None:
    alone = TEAM.replace("{S: single, M: auto, L: team}", "{S: single, M: single, L: single}")
    assert step(alone, "plan")["routes"]["pass"][1] == {"to": "build", "sets": {"team": "False"}}


def test_a_table_without_team_roles_sets_no_variable() -> None:
    assert "vars" not in compiled(SMALL)


def test_a_team_role_has_its_paths_its_checks_and_the_post_check() -> None:
    part = compile_team(read_rules(table(TEAM))).plain()
    assert part["roles"] == {
        "back": {"reads": ["docs/{story}.md"], "writes": ["**/*.go"], "hidden": []},
        "look": {"reads": ["b"], "writes": [], "hidden": [".ai/**"]},
    }
    gates = {name: graph["steps"]["work"]["gates"]["task_done"] for name, graph in part["graphs"].items()}
    assert gates == {
        "task-back": ["commit_once", "scope", "owned_files", "build", {"check": "post_check", "arg": "make lint"}],
        "task-look": ["checkpoint", "readonly"],
    }


def test_an_advisory_role_may_go_as_far_as_its_step() -> None:
    # A24
    loose = compile_team(read_rules(table(TEAM.replace("gates: build}", "gates: build, advisory: true}")))).plain()
    assert loose["roles"]["back"]["writes"] == ["src/**", "**/*.go"]
    assert "owned_files?" in loose["graphs"]["task-back"]["steps"]["work"]["gates"]["task_done"]


def test_a_table_without_a_team_adds_no_parts() -> None:
    assert compile_team(read_rules(table(SMALL))).plain() == {}


def test_a_part_is_woven_into_the_existing_protocol() -> None:
    base = table("roles: {back: {display: Back}}\ngraphs: {task-back: {start: work}}")
    woven = weave(base, table("roles: {back: {reads: [a]}}\ngraphs: {task-back: {steps: {}}}"))
    assert woven.plain() == {
        "roles": {"back": {"display": "Back", "reads": ["a"]}},
        "graphs": {"task-back": {"start": "work", "steps": {}}},
    }


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("roles: {bakc: {reads: [a]}}", "rules.yaml:1: the protocol has no role 'bakc' (did you mean 'back'?)"),
        (
            "roles: {back: {display: X}}",
            "rules.yaml:1: 'roles.back.display' is also at rules.yaml:1 (leave one of them out)",
        ),
    ],
)
def test_a_part_that_does_not_fit_is_refused(part: str, message: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        weave(table("roles: {back: {display: Back}}"), table(part))
    assert [str(finding) for finding in caught.value.findings] == [message]


# what is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SMALL.replace("max_attempts: 3", "max_attemps: 3"),
            "rules.yaml:4: steps.build: unknown key 'max_attemps' (did you mean 'max_attempts'?)",
        ),
        (
            SMALL.replace("next_on_pass: build", "next_on_pass: biuld"),
            "rules.yaml:3: steps.review: 'biuld' is not a step of the rules table (did you mean 'build'?)",
        ),
        (
            SMALL.replace("nfr_missing: plan", "nfr_missing: nowhere"),
            (
                "rules.yaml:4: steps.build: 'nowhere' is not a step of the rules table "
                "(its steps: plan, review, build, done)"
            ),
        ),
        (
            SMALL.replace("nfr_missing", "nfr_mising"),
            "rules.yaml:4: steps.build: unknown reason 'nfr_mising' (did you mean 'nfr_missing'?)",
        ),
        (
            SMALL.replace("next_on_pass: done, ", ""),
            "rules.yaml:4: steps.build: nothing follows a pass of 'build' (a new step says `next_on_pass:`)",
        ),
        (
            SMALL + "  biuld: {max_attempts: 3}\n",
            "rules.yaml:5: steps.biuld: nothing follows a pass of 'biuld' (did you mean 'build'?)",
        ),
        (
            SMALL.replace(", on_fail: {default: plan, scope_warning: plan}", ""),
            "rules.yaml:3: steps.review: nothing follows a rejection (add `on_fail: {default: STEP}`)",
        ),
        (
            SMALL.replace("requires_human: true", "requires_human: true, max_attempts: 2"),
            (
                "rules.yaml:3: steps.review: 'max_attempts' has no meaning in a step that asks a person "
                "(remove it; a person who only lets an executor begin is asked by `confirm: true`)"
            ),
        ),
        (
            SMALL.replace("max_attempts: 3", "next_on_fail: plan"),
            "rules.yaml:4: steps.build: 'next_on_fail' and 'on_fail.default' disagree (keep one of them)",
        ),
        (
            SMALL.replace("docs/plan.md", "'docs/{stroy}.md'"),
            "rules.yaml:2: steps.plan: unknown placeholder {stroy} in 'claude_writes' (did you mean 'story'?)",
        ),
        (
            SMALL.replace("next_on_pass: done", "next_on_pass: plan"),
            (
                "rules.yaml:4: steps.build: passes lead from build to plan to review to build, and so never to 'done' "
                "(let `next_on_pass` of one of them lead on to done)"
            ),
        ),
        (
            SMALL.replace("next_on_pass: done", "next_on_pass: build"),
            (
                "rules.yaml:4: steps.build: passes lead from build to build, and so never to 'done' "
                "(let `next_on_pass` of one of them lead on to done)"
            ),
        ),
        (
            SMALL.replace("docs/plan.md", "../plan.md"),
            (
                "rules.yaml:2: steps.plan: '../plan.md' in 'claude_writes' leaves its directory with .. "
                "(write it relative to the root of the repository)"
            ),
        ),
        (
            SMALL.replace("docs/plan.md", ".git/**"),
            (
                "rules.yaml:2: steps.plan: '.git/**' in 'claude_writes' lies inside .git, "
                "which only the orchestrator touches (remove it)"
            ),
        ),
        (
            SMALL.replace("max_attempts: 3", "team_roles: {backend: {claude_writes: [/etc/**]}}"),
            (
                "rules.yaml:4: steps.build: '/etc/**' in 'claude_writes' is absolute "
                "(write it relative to the root of the repository)"
            ),
        ),
        (
            SMALL + "  done: {next_on_pass: plan}\n",
            (
                "rules.yaml:5: steps.done: 'done' is the end of a story, not a row "
                "(remove it; `done:` names the step that stands for it)"
            ),
        ),
        (
            SMALL.replace("plan", "stuck"),
            (
                "rules.yaml:2: steps.stuck: 'stuck' is the name of a question that the table gives rise to "
                "(rename the step)"
            ),
        ),
        (
            SMALL.replace("max_attempts: 3", "max_attempts: 0"),
            "rules.yaml:4: steps.build: 'max_attempts' is 0 (it must be 1 or more)",
        ),
        (
            SMALL.replace("max_attempts: 3", "timeout_min: soon"),
            "rules.yaml:4: steps.build: 'timeout_min' must be a whole number, not text",
        ),
        (
            SMALL.replace("max_attempts: 3", "gates: {passed: build}"),
            "rules.yaml:4: steps.build: unknown key 'passed' (did you mean 'pass'?)",
        ),
        ("dispatch_mode: {XL: single}\n" + SMALL, "rules.yaml:1: dispatch_mode: unknown key 'XL' (did you mean 'L'?)"),
        (
            TEAM.replace("auto", "automatic"),
            "rules.yaml:1: dispatch_mode.M: 'M' cannot be 'automatic' (did you mean 'auto'?)",
        ),
        (
            TEAM.replace("team: lead\n", ""),
            (
                "rules.yaml:1: dispatch_mode: a team is asked for, and nothing says how it starts "
                "(add `team_roles:` to a step, `sized_by:` (who sizes a story) "
                "and `team:` (where it starts))"
            ),
        ),
        (
            "effects: {keep: {after: paln, effect: archive, exit: Archived}}\n" + SMALL,
            "rules.yaml:1: effects.keep: 'paln' is not a step of the rules table (did you mean 'plan'?)",
        ),
        (
            "effects: {keep: {after: plan, exit: Archived}}\n" + SMALL,
            "rules.yaml:1: effects.keep: the effect 'keep' has no 'effect' (add `effect:`)",
        ),
        (
            SMALL.replace("max_attempts: 3", "fails_by: [gren]"),
            "rules.yaml:4: steps.build: 'gren' is not a check (did you mean 'green'?)",
        ),
        ("step: {}\n" + SMALL, "rules.yaml:1: unknown key 'step' (did you mean 'steps'?)"),
        ("max_rework: 3\n", "rules.yaml:1: the rules table has no 'steps' (add `steps:`)"),
        ("[impl]", "rules.yaml:1: 'the rules table' must be a mapping, not a list (write `steps: {STEP: {…}}`)"),
        ("word", "rules.yaml:1: 'the rules table' must be a mapping, not text (write `steps: {STEP: {…}}`)"),
    ],
)
def test_a_refused_table_names_its_place_and_a_repair(text: str, message: str) -> None:
    assert problems(text) == [message]


def test_all_mistakes_are_listed_at_once() -> None:
    wrong = SMALL.replace("max_attempts", "attempts").replace("scope_warning", "scope").replace("review", "revue", 1)
    assert len(problems(wrong)) == 3


# a project's table over the defaults


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("steps: {build: {max_attempts: 5}}", {"max_attempts": 5}),
        ("steps: {build: {claude_writes: [lib]}}", {"claude_writes": ["lib"]}),
        ("steps: {build: {on_fail: {nfr_missing: null}}}", {"on_fail": {"default": "build"}}),
        ("steps: {build: {next_on_fail: plan}}", {"on_fail": {"nfr_missing": "plan", "default": "plan"}}),
        ("steps: {build: {on_fail: {default: plan}}}", {"on_fail": {"nfr_missing": "plan", "default": "plan"}}),
        ("steps: {build: {post_check: eslint .}}", {"post_check": "eslint ."}),
    ],
)
def test_an_override_names_only_its_differences(override: str, expected: dict[str, Any]) -> None:
    before = table(SMALL).plain()["steps"]
    after = merge_rules(table(SMALL), table(override)).plain()["steps"]
    assert after == {**before, "build": {**before["build"], **expected}}


def test_a_default_of_either_name_is_replaced_by_the_other() -> None:
    # A11: a project that knows only the short name must not leave two answers
    rules = SMALL.replace("on_fail: {default: build, nfr_missing: plan}", "next_on_fail: build")
    merged = merge_rules(table(rules), table("steps: {build: {on_fail: {default: plan}}}"))
    assert compile_rules(read_rules(merged)).plain()["steps"]["build"]["routes"]["failing"] == {
        "to": "plan",
        "charge": "build-rework",
    }


def test_a_null_row_removes_a_step() -> None:
    override = "steps: {review: null, plan: {next_on_pass: build}}"
    merged = merge_rules(table(SMALL), table(override))
    assert list(read_rules(merged).steps) == ["plan", "build"]


def test_problems_of_an_override_stand_in_its_file() -> None:
    override = read_yaml("steps:\n  build:\n    on_fail: {default: biuld}\n", ".ai/step-rules.yaml")
    with pytest.raises(ProtocolError) as caught:
        compile_rules(read_rules(merge_rules(table(SMALL), override)))
    (finding,) = caught.value.findings
    assert isinstance(finding, Finding)
    assert (finding.place.file, finding.place.line, finding.where) == (".ai/step-rules.yaml", 3, "steps.build")
    assert ("'biuld'" in finding.message, "'build'" in finding.hint) == (True, True)


@pytest.mark.parametrize("override", ["{}", "steps: {}", DEFAULTS], ids=["nothing", "no steps", "itself"])
def test_an_override_without_changes_compiles_to_the_same(override: str) -> None:
    merged = merge_rules(table(DEFAULTS), table(override))
    assert compile_rules(read_rules(merged)).plain() == compile_rules(read_rules(table(DEFAULTS))).plain()


# any table at all

NAMES = [f"s{number}" for number in range(6)]


@st.composite
def tables(draw: st.DrawFn) -> str:
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    target = st.sampled_from([*names, "done"])
    lines = ["steps:"]
    for number, name in enumerate(names):
        onward = st.sampled_from([*names[number + 1 :], "done"])
        fails = draw(st.dictionaries(st.sampled_from(["default", *REASONS]), target))
        human = draw(st.booleans())
        fails.setdefault("default", draw(target))
        on_fail = ", ".join(f"{reason}: {to}" for reason, to in fails.items())
        flag = "requires_human: true" if human else f"skippable: {str(draw(st.booleans())).lower()}"
        lines.append(f"  {name}: {{next_on_pass: {draw(onward)}, on_fail: {{{on_fail}}}, {flag}}}")
    return "\n".join(lines)


def targets(routes: Any) -> list[str]:
    match routes:
        case str():
            return [routes]
        case list():
            return [found for item in routes for found in targets(item)]
        case {"to": to}:
            return targets(to)
        case dict():
            return [found for item in routes.values() for found in targets(item)]
    raise AssertionError(routes)


@given(tables())
def test_every_table_compiles_to_a_closed_graph(text: str) -> None:
    graph = compiled(text)
    steps, budgets = graph["steps"], graph.get("budgets", {})
    for name, found in steps.items():
        for to in targets(found["routes"]):
            assert to in steps or to.startswith("@"), (name, to)
        charged = [row["charge"] for row in found["routes"].values() if isinstance(row, dict)]
        assert set(charged) <= set(budgets)
    assert all(budget["to"] in steps for budget in budgets.values())


@given(tables())
def test_every_way_back_to_an_executor_charges_a_budget(text: str) -> None:
    # A7: an executor cannot send the story to another executor for ever
    steps = compiled(text)["steps"]
    for name in read_rules(table(text)).steps:
        for key, found in steps[name]["routes"].items():
            to = found["to"] if isinstance(found, dict) else found
            if key.startswith("failing") and to != "@self" and not to.startswith("@end"):
                assert isinstance(found, dict) or steps[to].get("ask") == "human", (name, key)


# the resolutions of the published protocol's contradictions, on the default table


@pytest.mark.parametrize(
    ("name", "key", "to", "charge"),
    [
        # A1: what a person finds leads where the table says
        ("review", "approve", "scaffold", ""),
        ("review", "reject", "bdd", ""),
        ("review", "needs_clarification", "bdd", ""),
        ("review", "constitution_violation", "sdd-delta", ""),
        ("review", "scope_warning", "sdd-delta", ""),
        # A6: reasons first
        ("impl", "failing_measured.constitution_violation", "sdd-delta", "impl-rework"),
        ("impl", "failing_measured.needs_clarification", "review", ""),
        ("impl", "failing_measured.scope_warning", "review", ""),
        ("impl", "failing_measured.none", "impl", ""),
        # A7: verify ↔ impl ends
        ("verify", "failing_measured.none", "impl", "verify-rework"),
        ("verify", "failing_measured.constitution_violation", "impl", "verify-rework"),
        # A11: reasons without a row take the default, and next_on_fail is one
        ("impl", "failing_measured.nfr_missing", "impl", ""),
        ("impl", "failing_measured.test_timeout", "impl", ""),
        ("bdd", "failing.nfr_missing", "bdd", ""),
        ("contract", "failing.none", "contract", ""),
        # A5: what stops a step is a person's matter
        ("impl", "!timeout", "stuck@impl", ""),
        ("impl", "!crash", "stuck@impl", ""),
        ("impl", "!exhausted", "stuck@impl", ""),
        ("impl", "needs_human", "stuck@impl", ""),
        # the micro-waterfall
        ("bdd", "pass_bdd", "sdd-delta", ""),
        ("sdd-delta", "pass", "contract", ""),
        ("contract", "pass", "review", ""),
        ("impl", "pass_green", "verify", ""),
        ("verify", "pass_verified", "archive", ""),
        ("archive", "Archived", "update-memory", ""),
        ("update-memory", "pass", "merge", ""),
    ],
)
def test_each_row_of_the_default_table_has_its_target(name: str, key: str, to: str, charge: str) -> None:
    graph = story()
    found = only(graph, name, key)
    assert (found.to, found.charge) == (to, charge)


def test_after_the_scaffold_a_team_or_one_executor_works() -> None:
    rows = row(story(), "scaffold", "pass_red") or ()
    assert [(route.to, route.when) for route in rows] == [("breakdown", "team"), ("impl", "")]


def test_stuck_is_left_by_trying_again_or_giving_up() -> None:
    graph = story()
    assert {key: rows[0].to for key, rows in graph.steps["stuck@impl"].routes.items()} == {
        "retry": "impl",
        "abort": "@end:Aborted",
    }


def test_attempts_bound_only_the_step_itself() -> None:
    graph = story()
    published = {"bdd": 3, "sdd-delta": 3, "contract": 2, "scaffold": 2, "impl": 5, "verify": 2, "update-memory": 2}
    assert {name: graph.steps[name].attempts for name in published} == published
    assert graph.steps["review"].attempts == 1  # A8: a person bounds it


def test_a_project_s_rules_reach_the_graph(tmp_path: Path) -> None:
    rules = "steps: {impl: {max_attempts: 3, post_check: 'eslint . && tsc --noEmit'}}"
    impl = ruled(tmp_path, rules).graphs["story"].steps["impl"]
    assert impl.attempts == 3
    assert impl.gates["pass_green"][-1].arg == "eslint . && tsc --noEmit"


def test_a_project_s_post_check_holds_for_every_task_of_a_team(tmp_path: Path) -> None:
    graphs = ruled(tmp_path, "steps: {impl: {post_check: make lint}}").graphs
    checks = {name: graphs[f"task-{name}"].steps["work"].gates["task_done"] for name in ("backend", "test", "verify")}
    assert [("make lint" in [check.arg for check in found]) for found in checks.values()] == [True, True, False]


def test_a_project_may_use_the_published_table_letter_by_letter() -> None:
    protocol = load_source("waterfall", rules=PUBLISHED).protocol
    steps = protocol.graphs["story"].steps
    assert steps["bdd"].writes == ("docs/bdd/{id}.md",)  # A15
    assert steps["scaffold"].writes is not None
    assert steps["scaffold"].writes[:2] == ("**/*_test.go", "**/*.spec.ts")
    assert steps["impl"].writes is not None
    assert steps["impl"].writes[:4] == ("**/*.go", "**/*.ts", "!**/*_test.go", "!**/*.spec.ts")  # X10
    assert steps["verify"].writes == ("docs/sdd.md",)  # A16
    assert steps["impl"].gates["pass_green"][-1].arg == "go vet ./... && golangci-lint run"
    assert [str(finding) for finding in check(protocol) if finding.level == "error"] == []


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("docs/bdd/US-{story}.md", "docs/bdd/{id}.md"),
        ("docs/bdd/{story}.md", "docs/bdd/{id}.md"),
        ("*.go", "**/*.go"),
        ("!*_test.go", "!**/*_test.go"),
        ("src/*.go", "src/*.go"),
        ("README.md", "README.md"),
        ("**", "**"),
    ],
)
def test_paths_are_read_as_the_published_table_means_them(written: str, meant: str) -> None:
    rows = SMALL.replace("docs/plan.md", f"'{written}'")
    assert step(rows, "plan")["writes"] == [meant]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("role: nobody", "story.impl: is done by unknown role 'nobody'"),
        ("template: no.jinja", "story.impl: uses unknown template 'no.jinja'"),
        ("gates: {pass: comit}", "story.impl: is gated by unknown check 'comit'"),
        ("needs: [foo.bar]", "story.impl: reads 'foo.bar' of unknown step 'foo'"),
    ],
)
def test_a_finding_stands_at_the_line_of_the_table(tmp_path: Path, row: str, said: str) -> None:
    path = tmp_path / "step-rules.yaml"
    path.write_text(f"steps:\n  impl:\n    timeout_min: 9\n    {row}\n", encoding="utf-8")
    found = load_source("waterfall", rules=path)
    assert f"{path}:4: {said}" in str(check(found.protocol, found.place_of)[0])


def test_an_invalid_table_is_named_by_its_file(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError) as caught:
        ruled(tmp_path, "steps: {impl: {max_attempts: 0}}\n")
    assert caught.value.message.startswith(f"{tmp_path}/step-rules.yaml ")
