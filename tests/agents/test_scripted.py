"""Scripts, played in real folders."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agents.test_command import HOSTILE
from treadle.agents.activity import activity_of
from treadle.agents.placeholders import fill_text
from treadle.agents.process import Patience
from treadle.agents.script import CHANNELS
from treadle.agents.script_reading import read_script
from treadle.agents.scripted import Scripted, context_of
from treadle.errors import PortError
from treadle.kernel.events import Usage
from treadle.ports import Ended, Progress, Work
from treadle.protocol.load import load
from treadle.results import emit
from treadle.results.fence import fence_of
from treadle.results.prepare import prepare
from treadle.results.read import Reading, read
from treadle.results.ways import Ways
from treadle.testing.runner_contract import PATIENCE, Behaviour, Clause, clauses, make_work, until

QUICK = Patience(answered=0.1, asked=0.3, output=1 << 20)
CONTEXT = {
    "instance": "root",
    "graph": "node",
    "max_attempts": 3,
    "spec": {"targetPath": "src/a", "criteria": [{"id": "C1"}, {"id": "C2"}], "title": "Ä"},
}


def python(name: str) -> str:
    return f"[python3, -I, -S, {HOSTILE}, {name}]"


TURNS: dict[Behaviour, str] = {
    "answers": "say: hello, exit: {type: Ok}",
    "works": "say: hello, misbehave: hang",
    "floods": f"run: [{python('floods')}], say: {json.dumps(['x' * 1000] * 100)}",
    "leaves": f"run: [{python('leaves')}]",
    "dumps": f"run: [{python('dumps')}]",
}


class ScriptedBench:
    behaviours: tuple[Behaviour, ...] = tuple(TURNS)

    def lane(self, folder: Path) -> Path:
        lane = folder / "lane"
        lane.mkdir()
        return lane

    def runner(self, behaviour: Behaviour, work: Work) -> Scripted:  # noqa: ARG002
        text = f"agents: [{{turns: [{{{TURNS[behaviour]}}}]}}]"
        return Scripted(script=read_script(text, "demo.yaml"), patience=QUICK)

    async def help(self, behaviour: Behaviour, work: Work) -> None:
        """Nothing has to be done."""


BENCH = ScriptedBench()


@pytest.mark.parametrize("clause", clauses(BENCH), ids=lambda clause: clause.name)
def test_contract(clause: Clause, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_USER", "hunter2")
    clause.hold(BENCH, tmp_path)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    made = make_work(tmp_path, BENCH.lane(tmp_path))
    (made.bundle / "context.json").write_text(json.dumps(CONTEXT))
    return made


def scripted(text: str) -> Scripted:
    return Scripted(script=read_script(text, "demo.yaml"), patience=QUICK)


def play(text: str, work: Work, heard: list[Progress] | None = None) -> Ended:
    async def played() -> Ended:
        session = await scripted(text).start(work, (heard if heard is not None else []).append)
        return await asyncio.wait_for(session.wait(), PATIENCE)

    return asyncio.run(played())


def turn(text: str) -> str:
    indented = "\n".join(f"        {line}" for line in text.strip().splitlines())
    return f"agents:\n  - turns:\n      -\n{indented}\n"


def answer(work: Work) -> Any:
    """The answer, read as the orchestrator reads it."""
    found = emit.unpack((work.out / "answer.json").read_bytes())
    assert isinstance(found, emit.Emitted)
    assert fence_of(work).refuses(found.fence) is None
    return found.answer


def test_a_turn_changes_files_and_answers(work: Work) -> None:
    (work.lane / "old.py").write_text("old")
    (work.lane / "log").write_text("one\n")
    (work.lane / "gone").write_text("")
    heard: list[Progress] = []
    ended = play(
        turn(
            """
