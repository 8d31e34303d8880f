"""The waterfall protocol: stories, reviews, teams and backlogs, played against the kernel."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jinja2 import StrictUndefined
from jinja2.loaders import DictLoader
from jinja2.sandbox import SandboxedEnvironment

from treadle.protocol.answers.claim import Claim, validate
from treadle.protocol.answers.inputs import load_input
from treadle.protocol.check import check
from treadle.protocol.items import Item
from treadle.protocol.load import BUILT_IN, load, load_source
from treadle.protocol.model import Protocol
from treadle.testing.scenario import Scenario, items

FOLDER = BUILT_IN / "waterfall"


@cache
def waterfall() -> Protocol:
    return load("waterfall")


def backlog(*stories: Item) -> Scenario:
    """A run over these stories (one, if none are given) in a project that has its documents."""
    return Scenario(waterfall(), {"stories": stories or items("US-1")})


def specified(run: Scenario, complexity: str = "S", parallel: int = 0, at: str = "") -> Scenario:
    """The story is written down, up to the review."""
    where = f"{at}:" if at else ""
    run.says("pass_bdd", f"{where}bdd", complexity=complexity, parallel_tasks=parallel)
    return run.says("pass", f"{where}sdd-delta").says("pass", f"{where}contract")


def scaffolded(complexity: str = "S", parallel: int = 0) -> Scenario:
    return specified(backlog(), complexity, parallel).answers("approve").says("pass_red")


def finished(run: Scenario) -> Scenario:
    """From a verification that passes to the end of the story."""
    run.says("pass_verified", "verify").says("Archived", "archive").says("pass", "update-memory")
    return run.says("MergeComplete", "merge")


def story(run: Scenario) -> str:
    return run.where(_story(run))


def _story(run: Scenario) -> str:
    return next(id_ for id_, inst in run.state.insts.items() if inst.graph == "story")


# the protocol as a whole


def test_waterfall_passes_every_check() -> None:
    assert check(waterfall()) == []


def test_the_example_of_waterfall_is_an_input() -> None:
    text = (FOLDER / "example.yaml").read_text(encoding="utf-8")
    value: Any = load_input(waterfall(), text, "example.yaml").value
    assert [one["id"] for one in value["stories"]] == ["US-005", "US-006"]


def test_the_steps_are_those_of_the_published_table() -> None:
    seed = ["bdd", "sdd-delta", "contract", "review", "scaffold", "impl", "verify", "update-memory"]
    assert [name for name in waterfall().graphs["story"].steps if name in seed] == seed


def test_the_reasons_are_those_of_the_published_table() -> None:
    reasons = "none | constitution_violation | needs_clarification | nfr_missing | scope_warning | test_timeout"
    assert waterfall().exits["failing"].fields["reason"].type == reasons
    assert waterfall().exits["failing_measured"].fields["reason"].type == reasons


@pytest.mark.parametrize(
    ("exit_", "asked"),
    [
        ("task_done", ["summary", "handoff"]),
        ("blocker", ["reason", "description"]),
        ("conflict", ["files", "description"]),
        ("failing_measured", ["reason", "summary", "handoff"]),
        ("pass_green", ["summary", "handoff"]),
    ],
)
def test_numbers_and_commits_are_never_asked(exit_: str, asked: list[str]) -> None:
    fields = waterfall().exits[exit_].fields
    assert [name for name, field in fields.items() if field.by == "agent"] == asked


@pytest.mark.parametrize(
    ("name", "status", "exit_"),
    [
        ("sdd-delta", "pass", "pass"),
        ("scaffold", "pass", "pass_red"),
        ("impl", "pass", "pass_green"),
        ("impl", "failing", "failing_measured"),
        ("bdd", "failing", "failing"),
    ],
)
def test_an_executor_knows_only_the_published_statuses(name: str, status: str, exit_: str) -> None:
    answer = {"type": status, "summary": "done", **({"reason": "none"} if status == "failing" else {})}
    claim = validate(waterfall(), waterfall().graphs["story"].steps[name].exits, {"exit": answer})
    assert isinstance(claim, Claim), claim
    assert claim.exit == exit_


def test_the_memory_has_one_writer() -> None:
    writers = {
        name
        for name, step in waterfall().graphs["story"].steps.items()
        if any("PROJECT_MEMORY.md" in glob for glob in step.writes or ())
    }
    assert writers == {"update-memory"}


def test_the_implementer_cannot_write_the_scaffolds_files() -> None:
    steps = waterfall().graphs["story"].steps
    assert {f"!{glob}" for glob in steps["scaffold"].writes or ()} <= set(steps["impl"].writes or ())


def test_the_test_executor_does_not_see_the_implementation() -> None:
    role = waterfall().roles["test"]
    assert "**/*.go" in role.hidden
    assert "!**/*_test.*" in role.hidden


def test_an_estimate_for_every_step_that_costs_tokens() -> None:
    steps = waterfall().graphs["story"].steps
    assert steps["impl"].estimate == (4000, 10000, 2000, 8000)
    assert all(steps[name].estimate for name in ("bdd", "sdd-delta", "contract", "scaffold", "verify", "update-memory"))


def test_three_executors_and_their_lead_are_estimated_as_published() -> None:
    steps = waterfall().graphs["story"].steps
    single = [
        it.estimate for name, it in steps.items() if it.estimate and name not in ("impl", "breakdown", "coordinate")
    ]
    tasks = [waterfall().graphs[f"task-{role}"].steps["work"].estimate for role in ("backend", "frontend", "test")]
    found = [it for it in (*single, steps["breakdown"].estimate, *tasks) if it]
    assert len(found) == 10
    low, high = sum(it[0] + it[2] for it in found), sum(it[1] + it[3] for it in found)
    assert (round(low, -4), round(high, -4)) == (40_000, 100_000)


# a story


def test_a_small_story_from_scenarios_to_memory() -> None:
    run = backlog()
    assert story(run) == "bdd"
    specified(run)
    assert story(run) == "review"
    run.answers("approve").says("pass_red").says("pass_green")
    assert story(run) == "verify"
    finished(run)
    assert story(run) == "@Done"
    run.says("MergeComplete", "deliver")
    assert run.where() == "@Done"


@pytest.mark.parametrize(
    ("answer", "step"),
    [
        ("approve", "scaffold"),
        ("reject", "bdd"),
        ("needs_clarification", "bdd"),
        ("constitution_violation", "sdd-delta"),
        ("scope_warning", "sdd-delta"),
        ("abort", "@Aborted"),
    ],
)
def test_a_review_leads_where_its_answer_says(answer: str, step: str) -> None:
    assert story(specified(backlog()).answers(answer)) == step


@pytest.mark.parametrize(
    ("reason", "step"),
    [
        ("none", "impl"),
        ("nfr_missing", "impl"),
        ("test_timeout", "impl"),
        ("constitution_violation", "sdd-delta"),
        ("needs_clarification", "review"),
        ("scope_warning", "review"),
    ],
)
def test_the_reason_of_a_failed_implementation_decides_the_next_step(reason: str, step: str) -> None:
    assert story(scaffolded().says(f"failing_measured.{reason}")) == step


def test_a_reason_counts_on_the_last_attempt_too() -> None:
    # A6
    run = scaffolded()
    for _ in range(4):
        run.says("failing_measured.none")
    assert story(run.says("failing_measured.constitution_violation")) == "sdd-delta"


def test_five_attempts_and_then_a_person() -> None:
    run = scaffolded()
    for _ in range(5):
        assert story(run) == "impl"
        run.says("failing_measured.none")
    assert story(run) == "stuck@impl"
    assert story(run.answers("retry")) == "impl"


def test_a_claim_that_the_suite_refutes_is_an_attempt() -> None:
    run = scaffolded()
    run.says("pass_green", fails=["green"])
    assert story(run) == "impl"
    assert run.job().attempt == 2


def test_a_scaffold_passes_when_its_tests_are_red() -> None:
    # A13
    run = specified(backlog()).answers("approve").claims("pass_red")
    checks = [check.name for check in run.state.acts[run.activity()].checks]
    assert {"red", "manifest_complete"} <= set(checks)
    assert "green" not in checks


def test_a_time_out_is_a_question() -> None:
    # A5
    run = scaffolded().times_out()
    assert story(run) == "stuck@impl"
    assert run.ask().choices == ("retry", "abort")


def test_verification_and_implementation_do_not_go_on_for_ever() -> None:
    # A7
    run = scaffolded().says("pass_green")
    for _ in range(3):
        assert story(run) == "verify"
        run.says("failing_measured.none").says("pass_green")
    run.says("failing_measured.none")
    assert story(run) == "verify-rework"
    assert story(run.answers("impl")) == "impl"


@pytest.mark.parametrize("check", ["build", "green", "coverage_complete", "scenarios_pass", "thresholds"])
def test_a_verification_that_is_refused_for_the_code_goes_back_to_it(check: str) -> None:
    run = scaffolded().says("pass_green").says("pass_verified", fails=[check])
    assert story(run) == "impl"
    assert run.job().inputs["gate_report"] == (f"report:{check}",)
    for _ in range(3):
        assert story(run.says("pass_green")) == "verify"
        run.says("pass_verified", fails=[check])
    assert story(run) == "verify-rework"
    assert run.ask().inputs["gate_report"] == (f"report:{check}",)
    assert story(run.answers("impl")) == "impl"


@pytest.mark.parametrize("fails", [["delta_merged"], ["scope", "build", "green"]])
def test_a_verification_that_is_refused_for_its_own_work_does_it_again(fails: list[str]) -> None:
    run = scaffolded().says("pass_green").says("pass_verified", fails=fails)
    assert (story(run), run.job().attempt) == ("verify", 2)
    assert story(run.says("pass_verified", fails=fails)) == "stuck@verify"


def test_a_step_that_may_be_skipped_is_skipped_by_a_person() -> None:
    # A25
    run = backlog().says("pass_bdd", complexity="S", parallel_tasks=0).says("pass").times_out()
    assert run.ask().choices == ("retry", "skip", "abort")
    assert story(run.answers("skip")) == "review"


def test_an_executor_that_needs_a_person_gets_one() -> None:
    run = backlog().says("needs_human")
    assert story(run) == "stuck@bdd"
    assert story(run.answers("retry", note="ref:note")) == "bdd"


def test_notes_of_reviews_stay_with_the_author_of_the_tests() -> None:
    run = specified(backlog()).answers("approve", note="ref:30 seconds").says("failing.none")
    assert run.job().inputs["review.approve"] == ("ref:30 seconds",), "the next attempt"
    run.says("needs_human").answers("retry", note="ref:euros")
    assert run.job().inputs["review.approve"] == ("ref:30 seconds",), "who was sent out after a question"
    assert run.job().inputs["human_note"] == ("ref:euros",)
    run.says("pass_red").says("failing_measured.scope_warning").answers("approve", note="ref:without refunds")
    assert run.job().inputs["review.approve"] == ("ref:30 seconds", "ref:without refunds"), "and after a second review"


def test_a_persons_note_reaches_the_next_session() -> None:
    # A4
    run = specified(backlog()).answers("approve", note="ref:note")
    assert "ref:note" in str(run.job().inputs)


def test_a_story_that_no_longer_fits_is_put_on_the_new_head() -> None:
    run = scaffolded().says("pass_green").says("pass_verified").says("Archived").says("pass")
    run.says("MergeRejected.IntegrationFailure")
    assert story(run) == "rebase"
    assert story(run.says("RebaseClean")) == "resuite"
    assert story(run.checked("resuite")) == "merge"


def test_a_story_that_does_not_work_on_the_new_head_is_mended() -> None:
    run = scaffolded().says("pass_green").says("pass_verified").says("Archived").says("pass")
    run.says("MergeRejected.IntegrationFailure").says("RebaseClean")
    assert story(run.checked("resuite", fails=["green"])) == "impl"


@pytest.mark.parametrize(("files", "step"), [(2, "reconcile"), (0, "impl")])
def test_lines_in_conflict_are_reconciled_and_tests_that_fail_are_mended(files: int, step: str) -> None:
    run = scaffolded().says("pass_green").says("pass_verified").says("Archived").says("pass")
    run.says("MergeRejected.IntegrationFailure").says("RebaseConflict", conflictFiles=files)
    assert story(run) == step


def test_a_merge_that_never_works_is_a_question() -> None:
    run = scaffolded()
    for _ in range(4):
        run.says("pass_green").says("pass_verified").says("Archived").says("pass").says("MergeRejected.BuildFailure")
        if story(run) == "rebase":
            run.says("RebaseClean").checked("resuite", fails=["green"])
    assert story(run) == "unmerged"


# a team


@pytest.mark.parametrize(
    ("complexity", "parallel", "step"),
    [
        ("S", 0, "impl"),
        ("S", 5, "impl"),
        ("M", 0, "impl"),
        ("M", 1, "impl"),  # A18: two or more
        ("M", 2, "breakdown"),
        ("L", 0, "breakdown"),
    ],
)
def test_the_size_of_a_story_decides_between_a_team_and_one_executor(complexity: str, parallel: int, step: str) -> None:
    assert story(scaffolded(complexity, parallel)) == step


def team(**lists: Any) -> Scenario:
    """A team whose lead has assigned these tasks."""
    return scaffolded("L").says("Breakdown", more=False, **lists)


def done(run: Scenario, task: str) -> Scenario:
    return run.says("task_done", working(run, task))


def working(run: Scenario, task: str) -> str:
    """The session that works on a task."""
    return next(act for act in run.state.acts if f"{task}:work" in act)


def test_a_team_works_at_the_same_time() -> None:
    run = team(backend=items("b1", "b2"), frontend=items("f1"), test=items("t1"))
    assert len(run.running()) == 4
    assert story(run) == "fold"
    assert run.status(_story(run)) == "queued"


def test_the_team_is_folded_and_the_suite_decides() -> None:
    run = team(backend=items("b1"), frontend=items("f1"))
    done(done(run, "b1"), "f1").says("Folded")
    assert story(run) == "suite"
    run.checked("suite")
    assert story(run) == "verify"
    assert story(finished(run)) == "@Done"


def test_one_executor_repairs_a_red_suite_of_the_team() -> None:
    run = done(team(backend=items("b1")), "b1").says("Folded")
    assert story(run.checked("suite", fails=["green"])) == "impl"


def test_a_line_without_p_waits_for_the_wave_before() -> None:
    run = scaffolded("L").says("Breakdown", more=True, backend=items("b1"))
    assert story(done(run, "b1").says("Folded")) == "breakdown"
    run.says("Breakdown", more=False, frontend=items("f1"))
    assert story(done(run, "f1").says("Folded")) == "suite"


@pytest.mark.parametrize("exit_", ["blocker", "conflict"])
def test_the_lead_gets_a_blocker_while_the_others_work(exit_: str) -> None:
    run = team(backend=items("b1"), frontend=items("f1"))
    run.says(exit_, working(run, "b1"))
    assert story(run) == "coordinate"
    assert working(run, "f1")
    run.says("Breakdown", "coordinate", more=False, backend=items("b2"))
    assert story(run) == "fold"
    assert story(done(done(run, "b2"), "f1").says("Folded")) == "suite"


def test_a_lead_that_finds_a_requirement_unclear_stops_the_team() -> None:
    run = team(backend=items("b1"), frontend=items("f1"))
    run.says("blocker", working(run, "b1"))
    run.says("failing.needs_clarification", "coordinate")
    assert story(run) == "review"
    assert run.running() == []


def test_a_team_can_be_replaced_by_one_executor() -> None:
    run = scaffolded("L").says("needs_human")
    assert story(run) == "team-stuck"
    assert story(run.answers("single")) == "impl"


# a backlog


def test_a_blocked_story_waits() -> None:
    # A9
    first, second = Item("US-1", "ref:1"), Item("US-2", "ref:2", {"blocked_by": ("US-1",)})
    run = backlog(first, second)
    assert len(run.running()) == 1
    specified(run).answers("approve").says("pass_red").says("pass_green")
    finished(run)
    assert len(run.running()) == 1
    assert "US-2:bdd" in run.running()[0]


def test_stories_that_do_not_block_each_other_run_side_by_side() -> None:
    assert len(backlog(*items("US-1", "US-2", "US-3")).running()) == 3


def test_a_new_project_gets_its_documents_first() -> None:
    run = Scenario(waterfall(), {"bootstrap": items("app"), "stories": items("US-1")})
    assert run.where() == "bootstrap"
    run.says("pass", "write").says("MergeComplete", "merge")
    assert run.where() == "stories"


def test_an_aborted_story_does_not_block_the_others() -> None:
    run = backlog(*items("US-1", "US-2"))
    acts = sorted(run.state.acts)
    run.says("needs_human", acts[0]).answers("abort")
    assert len(run.running()) == 1
    specified(run).answers("approve").says("pass_red").says("pass_green")
    finished(run)
    assert run.where() == "unfinished"
    run.answers("deliver").says("MergeComplete")
    assert run.where() == "@Partial"


def test_starting_again_leaves_done_stories_alone() -> None:
    run = backlog(*items("US-1", "US-2"))
    run.says("needs_human", min(run.state.acts)).answers("abort")
    specified(run).answers("approve").says("pass_red").says("pass_green")
    finished(run).answers("again")
    assert run.where() == "stories"
    assert [place.rpartition(":")[2] for place in run.running()] == ["bdd"]


# a project's own changes


def changed(tmp_path: Path, overlay: str) -> Protocol:
    path = tmp_path / "waterfall.yaml"
    path.write_text(overlay, encoding="utf-8")
    return load_source("waterfall", overlays=[path]).protocol


def test_an_overlay_can_review_the_scenarios_first(tmp_path: Path) -> None:
    # A22: the published conversation reviews after the scenarios
    overlay = """
