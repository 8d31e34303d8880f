"""Judge and subject apart: what is decided at red, what is required at green, and who is blamed.

The subject is played here, so that a machine without namespaces, a breach or a lie can be had at will.
"""

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.stage import ADD, MANIFEST, RUN, TEST, Stage, run
from treadle.errors import PortError
from treadle.evidence.claim_verifier import ClaimVerifier
from treadle.evidence.measurements import Cache
from treadle.evidence.merge_verifier import DeliveryVerifier, MergeVerifier
from treadle.evidence.project_facts import ProjectTools
from treadle.evidence.subject import ProofSoFar
from treadle.kernel.commands import RunEffect
from treadle.ports import Verdict
from treadle.prompts.scope import scope
from treadle.toolchains.replay import Again
from treadle.toolchains.results import (
    ApartRun,
    CallDifference,
    CallRecord,
    CallReplay,
    RecordedCall,
    TestResult,
    TestRun,
)

FILE = "tests/calc/test_add.py"
ADDS = f"{FILE}::test_adds"
FILES = {FILE: TEST, "tests/calc/test_manifest.json": MANIFEST}
TWO = f"{TEST}\n\ndef test_frame() -> None:\n    assert add(1, 1) == 2\n"
FRAME = f"{FILE}::test_frame"
BOTH = {
    FILE: TWO,
    "tests/calc/test_manifest.json": json.dumps(
        {"spec_id": "calc", "acceptance_criteria_map": {"test_adds": "AC-1", "test_frame": "AC-1"}}
    ),
}
RED: dict[str, Any] = {"verdict": "failed", "kind": "not_implemented"}


def ended(**tests: str | Mapping[str, Any]) -> ApartRun:
    """A run apart in which tests ended so: by their names, a verdict or the fields of a result."""
    results = {
        f"{FILE}::{name}": TestResult(
            id=f"{FILE}::{name}", file=FILE, **({"verdict": how} if isinstance(how, str) else dict(how))
        )
        for name, how in tests.items()
    }
    bad = any(one.verdict != "passed" for one in results.values())
    return ApartRun(
        run=TestRun(command=("pytest",), exit=int(bad), duration=0.1, tests=results), calls=3, duration=0.25
    )


class PlayedSubject(ProjectTools):
    """The project's tools with a subject that answers as a test tells it, and remembers what it was asked."""

    def __init__(self, tools: ProjectTools, *answers: ApartRun) -> None:
        self.__dict__ |= tools.__dict__
        self.answers, self.asked = [*answers], list[tuple[tuple[str, ...], list[str], list[str]]]()
        self.replays: list[CallReplay] = []
        self.repeated: list[tuple[set[str], bool]] = []

    async def test_apart(
        self,
        path: Path,
        ids: tuple[str, ...],
        *,
        subject: Path,
        is_subject: Callable[[str], bool],
        sample: str = "",  # noqa: ARG002
        ask: tuple[str, ...] = (),  # noqa: ARG002
    ) -> ApartRun:
        files = [
            [one.relative_to(at).as_posix() for one in at.rglob("*.*") if ".git" not in one.parts]
            for at in (path, subject)
        ]
        self.asked.append((ids, sorted(filter(is_subject, files[0])), sorted(files[1])))
        return self.answers.pop(0)

    async def replay(
        self,
        code: Path,
        record: CallRecord,
        again: Again,  # noqa: ARG002
        sample: str,
        passed: Collection[str],
    ) -> CallReplay:
        assert {one.test for one in record.calls} <= {*passed}
        self.repeated.append(({one.name for one in code.iterdir()}, bool(sample)))
        return self.replays.pop(0)


async def staged(tmp_path: Path, *answers: ApartRun, proof: ProofSoFar | None = None) -> tuple[Stage, PlayedSubject]:
    stage = await Stage(tmp_path).start()
    stage.cache = tmp_path / "known"  # the answers of this test, and of no other one
    stage.tools = played = PlayedSubject(stage.tools, *answers)
    stage.verifier = ClaimVerifier(
        stage.facts, played, Cache(stage.cache, b"key"), scope, lambda _: proof or ProofSoFar()
    )
    return await stage.scaffolded(), played


def refused(stage: Stage, verdict: Verdict, check: str) -> list[tuple[str, str]]:
    found = stage.evidence(verdict, check)["findings"]
    return [(it["code"], it.get("test", "")) for it in found if not it.get("note")]