write: {"{spec[targetPath]}/t.py": "# {spec[criteria][1][id]} {{step}} {step} {x}\\n", run.sh: "#!/bin/sh\\n"}
append: {log: "two\\n"}
rename: {old.py: deep/new.py}
delete: [gone, never/was]
executable: run.sh
run: [[sh, -c, 'echo ran > ran; cat log']]
say: [hello, "attempt {attempt}"]
usage: {tokens_in: 10, tokens_out: 5, cost: 0.25}
exit: {type: TestsReady, tests: "{spec[criteria]}", note: "for {spec[title]}", count: 2}
"""
        ),
        work,
        heard,
    )
    assert (work.lane / "src/a/t.py").read_text() == "# C2 {step} tests {x}\n"
    assert (work.lane / "log").read_text() == "one\ntwo\n"
    assert (work.lane / "deep/new.py").read_text() == "old"
    assert not (work.lane / "gone").exists()
    assert (work.lane / "run.sh").stat().st_mode & 0o111 == 0o111
    assert (work.lane / "ran").exists()
    tests = CONTEXT["spec"]["criteria"]  # type: ignore[index]
    assert answer(work) == {"exit": {"type": "TestsReady", "tests": tests, "note": "for Ä", "count": 2}}
    usage = Usage(10, 5, 0.25)
    assert ended == Ended(how="done", code=0, final="hello\nattempt 1", usage=usage)
    assert heard == [Progress("hello"), Progress("attempt 1"), Progress("two"), Progress(usage=usage)]


@pytest.mark.parametrize(
    ("channel", "file", "text"),
    [
        ("executor-result", ".ai/executor-result", '{"exit": {"type": "Ok", "message": "fine"}}'),
        (
            "handoff",
            ".ai/HANDOFF.md",
            '---\nstep: "tests"\nattempt: 1\nexit: {"type": "Ok", "message": "fine"}\n---\n',
        ),
        ("message", "", '{"exit": {"type": "Ok", "message": "fine"}}'),
        ("code", "", "→[Ok,fine]"),
    ],
)
def test_an_exit_goes_through_the_channel_that_is_asked_for(channel: str, file: str, text: str, work: Work) -> None:
    ended = play(turn(f"exit: {{type: Ok, message: fine}}\nchannel: {channel}"), work)
    assert ((work.lane / file).read_text() if file else ended.final) == text
    assert not (work.out / "answer.json").exists()
    assert asyncio.run(scripted(turn("say: x")).harvest(work)) == ended


@pytest.mark.parametrize("channel", CHANNELS)
def test_what_a_script_answers_is_understood(channel: str, work: Work) -> None:
    async def answered() -> Reading:
        before = await prepare(work.lane)
        session = await scripted(turn(f"exit: {{type: RC, message: fine}}\nchannel: {channel}")).start(
            work, lambda _: None
        )
        ended = await session.wait()
        return await read(work, Ways(load("dptr"), ("RC",)), before, ended.final)

    reading = asyncio.run(answered())
    assert reading.problems == ()
    assert reading.warnings == ()
    assert reading.claim is not None
    assert (reading.claim.exit, reading.claim.fields["message"]) == ("RC", "fine")


RULES = """
agents:
  - {step: tests, instance: "root/*", turns: [{say: child}]}
  - {step: [impl, review], turns: [{say: impl}]}
  - {step: tests, attempt: 2, role: "t*", turns: [{say: second}]}
  - {step: tests, turns: [{say: first}, {say: next}, {say: last}]}
