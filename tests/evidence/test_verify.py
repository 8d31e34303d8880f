"""A claim becomes a fact, or comes back with what has to be mended."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.evidence.stage import ADD, MANIFEST, SKELETON, SPEC, TEST, Stage, is_accepted, parsed, run
from treadle.config.bug_reports import BugReports
from treadle.errors import PortError
from treadle.evidence.catalogue import CHECKS
from treadle.evidence.claim_verifier import ClaimVerifier
from treadle.evidence.findings import CheckOutcome
from treadle.evidence.measurements import Cache
from treadle.evidence.subject import Subject
from treadle.kernel.state import Slot
from treadle.ports import CheckProgress
from treadle.prompts.scope import scope
from treadle.protocol.load import load
from treadle.protocol.model import Field


def test_a_node_goes_from_skeleton_to_green(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).scaffolded()
        tests = {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}
        verdict = await stage.claim("tests", "TestsReady", tests)
        assert verdict.report == ""
        assert verdict.fields["pendingTests"] == ["tests/calc/test_add.py::test_adds"]
        assert verdict.fields["pendingCriteria"] == ["AC-1"]
        assert verdict.fields["testFiles"] == ["tests/calc/test_add.py", "tests/calc/test_manifest.json"]
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD})
        assert verdict.report == ""
        assert verdict.fields["passedTests"] == ["tests/calc/test_add.py::test_adds"]
        assert verdict.fields["coveredCriteria"] == ["AC-1"]
        assert "return a + b" in str(verdict.fields["diff"])

    run(story())


def test_every_check_leaves_its_whole_record(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).scaffolded()
        tests = {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}
        verdict = await stage.claim("tests", "TestsReady", tests)
        records = {one.check: stage.payloads.values[one.report_ref] for one in verdict.results}
        for name, kept in records.items():
            assert isinstance(kept, dict)
            assert {"check", "commit", "tree", "command", "exit", "duration", "output", "report"} <= kept.keys(), name
            assert (kept["check"], kept["ok"], len(str(kept["commit"])), len(str(kept["tree"]))) == (name, True, 40, 40)
        scope, red = records["scope"], records["red"]
        assert isinstance(scope, dict)
        assert isinstance(red, dict)
        assert (scope["command"], scope["exit"]) == ([], None), "treadle itself has looked"
        assert (red["exit"], "pytest" in str(red["command"]), "1 failed" in str(red["output"])) == (1, True, True)
        assert red["red"] == ["tests/calc/test_add.py::test_adds"]
        assert red["criteria"] == {"AC-1": {"tests/calc/test_add.py::test_adds": "failed"}}
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD})
        green = next(stage.payloads.values[one.report_ref] for one in verdict.results if one.check == "green")
        assert isinstance(green, dict)
        assert green["criteria"] == {"AC-1": {"tests/calc/test_add.py::test_adds": "passed"}}

    run(story())


def test_a_skipped_check_says_so_in_its_record(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        verdict = await stage.claim("tests", "TestsReady", {}, checks="commit red")
        commit, red = (stage.payloads.values[one.report_ref] for one in verdict.results)
        assert isinstance(commit, dict)
        assert isinstance(red, dict)
        assert (commit.get("skipped"), red.get("skipped"), red["command"]) == (None, True, [])

    run(story())


def test_a_claim_without_changes_is_refused_once_and_later_checks_are_skipped(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        verdict = await stage.claim("tests", "TestsReady", {}, checks="commit scope red no_todo")
        assert [one.ok for one in verdict.results] == [False] * 4
        assert stage.codes(verdict, "commit") == ["record.nothing"]
        assert [stage.evidence(verdict, name)["skipped"] for name in ("scope", "red", "no_todo")] == [True] * 3
        assert verdict.report.endswith("scope, red, no_todo")
        assert verdict.fields == {}

    run(story())


def test_equal_failures_with_equal_work_have_equal_fingerprints(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        files = [{"README.md": "x"}, {"README.md": "x"}, {"README.md": "y"}]
        verdicts = [
            await stage.claim("tests", "TestsReady", one, checks="checkpoint scope", n=f"{n}.1")
            for n, one in enumerate(files, 1)
        ]
        first, second, third = (verdict.fingerprint for verdict in verdicts)
        assert first == second != third
        assert (await stage.claim("tests", "TestsReady", {}, checks="checkpoint", n="4.1")).fingerprint == ""

    run(story())


def test_a_check_that_cannot_run_has_not_passed(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        verdict = await stage.claim("tests", "TestsReady", {}, checks="checkpoint no_such_check manifest")
        assert stage.codes(verdict, "no_such_check") == ["check.unknown"]
        stage.insts["root"].slots["impl.TestsPassed"] = Slot("sha256:gone", seq=1)
        verdict = await stage.claim("review", "Approved", {}, checks="interface_unmodified no_secrets")
        assert [one.ok for one in verdict.results] == [False, True]
        assert stage.codes(verdict, "interface_unmodified") == ["check.unavailable"]
        assert "sha256:gone" in verdict.report

    run(story())


@pytest.mark.parametrize(
    ("checks", "accepted"), [("post_check:true post_check:false?", True), ("post_check:false post_check:true?", False)]
)
def test_the_verifier_and_the_kernel_agree_on_checks_of_one_name(tmp_path: Path, checks: str, accepted: bool) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        gate = f"checkpoint {checks}"
        verdict = await stage.claim("scaffold", "InitWork", {"src/calc/add.py": ADD}, checks=gate)
        head = await stage.facts.head(stage.state, "root")
        is_integrated = await stage.facts.show(head, "src/calc/add.py") == ADD.encode()
        assert (is_accepted(parsed(gate), verdict), is_integrated, bool(verdict.fields)) == (
            accepted,
            accepted,
            accepted,
        )

    run(story())


def test_a_computed_field_without_a_computation_fails_its_check(tmp_path: Path) -> None:
    async def story() -> None:
        protocol = load("v3")
        ready = protocol.exits["TestsReady"]
        odd = replace(ready, fields={**ready.fields, "karma": Field(type="int", by="tests")})
        stage = await Stage(tmp_path, replace(protocol, exits={**protocol.exits, "TestsReady": odd})).start()
        verdict = await stage.claim("tests", "TestsReady", {}, checks="checkpoint")
        assert ("check.unavailable" in verdict.report, "karma" in verdict.report) == (True, True)

    run(story())


def test_the_missing_name_is_looked_for_where_others_work(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        stage.add("root/a", "node", SPEC)
        verdict = await stage.claim(
            "impl", "BlockedDependency", {}, {"missingSymbol": "calc.add.add", "expectedImportPath": "x"}, inst="root/a"
        )
        places = verdict.fields["foundAt"]
        assert isinstance(places, list)
        assert [str(place).startswith("calc.add.add (src/calc/add.py)") for place in places] == [True]

    run(story())


def test_the_next_step_starts_from_accepted_work_and_not_from_refused_work(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        await stage.claim("scaffold", "InitWork", {"src/calc/good.py": "x = 1\n"}, checks="checkpoint scope")
        await stage.claim("tests", "TestsReady", {"src/calc/bad.py": "x = 1\n"}, checks="checkpoint scope")
        head = await stage.facts.entries(await stage.facts.head(stage.state, "root"))
        assert "src/calc/good.py" in head
        assert "src/calc/bad.py" not in head

    run(story())


def test_each_check_reports_its_beginning_and_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[CheckProgress] = []

    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).scaffolded()
        case = stage.case
        watch = lambda progress: heard.append(progress.check)  # noqa: E731
        monkeypatch.setattr(stage, "case", lambda claim: replace(case(claim), watch=watch))
        own = f"{TEST}\n# another tree than that of other tests, whose runs may be known\n"
        tests = {"tests/calc/test_add.py": own, "tests/calc/test_manifest.json": MANIFEST}
        await stage.claim("tests", "TestsReady", tests, checks="commit red")
        await stage.claim("tests", "TestsReady", {}, checks="commit red", n="1.2")

    run(story())
    ended = [(one.check, one.number, one.of, one.state) for one in heard if one.state != "running"]
    assert ended == [
        ("commit", 1, 2, "passed"), ("red", 2, 2, "passed"), ("commit", 1, 2, "failed"), ("red", 2, 2, "skipped"),
    ]  # fmt: skip
    begun = [one.check for one in heard if one.state == "running" and not one.tests]
    assert begun[:2] == ["commit", "red"]
    assert [one for one in heard if one.check == "red" and one.tests_done == one.tests > 0], "its tests are counted"


def test_a_failing_view_does_not_fail_the_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_progress: object) -> None:
        raise BrokenPipeError

    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).scaffolded()
        case = stage.case
        monkeypatch.setattr(stage, "case", lambda claim: replace(case(claim), watch=broken))
        tests = {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}
        verdict = await stage.claim("tests", "TestsReady", tests, checks="commit red")
        assert [one.ok for one in verdict.results] == [True, True]

    run(story())


def test_a_check_that_crashes_charges_nobody_and_leaves_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(s: Subject) -> CheckOutcome:
        raise IndexError(s.job.step)

    async def story() -> None:
        monkeypatch.setitem(CHECKS, "no_todo", crash)
        stage = await Stage(tmp_path).start()
        folder = tmp_path / "bugs"
        stage.verifier = ClaimVerifier(
            stage.facts, stage.tools, Cache(stage.cache, b"key"), scope, bugs=BugReports(folder)
        )
        said: list[str] = []
        for _ in range(2):
            with pytest.raises(PortError) as caught:
                await stage.claim("tests", "TestsReady", {"README.md": "x"}, checks="checkpoint no_todo")
            assert caught.value.code == "check.crashed"
            said.append(str(caught.value))
        (report,) = folder.iterdir()
        assert [(str(report) in one, "Traceback" in one) for one in said] == [(True, False)] * 2
        assert "raise IndexError(s.job.step)" in report.read_text(encoding="utf-8")
        verdict = await stage.claim("tests", "TestsReady", {"README.md": "x"}, checks="checkpoint no_todo?")
        assert stage.codes(verdict, "no_todo") == ["check.crashed"]
        assert is_accepted(parsed("checkpoint no_todo?"), verdict), "advice refuses nothing"

    run(story())


def test_a_folder_of_the_product_may_be_called_specs(tmp_path: Path) -> None:
    async def story() -> None:
        given = {**SPEC, "targetPath": "src/specs"}
        files = {"src/specs/__init__.py": "", "src/specs/add.py": SKELETON}
        stage = await Stage(tmp_path, files=files, given=given).start()
        tests = {
            "tests/calc/test_add.py": TEST.replace("src.calc", "src.specs"),
            "tests/calc/test_manifest.json": MANIFEST,
        }
        verdict = await stage.claim("tests", "TestsReady", tests, checks="checkpoint scope scope_tests red")
        assert verdict.report == ""
        done = {"src/specs/add.py": ADD}
        verdict = await stage.claim(
            "impl", "TestsPassed", done, checks="checkpoint tests_unmodified green no_undefined"
        )
        assert verdict.report == ""
        beside = {"src/specs/test_more.py": "", "src/specs/add.py": SKELETON}
        verdict = await stage.claim("tests", "TestsReady", beside, checks="checkpoint scope_tests", n="2.1")
        assert "src/specs/add.py" in [place for place, _ in stage.found(verdict, "scope_tests")]

    run(story())
