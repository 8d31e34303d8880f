"""How a story ended, and everything that happened on the way."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.cli.treadle import treadle
from tests.end_to_end.cast import Cast
from tests.git.place import git
from treadle.cli.run_status import exit_code
from treadle.config.project import Project
from treadle.engines.evidence import logged_evidence
from treadle.engines.run_settings import settings_of
from treadle.engines.surroundings import toolchain_texts
from treadle.kernel.events import Event, Replied, Signalled
from treadle.kernel.state import State
from treadle.ports import Work
from treadle.prompts.foreign import MARK, PERSON
from treadle.prompts.question import Question, question
from treadle.protocol.items import Json
from treadle.protocol.model import base_of
from treadle.store.sqlite import Store
from treadle.views.chronicle import ActivityRecord, Chronicle
from treadle.views.outcomes import is_good

RUN: Final = "story"
RESULT: Final = f"treadle/{RUN}/result"
_FENCED: Final = re.compile(rf"^(`{{4,}})(?:{MARK}|{PERSON})\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)


class End(msgspec.Struct, frozen=True, kw_only=True):
    """The story, told from its log and its repository."""

    root: Path
    state: State
    course: list[str]
    """`root/a:impl#1.2 TestsPassed`: every activity by how it was left, and every word of a person, in order."""
    deeds: dict[str, ActivityRecord]
    events: list[Event]
    works: dict[str, Work]
    reminders: dict[str, list[str]]
    heard: list[Question]
    """Questions that were settled."""
    open: list[Question]
    """Questions that were not."""
    payloads: dict[str, Json]
    strays: list[str]

    @classmethod
    def of(cls, project: Project, store: Store, cast: Cast) -> "End":
        chronicle, course, events = Chronicle(cache(store.protocol)), list[str](), list[Event]()
        told: set[str] = set()
        for _, body in store.events(RUN):
            before = chronicle.state
            made = chronicle.take(body)
            events.append(made.event)
            course += _said(before, made.event)
            ended = [act for act, deed in chronicle.deeds.items() if deed.ended and act not in told]
            told |= set(ended)
            course += [f"{act} {_left(chronicle.deeds[act])}" for act in ended]
        proved = logged_evidence(store, RUN)
        if is_good(chronicle.state.outcome):  # whatever the story is about: exit code 0 means that all is verified
            assert proved.verdict != "unverified", [(it.id, it.instance, it.missing) for it in proved.criteria]
            assert exit_code(chronicle.state.outcome, proved) == (4 if any(it.waiver for it in proved.criteria) else 0)
        texts = toolchain_texts(settings_of(store.run(RUN)).config.toolchain, project.root)
        asked = [
            question(store.protocol(it.state.protocol), it.state, it.command, store.payloads, texts)
            for it in chronicle.asked.values()
        ]
        return cls(
            root=project.root,
            state=chronicle.state,
            course=course,
            deeds=chronicle.deeds,
            events=events,
            works=cast.works,
            reminders=cast.reminders,
            heard=[it for it in asked if it.id not in chronicle.state.asks],
            open=[it for it in asked if it.id in chronicle.state.asks],
            payloads={ref: store.payloads.get(ref) for ref in _refs(chronicle.deeds)},
            strays=[f"{it.act} {it.what}: {it.detail}" for it in store.strays(RUN)],
        )

    @property
    def outcome(self) -> str:
        return self.state.outcome

    @property
    def told(self) -> str:
        """What a test that fails should show."""
        refused = [f"{act}: {text}" for act in self.deeds if (text := self.refusals(act))]
        return "\n".join([*self.course, *refused, *(f"{it.id}\n{it}" for it in self.open)])

    @property
    def outcomes(self) -> dict[str, str]:
        """How each instance ended."""
        return {id_: inst.outcome for id_, inst in sorted(self.state.insts.items())}

    def steps(self, instance: str = "root") -> list[str]:
        """The course of one instance: `impl !gate`, `impl TestsPassed`, …"""
        return [f"{_step(line)} {line.partition(' ')[2]}" for line in self.course if _instance(line) == instance]

    def when(self, line: str) -> int:
        """The place of something in the course; it begins with `line`."""
        found = [at for at, each in enumerate(self.course) if each.startswith(line)]
        assert found, f"{line} is not in the course:\n" + "\n".join(self.course)
        return found[0]

    def prompt(self, act: str) -> str:
        """What an agent was told; fenced text is quoted (`> `), as in questions to people."""
        assert act in self.works, f"no agent was started for {act}, but for {', '.join(self.works)}"
        return _quoted(self.works[act].prompt)

    def payload(self, act: str) -> Any:
        """What an activity ended with, computed fields included."""
        deed = self.deeds[act]
        ref = deed.checked.payload_ref if deed.checked and deed.checked.payload_ref else ""
        return self.payloads[ref or (deed.claim.envelope.payload_ref if deed.claim else "")]

    def refusals(self, act: str) -> str:
        """What the checks, or the reading of the answer, had against an activity."""
        deed = self.deeds[act]
        found = [str(self.payloads[it.detail_ref]) for it in deed.failures if it.detail_ref]
        results = deed.checked.results if deed.checked else deed.claim.results if deed.claim else ()
        for one in results:
            report = self.payloads[one.report_ref]
            assert isinstance(report, dict)
            if not one.ok and not report.get("advisory"):
                found.append(f"### {one.check}\n{report['report']}")
        return "\n".join(found)

    def findings(self, act: str) -> set[tuple[str, str]]:
        """What the checks had against an activity: the test, line or file of each finding, and its code."""
        deed = self.deeds[act]
        results = deed.checked.results if deed.checked else deed.claim.results if deed.claim else ()
        records: list[Any] = [self.payloads[one.report_ref] for one in results if not one.ok]
        found = [one for it in records for one in it["findings"] if not one.get("note")]
        return {(one.get("test") or _finding_place(one), one["code"]) for one in found}

    def checks(self, act: str) -> dict[str, bool]:
        """The checks of an activity by how they ended."""
        deed = self.deeds[act]
        results = (*(deed.checked.results if deed.checked else ()), *(deed.claim.results if deed.claim else ()))
        return {one.check: one.ok for one in results}

    def ask(self, place: str) -> str:
        """What a person was asked somewhere, the last time."""
        found = [it for it in (*self.heard, *self.open) if _place(it.id) == place]
        assert found, f"nobody was asked at {place}, but at {[it.id for it in (*self.heard, *self.open)]}"
        return _quoted(str(found[-1]))

    def git(self, *words: str) -> str:
        return git(self.root, *words)

    def files(self, branch: str = RESULT) -> dict[str, str]:
        """The files of a branch."""
        names = self.git("ls-tree", "-r", "--name-only", branch).splitlines()
        return {name: self.git("show", f"{branch}:{name}") for name in names}

    def subjects(self, branch: str = RESULT) -> list[str]:
        """The subjects of a branch's commits since the user's own, the oldest first."""
        return self.git("log", "--reverse", "--format=%s", f"main..{branch}").splitlines()

    def suite(self, branch: str = RESULT) -> str:
        """The last line of pytest in a checkout of a branch."""
        place = self.root.parent / "looked-at"
        self.git("worktree", "add", "-q", "--detach", "--force", str(place), branch)
        tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        ran = subprocess.run(tests, cwd=place, check=False, capture_output=True, text=True)
        self.git("worktree", "remove", "--force", str(place))
        return ran.stdout.splitlines()[-1]

    def evidence(self) -> Any:
        """`treadle evidence --json`."""
        with chdir(self.root):
            return treadle("evidence", RUN, "--json").json()

    def standings(self) -> dict[str, str]:
        """How each criterion stands: `verified by root/a`."""
        return {it["id"]: f"{it['standing']} by {it['instance']}" for it in self.evidence()["criteria"]}


def _quoted(text: str) -> str:
    return _FENCED.sub(lambda it: "\n".join(f"> {line}" for line in it[2].split("\n")), text)


def _said(before: State, event: Event) -> Iterator[str]:
    match event:
        case Replied(ask=ask, choice=choice) if ask in before.asks:
            yield f"{ask} {choice}"
        case Signalled(inst=inst, name=name):
            yield f"{inst}:person {name}"
        case _:
            pass


def _left(deed: ActivityRecord) -> str:
    return f"stopped ({deed.stopped})" if deed.stopped and not deed.left else deed.left


def _refs(deeds: dict[str, ActivityRecord]) -> set[str]:
    found: set[str] = set()
    for deed in deeds.values():
        found |= {it.detail_ref for it in deed.failures}
        if deed.claim:
            found |= {deed.claim.envelope.payload_ref, *(it.report_ref for it in deed.claim.results)}
        if deed.checked:
            found |= {deed.checked.payload_ref, *(it.report_ref for it in deed.checked.results)}
    return found - {""}


def _place(id_: str) -> str:
    """`root:stuck@impl#1.1` → `root:stuck`."""
    inst, _, step = id_.partition("#")[0].rpartition(":")
    return f"{inst}:{base_of(step)}"


def _instance(line: str) -> str:
    return line.partition(" ")[0].partition("#")[0].rpartition(":")[0]


def _step(line: str) -> str:
    return base_of(line.partition(" ")[0].partition("#")[0].rpartition(":")[2])


def _finding_place(finding: dict[str, Any]) -> str:
    file, line = finding.get("file", ""), finding.get("line", 0)
    return f"{file}:{line}" if line else str(file)
