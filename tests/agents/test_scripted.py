"""Scripted agents: their turns, placeholders in their texts, and mistakes in their scripts."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.test_command import HOSTILE
from tests.refusals import refused
from treadle.agents.contract import activity_of
from treadle.agents.program import Patience
from treadle.agents.script import CHANNELS, NAMES, fill, fill_text, load_script, placeholder_faults, read_script
from treadle.agents.scripted import Scripted, context_of
from treadle.errors import PortError, ProtocolError
from treadle.kernel.events import Usage
from treadle.ports import Ended, Progress, Work
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.results import emit
from treadle.results.channels import SessionAnswer, prepare_lane, read_answer
from treadle.results.exits import StepExits
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
    assert isinstance(found, emit.EmittedAnswer)
    assert found.stale_for(work) is None
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
def test_the_answer_of_a_script_is_read_from_every_channel(channel: str, work: Work) -> None:
    async def answered() -> SessionAnswer:
        before = await prepare_lane(work.lane)
        session = await scripted(turn(f"exit: {{type: RC, message: fine}}\nchannel: {channel}")).start(
            work, lambda _: None
        )
        ended = await session.wait()
        return await read_answer(work, StepExits(load("dptr"), ("RC",)), before, ended.final)

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
    with refused("script.no_turn", "demo.yaml", "'test' of 'root/b'", "'tests'?"):
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


def test_cancel_ends_the_programs_of_a_turn(work: Work) -> None:
    async def played() -> Ended:
        session = await scripted(turn(f"run: [{python('works')}]")).start(work, lambda _: None)
        await until((work.lane / "pids").exists, "it works")
        await session.cancel()
        return await session.wait()

    assert asyncio.run(played()).how == "lost"
    assert not Path(f"/proc/{(work.lane / 'pids').read_text().strip()}").exists()


def test_inputs_of_the_step_are_looked_up_by_slot(work: Work) -> None:
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


VALUES: dict[str, Json] = {
    "step": "tests",
    "attempt": 2,
    "spec": {"a b": [1, {"x": None}], "text": "{step}"},
}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{step}", "tests"),
        ("<{attempt}>", "<2>"),
        ("{spec[a b][0]}-{spec[a b][1][x]}", "1-null"),
        ("{{step}} {{attempt}}", "{step} {attempt}"),
        ("{spec[text]}", "{step}"),  # what is filled in is not filled in again
        ("{unknown} {} {0} {step!r} { step }", "{unknown} {} {0} {step!r} { step }"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
    ],
)
def test_placeholders_of_a_text_are_filled_in(text: str, filled: str) -> None:
    assert fill_text(text, VALUES) == filled


def test_a_value_keeps_its_type_where_it_stands_alone() -> None:
    value: Json = {"{step}": ["{spec[a b]}", "n={attempt}", "{attempt}", 7, None, "{{step}}"]}
    assert fill(value, VALUES) == {"tests": [[1, {"x": None}], "n=2", 2, 7, None, "{step}"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{role}", "finds no 'role' in the context"),
        ("{spec[txt]}", "did you mean 'text'?"),
        ("{spec[a b][2]}", "a list of 2, counted from 0"),
        ("{spec[a b][-1]}", "counted from 0"),
        ("{spec[text][0]}", "it has nothing below it"),
        ("{spec[__class__]}", "finds no '__class__'"),
    ],
)
def test_a_placeholder_without_a_value_is_an_error(text: str, message: str) -> None:
    with pytest.raises(PortError, match=re.escape(message)):
        fill_text(text, VALUES)


@pytest.mark.parametrize("text", ["{spec.text}", "{spec[]}", "{spec[a}", "{spec[a].b}"])
def test_malformed_placeholders_are_faults(text: str) -> None:
    assert list(placeholder_faults(f"x {text} y"))


@given(st.text(alphabet="{}[]ab step.", max_size=60))
def test_text_without_placeholders_stays_as_it_is(text: str) -> None:
    if not any(f"{{{name}" in text for name in NAMES):
        assert fill_text(text, VALUES) == text
        assert list(placeholder_faults(text)) == []


BAD = """\
agents:
  - stepp: tests
    attempt: true
    turns:
      - write: [a]
        wirte: {}
        delete: ../x
        run: ["rm -rf /"]
      - exit: {tests: []}
        channel: handof
        misbehave: hung
        delay: -1
        exit_code: 1.5
        usage: {tokens: 3}
        say: 7
        append: {/etc/passwd: x}
      - say: "{spec.title}"
        exit: {type: A, deep: [{x: "{spec[a}"}]}
  - step: impl
  - turns: []
  - nothing
