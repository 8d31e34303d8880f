"""A run of V3 whose agents, checks and merges are played by a test, with records as the checks leave them."""

from collections.abc import Mapping
from functools import cache

from tests.evidence.stage import Memory
from treadle.kernel.events import Checked, CheckResult, Event, Exited, Replied, RunStarted, Usage
from treadle.kernel.replay import encode_event
from treadle.protocol.answers.claim import routed_values
from treadle.protocol.digest import digest
from treadle.protocol.items import Item, Json
from treadle.protocol.load import load
from treadle.protocol.model import tag_of
from treadle.runtime.claims import envelope_of
from treadle.store.records import Stray
from treadle.views.chronicle import Chronicle
from treadle.views.evidence import CriterionProof, Evidence, Grade
from treadle.views.evidence_verdict import EvidenceInputs, gather_evidence

NOW = 1_700_000_000_000
COMMIT, TREE = "c" * 40, "7" * 40
TEST = "tests/test_add.py::test_adds"
Facts = Mapping[str, Mapping[str, Json]]


def spec(id_: str, *criteria: str) -> dict[str, Json]:
    listed: list[Json] = [{"id": one, "text": f"{one} holds"} for one in criteria]
    return {
        "id": id_,
        "description": f"the part {id_}",
        "acceptanceCriteria": listed,
        "targetPath": f"src/{id_}",
        "testPath": f"tests/{id_}",
    }


loaded = cache(load)


class Trial:
    """Takes what happens, and says what is proved."""

    def __init__(self, given: dict[str, Json] | None = None) -> None:
        self.protocol, self.payloads = loaded("v3"), Memory()
        self.log = Chronicle(lambda _: self.protocol)
        self._count = 0
        item = Item("calc", self.payloads.put(given or spec("calc", "AC-1")))
        self.happens(
            RunStarted(id="start", ts=NOW, run="calc-1", protocol=digest(self.protocol), input=item),
        )

    def happens(self, event: Event) -> "Trial":
        self.log.take(encode_event(event))
        return self

    def _stamp(self) -> tuple[str, int]:
        self._count += 1
        return f"e{self._count}", NOW + self._count * 1000

    def says(self, act: str, exit_: str, facts: Facts | None = None, *fails: str, **fields: Json) -> "Trial":
        """An activity claims an exit; its checks leave what the facts say, and pass unless they are among `fails`."""
        id_, at = self._stamp()
        envelope = envelope_of(self.protocol, exit_, {**_FIELDS.get(exit_, {}), **fields}, self.payloads)
        self.happens(Exited(id=id_, ts=at, act=act, envelope=envelope, channel="emit", usage=Usage(10, 5, 0.5)))
        checks = self.log.state.acts[act].checks if act in self.log.state.acts else ()
        if checks:
            id_, at = self._stamp()
            known = {**_FIELDS.get(exit_, {}), **fields}
            skipped = {name for name, said in (facts or {}).items() if said.get("skipped")}
            results = tuple(
                CheckResult(
                    one.name,
                    one.name not in fails,
                    self.kept(one.name, facts or {}, one.name not in fails),
                    skipped=one.name in skipped,
                )
                for one in checks
            )
            taken = all(one.advisory or one.name not in fails for one in checks)
            ref = self.payloads.put(known if taken else {"report": f"### {', '.join(fails)}\n- mend it"})
            derived = routed_values(self.protocol, tag_of(exit_), known, self.payloads.put) if taken else {}
            self.happens(Checked(id=id_, ts=at, act=act, results=results, derived=derived, payload_ref=ref))
        return self

    def kept(self, check: str, facts: Facts, ok: bool) -> str:
        """A record as a check leaves it."""
        return self.payloads.put(
            {
                "check": check,
                "ok": ok,
                "commit": COMMIT,
                "tree": TREE,
                "command": ["pytest", "-q"] if check in ("red", "green") else [],
                "exit": {"red": 1, "green": 0}.get(check),
                "duration": 0.25,
                "output": f"the output of {check}",
                "report": "" if ok else "- mend it",
                **facts.get(check, {}),
            }
        )

    def merges(self, inst: str = "root") -> "Trial":
        id_, at = self._stamp()
        envelope = envelope_of(self.protocol, "MergeComplete", _FIELDS["MergeComplete"], self.payloads)
        results = tuple(CheckResult(name, True, self.kept(name, {}, True)) for name in ("build", "contract", "suite"))
        act = f"{inst}:merge#1.1"
        return self.happens(Exited(id=id_, ts=at, act=act, envelope=envelope, channel="effect", results=results))

    def rejected(self, details: str) -> Exited:
        """What a merge says that did not hold; it has not happened yet."""
        id_, at = self._stamp()
        said: dict[str, Json] = {"reason": "ContractViolation", "details": details, "failingTests": [TEST]}
        envelope = envelope_of(self.protocol, "MergeRejected", said, self.payloads)
        return Exited(id=id_, ts=at, act="root:merge#1.1", envelope=envelope, channel="effect")

    def answers(self, ask: str, choice: str, note: str = "") -> "Trial":
        id_, at = self._stamp()
        ref = self.payloads.put(note) if note else ""
        return self.happens(Replied(id=id_, ts=at, ask=ask, choice=choice, note_ref=ref, actor="ada"))

    def evidence(self, *strays: Stray) -> Evidence:
        return gather_evidence(self.log, self.payloads.get, self.inputs(*strays), NOW + 60_000)

    def inputs(self, *strays: Stray, minimum: Grade = "word") -> EvidenceInputs:
        agents = {"impl": "command:./agent"}
        return EvidenceInputs(run="calc-1", name="calc-1", agents=agents, strays=strays, minimum=minimum)

    def criterion(self, id_: str = "AC-1") -> CriterionProof:
        return next(one for one in self.evidence().criteria if one.id == id_)


