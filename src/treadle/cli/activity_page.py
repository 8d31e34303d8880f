"""An activity on a page. Whatever an agent wrote is shown so that it cannot act on a terminal."""

import json
import shlex
import time
from collections.abc import Iterator

import msgspec

from treadle.cli.output import harmless
from treadle.cli.reading import Follower
from treadle.config.project import Project
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
from treadle.views.moment import duration
from treadle.views.refusal import reason, words_of
from treadle.views.result import Result, is_good
from treadle.views.result import told as result_told
from treadle.views.used import price

LONGEST = 20_000
"""Characters of a text that are shown; `--json` has all of it."""
NO_PROMPT = "(its folder is gone, or it has not started)"
_PROMPT_LINES = 30
"""Lines of a prompt that a page shows."""
_IN_WORDS = (*KEYS, "findings")
"""Parts of a check's record that its report says in words."""
_SIGNS = {True: "passed", False: "FAILED", None: "did not run"}


def read_story(project: Project, store: Store, found: Follower, act: str) -> Story:
    """The story of an activity, with its prompt and its payloads."""
    told = story(found.chronicle, act, store.strays(found.record.id), time.time_ns() // 1_000_000)
    payloads = {ref: store.payloads.get(ref) for ref in told.refs}
    checks = tuple(msgspec.structs.replace(it, codes=codes(payloads.get(it.report))) for it in told.checks)
    return msgspec.structs.replace(told, prompt=_prompt(project, told), payloads=payloads, checks=checks)


def _prompt(project: Project, told: Story) -> str:
    """What the agent was told, as long as its folder is there."""
    name = folder_name(told.id) + (f"~{told.retry}" if told.retry else "")
    found = look(project.local, f"runs/{told.run}/acts/{name}/bundle/prompt.md") if project.local.is_dir() else None
    return found.decode(errors="replace") if isinstance(found, bytes) else ""


def page(told: Story) -> Iterator[str]:
    """The sections of the page, line by line."""
    yield harmless(f"{told.id} · {told.who} · {told.verdict}")
    yield from _facts(told)
    if reasons := "\n".join(why(told)):
        yield from section("Why", reasons)
    yield from section("Evidence", _evidence(told))
    yield from section("Claim", _claim(told))
    yield from section("Payloads", _payloads(told))
    if told.kind == "agent":
        yield from section("Prompt", _beginning(told) if told.prompt else NO_PROMPT)


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
    rest = f"… {counted(more, 'more line')}: `treadle show {shlex.quote(told.run)} {shlex.quote(told.id)} --prompt`"
    return "\n".join([*lines[:_PROMPT_LINES], rest])


def _facts(told: Story) -> Iterator[str]:
    again = f", started again {counted(told.retry, 'time')}" if told.retry else ""
    yield f"attempt {told.attempt}{again}; began {told.began}, {duration(told.elapsed)}" + (
        f", ended {told.ended}" if told.ended else ", not ended"
    )
    used = told.usage
    if used.tokens_in or used.tokens_out or used.cost:
        yield f"used {used.tokens_in:,} tokens in, {used.tokens_out:,} out, cost {price(used.cost, used.unpriced)}"


def section(title: str, text: str) -> Iterator[str]:
    """A part of a page, under its title."""
    yield f"\n── {title} ──"
    yield visible(cut(text.rstrip("\n"), LONGEST)) or "(nothing)"


def _claim(told: Story) -> str:
    if told.claim is None:
        return "(no claim)"
    channel = f" by {told.claim.channel}" if told.claim.channel else ""
    return f"{told.claim.exit}{channel} at {told.claim.time}\n{_text(told.payloads.get(told.claim.payload))}"


def _evidence(told: Story) -> str:
    found, above = [], _refusing(told)
    for check in told.checks:
        advisory = " (advisory)" if check.advisory else ""
        payload = told.payloads.get(check.report) if check.report else ""
        text = _facts_of(payload) if check in above else _text(payload)
        report = f"\n{text}" if text else ""
        found.append(f"{check_name(check.check, check.arg)}: {_SIGNS[check.ok]}{advisory}{report}")
    found += [f"failed at {it.time}: {it.why}\n{_text(told.payloads.get(it.detail))}" for it in told.failures]
    found += [f"not obeyed at {it.time}: {it.what}: {it.detail}" for it in told.strays]
    found.append(f"verdict: {told.verdict}")
    return "\n".join(found)


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
    return "\n".join(f"{slots.get(ref, 'result')} {ref}\n{_text(value)}" for ref, value in left.items())


def _text(value: Json) -> str:
    """A value as people read it, a report by its words first; each is cut by itself, so that none hides another."""
    if isinstance(value, dict) and (words := words_of(value)):
        facts = _facts_of(value)
        return cut(words, LONGEST // 4) + (f"\n{facts}" if facts else "")
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return cut(text, LONGEST // 4)


def _facts_of(value: Json) -> str:
    """What a report has besides its words."""
    if not isinstance(value, dict):
        return ""
    facts = {key: fact for key, fact in value.items() if key not in _IN_WORDS}
    return _text(facts) if facts else ""