extra: 1
"""


def test_every_mistake_is_listed_with_its_line() -> None:
    with pytest.raises(ProtocolError) as caught:
        read_script(BAD, "s.yaml")
    told = str(caught.value).splitlines()
    assert (caught.value.code, told[0].split()[0]) == ("script.invalid", "s.yaml")
    expected = [
        (2, "unknown key 'stepp' (did you mean 'step'?)"),
        (3, "must be a pattern such as `root/*`, not true or false"),
        (5, "must be a mapping, not a list"),
        (6, "unknown key 'wirte' (did you mean 'write'?)"),
        (7, "the path '../x'"),
        (8, "a command is a list of texts"),
        (9, "does not say which exit"),
        (10, "there is no 'handof' (did you mean 'handoff'?)"),
        (11, "there is no 'hung'"),
        (12, "must be a number from 0 to 86400"),
        (13, "must be a whole number"),
        (14, "unknown key 'tokens'"),
        (15, "must be text, not a number"),
        (16, "the path '/etc/passwd' is absolute"),
        (17, "'{spec.title}' is not a placeholder (write `{spec[name]}`"),
        (18, "'{spec[a}' is not a placeholder"),
        (19, "a rule without 'turns'"),
        (20, "there is no turn"),
        (21, "must be a mapping, not text"),
        (22, "unknown key 'extra'"),
    ]
    lines = [int(re.match(r"  s\.yaml:(\d+): ", line)[1]) for line in told[1:]]  # type: ignore[index]
    assert lines == [line for line, _ in expected]
    for line, (_, part) in zip(told[1:], expected, strict=True):
        assert part in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agents: []", "there is no rule"),
        ("agent: []", "did you mean 'agents'"),
        ("[]", "must be a mapping"),
        ("", "the file is empty"),
    ],
)
def test_a_malformed_script_is_refused(text: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=re.escape(message)):
        read_script(text, "s.yaml")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with refused("file.unreadable", "none.yaml"):
        load_script(tmp_path / "none.yaml")
    (tmp_path / "latin").write_bytes(b"agents: \xff")
    with refused("file.encoding", "latin", "byte 8"):
        load_script(tmp_path / "latin")


def test_the_example_of_the_documentation_is_a_script() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scripted-agents.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert examples
    for example in examples:
        read_script(example, "scripted-agents.md")


@pytest.mark.parametrize(
    ("outage", "message"),
    [
        ("{wait: 5}", "does not say which outage (write `why: rate` in it)"),
        ("{why: rates}", "there is no 'rates' (did you mean 'rate'?)"),
        ("{why: rate, wait: -1}", "must be a number from 0 to 1e+06"),
        ("{why: rate, wait: 1.5}", "must be a whole number"),
        ("{why: rate, until: 5}", "unknown key 'until'"),
        ("rate", "must be a mapping, not text"),
    ],
)
def test_a_malformed_outage_is_refused(outage: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=re.escape(message)):
        read_script(f"agents: [turns: [outage: {outage}]]", "s.yaml")


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ("{tokens_in: 10, cached: 4, tokens_out: 5, cost: 0.5}", Usage(10, 5, 0.5, cached=4)),
        ("{tokens_in: 10, tokens_out: 5, cost: 0}", Usage(10, 5)),
        ("{tokens_in: 10, tokens_out: 5}", Usage(10, 5, unpriced=15)),
    ],
)
def test_without_a_cost_the_price_is_not_known(usage: str, read: Usage) -> None:
    assert read_script(f"agents: [turns: [usage: {usage}]]", "s.yaml").rules[0].turns[0].usage == read
