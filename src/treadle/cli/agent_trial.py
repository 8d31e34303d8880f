"""The trial of an agent: a run of four short steps in a scratch repository, and a verdict on the result."""

import asyncio
import json
import os
import secrets
import shlex
import shutil
import tempfile
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from treadle.agents.registry import AgentSetup, parse_runner
from treadle.cli.agents import ask_version
from treadle.cli.driver_process import DriverProcess, play_model
from treadle.cli.output import harmless, print_text
from treadle.cli.run_reader import open_for_reading, read_run
from treadle.config.agents import PROGRAMS, Agent, parse_agent
from treadle.config.project import Project, current_folder, find_project
from treadle.config.settings import load_settings
from treadle.enclosures.port import OPEN
from treadle.enclosures.selection import open_box
from treadle.errors import TreadleError
from treadle.kernel.advance import OUTAGE
from treadle.kernel.commands import RunAgent
from treadle.store.sqlite import Store
from treadle.testing.demos import commit_everything
from treadle.views.chronicle import ActivityRecord, Chronicle
from treadle.views.tree import OUTAGE_WORDS
from treadle.views.words import duration, first_words, report_words, seconds

if TYPE_CHECKING:
    from played_model.server import ModelServer


# The verdict of a trial: the JSON document, and the lines printed for people.

RUN: Final = "trial"
"""The name of the run in the scratch repository."""
_FREE: Final = ("command", "scripted")
"""Kinds of agents that need not answer through the tool `emit_exit`: they do not know Treadle's tools."""
_CHANNELS: Final = {
    "": "not tried",
    "mcp": "yes",
    "emit": "no, by `treadle emit`",
    "executor-result": "no, by .ai/executor-result",
    "handoff": "no, by HANDOFF.md",
    "final": "no, in its last output",
}

Seen = Literal["yes", "no", "not tried"]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on an agent: `treadle agents try --json`."""

    schema: Literal[1] = 1
    agent: str
    version: str
    """The version that its program prints; empty if it prints none."""
    played: bool
    """Whether its model was played."""
    works: bool
    """Whether it finished the trial, wrote its file and answered with its tools."""
    outcome: str
    """How the run ended; empty: it did not."""
    writes: Seen
    """Whether it wrote the requested file and reported that."""
    channel: str
    """How its answer came: `mcp` is the tool `emit_exit`."""
    fits: Seen
    """Whether its answers matched the schemas of the steps, with none sent back."""
    resume: Seen
    """Whether it remembered the word in a continued conversation."""
    fork: Seen
    """Whether it remembered the word in a forked conversation."""
    kept_in: Seen
    """Whether a sandbox kept it from writing outside of its scope; if not, the check on the diff found the change."""
    sandbox: str
    """The sandbox in force: the box, the program's own, or `none`."""
    tokens: int
    cost: float
    unpriced: int
    """The number of tokens without a known price."""
    seconds: float
    trouble: str
    """The reason why the trial failed, in words; empty if it did not."""
    folder: str
    """The scratch repository, which is kept."""


def deeds_by_step(chronicle: Chronicle) -> dict[str, ActivityRecord]:
    """Return the agent activity of each step."""
    return {deed.command.step: deed for deed in chronicle.deeds.values() if isinstance(deed.command, RunAgent)}


def judge_trial(
    chronicle: Chronicle, agent: Agent, known: Collection[str], trouble: str, *,
    version: str, sandbox: str, played: bool, folder: Path,
) -> Trial:  # fmt: skip
    """Judge an agent by the log of its trial.

    `known` are the steps that answered with the word; with a played model, only those that also sent it in their first
    request.
    """
    deeds, usage = deeds_by_step(chronicle), chronicle.state.usage
    note, astray = deeds.get("note"), deeds.get("astray")
    wrote = bool(note and note.left == "Noted")
    channel = note.claim.channel if note and note.claim else ""
    is_refused = any(failure.why == "invalid" for deed in deeds.values() for failure in deed.failures)
    answered = {step for step, deed in deeds.items() if deed.claim}

    def recalled(step: str) -> Seen:
        """Whether a conversation was really continued: then it knows the word."""
        return _seen(step in known) if step in answered else "not tried"

    return Trial(
        agent=str(agent),
        version=version,
        played=played,
        works=wrote and not trouble and (channel == "mcp" or agent.kind in _FREE),
        outcome=chronicle.state.outcome,
        writes=_seen(wrote),
        channel=channel,
        fits=_seen(not is_refused) if is_refused or answered else "not tried",
        resume=recalled("recall"),
        fork=recalled("branch"),
        kept_in=_seen(astray.left == "Tried") if astray and astray.claim else "not tried",
        sandbox=sandbox,
        tokens=usage.tokens_in + usage.tokens_out,
        cost=usage.cost,
        unpriced=usage.unpriced,
        seconds=seconds(chronicle.state.started, chronicle.state.now),
        trouble=trouble,
        folder=str(folder),
    )


