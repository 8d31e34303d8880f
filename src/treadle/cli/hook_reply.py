"""The reply to a call of `treadle hook`, for the runs of a project.

An agent ends: its answer is handed in and checked like every other, and the run goes on. A task is marked as
completed, or an agent of a team is idle: the project's own check decides, or the unfinished tasks are listed.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Final, NamedTuple

from treadle.agents.contract import has_answer
from treadle.cli.run_reader import read_run
from treadle.cli.show import explain_failure, read_story
from treadle.config.project import Project
from treadle.engines.client import login_name
from treadle.engines.containers import container_of
from treadle.engines.run_settings import settings_of
from treadle.engines.service import take_up
from treadle.engines.status import read_status
from treadle.engines.waits import is_handed_out, works_in_hand
from treadle.errors import TreadleError
from treadle.evidence.checks.project import commands_of
from treadle.evidence.gherkin import unfinished_parallel
from treadle.evidence.project_facts import ProjectTools
from treadle.hooks.call import GOES_ON, MAY_END, NO_REPLY, HookCall, Reply, hold
from treadle.hooks.session import SessionWork, find_work, note_session
from treadle.kernel.commands import RunAgent
from treadle.ports import Work
from treadle.prompts.variables import input_values
from treadle.protocol.answers.claim import Claim
from treadle.protocol.artifacts import place_of
from treadle.protocol.model import base_of, exit_name
from treadle.results.assignment import Assignment
from treadle.results.channels import Before, SessionAnswer, load_before, read_answer
from treadle.results.emit import Via
from treadle.results.executor_result import FILE as RESULT
from treadle.results.exits import StepExits, exit_object, read_exits
from treadle.results.intake import Faulty, read_file, replace_file
from treadle.store.history import History
from treadle.store.sqlite import Store, opened_store
from treadle.toolchains.results import CommandResult
from treadle.toolchains.toolchain import toolchain_of
from treadle.views.run_status import rest_lines
from treadle.views.words import exit_words

# An agent ends: hand in its answer, check it like every other answer, and let the run go on.

_ROUNDS: Final = 50
"""The number of waits, ten seconds each, for the driver to check the answer; the sum stays below the hook's timeout."""


_GLANCE: Final = 0.05
_PATIENCE: Final = 30.0


class _StepAnswer(NamedTuple):
    """An agent's answer for a step, as far as it has given one."""

    mine: SessionWork
    step_exits: StepExits
    reading: SessionAnswer

    @property
    def is_there(self) -> bool:
        return bool(self.reading.channel or self.reading.warnings)


def reply_to_end(project: Project, store: Store, call: HookCall, mine: Sequence[SessionWork], *, legacy: bool) -> Reply:
    """Hand in the agent's answer, or reply with the missing parts; of several steps, take the first with an answer."""
    answers = [_read_step_answer(call, one, legacy=legacy) for one in mine]
    answer = next((one for one in answers if one.is_there), None)
    if answer is None:
        owed = next((one for one in answers if one.mine.is_owed), None)
        if owed is None or call.event == "SubagentStop":  # a helper of the agent owes nothing
            return NO_REPLY
        return _hold(call, owed, [f"{owed.mine.work.lane} holds no answer"])
    claim, channel = answer.reading.claim, answer.reading.channel
    if claim is None or not channel:
        return _hold(call, answer, [*answer.reading.problems, *answer.reading.warnings])
    return _hand_in(project, store, call, answer, claim, channel)


def _read_step_answer(call: HookCall, mine: SessionWork, *, legacy: bool) -> _StepAnswer:
    step_exits = read_exits(mine.work.bundle)
    final = call.last if call.event == "Stop" and mine.is_owed else ""  # else it may be about another step

    async def read() -> SessionAnswer:
        before = await load_before(mine.work.home) or Before()
        return await read_answer(mine.work, step_exits, before, final, legacy=legacy)

    return _StepAnswer(mine, step_exits, asyncio.run(read()))


def _hold(call: HookCall, step_answer: _StepAnswer, problems: Sequence[str]) -> Reply:
    work = step_answer.mine.work
    note_session(call, work)
    lines = [
        f"{_step(work)} has not ended [hook.not_ended]:",
        *(f"- {line}" for line in problems),
        *_form(work, step_answer.step_exits),
    ]
    return hold("\n".join(lines), is_again=call.is_again)