def red(*tests: str, criterion: str = "AC-1") -> dict[str, dict[str, Json]]:
    """What the check `red` leaves of tests that failed as they should."""
    listed: list[Json] = list(tests)
    return {"red": {"red": listed, "criteria": {criterion: dict.fromkeys(tests, "failed")}}}


def green(
    *tests: str, check: str = "green", verdict: str = "passed", criterion: str = "AC-1"
) -> dict[str, dict[str, Json]]:
    """What a check leaves that has run the tests."""
    return {check: {"criteria": {criterion: dict.fromkeys(tests, verdict)}}}


def scaffolded(trial: Trial | None = None, inst: str = "root") -> Trial:
    return (trial or Trial()).says(f"{inst}:scaffold#1.1", "InitWork")


def with_tests(trial: Trial | None = None, inst: str = "root", facts: Facts | None = None) -> Trial:
    return scaffolded(trial, inst).says(f"{inst}:tests#1.1", "TestsReady", red(TEST) if facts is None else facts)


def implemented(trial: Trial | None = None, inst: str = "root") -> Trial:
    return with_tests(trial, inst).says(f"{inst}:impl#1.1", "TestsPassed", green(TEST))


def approved(trial: Trial | None = None, inst: str = "root") -> Trial:
    return implemented(trial, inst).says(f"{inst}:review#1.1", "Approved", signOff="I have read it")


def merged() -> Trial:
    return approved().merges()


_FIELDS: dict[str, dict[str, Json]] = {
    "InitWork": {"interfaceFile": "src/calc/__init__.py", "contractSuite": "tests/contract", "testPlan": []},
    "TestsReady": {"testsCommit": COMMIT},
    "TestsPassed": {"commitHash": COMMIT},
    "MergeComplete": {"mergeCommit": "a" * 40, "newParentHead": "a" * 40},
    "MoreTests": {"critiques": [], "additionalTests": []},
}
