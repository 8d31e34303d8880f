"""An activity on a page. Whatever an agent wrote is shown so that it cannot act on a terminal.

The page is for people: fields are lines and lists, and long texts are cut. `treadle show --json` has all of it as data.
"""

import shlex
import time
from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.cli.output import harmless
from treadle.cli.reading import Follower
from treadle.config.project import Project
from treadle.engines.pinned import agents_of
from treadle.prompts.foreign import cut, visible
from treadle.prompts.report import KEYS
from treadle.protocol.catalogue import check_name
from treadle.protocol.items import Json
from treadle.results.files import look
from treadle.runtime.dispatch import folder_name
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.activity import Finding, Story, story
from treadle.views.counting import counted
from treadle.views.evidence_records import codes
from treadle.views.moment import duration, plain
from treadle.views.refusal import reason, words_of
from treadle.views.result import Result, is_good
from treadle.views.result import told as result_told
from treadle.views.used import price

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


def read_story(project: Project, store: Store, found: Follower, act: str) -> Story:
    """The story of an activity, with its prompt and its payloads."""
    agents = agents_of(found.record, found.chronicle.protocol)
    told = story(found.chronicle, act, store.strays(found.record.id), time.time_ns() // 1_000_000, agents)
    payloads = {ref: store.payloads.get(ref) for ref in told.refs}
    checks = tuple(msgspec.structs.replace(it, codes=codes(payloads.get(it.report))) for it in told.checks)
    return msgspec.structs.replace(told, prompt=_prompt(project, told), payloads=payloads, checks=checks)


def _prompt(project: Project, told: Story) -> str:
    """What the agent was told, as long as its folder is there."""
    name = folder_name(told.id) + (f"~{told.retry}" if told.retry else "")
    found = look(project.local, f"runs/{told.run}/acts/{name}/bundle/prompt.md") if project.local.is_dir() else None
    return found.decode(errors="replace") if isinstance(found, bytes) else ""


def page(told: Story) -> Iterator[str]:
    """The sections of the page, line by line: what came of it and why first, how to look further last."""
    yield harmless(f"{told.id} · {told.who} · {told.verdict}")
    yield from map(harmless, _facts(told))
    if reasons := "\n".join(why(told)):
        yield from section("Why", reasons)
    yield from section("Claim", _claim(told))
    yield from section("Checks", "\n".join(_checks(told)))
    yield from section("Given", _payloads(told))
    if told.kind == "agent":
        yield from section("Prompt", _beginning(told) if told.prompt else NO_PROMPT)
    yield from section("Next", "\n".join(_next(told)))


def why(told: Story) -> Iterator[str]:
    """Why it was refused, or came to nothing: what a person looks for first."""
    if _refusing(told):
        yield from refusal(told)
    elif told.left.startswith("!"):
        details = [told.payloads.get(it.detail) for it in told.failures[-1:]]
        yield reason(told.left, details[0] if details else "")


def _beginning(told: Story) -> str:
    lines = told.prompt.rstrip("\n").splitlines()
    more = len(lines) - _PROMPT_LINES
    if more <= 0:
        return told.prompt
    return "\n".join([*lines[:_PROMPT_LINES], f"… {counted(more, 'more line')}"])


def _facts(told: Story) -> Iterator[str]:
    """The step, who did it, when, and what it took."""
    title = f" ({told.title})" if told.title else ""
    of = f" of {told.attempts}" if told.attempts else ""
    again = f", started again {counted(told.retry, 'time')}" if told.retry else ""
    yield f"step     {told.step} of {told.instance}{title}, attempt {told.attempt}{of}{again}"
    yield f"who      {told.who}" + (f", done by {told.by}" if told.by else "")
    ended = f"ended {plain(told.ended)}" if told.ended else "not ended"
    yield f"when     began {plain(told.began)}, {duration(told.elapsed)}, {ended}"
    used = told.usage
    if used.tokens_in or used.tokens_out or used.cost:
        yield f"used     {used.tokens_in:,} tokens in, {used.tokens_out:,} out, cost {price(used.cost, used.unpriced)}"


def section(title: str, text: str) -> Iterator[str]:
    """A part of a page, under its title."""
    yield f"\n── {title} ──"
    yield visible(cut(text.rstrip("\n"), LONGEST)) or "(nothing)"


def _claim(told: Story) -> str:
    if told.claim is None:
        return "(no claim)"
    channel = f" by {told.claim.channel}" if told.claim.channel else ""
    head = f"{told.claim.called}{channel} at {plain(told.claim.time)}"
    return "\n".join([head, *(f"  {line}" for line in _readable(told.payloads.get(told.claim.payload)))])


def _checks(told: Story) -> Iterator[str]:
    """Each check with its outcome and its codes, what it found, and the command that it rests on."""
    above = _refusing(told)
    for check in told.checks:
        payload = told.payloads.get(check.report) if check.report else None
        record = payload if isinstance(payload, dict) else {}
        advisory = " (advisory)" if check.advisory else ""
        kinds = f" [{', '.join(check.codes)}]" if check.codes else ""
        yield f"{check_name(check.check, check.arg)}: {_SIGNS[check.ok]}{advisory}{kinds}"
        if check not in above:  # else the page has begun with it
            yield from (f"  {line}" for line in words_of(payload).splitlines())
        yield from (f"  {line}" for line in _run(record, failed=check.ok is False))
        facts = {key: value for key, value in record.items() if key not in _SHOWN_ELSEWHERE and value not in _EMPTY}
        yield from (f"  {line}" for line in _readable(facts)) if facts else ()
    for failure in told.failures:
        yield f"failed at {plain(failure.time)}: {failure.why}"
        yield from (f"  {line}" for line in _readable(told.payloads.get(failure.detail)))
    yield from (f"not obeyed at {plain(it.time)}: {it.what}: {it.detail}" for it in told.strays)
    yield f"verdict: {told.verdict}"


def _run(record: dict[str, Json], *, failed: bool) -> Iterator[str]:
    """The command of a check, how it ended, and the end of its output if the check has failed."""
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
        yield f"… {counted(len(output) - _OUTPUT_LINES, 'earlier line')}"
    yield from (f"| {line}" for line in output[-_OUTPUT_LINES:])


def _next(told: Story) -> Iterator[str]:
    """The commands that show more, or move the run on."""
    run, act = shlex.quote(told.run), shlex.quote(told.id)
    ways = [] if told.ended else [(f"treadle status {run}", "where the run stands, and what moves it on")]
    if told.prompt:
        ways.append((f"treadle show {run} {act} --prompt", "the whole prompt"))
    ways += [
        (f"treadle show {run} {act} --json", "all of this as data"),
        (f"treadle log {run}", "what happened before and after"),
        (f"treadle evidence {run}", "what the run has shown so far"),
    ]
    width = max(len(way) for way, _ in ways)
    yield from (f"{way:<{width}}  {shows}" for way, shows in ways)


def result_page(found: Result, run: Run) -> Iterator[str]:
    """Where the result of the whole run is."""
    yield from section("Result of the run", "\n".join(result_told(run.id, found, good=is_good(run.outcome))))


def _refusing(told: Story) -> list[Finding]:
    refused = [it for it in told.checks if it.ok is False and not it.advisory]
    return refused if told.left.startswith("!") else []


def refusal(told: Story) -> Iterator[str]:
    """Why the checks have refused a claim, line by line; nothing if they have not."""
    refused = _refusing(told)
    if not refused:
        return
    yield harmless(f"the checks have refused {told.claim.called if told.claim else 'it'}, attempt {told.attempt}:")
    reports = [visible(words_of(told.payloads.get(check.report))) for check in refused]
    for check, report in zip(refused, reports, strict=True):
        yield f"  {check_name(check.check, check.arg)}"
        yield from (f"    {line}".rstrip() for line in (report or "it failed").splitlines())
    if not any(reports):  # whoever ran the checks may have said it once for all of them
        yield from (f"  {line}".rstrip() for line in visible(words_of(told.payloads.get(told.report))).splitlines())


def _payloads(told: Story) -> str:
    """What the activity was given, and what no section above has shown."""
    slots = {ref: slot for slot, refs in told.inputs.items() for ref in refs}
    above = {told.claim.payload if told.claim else "", *(it.report for it in told.checks)}
    above |= {it.detail for it in told.failures} | ({told.report} if _refusing(told) else set())
    left = {ref: value for ref, value in told.payloads.items() if ref in slots or ref not in above}
    return "\n".join(
        line
        for ref, value in left.items()
        for line in (f"{slots.get(ref, 'result')}:", *(f"  {line}" for line in _readable(value)))
    )


def _readable(value: Json, depth: int = 0) -> list[str]:
    """A value as lines that people read: fields as `name: text`, lists with a dash, a report by its words first.

    Each value is cut by itself, so that none hides another.
    """
    if depth > _DEEPEST:
        return ["…"]
    match value:
        case dict() if words := (words_of(value) if depth == 0 else ""):
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