extends: waterfall
graphs:
  story:
    steps:
      bdd: {routes: {pass_bdd: {to: early-review, sets: {team: "data.complexity == 'L'"}}}}
      +early-review:
        ask: human
        needs: ["bdd.pass_bdd?"]
        routes: {approve: sdd-delta, reject: bdd, abort: "@end:Aborted"}
"""
    protocol = changed(tmp_path, overlay)
    assert [finding for finding in check(protocol) if finding.level == "error"] == []
    run = Scenario(protocol, {"stories": items("US-1")}).says("pass_bdd", complexity="S", parallel_tasks=0)
    assert story(run) == "early-review"


def test_an_overlay_can_send_a_wrong_test_back_to_its_author(tmp_path: Path) -> None:
    # A29
    overlay = """
extends: waterfall
exits:
  failing_measured:
    reason:
      type: none | constitution_violation | needs_clarification | scope_warning | test_timeout | test_issue
graphs:
  story:
    steps:
      scaffold: {needs: [bdd.pass_bdd, "review.approve*", "scaffold.failing?", "impl.failing_measured?"]}
      impl:
        routes:
          +failing_measured.test_issue: {to: scaffold, charge: impl-rework}
"""
    protocol = changed(tmp_path, overlay)
    assert [finding for finding in check(protocol) if finding.level == "error"] == []
    run = specified(Scenario(protocol, {"stories": items("US-1")})).answers("approve").says("pass_red")
    assert story(run.says("failing_measured.test_issue")) == "scaffold"


@pytest.mark.parametrize(
    "rules",
    [
        "steps: {impl: {max_attempts: 2, post_check: 'eslint . && tsc --noEmit'}}",
        "dispatch_mode: {S: single, M: single, L: team}",
        "steps: {sdd-delta: {skippable: true}}",
        "max_rework: 1",
        "steps: {verify: {next_on_pass: security}, security: {next_on_pass: update-memory, on_fail: {default: impl}}}",
        "steps: {review: {timeout_min: 120}}",
        "steps: {impl: {claude_writes: ['*.go', '*.ts'], team_roles: {backend: {claude_writes: ['*.go']}}}}",
    ],
)
def test_the_customisations_of_the_published_protocol(tmp_path: Path, rules: str) -> None:
    path = tmp_path / "step-rules.yaml"
    path.write_text(rules, encoding="utf-8")
    loaded = load_source("waterfall", rules=path)
    assert [str(finding) for finding in check(loaded.protocol) if finding.level == "error"] == []


# templates


class Anything:
    """A value that has every field: what a template makes of a slot that is there."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, part: str) -> "Anything":
        if part.startswith("_"):
            raise AttributeError(part)
        return Anything(f"{self.name}.{part}")

    def __iter__(self) -> Any:
        return iter([Anything("one")] if self.name != "one" else [])

    def __getitem__(self, part: object) -> "Anything":
        return self

    def __len__(self) -> int:
        return 1

    def __str__(self) -> str:
        return self.name

    def __gt__(self, other: object) -> bool:
        return True

    def __add__(self, other: object) -> str:
        return self.name