def _seen(it: bool) -> Seen:
    return "yes" if it else "no"


def print_trial(found: Trial) -> None:
    """Print the verdict, one line per ability."""
    tools = _CHANNELS.get(found.channel, f"no, by {found.channel}")
    kept = {"no": "no; the check on the diff found the change"}.get(found.kept_in, found.kept_in)
    price = "price not reported" if found.unpriced and not found.cost else f"{found.cost:.2f} US dollars"
    lines = {
        "version": harmless(found.version) or "not reported",
        "writes a file in its scope": found.writes,
        "answers by the tool emit_exit": tools,
        "answers match the schema": found.fits,
        "continues a conversation": found.resume,
        "forks a conversation": found.fork,
        "cannot write other files": kept,
        "sandbox in force": found.sandbox,
        "used": f"{found.tokens:,} tokens, {price}, {duration(found.seconds)}",
    }
    for what, seen in lines.items():
        print_text(f"{what:31} {seen}")
    if found.trouble:
        print_text(harmless(f"the trial failed: {found.trouble}"))
    print_text(f"to look closer: cd {found.folder} && treadle log {RUN}")


DATA: Final = Path(__file__).parents[1] / "trials" / "agent"
_PROTOCOL: Final = "agent-trial"
_SCRIPT: Final = "script.yaml"
_GLANCE: Final = 0.2
_NOT_TRIED: Final = {"manual": "a person", "replay": "a recording of another run"}


def try_agent(text: str, *, played: bool, quiet: bool, patience: float) -> Trial:
    """Run the trial; a `TreadleError` if the agent is not there at all, before anything is made."""
    agent = _resolve_agent(text)
    folder = Path(tempfile.mkdtemp(prefix="treadle-trial-"))
    word = f"heron-{secrets.randbelow(10_000):04}"
    shutil.copytree(DATA / _PROTOCOL, folder / ".treadle" / "protocols" / _PROTOCOL)
    shutil.copyfile(DATA / _SCRIPT, folder / _SCRIPT)
    (folder / "treadle.toml").write_text(f'[protocol]\ndefault = "{_PROTOCOL}"\n', encoding="utf-8")
    (folder / "spec.json").write_text(json.dumps({"id": RUN, "word": word}), encoding="utf-8")
    commit_everything(folder)
    version, sandbox = asyncio.run(_describe(agent, folder))
    if not quiet:
        print_text(f"trying {agent} in {folder}; this takes a minute or two, at most {duration(patience)}")
    with play_model(folder, _SCRIPT if played else "") as (env, server):
        _drive(folder, str(agent), env, patience, quiet=quiet)
        with open_for_reading(Project(folder)) as store:
            chronicle = read_run(store, RUN).chronicle
            known = [step for step, deed in deeds_by_step(chronicle).items() if _says(store, deed, word)]
            trouble = _trouble(chronicle, store, patience)
        if server:  # a played model always knows the word: what counts is whether the program has sent it
            known = [step for step in known if _sent(server, step, word)]
    return judge_trial(chronicle, agent, known, trouble, version=version, sandbox=sandbox, played=played, folder=folder)


def _resolve_agent(text: str) -> Agent:
    """Return the agent to try, with absolute paths; raise `TreadleError` if it cannot be tried."""
    project = find_project()
    root = project.root if project else current_folder()
    runner = parse_runner(text, AgentSetup(root=root))
    agent = parse_agent(text)
    if agent.kind in _NOT_TRIED:
        raise TreadleError(
            f"`{agent}` is {_NOT_TRIED[agent.kind]}: there is nothing to try; `treadle agents` lists others",
            code="agent.untried",
        )
    if ready := getattr(runner, "ready", None):
        ready()
    if agent.kind == "scripted":
        return Agent(agent.kind, str(root / agent.argument))
    if agent.words and "/" in agent.words[0]:
        return Agent(agent.kind, shlex.join([str(root / agent.words[0]), *agent.words[1:]]))
    return agent