async def claim_red(stage: Stage, files: Mapping[str, str] = FILES, n: str = "1.1") -> Verdict:
    return await stage.claim("tests", "TestsReady", files, checks="checkpoint red", n=n)


async def claim_green(stage: Stage, code: str = ADD, n: str = "1.1") -> Verdict:
    return await stage.claim("impl", "TestsPassed", {"src/calc/add.py": code}, checks="checkpoint green", n=n)


def test_a_red_test_that_is_red_apart_will_be_judged_apart(tmp_path: Path) -> None:
    async def story() -> None:
        stage, played = await staged(tmp_path, ended(test_adds=RED))
        verdict = await claim_red(stage)
        assert verdict.report == ""
        kept = stage.evidence(verdict, "red")
        assert (kept["apart"], "together" in kept) == ([ADDS], False)
        assert kept["subjects"] == {"runs": 1, "tests": 1, "calls": 3, "seconds": 0.25}
        ((ids, code, files),) = played.asked
        assert ids == (ADDS,)
        assert code == files == ["README.md", "src/calc/__init__.py", "src/calc/add.py"], "the subject has no tests"

    run(story())


UNCROSSABLE = {
    "judge": lambda: _with(ended(test_adds=RED, test_frame=RED), uncrossable={FRAME: "it hands over a frame"}),
    "subject": lambda: _with(ended(test_adds=RED, test_frame=RED), failed_to_cross={FRAME: "a cyclic value"}),
    "otherwise": lambda: ended(test_adds=RED, test_frame={"verdict": "error", "kind": "error", "message": "no seam"}),
    "missing": lambda: ended(test_adds=RED),
}


def _with(done: ApartRun, **more: Any) -> ApartRun:
    fields = {name: getattr(done, name) for name in done.__struct_fields__}
    return ApartRun(**{**fields, **more})


@pytest.mark.parametrize("why", UNCROSSABLE)
def test_a_test_that_cannot_cross_at_red_stays_together_with_the_reason(tmp_path: Path, why: str) -> None:
    async def story() -> None:
        stage, _ = await staged(tmp_path, UNCROSSABLE[why]())
        verdict = await claim_red(stage, BOTH)
        assert verdict.report == ""
        kept = stage.evidence(verdict, "red")
        assert (kept["apart"], list(kept["together"])) == ([ADDS], [FRAME])
        assert kept["together"][FRAME]

    run(story())


def test_a_test_that_passes_apart_on_the_skeleton_is_no_red_test(tmp_path: Path) -> None:
    async def story() -> None:
        stage, _ = await staged(tmp_path, ended(test_adds=RED, test_frame="passed"))
        verdict = await claim_red(stage, BOTH)
        assert refused(stage, verdict, "red") == [("red.apart", FRAME)]

    run(story())


def test_a_machine_that_cannot_keep_them_apart_says_so_and_refuses_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        stage, _ = await staged(tmp_path, _with(ended(), problem="no mount namespace"))
        verdict = await claim_red(stage)
        assert verdict.report == ""
        kept = stage.evidence(verdict, "red")
        assert (kept["together"], "apart" in kept, "subjects" in kept) == ({ADDS: "no mount namespace"}, False, False)
        assert any(limit.endswith("no mount namespace") for limit in kept["limits"])

    run(story())


async def implemented(tmp_path: Path, *answers: ApartRun, code: str = ADD) -> tuple[Stage, Verdict, PlayedSubject]:
    """A test that was red apart, and the claim of its implementation."""
    stage, played = await staged(tmp_path, ended(test_adds=RED))
    return stage, await implement(stage, played, *answers, code=code), played


async def implement(stage: Stage, played: PlayedSubject, *answers: ApartRun, code: str = ADD) -> Verdict:
    assert (await claim_red(stage)).report == ""
    proof = ProofSoFar(failed=frozenset({ADDS}), apart={ADDS: await stage.facts.head(stage.state, "root")})
    stage.verifier = ClaimVerifier(stage.facts, played, Cache(stage.cache, b"key"), scope, lambda _: proof)
    played.answers += answers
    return await claim_green(stage, code)


def test_a_test_that_was_red_apart_passes_apart(tmp_path: Path) -> None:
    async def story() -> None:
        stage, verdict, played = await implemented(tmp_path, ended(test_adds="passed"))
        assert verdict.report == ""
        kept = stage.evidence(verdict, "green")
        assert (kept["apart"], kept["subjects"]["runs"]) == ([ADDS], 1)
        again = await claim_green(stage, n="2.1")
        assert stage.evidence(again, "green")["apart"] == [ADDS]
        assert len(played.asked) == 2, "a good result holds for its tree"

    run(story())