def rendered(graph: str, name: str, full: bool) -> str:
    protocol = waterfall()
    step = protocol.graphs[graph].steps[name]
    environment = SandboxedEnvironment(
        loader=DictLoader(protocol.templates), undefined=StrictUndefined, autoescape=False
    )
    environment.filters["fence"] = lambda value: f"```\n{value}\n```"
    template = step.template or protocol.roles[step.role].template
    always = dict.fromkeys(("gate_report", "human_note"), "x" if full else "")
    values: dict[str, Any] = {
        **always,
        "step": name,
        "role": step.role,
        "attempt": 2 if full else 1,
        "max_attempts": 3,
        "params": "[]",
        "signals": [],
        "reports": [],
    }
    values |= {name: Anything(name) for name in ("run", "node", "mode", "scope", "toolchain", "vars", "last")}
    values["ways"] = {key: ["x"] for key in step.routes}
    values[protocol.graphs[graph].input[0]] = Anything("input")
    for need in step.needs:
        there = full or not need.optional
        if need.step:
            slots = values.setdefault(need.step.replace("-", "_"), {})
            slots[need.exit] = Anything(f"{need.step}.{need.exit}") if there else None
            said = {"step": need.step, "title": need.step, "exit": need.exit, "data": slots[need.exit]}
            values["reports"] += [said] if there else []
    return environment.get_template(template).render(values)