async def _describe(agent: Agent, folder: Path) -> tuple[str, str]:
    """Return the version of a known program, and the sandbox that limits the agent's writes.

    Treadle does not ask other programs: `--version` may mean anything to them. A scripted agent never runs in a box.
    """
    with tempfile.TemporaryDirectory(prefix="treadle-home-") as home:
        asked = [ask_version(program, Path(home)) for program in PROGRAMS if program.name == agent.kind]
        version = "".join([await one for one in asked])
    project = Project(folder)
    box = await open_box(load_settings(project, os.environ).config().workspace, project)
    runner = parse_runner(str(agent), AgentSetup(root=folder, enclosure=box or OPEN))
    enclosure = getattr(runner, "enclosure", OPEN)
    if enclosure != OPEN:
        return version, f"the box ({enclosure.name})"
    return version, getattr(getattr(runner, "dialect", None), "sandbox", "") or "none"


def _drive(folder: Path, agent: str, env: Mapping[str, str], patience: float, *, quiet: bool) -> None:
    """Drive the trial to its end, or until the timeout."""
    with DriverProcess(folder, env) as driving:
        driving.start("run", "spec.json", "--agent", agent, "--name", RUN)
        while not driving.is_gone and not _so_far(folder):
            time.sleep(_GLANCE)
        until, shown = time.monotonic() + patience, set[str]()
        while (chronicle := _so_far(folder)) and not (driving.is_gone or _waits_beyond(chronicle, until)):
            for step in [] if quiet else [*deeds_by_step(chronicle).keys() - shown]:
                shown.add(step)
                print_text(f"  {step} …")
            time.sleep(_GLANCE)
        if not chronicle:
            raise TreadleError(
                f"the trial could not be started in {folder}:\n{driving.last_words}", code="run.not_started"
            )


def _so_far(folder: Path) -> Chronicle | None:
    """Read the run; None before it is recorded."""
    with suppress(TreadleError), open_for_reading(Project(folder)) as store:
        return read_run(store, RUN).chronicle
    return None


def _waits_beyond(chronicle: Chronicle, until: float) -> bool:
    """Whether the timeout has passed, or will pass before an outage of the agent's service ends.

    A network failure counts as passed at once: waiting would not help.
    """
    if chronicle.state.outage and chronicle.state.outage.why == "network":
        return True
    due = chronicle.state.timers.get(OUTAGE, 0) / 1000
    return until - time.monotonic() < max(due - time.time(), 0)


def _says(store: Store, deed: ActivityRecord, word: str) -> bool:
    """Whether an activity has answered with the word."""
    ref = deed.claim.envelope.payload_ref if deed.claim else ""
    fields = store.payloads.get(ref) if ref else {}
    return isinstance(fields, dict) and fields.get("word") == word


def _sent(server: "ModelServer", step: str, word: str) -> bool:
    """Whether the conversation of a step had the word from its beginning."""
    asked = [one for one in server.exchanges if f":{step}#" in one.script and one.step == 0 and one.body]
    return any(word in json.dumps(one.body) for one in asked)


def _trouble(chronicle: Chronicle, store: Store, patience: float) -> str:
    """Explain why the run did not end: an outage of a service, the last failure, or the timeout."""
    state = chronicle.state
    if state.outcome == "Tried":
        return ""
    if state.outage:
        detail = report_words(store.payloads.get(state.outage.detail_ref)) if state.outage.detail_ref else ""
        return ": ".join(filter(None, (OUTAGE_WORDS[state.outage.why], first_words(detail))))
    refs = [failure.detail_ref for deed in chronicle.deeds.values() for failure in deed.failures if failure.detail_ref]
    late = "" if state.outcome else f"the trial did not finish within {duration(patience)}"
    return "; ".join(filter(None, (late, first_words(report_words(store.payloads.get(refs[-1]))) if refs else "")))