FAILS: dict[str, Any] = {"verdict": "failed", "kind": "assertion", "message": "0 == 5"}


def test_code_that_passes_only_beside_its_tests_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        stage, verdict, played = await implemented(tmp_path, ended(test_adds=FAILS), ended(test_adds=FAILS))
        assert refused(stage, verdict, "green") == [("green.apart", ADDS)]
        assert "apart" not in stage.evidence(verdict, "green")
        assert [ids for ids, *_ in played.asked] == [(ADDS,)] * 3, "red, green, and once more"

    run(story())


def test_code_that_cannot_be_imported_without_its_tests_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        lost = TestResult(id=FILE, verdict="error", phase="collect", kind="import", message="no tests.calc", file=FILE)
        done = ApartRun(run=TestRun(command=("pytest",), exit=2, duration=0.1, tests={FILE: lost}))
        stage, verdict, _ = await implemented(tmp_path, done, done)
        assert refused(stage, verdict, "green") == [("green.apart", ADDS)]
        assert "no tests.calc" in verdict.report

    run(story())


def test_a_call_that_broke_off_once_is_tried_again(tmp_path: Path) -> None:
    async def story() -> None:
        late = {"verdict": "error", "kind": "timeout", "message": "late"}
        stage, verdict, _ = await implemented(tmp_path, ended(test_adds=late), ended(test_adds="passed"))
        assert verdict.report == ""
        assert stage.evidence(verdict, "green")["subjects"]["runs"] == 2

    run(story())


@pytest.mark.parametrize("kind", ["uncrossable", "failed_to_cross"])
def test_no_implementation_lowers_a_grade(tmp_path: Path, kind: str) -> None:
    async def story() -> None:
        done = _with(ended(test_adds=FAILS), **{kind: {ADDS: "it hands over a frame"}})
        stage, verdict, _ = await implemented(tmp_path, done, done)
        assert refused(stage, verdict, "green") == [("green.apart", ADDS)]
        assert "it hands over a frame" in verdict.report

    run(story())


def test_a_breach_of_the_wire_is_refused_even_if_all_tests_pass(tmp_path: Path) -> None:
    async def story() -> None:
        done = _with(ended(test_adds="passed"), breaches=("it wrote out of turn",))
        stage, verdict, played = await implemented(tmp_path, done)
        assert refused(stage, verdict, "green") == [("green.breach", "")]
        assert len(played.asked) == 2, "a breach gets no second try"

    run(story())


CALLS = CallRecord(calls=(RecordedCall(test=ADDS, call="[]", outcome="[]"),), others=2)
DIFFERENT = CallDifference(test=ADDS, call="calc.add(2, 3)", in_tests="returns 5", elsewhere="returns 0")


def test_code_that_answers_otherwise_without_its_tests_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        stage, played = await staged(tmp_path, ended(test_adds=RED))
        played.replays.append(CallReplay(recorded=1, replayed=1, incomparable=2, differences=(DIFFERENT,)))
        verdict = await implement(stage, played, _with(ended(test_adds="passed"), record=CALLS))
        assert refused(stage, verdict, "green") == [("green.differs", ADDS)]
        assert "`calc.add(2, 3)` returns 5 in the tests, and returns 0" in verdict.report
        costs = stage.evidence(verdict, "green")["subjects"]
        assert (costs["recorded"], costs["replayed"], costs["incomparable"]) == (1, 1, 2)
        ((names, has_seed),) = played.repeated
        assert has_seed
        assert "src" in names
        assert "tests" not in names, "a checkout without tests"

    run(story())


def test_calls_that_end_as_in_the_tests_are_counted_and_known(tmp_path: Path) -> None:
    async def story() -> None:
        stage, played = await staged(tmp_path, ended(test_adds=RED))
        played.replays.append(CallReplay(recorded=1, replayed=1, limits=("the same user",)))
        verdict = await implement(stage, played, _with(ended(test_adds="passed"), record=CALLS))
        assert verdict.report == ""
        kept = stage.evidence(verdict, "green")
        assert (kept["subjects"]["replayed"], kept["apart"]) == (1, [ADDS])
        assert "the same user" in kept["limits"]
        assert (await claim_green(stage, n="2.1")).report == "", "a good result holds for its tree"

    run(story())


