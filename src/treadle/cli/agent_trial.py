"""An agent's trial: a run of four short steps in a scratch repository, and what it shows of the agent."""

import json
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from treadle.agents.registry import Surroundings, runner_of
from treadle.cli.driver_process import DriverProcess
from treadle.cli.output import harmless, say
from treadle.cli.reading import read_run, reading
from treadle.config.project import Project
from treadle.errors import TreadleError
from treadle.kernel.commands import RunAgent
from treadle.store.sqlite import Store
from treadle.testing.demos import committed
from treadle.views.chronicle import Chronicle, Deed
from treadle.views.moment import duration, seconds
from treadle.views.refusal import first_words, words_of

if TYPE_CHECKING:
    from treadle.testing.model_server.server import ModelServer

_DATA: Final = Path(__file__).parents[1] / "trials" / "agent"
_RUN: Final = "trial"
_PATIENCE: Final = 240.0
_GLANCE: Final = 0.2
_SETTINGS: Final = '[protocol]\ndefault = "agent-trial"\n'

Seen = Literal["yes", "no", "not tried"]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of an agent: `treadle agents try --json`."""

    schema: Literal[1] = 1
    agent: str
    played: bool
    outcome: str
    """How the run ended; empty: it did not."""
    writes: Seen
    """Whether it wrote the file that it was asked for, and said so."""
    channel: str
    """How its answer came: `mcp` is the tool `emit_exit`."""
    resume: Seen
    """Whether it knew in a continued conversation what it was told before."""
    fork: Seen
    kept_in: Seen
    """Whether something kept it from writing where it may not; if not, the check on the diff has found it."""
    tokens: int
    cost: float
    seconds: float
    trouble: str
    """What went wrong, in words; empty: nothing."""
    folder: str

    @property
    def works(self) -> bool:
        return self.writes == "yes" and self.channel == "mcp" and not self.trouble


def tried(agent: str, *, played: bool, quiet: bool) -> Trial:
    """Run the trial; a `TreadleError` if the agent is not there at all."""
    word = f"heron-{secrets.randbelow(10_000):04}"
    folder = Path(tempfile.mkdtemp(prefix="treadle-trial-"))
    runner = runner_of(agent, Surroundings(root=folder))
    if ready := getattr(runner, "ready", None):
        ready()
    _lay_out(folder, word)
    if not quiet:
        say(f"{agent} is tried in {folder}; this takes up to a minute or two")
    with _model(folder, played=played) as (env, server):
        _drive(folder, agent, env, quiet=quiet)
        with reading(Project(folder)) as store:
            chronicle = read_run(store, _RUN).chronicle
            known = {step: _says(store, deed, word) for step, deed in _deeds(chronicle).items()}
            trouble = _trouble(chronicle, store)
        if server:  # a played model always knows the word: what counts is whether the program has sent it
            known = {step: _sent(server, step, word) for step in known}
    return _judged(agent, folder, chronicle, known, trouble, played=played)


def _lay_out(folder: Path, word: str) -> None:
    shutil.copytree(_DATA / "protocol", folder / ".treadle" / "protocols" / "agent-trial")
    shutil.copyfile(_DATA / "script.yaml", folder / "script.yaml")
    (folder / "treadle.toml").write_text(_SETTINGS, encoding="utf-8")
    (folder / "spec.json").write_text(json.dumps({"id": _RUN, "word": word}), encoding="utf-8")
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

    with ModelServer(Actors(load_script(folder / "script.yaml"), Project(folder).runs)) as server:
        yield client_variables(server.url, folder.with_name(f"{folder.name}-home")), server


def _drive(folder: Path, agent: str, env: Mapping[str, str], *, quiet: bool) -> None:
    """To its end, or as far as it comes in time."""
    with DriverProcess(folder, env) as driving:
        driving.start("run", "spec.json", "--agent", agent, "--name", _RUN)
        until, shown = time.monotonic() + _PATIENCE, set[str]()
        while not driving.is_gone and time.monotonic() < until:
            time.sleep(_GLANCE)
            for step in [] if quiet else _begun(folder) - shown:
                shown.add(step)
                say(f"  {step} …")
        if not Project(folder).store.exists():
            raise TreadleError(f"the trial could not be started:\n{driving.last_words}")


def _begun(folder: Path) -> set[str]:
    acts = Project(folder).runs / _RUN / "acts"
    return {path.name.partition("%3A")[2].partition("#")[0] for path in acts.glob("*")} - {""}


def _deeds(chronicle: Chronicle) -> dict[str, Deed]:
    return {deed.command.step: deed for deed in chronicle.deeds.values() if isinstance(deed.command, RunAgent)}


def _judged(
    agent: str, folder: Path, chronicle: Chronicle, known: Mapping[str, bool], trouble: str, *, played: bool
) -> Trial:
    deeds, usage = _deeds(chronicle), chronicle.state.usage
    note, astray = deeds.get("note"), deeds.get("astray")
    return Trial(
        agent=agent,
        played=played,
        outcome=chronicle.state.outcome,
        writes=_seen(bool(note and note.left == "Noted")),
        channel=note.claim.channel if note and note.claim else "",
        resume=_recalled(deeds.get("recall"), known),
        fork=_recalled(deeds.get("branch"), known),
        kept_in=_seen(astray.left == "Tried") if astray and astray.claim else "not tried",
        tokens=usage.tokens_in + usage.tokens_out,
        cost=usage.cost,
        seconds=seconds(chronicle.state.started, chronicle.state.now),
        trouble=trouble,
        folder=str(folder),
    )


def _seen(it: bool) -> Seen:
    return "yes" if it else "no"


def _recalled(deed: Deed | None, known: Mapping[str, bool]) -> Seen:
    """Whether a conversation was really continued: then it knows the word."""
    return "not tried" if deed is None or deed.claim is None else _seen(known.get(deed.command.step, False))


def _says(store: Store, deed: Deed, word: str) -> bool:
    """Whether an activity has answered with the word."""
    ref = deed.claim.envelope.payload_ref if deed.claim else ""
    fields = store.payloads.get(ref) if ref else {}
    return isinstance(fields, dict) and fields.get("word") == word


def _sent(server: "ModelServer", step: str, word: str) -> bool:
    """Whether the conversation of a step had the word from its beginning."""
    asked = [one for one in server.exchanges if f":{step}#" in one.script and one.step == 0 and one.body]
    return any(word in json.dumps(one.body) for one in asked)


def _trouble(chronicle: Chronicle, store: Store) -> str:
    """The last failure, in words, if the run did not come to its end."""
    if chronicle.state.outcome == "Tried":
        return ""
    refs = [failure.detail_ref for deed in chronicle.deeds.values() for failure in deed.failures if failure.detail_ref]
    refs += [chronicle.state.outage.detail_ref] if chronicle.state.outage else []
    return first_words(words_of(store.payloads.get(refs[-1]))) if refs else "it did not come to its end in time"


def print_trial(found: Trial) -> None:
    """What was seen, a line each."""
    tools = {"mcp": "yes", "": "not tried"}.get(found.channel, f"no, it answered by {found.channel}")
    kept = {"no": "no; the check on the diff has found it", "yes": "yes"}.get(found.kept_in, found.kept_in)
    say(f"writes a file in its scope      {found.writes}")
    say(f"answers by the tool emit_exit   {tools}")
    say(f"goes on with a conversation     {found.resume}")
    say(f"branches off from one           {found.fork}")
    say(f"is kept out of other files      {kept}")
    spent = f"{found.tokens:,} tokens, {found.cost:.2f} US dollars, {duration(found.seconds)}"
    say(f"used                            {spent}")
    if found.trouble:
        say(harmless(f"it went wrong: {found.trouble}"))
    say(f"to look closer: cd {found.folder} && treadle log {_RUN}")
