"""`treadle show`: one activity of a run with its evidence, or one question with its answer.

Control characters in an agent's text are escaped before it is printed.
"""

import asyncio
import shlex
import time
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Final

import msgspec
import typer

from treadle.cli.options import JsonOption
from treadle.cli.output import harmless, print_ascii_json
from treadle.cli.run_reader import find_run_to_show, open_for_reading, pick, read_run
from treadle.config.project import Project, open_project
from treadle.engines.result import result_of
from treadle.engines.run_settings import agents_of
from treadle.engines.status import RunFollower, read_wording
from treadle.errors import TreadleError
from treadle.kernel.events import Replied
from treadle.prompts.foreign import cut, visible
from treadle.prompts.outcomes import KEYS
from treadle.protocol.items import Json
from treadle.protocol.vocabulary import check_name
from treadle.results.intake import read_file
from treadle.runtime.dispatch import folder_name
from treadle.store.sqlite import Store
from treadle.views.activity import CheckVerdict, Story, price, story
from treadle.views.evidence_records import codes
from treadle.views.outcomes import is_good
from treadle.views.questions import Inquiry, answer_commands, describe_question, inquiry
from treadle.views.result import result_lines
from treadle.views.words import count_words, duration, plain, reason, report_words


def show(
    run_or_id: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="The run; optional if there is only one run.")
    ] = None,
    id_: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The id of an activity or question, or any unambiguous part of it."),
    ] = None,
    as_json: JsonOption = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print only the agent's whole prompt.")] = False,
) -> None:
    """Show one activity (one execution of a step): its input, the agent's claim, the checks, and the outcome.

    For a question, show its full text, what led to it, and its answer.
    """
    if as_json and prompt:
        raise TreadleError("--json and --prompt exclude each other; give one", code="usage.conflict")
    project = open_project()
    with open_for_reading(project) as store:
        run, word = find_run_to_show(store, run_or_id, id_)
        found = read_run(store, run)
        document, lines = format_subject(project, store, found, find_subject(found, word))
    if prompt:
        typer.echo(prompt_of(document))
    elif as_json:
        print_ascii_json(document)
    else:
        for line in lines:
            typer.echo(line)


# The page of an activity, with control characters in an agent's text escaped.
#
# The page is for people: fields are lines and lists, and long texts are cut. `treadle show --json` has all of it as
# data.

LONGEST = 20_000
"""Characters of a text that are shown; `--json` has all of it."""
NO_PROMPT = "(its folder is gone, or it has not started)"
_PROMPT_LINES = 30
"""Lines of a prompt that a page shows."""
_OUTPUT_LINES = 12
"""Lines of a failed command's output that a page shows: the reason is at the end."""
_DEEPEST: Final = 12
"""Levels of a value that are written out."""
_EMPTY: Final[tuple[Json, ...]] = (None, "", [], {})
"""Fields with such a value have no line."""
_SIGNS = {True: "passed", False: "FAILED", None: "did not run"}
_OWN_WORDS: Final = ("findings", "check", "ok", "advisory", "skipped", "commit", "tree", "command", "exit", "duration")
_SHOWN_ELSEWHERE: Final = frozenset([*KEYS, *_OWN_WORDS, "output", "isolation", "limits"])
"""Parts of a check's record that the page has in its own words."""