def _hand_in(
    project: Project, store: Store, call: HookCall, step_answer: _StepAnswer, claim: Claim, channel: Via
) -> Reply:
    work = step_answer.mine.work
    step_exits = step_answer.step_exits
    task = Assignment(
        act=work.act, token=work.token, retry=work.retry, bundle=work.bundle, out=work.out, step_exits=step_exits
    )  # fmt: skip
    given = {name: value for name, value in claim.fields.items() if value is not None}
    asked = step_exits.fields(claim.exit)
    answer = exit_object(claim.exit, {name: value for name, value in given.items() if name in asked})
    by = f"{login_name()} with {call.mate}" if call.mate else login_name()
    found = task.hand_in(answer, channel, by)
    if isinstance(found, Faulty):
        if work.act not in store.load(work.run).state.acts:
            return NO_REPLY  # another session was faster
        if not task.is_taken:  # else another session was faster, too, and its checks are still to come
            return _hold(call, step_answer, found.problems)
    if not asyncio.run(_take_up(project, store, work)):
        return Reply(
            MAY_END,
            f"{_step(work)}: {exit_words(step_exits.protocol, claim.key)} is handed in and still being checked",
        )
    return _judged(project, store, call, work, exit_words(step_exits.protocol, claim.key))


async def _take_up(project: Project, store: Store, work: Work) -> bool:
    """Whether the answer has been checked, by the run's driver or by this process."""
    run = work.run
    for _ in range(_ROUNDS):
        taken = await take_up(project, store, run, lambda state: work.act in state.acts)
        if work.act not in taken.state.acts:
            # The reply names the next work, so the run's driver gets some time to hand it out.
            for _ in range(int(_PATIENCE / _GLANCE)):
                if is_handed_out(store.load(run).state, settings_of(store.run(run)), project.runs / run):
                    break
                await asyncio.sleep(_GLANCE)
            return True
        if not taken.by:
            return False
    return False


def _judged(project: Project, store: Store, call: HookCall, work: Work, claimed: str) -> Reply:
    found = read_run(store, work.run)
    refused = list(explain_failure(read_story(project, store, found, work.act)))
    if not refused:
        stands = "\n".join(rest_lines(read_status(project, store, work.run)))
        return Reply(MAY_END, f"{_step(work)} is accepted: {claimed}\n{stands}")
    state, run = found.chronicle.state, found.record
    in_hand = works_in_hand(state, settings_of(run), project.runs / run.id)
    again = [it for it in in_hand if (it.step, it.lane) == (work.step, work.lane) and it.act != work.act]
    if not again:
        stands = "\n".join(rest_lines(read_status(project, store, work.run)))
        return Reply(MAY_END, "\n".join([*refused, stands]))
    following = again[0]
    note_session(call, following)
    lines = [
        *refused,
        f"Continue with attempt {following.attempt}. Its task, with the findings of the checks, is in",
        f"  {following.bundle / 'prompt.md'}",
        f"Work in {following.lane}, then hand in an exit again.",
    ]
    with suppress(TreadleError):  # without the exits, the prompt still says how to answer
        lines += _form(following, read_exits(following.bundle))
    return hold("\n".join(lines), is_again=call.is_again)


def _form(work: Work, step_exits: StepExits) -> Iterator[str]:
    """Explain how to answer a step by hand."""
    words = [exit_name(step_exits.protocol, name) for name in step_exits.exits]
    yield f"Write {work.lane / RESULT}:"
    yield f"  status: {' | '.join(dict.fromkeys(words))}"
    yield "  reason: null"
    yield "  summary: one sentence"
    yield (
        f"(or .ai/HANDOFF.md with these in its front matter, `step: {base_of(work.step)}` and "
        f"`attempt: {work.attempt}`); {work.bundle / 'prompt.md'} lists the fields of each. "
        "If you wait for a person, say so and stop."
    )


def _step(work: Work) -> str:
    return f"{work.step} of {work.run} (attempt {work.attempt})"


# Replies when a task is marked as completed, or when an agent of a team is idle.

_CHECK: Final = "post_check"
_SCENARIOS: Final = "bdd"
"""The artifact with the tasks of a story."""
_TOLD: Final = "idle"
_SHOWN: Final = 4_000


