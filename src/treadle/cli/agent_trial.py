"""An agent's trial: a run of four short steps in a scratch repository, and what it shows of the agent."""

import asyncio
import json
import os
import secrets
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from treadle.agents.registry import Surroundings, runner_of
from treadle.cli.agent_listing import version_of
from treadle.cli.agent_verdict import RUN, Facts, Trial, deeds_of, judged
from treadle.cli.driver_process import DriverProcess
from treadle.cli.output import say
from treadle.cli.reading import read_run, reading
from treadle.config.agents import PROGRAMS, Agent, parse_agent
from treadle.config.load import load_settings
from treadle.config.project import Project, current_folder, find_project
from treadle.enclosures.enclosure import OPEN
from treadle.enclosures.opening import open_box
from treadle.errors import TreadleError
from treadle.kernel.advance import OUTAGE
from treadle.ports import Runner
from treadle.store.sqlite import Store
from treadle.testing.demos import committed
from treadle.views.chronicle import Chronicle, Deed
from treadle.views.moment import duration
from treadle.views.outage import WORDS
from treadle.views.refusal import first_words, words_of

if TYPE_CHECKING:
    from treadle.testing.model_server.server import ModelServer

DATA: Final = Path(__file__).parents[1] / "trials" / "agent"
_PROTOCOL: Final = "agent-trial"
_SCRIPT: Final = "script.yaml"
_GLANCE: Final = 0.2
_NOT_TRIED: Final = {"manual": "a person", "replay": "a recording of another run"}


def tried(text: str, *, played: bool, quiet: bool, patience: float) -> Trial:
    """Run the trial; a `TreadleError` if the agent is not there at all, before anything is made."""
    agent = _named(text)
    folder = Path(tempfile.mkdtemp(prefix="treadle-trial-"))
    word = f"heron-{secrets.randbelow(10_000):04}"
    _lay_out(folder, word)
    facts = asyncio.run(_facts(agent, folder, played=played))
    if not quiet:
        say(f"{agent} is tried in {folder}; this takes a minute or two, and {duration(patience)} at most")
    with _model(folder, played=played) as (env, server):
        _drive(folder, str(agent), env, patience, quiet=quiet)
        with reading(Project(folder)) as store:
            chronicle = read_run(store, RUN).chronicle
            known = [step for step, deed in deeds_of(chronicle).items() if _says(store, deed, word)]
            trouble = _trouble(chronicle, store, patience)
        if server:  # a played model always knows the word: what counts is whether the program has sent it
            known = [step for step in known if _sent(server, step, word)]
    return judged(chronicle, msgspec.structs.replace(facts, known=frozenset(known), trouble=trouble))


def _named(text: str) -> Agent:
    """The agent that is meant, with paths that hold from anywhere; an error if it cannot be tried."""
    project = find_project()
    root = project.root if project else current_folder()
    runner = runner_of(text, Surroundings(root=root))
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


async def _facts(agent: Agent, folder: Path, *, played: bool) -> Facts:
    """What can be said before it begins."""
    project = Project(folder)
    box = await open_box(load_settings(project, os.environ).config().workspace, project)
    runner = runner_of(str(agent), Surroundings(root=folder, enclosure=box or OPEN))
    return Facts(
        agent=str(agent),
        kind=agent.kind,
        version=await _version(agent),
        sandbox=_sandbox(runner),
        played=played,
        folder=str(folder),
    )


async def _version(agent: Agent) -> str:
    """Of the programs that are known by name; what another takes `--version` for, nobody knows."""
    with tempfile.TemporaryDirectory(prefix="treadle-home-") as home:
        asked = [version_of(program, Path(home)) for program in PROGRAMS if program.name == agent.kind]
        return "".join([await one for one in asked])


def _sandbox(runner: Runner) -> str:
    """What keeps it to its files; a scripted agent writes in no box, whatever there is."""
    enclosure = getattr(runner, "enclosure", OPEN)
    if enclosure != OPEN:
        return f"the box ({enclosure.name})"
    return getattr(getattr(runner, "dialect", None), "sandbox", "") or "none"


