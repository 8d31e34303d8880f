"""HANDOFF.md: measured numbers, the agent's own words, and evidence where it has left none."""

from typing import Any

import pytest

from tests.views.storied import HANDOFF, HISTORY, Storied, suite
from treadle.protocol.reading.yaml import read_yaml
from treadle.results.handoff import split
from treadle.testing.scenario import items

EACH = ".ai/handoff/US-1.md"


def front(text: str) -> dict[str, Any]:
    """The front matter, read as YAML."""
    found: Any = read_yaml(split(text).front, "HANDOFF.md").plain()
    assert isinstance(found, dict)
    return found


def test_before_any_session_there_is_no_handoff() -> None:
    assert HANDOFF not in Storied().files()


def test_a_handoff_has_measured_numbers_and_the_agents_words() -> None:
    words = "## What was done this time\n- UTC everywhere\n\n## Next session should note\n- leave AddItem alone"
    said = {"summary": "UTC.", "handoff": words, "reason": "none", "tests_pass": 999}
    failed = {**suite(42, ["a::b", "a::c"], skipped=1), "files_changed": ["internal/cart/service.go"]}
    run = Storied().scaffolded().says("failing_measured.none", said, reports={"measure": failed})
    text = run.files()[HANDOFF]
    assert text.startswith("---\nstory: US-1\nstep: impl\nattempt: 1\nstatus: failing\nreason: null\n")
    assert "files_changed:\n  - internal/cart/service.go\n" in text
    assert front(text) == {
        "story": "US-1",
        "step": "impl",
        "attempt": 1,
        "status": "failing",
        "reason": None,
        "files_changed": ["internal/cart/service.go"],
        "tests_pass": 42,
        "tests_fail": 2,
        "tests_skip": 1,
    }
    assert split(text).body == f"# HANDOFF — US-1 impl attempt:1\n\n{words}"
    assert run.files()[EACH] == text


def test_the_orchestrator_replaces_the_agents_own_heading() -> None:
    said = {"handoff": "# HANDOFF — US-1 scaffold attempt:7\n\nmy words"}
    text = Storied().says("pass_bdd", said, complexity="S", parallel_tasks=0).files()[HANDOFF]
    assert split(text).body == "# HANDOFF — US-1 bdd attempt:1\n\nmy words"


def test_each_session_overwrites_the_handoff() -> None:
    run = Storied().says("pass_bdd", {"handoff": "of bdd"}, complexity="S", parallel_tasks=0)
    assert "of bdd" in run.files()[HANDOFF]
    text = run.says("pass", {"handoff": "of the delta"}, "sdd-delta").files()[HANDOFF]
    assert "of bdd" not in text
    assert (front(text)["step"], front(text)["status"]) == ("sdd-delta", "pass")


@pytest.mark.parametrize("reason", ["constitution_violation", "needs_clarification", "scope_warning"])
def test_the_reason_stands_in_the_front_matter(reason: str) -> None:
    text = Storied().says(f"failing.{reason}", {"handoff": "no"}).files()[HANDOFF]
    assert front(text)["reason"] == reason


def test_a_session_that_needs_a_person_says_so() -> None:
    text = Storied().says("needs_human", {"question": "Which currency?"}).files()[HANDOFF]
    assert front(text)["status"] == "needs_human"
    assert "Which currency?" in text


def test_a_refused_claim_is_handed_on_with_its_findings() -> None:
    record = {**suite(3, ["a::b"]), "report": "- a::b: fails: 1 != 2"}
    run = Storied().scaffolded()
    run.says("pass_green", {"handoff": "All is green."}, fails=["green"], reports={"green": record})
    text = run.files()[HANDOFF]
    assert front(text)["status"] == "failing"
    words, _, found = text.rpartition("\n\n## What the orchestrator ")
    assert words.endswith("All is green.")
    assert found.partition("\n")[2] == "- refused\n- green: a::b: fails: 1 != 2\n- a::b fails\n"


def test_the_words_of_the_last_attempt_are_handed_on_after_exhaustion() -> None:
    run = Storied().specified()
    run.run.answers("approve")
    for number in (1, 2):
        act = run.run.activity("scaffold")
        run.run.claims("pass_red", act).checked(act, ["red"], report="ref:refused")
        run.said |= {
            f"ref:{act}.pass_red": {"handoff": f"Tests, draft {number}."},
            "ref:refused": {"report": "### red"},
        }
    text = run.files()[HANDOFF]
    assert front(text)["attempt"] == 2
    assert "Tests, draft 2.\n\n## What the orchestrator found\n- no attempt " in text
    assert "This session left no" not in text


def test_a_broken_session_is_described_from_evidence() -> None:
    # A26
    run = Storied().scaffolded()
    detail = {"report": "the program ended with 137", "files_changed": ["src/a.py"], "code": 137}
    for _ in range(3):
        run.run.fails("crash")
    run.said["ref:crash"] = detail
    text = run.files()[HANDOFF]
    assert front(text)["status"] == "failing"
    assert front(text)["files_changed"] == ["src/a.py"]
    assert "This session left no" in text
    assert "\n- changed src/a.py" in text
    assert "## Not yet resolved\n- crashed: the program ended with 137" in text


def test_a_timeout_is_described_from_evidence() -> None:
    run = Storied().scaffolded()
    run.run.times_out()
    assert "## Not yet resolved\n- timed out" in run.files()[HANDOFF]