def reply_to_completed_task(project: Project, store: Store, call: HookCall, mine: Sequence[SessionWork]) -> Reply:
    """Refuse to complete a task of an agent's own list until the project's own command succeeds in the lane."""
    for work in (one.work for one in mine):
        history = store.load(work.run)
        job = _job(history, work)
        step = history.protocol.graphs[job.graph].steps[job.step] if job else None
        refs = [ref for gate in step.gates.values() for ref in gate] if step else []
        for text in dict.fromkeys(ref.arg for ref in refs if ref.name == _CHECK and not ref.advisory):
            built = asyncio.run(_post_check(project, store, work, text))
            if built is not None and not built.is_well:
                named = f" '{call.task[:100]}'" if call.task else ""
                reason = f"the task{named} is not completed: `{text}` fails in {work.lane}"
                return Reply(GOES_ON, f"{reason}\n{built.output.strip()[-_SHOWN:]}".strip())
    return NO_REPLY


def reply_to_idle_teammate(store: Store, call: HookCall, mine: Sequence[SessionWork], works: Sequence[Work]) -> Reply:
    """Reply to an idle agent of a team with the unfinished [P] tasks; never send an agent the same list twice."""
    left: list[str] = []
    for run in dict.fromkeys(one.work.run for one in mine):
        history = store.load(run)
        left += [line for work in works if work.run == run for line in _unfinished(store, history, work)]
    if not left or not _is_news(call, mine[0].work, left):
        return NO_REPLY
    return Reply(GOES_ON, "\n".join(["unfinished [P] tasks:", *(f"- {line}" for line in left)]))


async def _post_check(project: Project, store: Store, work: Work, text: str) -> CommandResult | None:
    """Run the commands of a check until one fails; return the last result."""
    run = store.run(work.run)
    tools = ProjectTools(toolchain_of(settings_of(run).config, project, await container_of(project, run)))
    built = None
    for words in commands_of(text):
        built = await tools.run(words, work.lane)
        if not built.is_well:
            break
    return built


def _unfinished(store: Store, history: History, work: Work) -> Iterator[str]:
    """Yield a wave's task that is in progress, or the open tasks in the document of a story with a single agent."""
    job = _job(history, work)
    if job is None or has_answer(work):
        return
    if job.graph.startswith("task-"):
        yield f"{job.inst}: {work.bundle / 'prompt.md'}, in {work.lane}"
        return
    artifact, spec = history.protocol.artifacts.get(_SCENARIOS), input_values(job.inputs, store.payloads)
    path = place_of(artifact, spec) if artifact and isinstance(spec, dict) else ""
    text = read_file(work.lane, path) if path else None
    if isinstance(text, bytes):
        yield from (f"{path}: {task}" for task in unfinished_parallel(text.decode(errors="replace")))


def _job(history: History, work: Work) -> RunAgent | None:
    act = history.state.acts.get(work.act)
    return act.command if act and isinstance(act.command, RunAgent) else None


def _is_news(call: HookCall, work: Work, left: Sequence[str]) -> bool:
    """Whether this agent has not received this list yet. If that cannot be recorded, return False: it gets no reply."""
    mark = sha256("\0".join((call.session, call.mate, *left)).encode(errors="replace")).hexdigest()
    folder = work.home.parents[1]
    found = read_file(folder, _TOLD)
    before = found.decode(errors="replace").split() if isinstance(found, bytes) else []
    if mark in before:
        return False
    try:
        replace_file(folder, _TOLD, "\n".join([*before[-1000:], mark]).encode())
    except OSError:
        return False
    return True


_ENDS = ("Stop", "SubagentStop")


def reply_to(call: HookCall, project: Project, *, legacy: bool) -> Reply:
    """Handle a hook call, and return the reply for the agent's program."""
    with opened_store(project) as store:
        works = [
            work
            for run in store.runs()
            if not run.outcome and run.seq
            for work in works_in_hand(store.load(run.id).state, settings_of(run), project.runs / run.id)
        ]
        mine = find_work(call, works)
        if not mine:
            return NO_REPLY
        if call.event in _ENDS:
            return reply_to_end(project, store, call, mine, legacy=legacy)
        if call.event == "TaskCompleted":
            return reply_to_completed_task(project, store, call, mine)
        return reply_to_idle_teammate(store, call, mine, works) if call.event == "TeammateIdle" else NO_REPLY