def test_a_machine_that_can_repeat_nothing_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        stage, played = await staged(tmp_path, ended(test_adds=RED))
        played.replays.append(CallReplay(recorded=1, problem="no interpreter"))
        verdict = await implement(stage, played, _with(ended(test_adds="passed"), record=CALLS))
        assert verdict.report == ""
        assert any("no interpreter" in limit for limit in stage.evidence(verdict, "green")["limits"])

    run(story())


BROKEN = {
    "machine": lambda: _with(ended(), problem="no mount namespace"),
    "judge": lambda: ApartRun(run=TestRun(command=("pytest",), exit=3, duration=0.1, output="INTERNALERROR")),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_machine_that_fails_at_green_costs_nobody_an_attempt(tmp_path: Path, what: str) -> None:
    async def story() -> None:
        stage, played = await staged(tmp_path, ended(test_adds=RED))
        with pytest.raises(PortError) as failed:
            await implement(stage, played, BROKEN[what]())
        assert (failed.value.code, failed.value.retryable) == ("env.apart", True)
        played.answers.append(ended(test_adds="passed"))
        assert (await claim_green(stage)).report == "", "after a person has repaired the machine"

    run(story())


def test_what_was_decided_at_red_is_not_decided_again_on_half_an_implementation(tmp_path: Path) -> None:
    async def story() -> None:
        stage, played = await staged(tmp_path, ended(test_adds=RED))
        assert (await claim_red(stage)).report == ""
        head = await stage.facts.head(stage.state, "root")
        proof = ProofSoFar(failed=frozenset({ADDS}), apart={ADDS: head})
        stage.verifier = ClaimVerifier(stage.facts, played, Cache(stage.cache, b"key"), scope, lambda _: proof)
        played.answers.append(ended(test_frame=RED))
        verdict = await claim_red(stage, BOTH, n="2.1")
        assert stage.evidence(verdict, "red")["apart"] == [ADDS, FRAME]
        assert played.asked[-1][0] == (FRAME,), "the unchanged test keeps its grade"

        played.answers.append(_with(ended(test_adds=RED), uncrossable={ADDS: "it hands over a frame"}))
        rewritten = {**BOTH, FILE: TWO.replace("add(2, 3) == 5", "add(2, 4) == 6")}
        verdict = await claim_red(stage, rewritten, n="3.1")
        kept = stage.evidence(verdict, "red")
        assert ADDS in kept["together"], "its author wrote another test, which is decided anew"

    run(story())


def test_a_merge_asks_for_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        stage, verdict, played = await implemented(tmp_path, ended(test_adds="passed"))
        assert verdict.report == ""
        job = RunEffect(
            id="root:merge#1.1", inst="root", graph="node", step="merge", visit=1, attempt=1, effect="merge"
        )
        head = await stage.facts.head(stage.state, "root")

        def verifier(cache: Path) -> MergeVerifier:
            return MergeVerifier(
                stage.facts, played, Cache(cache, b"key"), job, stage.case({}), lambda _: frozenset({ADDS})
            )

        tried = await verifier(stage.cache).suite(head)
        assert (tried.ok, tried.ran["apart"]) == (True, [ADDS])
        assert len(played.asked) == 2, "the same tree was judged at green"
        played.answers += [ended(test_adds=FAILS), ended(test_adds=FAILS)]
        tried = await verifier(tmp_path / "fresh").suite(head)
        assert (tried.ok, tried.failing) == (False, (ADDS,))
        assert [it["code"] for it in tried.findings] == ["green.apart"]

    run(story())


def test_a_rebased_delivery_asks_for_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        stage, verdict, played = await implemented(tmp_path, ended(test_adds="passed"))
        assert verdict.report == ""
        onto, head = await stage.facts.start(RUN), await stage.facts.head(stage.state, "root")
        for endings, what in (([ended(test_adds=FAILS)] * 2, "criteria"), ([ended(test_adds="passed")], "")):
            played.answers += endings
            fresh = Cache(tmp_path / f"delivery {what}", b"key")
            one = DeliveryVerifier(stage.facts, played, fresh, stage.case({}), "deliver", {ADDS})
            failure = await one.verify(head, onto, {FILE, "src/calc/add.py"}, {ADDS}, head)
            assert (failure.what, failure.tests) == (what, (ADDS,)) if failure else what == ""
        assert not played.answers

    run(story())