def test_a_team_hands_over_as_one() -> None:
    run = Storied().team(backend=("repository",), frontend=("field",), test=("cases",))
    run.says("task_done", {"summary": "stored", "handoff": "index is there"}, run.task("repository"))
    conflict = {"files": ["src/app.ts"], "description": "it is theirs"}
    assert front(run.files()[HANDOFF])["status"] == "failing", "one of three is done"
    run.says("conflict", conflict, run.task("field"))
    body = split(run.files()[HANDOFF]).body
    assert body == (
        "# HANDOFF — US-1 impl (multi-executor session)\n\n"
        "## Executor Progress\n"
        "- backend: ✅ repository: stored\n"
        "- frontend: ❌ field: it is theirs\n"
        "- test: 🔄 cases\n\n"
        "## File Conflict Log\n"
        "- field: src/app.ts: it is theirs\n\n"
        "## Next session notes\n"
        "- repository: index is there\n"
        "- field: it is theirs"
    )


def test_the_words_of_each_executor_stay_as_they_were_written() -> None:
    run = Storied().team(backend=("repository", "service"))
    words = "## What was done this time\n- the index\n\n## Next session should note\n- leave AddItem alone"
    run.says("task_done", {"summary": "stored", "handoff": words}, run.task("repository"))
    run.says("task_done", {"summary": "served", "handoff": "nothing special"}, run.task("service"))
    assert run.files()[HANDOFF].partition("## Next session notes\n")[2].strip() == (
        "### repository\n#### What was done this time\n- the index\n\n#### Next session should note\n"
        "- leave AddItem alone\n\n- service: nothing special"
    )


def changed(run: Storied, task: str, *files: str) -> Storied:
    """An executor ends, and git says what it has changed."""
    return run.says("task_done", {"summary": "done", "files_changed": list(files)}, run.task(task))


def handed_over(run: Storied) -> tuple[Any, ...]:
    found = front(run.files()[HANDOFF])
    return found["step"], found["status"], found["files_changed"]


def test_a_team_hands_over_the_files_of_all_its_executors_for_the_step_that_they_worked_on() -> None:
    run = Storied().team(backend=("core", "helper"), test=("more",))
    changed(run, "core", "src/core.py", "src/shared.py")
    assert handed_over(run) == ("impl", "failing", ["src/core.py", "src/shared.py"])
    changed(changed(run, "helper", "src/helper.py"), "more", "tests/test_more.py")
    every = ["src/core.py", "src/helper.py", "src/shared.py", "tests/test_more.py"]
    assert handed_over(run) == ("impl", "failing", every), "their lanes are not one yet"
    run.run.signals("level", data="ref:one", item="1")
    run.says("Folded", at="fold").run.checked("suite")
    assert run.tells("step", "status", "files_changed") == ["verify", "pending", every]
    assert handed_over(run) == ("impl", "pass", every), "verification has not begun"


def test_a_team_with_a_failing_suite_has_not_passed() -> None:
    run = changed(Storied().team(backend=("core",)), "core", "src/core.py")
    run.says("Folded", at="fold").run.checked("suite", ["green"])
    assert run.tells("step", "status") == ["impl", "running"]
    assert handed_over(run) == ("impl", "failing", ["src/core.py"])
    run.says("pass_green", {"files_changed": ["src/other.py"]}, "impl")
    assert handed_over(run) == ("impl", "pass", ["src/other.py"]), "one executor has finished it"


def test_a_team_hands_over_the_files_of_all_waves_without_dropped_tasks() -> None:
    run = Storied().team(backend=("core", "lost"))
    blocked = {"reason": "none", "description": "no", "files_changed": ["src/lost.py"]}
    run.says("blocker", blocked, run.task("lost"))
    assert handed_over(run)[2] == ["src/lost.py"]
    run.says("Breakdown", at="coordinate", backend=items("core"), more=True)
    changed(run, "core", "src/core.py").says("Folded", at="fold")
    run.says("Breakdown", at="breakdown", backend=items("next"), more=False)
    assert handed_over(run) == ("impl", "failing", ["src/core.py"])
    assert handed_over(changed(run, "next", "src/next.py"))[2] == ["src/core.py", "src/next.py"]


def test_the_handoff_is_the_latest_storys_and_each_story_has_a_copy() -> None:
    run = Storied({"id": "US-1"}, {"id": "US-2"})
    first, second = sorted(run.run.state.acts)
    run.says("pass_bdd", {"handoff": "the first"}, first, complexity="S", parallel_tasks=0)
    run.says("pass_bdd", {"handoff": "the second"}, second, complexity="S", parallel_tasks=0)
    files = run.files()
    assert "the second" in files[HANDOFF]
    assert "the first" in files[EACH]
    assert "the second" in files[".ai/handoff/US-2.md"]
    assert "the first" in run.lane("root/US-1")[HANDOFF], "whoever works on a story reads its own"
    assert '"story": "US-2"' in run.lane("root/US-2/task")[".ai/STATE.json"]


def test_hidden_characters_are_not_copied() -> None:
    text = Storied().says("failing.none", {"handoff": "a\x1b[2Jb\u202ec"}).files()[HANDOFF]
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_history_lists_the_steps_of_each_story() -> None:
    text = Storied().finished().files()[HISTORY]
    assert "## US-1 Coupons: Done, " in text
    assert " bdd: pass: Three scenarios." in text
    assert " update-memory: pass: Remembered." in text