"""


@pytest.mark.parametrize(
    ("act", "attempt", "said"),
    [
        ("root/a:tests#1.1", 1, "child"),
        ("root:impl#1.1", 1, "impl"),
        ("root:review#4.4", 4, "impl"),
        ("root:tests#1.2", 2, "second"),
        ("root:tests#1.1", 1, "first"),
        ("root:tests#2.1", 1, "next"),
        ("root:tests#1.3", 3, "last"),
        ("root:tests#9.9", 9, "last"),
    ],
)
def test_the_first_rule_that_fits_counts(act: str, attempt: int, said: str, work: Work) -> None:
    step = act.split(":")[1].split("#", maxsplit=1)[0]
    assert play(RULES, msgspec.structs.replace(work, act=act, step=step, attempt=attempt)).final == said


def test_no_turn_fits(work: Work) -> None:
    other = msgspec.structs.replace(work, act="root/b:test#1.1", step="test")
    with pytest.raises(PortError, match=r"demo.yaml has no turn for step 'test' of 'root/b' .*did you mean 'tests'"):
        play(RULES, other)


@pytest.mark.parametrize(
    ("text", "how", "code", "detail"),
    [
        ("misbehave: crash\nexit: {type: Ok}", "lost", 1, "it crashed"),
        ("exit_code: 4", "done", 4, ""),
        ("say: '{spec[targetpath]}'", "failed", None, "demo.yaml:2: .*did you mean 'targetPath'"),
        ("say: '{spec[criteria][7]}'", "failed", None, "a list of 2, counted from 0"),
        ("write: {'{parameters[x]}': a}", "failed", None, "no 'parameters' in the context"),
        ("write: {'{spec[criteria]}/../../x': a}", "failed", None, "the path"),
        ("run: [[sh, -c, 'echo oops >&2; exit 3']]\nexit: {type: Ok}", "failed", None, "code 3; its last words: oops"),
        ("run: [[no-such-program]]", "failed", None, "no program 'no-such-program'"),
        ("rename: {a: b}", "failed", None, "'a' cannot be renamed"),
        ("executable: a", "failed", None, "'a' cannot be made executable"),
        ("write: {out/x: a}", "failed", None, "leads out of the lane through a link"),
    ],
)
def test_a_turn_that_goes_wrong(text: str, how: str, code: int | None, detail: str, work: Work) -> None:
    (work.lane / "out").symlink_to(work.home)
    ended = play(turn(text), work)
    assert (ended.how, ended.code) == (how, code)
    assert detail.rsplit(".*", maxsplit=1)[-1] in ended.detail
    assert not (work.out / "answer.json").exists()


def test_a_link_is_replaced_and_not_followed(work: Work, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (work.lane / "a").symlink_to(tmp_path / "secret")
    play(turn("write: {a: mine}"), work)
    assert (tmp_path / "secret").read_text() == "secret"
    assert (work.lane / "a").read_text() == "mine"


def test_a_turn_that_was_played_is_not_played_again(work: Work) -> None:
    text = turn("append: {log: x}\nexit: {type: Ok}")
    assert play(text, work) == play(text, work)
    assert (work.lane / "log").read_text() == "x"


def test_cancel_ends_what_a_turn_runs(work: Work) -> None:
    async def played() -> Ended:
        session = await scripted(turn(f"run: [{python('works')}]")).start(work, lambda _: None)
        await until((work.lane / "pids").exists, "it works")
        await session.cancel()
        return await session.wait()

    assert asyncio.run(played()).how == "lost"
    assert not Path(f"/proc/{(work.lane / 'pids').read_text().strip()}").exists()


def test_what_the_step_was_given_can_be_looked_up_by_slot(work: Work) -> None:
    (work.bundle / "inputs").mkdir(parents=True, exist_ok=True)
    (work.bundle / "inputs" / "scaffold.InitWork.json").write_text('{"interfaceFile": "src/x.py"}')
    found = context_of(work, activity_of(work))
    assert fill_text("{inputs[scaffold.InitWork][interfaceFile]}", found) == "src/x.py"


@pytest.mark.parametrize(("times", "retry", "out"), [(1, 0, True), (1, 1, False), (2, 1, True), (2, 2, False)])
def test_a_service_is_out_as_often_as_the_script_says(times: int, retry: int, out: bool, work: Work) -> None:
    text = f"outage: {{why: quota, wait: 60, times: {times}}}\nusage: {{tokens_in: 3, cost: 1}}\nexit: {{type: Ok}}"
    ended = play(turn(text), msgspec.structs.replace(work, retry=retry))
    assert (ended.how, ended.outage, ended.wait) == (("failed", "quota", 60) if out else ("done", None, 0))
    assert ended.usage == Usage(3, cost=1.0), "what was used until then counts"
    assert (work.out / "answer.json").exists() is not out
