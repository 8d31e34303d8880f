"""An activity on a page. Whatever an agent wrote is shown so that it cannot act on a terminal."""

import json
import time
from collections.abc import Iterator

import msgspec

from treadle.cli.output import harmless
from treadle.cli.reading import Follower
from treadle.config.project import Project
from treadle.prompts.foreign import cut, visible
from treadle.prompts.report import KEYS
from treadle.protocol.items import Json
from treadle.results.files import look
from treadle.runtime.dispatch import folder_name
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.activity import Story, story
from treadle.views.counting import counted
from treadle.views.moment import duration
from treadle.views.refusal import words_of
from treadle.views.result import Result, is_good
from treadle.views.result import told as result_told

LONGEST = 20_000
"""Characters of a text that are shown; `--json` has all of it."""
_SIGNS = {True: "passed", False: "FAILED", None: "did not run"}


def read_story(project: Project, store: Store, found: Follower, act: str) -> Story:
    """The story of an activity, with its prompt and its payloads."""
    told = story(found.chronicle, act, store.strays(found.record.id), time.time_ns() // 1_000_000)
    payloads = {ref: store.payloads.get(ref) for ref in told.refs}
    return msgspec.structs.replace(told, prompt=_prompt(project, told), payloads=payloads)


def _prompt(project: Project, told: Story) -> str:
    """What the agent was told, as long as its folder is there."""
    name = folder_name(told.id) + (f"~{told.retry}" if told.retry else "")
    found = look(project.local, f"runs/{told.run}/acts/{name}/bundle/prompt.md") if project.local.is_dir() else None
    return found.decode(errors="replace") if isinstance(found, bytes) else ""


def page(told: Story) -> Iterator[str]:
    """The sections of the page, line by line."""
    yield harmless(f"{told.id} · {told.who} · {told.verdict}")
    yield from _facts(told)
    if told.kind == "agent":
        yield from section("Prompt", told.prompt or "(its folder is gone, or it has not started)")
    yield from section("Claim", _claim(told))
    yield from section("Evidence", _evidence(told))
    yield from section("Payloads", _payloads(told))


def _facts(told: Story) -> Iterator[str]:
    again = f", started again {counted(told.retry, 'time')}" if told.retry else ""
    yield f"attempt {told.attempt}{again}; began {told.began}, {duration(told.elapsed)}" + (
        f", ended {told.ended}" if told.ended else ", not ended"
    )
    used = told.usage
    if used.tokens_in or used.tokens_out or used.cost:
        yield f"used {used.tokens_in:,} tokens in, {used.tokens_out:,} out, cost {used.cost:.2f}"


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
    found = []
    for check in told.checks:
        advisory = " (advisory)" if check.advisory else ""
        report = f"\n{_text(told.payloads.get(check.report))}" if check.report else ""
        found.append(f"{check.check}{':' + check.arg if check.arg else ''}: {_SIGNS[check.ok]}{advisory}{report}")
    found += [f"failed at {it.time}: {it.why}\n{_text(told.payloads.get(it.detail))}" for it in told.failures]
    found += [f"not obeyed at {it.time}: {it.what}: {it.detail}" for it in told.strays]
    found.append(f"verdict: {told.verdict}")
    return "\n".join(found)


def result_page(found: Result, run: Run) -> Iterator[str]:
    """Where the result of the whole run is."""
    yield from section("Result of the run", "\n".join(result_told(run.id, found, good=is_good(run.outcome))))


def refusal(told: Story) -> Iterator[str]:
    """Why the checks have refused a claim, line by line; nothing if they have not."""
    refused = [it for it in told.checks if it.ok is False and not it.advisory]
    if not told.left.startswith("!") or not refused:
        return
    yield harmless(f"the checks have refused {told.claim.exit if told.claim else 'it'}, attempt {told.attempt}:")
    for check in refused:
        found = told.payloads.get(check.report) if check.report else None
        report = visible(words_of(found)) or "it failed"
        yield f"  {check.check}{':' + check.arg if check.arg else ''}"
        yield from (f"    {line}".rstrip() for line in report.splitlines())


def _payloads(told: Story) -> str:
    """What the activity was given, and what no section above has shown."""
    slots = {ref: slot for slot, refs in told.inputs.items() for ref in refs}
    above = {told.claim.payload if told.claim else "", *(it.report for it in told.checks)}
    above |= {it.detail for it in told.failures}
    left = {ref: value for ref, value in told.payloads.items() if ref in slots or ref not in above}
    return "\n".join(f"{slots.get(ref, 'result')} {ref}\n{_text(value)}" for ref, value in left.items())


def _text(value: Json) -> str:
    """A value as people read it, a report by its words first; each is cut by itself, so that none hides another."""
    if isinstance(value, dict) and (words := words_of(value)):
        facts = {key: fact for key, fact in value.items() if key not in KEYS}
        return cut(words, LONGEST // 4) + (f"\n{_text(facts)}" if facts else "")
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return cut(text, LONGEST // 4)