def read_story(project: Project, store: Store, found: RunFollower, act: str) -> Story:
    """Read an activity with its prompt and its payloads."""
    agents = agents_of(found.record, found.chronicle.protocol)
    activity = story(found.chronicle, act, store.strays(found.record.id), time.time_ns() // 1_000_000, agents)
    payloads = {ref: store.payloads.get(ref) for ref in activity.refs}
    checks = tuple(msgspec.structs.replace(it, codes=codes(payloads.get(it.report))) for it in activity.checks)
    name = folder_name(activity.id) + (f"~{activity.retry}" if activity.retry else "")
    file = f"runs/{activity.run}/acts/{name}/bundle/prompt.md"
    data = read_file(project.local, file) if project.local.is_dir() else None  # the folder may be gone
    prompt = data.decode(errors="replace") if isinstance(data, bytes) else ""
    return msgspec.structs.replace(activity, prompt=prompt, payloads=payloads, checks=checks)


def format_activity(activity: Story) -> Iterator[str]:
    """Format the page of an activity, line by line: outcome and reasons first, further commands last."""
    yield harmless(f"{activity.id} · {activity.who} · {activity.verdict}")
    yield from map(harmless, _facts(activity))
    if reasons := "\n".join(explain_failure(activity)):
        yield from format_section("Why", reasons)
    claim = ["(no claim)"]
    if activity.claim:
        channel = f" by {activity.claim.channel}" if activity.claim.channel else ""
        claim = [f"{activity.claim.called}{channel} at {plain(activity.claim.time)}"]
        claim += [f"  {line}" for line in _readable(activity.payloads.get(activity.claim.payload))]
    yield from format_section("Claim", "\n".join(claim))
    yield from format_section("Checks", "\n".join(_checks(activity)))
    yield from format_section("Given", _payloads(activity))
    if activity.kind == "agent":
        lines = activity.prompt.rstrip("\n").splitlines()
        more = len(lines) - _PROMPT_LINES
        rest = [f"… {count_words(more, 'more line')}"] if more > 0 else []
        yield from format_section("Prompt", "\n".join([*lines[:_PROMPT_LINES], *rest]) or NO_PROMPT)
    yield from format_section("Next", "\n".join(_next(activity)))


def explain_failure(activity: Story) -> Iterator[str]:
    """Explain why the activity was refused or failed: a person looks for that first."""
    if _refusing(activity):
        yield from explain_refusal(activity)
    elif activity.left.startswith("!"):
        details = [activity.payloads.get(it.detail) for it in activity.failures[-1:]]
        yield reason(activity.left, details[0] if details else "")


def _facts(activity: Story) -> Iterator[str]:
    """Format the step, the agent, the time and the usage."""
    title = f" ({activity.title})" if activity.title else ""
    of = f" of {activity.attempts}" if activity.attempts else ""
    again = f", started again {count_words(activity.retry, 'time')}" if activity.retry else ""
    yield f"step     {activity.step} of {activity.instance}{title}, attempt {activity.attempt}{of}{again}"
    yield f"who      {activity.who}" + (f", done by {activity.by}" if activity.by else "")
    ended = f"ended {plain(activity.ended)}" if activity.ended else "not ended"
    yield f"when     began {plain(activity.began)}, {duration(activity.elapsed)}, {ended}"
    used = activity.usage
    if used.tokens_in or used.tokens_out or used.cost:
        yield f"used     {used.tokens_in:,} tokens in, {used.tokens_out:,} out, cost {price(used.cost, used.unpriced)}"


def format_section(title: str, text: str) -> Iterator[str]:
    """Format a part of a page, under its title."""
    yield f"\n── {title} ──"
    yield visible(cut(text.rstrip("\n"), LONGEST)) or "(nothing)"


def _checks(activity: Story) -> Iterator[str]:
    """Format each check with its outcome, codes, findings and command."""
    above = _refusing(activity)
    for check in activity.checks:
        payload = activity.payloads.get(check.report) if check.report else None
        record = payload if isinstance(payload, dict) else {}
        advisory = " (advisory)" if check.advisory else ""
        kinds = f" [{', '.join(check.codes)}]" if check.codes else ""
        yield f"{check_name(check.check, check.arg)}: {_SIGNS[check.ok]}{advisory}{kinds}"
        if check not in above:  # else the page has begun with it
            yield from (f"  {line}" for line in report_words(payload).splitlines())
        yield from (f"  {line}" for line in _run(record, failed=check.ok is False))
        facts = {key: value for key, value in record.items() if key not in _SHOWN_ELSEWHERE and value not in _EMPTY}
        yield from (f"  {line}" for line in _readable(facts)) if facts else ()
    for failure in activity.failures:
        yield f"failed at {plain(failure.time)}: {failure.why}"
        yield from (f"  {line}" for line in _readable(activity.payloads.get(failure.detail)))
    yield from (f"ignored at {plain(it.time)}: {it.what}: {it.detail}" for it in activity.strays)
    yield f"verdict: {activity.verdict}"


def _run(record: dict[str, Json], *, failed: bool) -> Iterator[str]:
    """Format the command of a check, how it ended, and the end of its output if the check has failed."""
    command = record.get("command")
    if not isinstance(command, list) or not command:
        return
    took = record.get("duration")
    seconds = f" after {took:.1f} s" if isinstance(took, int | float) else ""
    commit = str(record.get("commit") or "")[:12]
    yield f"command: {shlex.join(map(str, command))}"
    yield f"ended with exit code {record.get('exit')}{seconds}" + (f", on {commit}" if commit else "")
    output = str(record.get("output") or "").strip().splitlines() if failed else []
    if len(output) > _OUTPUT_LINES:
        yield f"… {count_words(len(output) - _OUTPUT_LINES, 'earlier line')}"
    yield from (f"| {line}" for line in output[-_OUTPUT_LINES:])


def _next(activity: Story) -> Iterator[str]:
    """List the commands that show more, or move the run on."""
    run, act = shlex.quote(activity.run), shlex.quote(activity.id)
    ways = [] if activity.ended else [(f"treadle status {run}", "the state of the run, and how to continue it")]
    if activity.prompt:
        ways.append((f"treadle show {run} {act} --prompt", "the whole prompt"))
    ways += [
        (f"treadle show {run} {act} --json", "all of this as JSON"),
        (f"treadle log {run}", "what happened before and after"),
        (f"treadle evidence {run}", "the evidence of the run so far"),
    ]
    width = max(len(way) for way, _ in ways)
    yield from (f"{way:<{width}}  {shows}" for way, shows in ways)


def _refusing(activity: Story) -> list[CheckVerdict]:
    refused = [it for it in activity.checks if it.ok is False and not it.advisory]
    return refused if activity.left.startswith("!") else []


def explain_refusal(activity: Story) -> Iterator[str]:
    """Explain line by line why the checks refused a claim; no lines if they did not."""
    refused = _refusing(activity)
    if not refused:
        return
    yield harmless(
        f"the checks have refused {activity.claim.called if activity.claim else 'it'}, attempt {activity.attempt}:"
    )
    reports = [visible(report_words(activity.payloads.get(check.report))) for check in refused]
    for check, report in zip(refused, reports, strict=True):
        yield f"  {check_name(check.check, check.arg)}"
        yield from (f"    {line}".rstrip() for line in (report or "it failed").splitlines())
    if not any(reports):  # there may be one report for all checks
        yield from (
            f"  {line}".rstrip() for line in visible(report_words(activity.payloads.get(activity.report))).splitlines()
        )


def _payloads(activity: Story) -> str:
    """Format the inputs of the activity, and payloads that no section above shows."""
    slots = {ref: slot for slot, refs in activity.inputs.items() for ref in refs}
    above = {activity.claim.payload if activity.claim else "", *(it.report for it in activity.checks)}
    above |= {it.detail for it in activity.failures} | ({activity.report} if _refusing(activity) else set())
    left = {ref: value for ref, value in activity.payloads.items() if ref in slots or ref not in above}
    return "\n".join(
        line
        for ref, value in left.items()
        for line in (f"{slots.get(ref, 'result')}:", *(f"  {line}" for line in _readable(value)))
    )


def _readable(value: Json, depth: int = 0) -> list[str]:
    """Format a value for people: fields as `name: text`, lists with a dash, a report by its words first.

    Each value is cut by itself, which keeps a long one from hiding the others.
    """
    if depth > _DEEPEST:
        return ["…"]
    match value:
        case dict() if words := (report_words(value) if depth == 0 else ""):
            rest = {name: one for name, one in value.items() if name not in KEYS}
            return [*cut(words, LONGEST // 4).splitlines(), *(_readable(rest, depth + 1) if rest else [])]
        case dict() if named := {name: one for name, one in value.items() if one not in _EMPTY}:
            return [line for name, one in named.items() for line in _field(str(name), one, depth)]
        case list() if value:
            return [line for one in value for line in _item(one, depth)]
        case str() if value:
            return cut(value, LONGEST // 4).splitlines() or [value]
        case bool():
            return ["yes" if value else "no"]
        case int() | float():
            return [str(value)]
    return ["(nothing)"]


def _field(name: str, value: Json, depth: int) -> list[str]:
    lines = _readable(value, depth + 1)
    if len(lines) == 1 and not (isinstance(value, dict | list) and value):
        return [f"{name}: {lines[0]}"]
    return [f"{name}:", *(f"  {line}" for line in lines)]


def _item(value: Json, depth: int) -> list[str]:
    first, *rest = _readable(value, depth + 1)
    return [f"- {first}", *(f"  {line}" for line in rest)]


# The page of a question: its whole text, and its answer or the commands to give one.


def read_inquiry(project: Project, store: Store, found: RunFollower, ask: str) -> Inquiry:
    """Read a question of a run, with its answer."""
    put = describe_question(found.chronicle, ask, read_wording(project, store, found, ask), time.time_ns() // 1_000_000)
    reply = found.chronicle.asked[ask].settled
    note = store.payloads.get(reply.note_ref) if isinstance(reply, Replied) and reply.note_ref else ""
    return inquiry(found.chronicle, put, note if isinstance(note, str) else "")


def format_question(inquiry: Inquiry) -> Iterator[str]:
    """Format the page of a question, line by line."""
    put = inquiry.question
    state = "open" if not inquiry.settled else f"answered: {inquiry.answer}" if inquiry.answer else "withdrawn"
    yield harmless(f"{put.id} · {put.title} · {state}")
    ended = f", settled {plain(inquiry.settled)}" if inquiry.settled else ""
    yield f"asked {plain(put.asked)}, {duration(put.elapsed)}{ended}"
    if put.by:
        yield harmless(f"{put.by} led to it: {put.why}")
    yield from format_section("Question", put.text)
    if not inquiry.settled:
        yield from format_section(
            "To answer", "\n".join(answer_commands(inquiry.run, put.id, put.choices, alone=False))
        )
    elif inquiry.answer:
        by = f", by {inquiry.actor}" if inquiry.actor else ""
        yield from format_section("Answer", f"{inquiry.answer}{by}" + (f"\n{inquiry.note}" if inquiry.note else ""))


# An activity or a question, for programs and for people.


def find_subject(found: RunFollower, word: str) -> str:
    """Find the activity or question that a word stands for; if it fits both kinds, the activity."""
    deeds, asked = found.chronicle.deeds, found.chronicle.asked
    is_deed = word not in asked and any(word in id_ for id_ in deeds)
    return pick(word, deeds if is_deed else [*deeds, *asked], "activity or question")


def format_subject(
    project: Project, store: Store, found: RunFollower, id_: str
) -> tuple[Story | Inquiry, Iterator[str]]:
    """Return the document about an activity or a question, and the lines of its page."""
    if id_ in found.chronicle.asked:
        inquiry = read_inquiry(project, store, found, id_)
        return inquiry, format_question(inquiry)
    story = read_story(project, store, found, id_)
    lines = format_activity(story)
    if story.kind == "effect" and (result := asyncio.run(result_of(project, found.record))):
        where = result_lines(story.run, result, good=is_good(found.record.outcome))
        lines = chain(lines, format_section("Result of the run", "\n".join(where)))
    return story, lines


def prompt_of(document: Story | Inquiry) -> str:
    """Return the whole prompt of an agent; raise an error for other activities and for questions."""
    if not isinstance(document, Story) or document.kind != "agent":
        raise TreadleError("this activity has no agent, and so no prompt; leave out --prompt", code="usage.conflict")
    return visible(document.prompt.rstrip("\n")) or NO_PROMPT