TEMPLATED = [
    (graph, name)
    for graph, found in waterfall().graphs.items()
    for name, step in found.steps.items()
    if step.template or (step.role and waterfall().roles[step.role].template)
]


@pytest.mark.parametrize(("graph", "name"), TEMPLATED)
@pytest.mark.parametrize("full", [True, False], ids=["everything", "only what is needed"])
def test_every_template_renders(graph: str, name: str, full: bool) -> None:
    text = rendered(graph, name, full)
    assert len(text) > 60
    assert "None" not in text.replace('"None"', "")


def test_the_prompt_of_a_retry_has_the_last_sessions_summary() -> None:
    assert "impl.failing_measured.summary" in rendered("story", "impl", full=True)
    assert "failing_measured" not in rendered("story", "impl", full=False)


def test_every_executors_prompt_has_its_scope_and_the_persons_note() -> None:
    for name in ("bdd", "sdd-delta", "contract", "scaffold", "impl", "verify", "update-memory"):
        text = rendered("story", name, full=True)
        assert "from a person" in text, name
        assert "the last attempt was not" in text, name
        assert "may change" in text, name


def test_every_review_has_the_scenarios() -> None:
    run = scaffolded()
    specified_by = run.state.insts[_story(run)].slots["bdd.pass_bdd"].ref
    run.says("failing_measured.scope_warning", "impl")
    command = run.state.asks[run.question()].command
    assert command is not None
    assert command.inputs["bdd.pass_bdd"] == (specified_by,)
    assert "impl.failing_measured" in command.inputs
    assert command.inputs["sdd-delta.pass"], "and the design"