def _lay_out(folder: Path, word: str) -> None:
    shutil.copytree(DATA / _PROTOCOL, folder / ".treadle" / "protocols" / _PROTOCOL)
    shutil.copyfile(DATA / _SCRIPT, folder / _SCRIPT)
    (folder / "treadle.toml").write_text(f'[protocol]\ndefault = "{_PROTOCOL}"\n', encoding="utf-8")
    (folder / "spec.json").write_text(json.dumps({"id": RUN, "word": word}), encoding="utf-8")
    committed(folder)


@contextmanager
def _model(folder: Path, *, played: bool) -> "Iterator[tuple[Mapping[str, str], ModelServer | None]]":
    """The variables with which the agent reaches its model, and the model if it is played."""
    if not played:
        yield {}, None
        return
    from treadle.agents.script_reading import load_script
    from treadle.testing.model_server.acting import Actors
    from treadle.testing.model_server.clients import client_variables
    from treadle.testing.model_server.server import ModelServer

    with (
        ModelServer(Actors(load_script(folder / _SCRIPT), Project(folder).runs)) as server,
        tempfile.TemporaryDirectory(prefix="treadle-home-") as home,
    ):
        yield client_variables(server.url, Path(home)), server


def _drive(folder: Path, agent: str, env: Mapping[str, str], patience: float, *, quiet: bool) -> None:
    """To its end, or as far as it comes in time."""
    with DriverProcess(folder, env) as driving:
        driving.start("run", "spec.json", "--agent", agent, "--name", RUN)
        while not driving.is_gone and not _so_far(folder):
            time.sleep(_GLANCE)
        until, shown = time.monotonic() + patience, set[str]()
        while (chronicle := _so_far(folder)) and not (driving.is_gone or _waits_beyond(chronicle, until)):
            for step in [] if quiet else [*deeds_of(chronicle).keys() - shown]:
                shown.add(step)
                say(f"  {step} …")
            time.sleep(_GLANCE)
        if not chronicle:
            raise TreadleError(
                f"the trial could not be started in {folder}:\n{driving.last_words}", code="run.not_started"
            )


def _so_far(folder: Path) -> Chronicle | None:
    """The run, once it is recorded."""
    with suppress(TreadleError), reading(Project(folder)) as store:
        return read_run(store, RUN).chronicle
    return None


def _waits_beyond(chronicle: Chronicle, until: float) -> bool:
    """Whether the time is up, or will be when a service that is out can be used again; what cannot be reached at all
    is not waited for."""
    if chronicle.state.outage and chronicle.state.outage.why == "network":
        return True
    due = chronicle.state.timers.get(OUTAGE, 0) / 1000
    return until - time.monotonic() < max(due - time.time(), 0)


def _says(store: Store, deed: Deed, word: str) -> bool:
    """Whether an activity has answered with the word."""
    ref = deed.claim.envelope.payload_ref if deed.claim else ""
    fields = store.payloads.get(ref) if ref else {}
    return isinstance(fields, dict) and fields.get("word") == word


def _sent(server: "ModelServer", step: str, word: str) -> bool:
    """Whether the conversation of a step had the word from its beginning."""
    asked = [one for one in server.exchanges if f":{step}#" in one.script and one.step == 0 and one.body]
    return any(word in json.dumps(one.body) for one in asked)


def _trouble(chronicle: Chronicle, store: Store, patience: float) -> str:
    """Why the run did not come to its end, in words: a service that is out, the last failure, or the time."""
    state = chronicle.state
    if state.outcome == "Tried":
        return ""
    if state.outage:
        said = words_of(store.payloads.get(state.outage.detail_ref)) if state.outage.detail_ref else ""
        return ": ".join(filter(None, (WORDS[state.outage.why], first_words(said))))
    refs = [failure.detail_ref for deed in chronicle.deeds.values() for failure in deed.failures if failure.detail_ref]
    late = "" if state.outcome else f"it did not come to its end within {duration(patience)}"
    return "; ".join(filter(None, (late, first_words(words_of(store.payloads.get(refs[-1]))) if refs else "")))
