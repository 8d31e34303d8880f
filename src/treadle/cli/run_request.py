"""From the arguments of `treadle run` to a request that `engines.start.start_run` stores as a run."""

import asyncio
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from treadle.cli import library
from treadle.cli.config import load_current_settings
from treadle.cli.guard import complain, quote_word
from treadle.cli.library import load_sound_protocol
from treadle.cli.moves import run_interruptibly
from treadle.cli.output import console, is_terminal
from treadle.cli.programs import ask_git
from treadle.cli.project import PARTS
from treadle.cli.spec import find_accepting_protocols, read_spec
from treadle.cli.toolchain_health import advise_parts_ahead, toolchain_lines
from treadle.cli.unfinished_stories import find_unfinished_stories
from treadle.config.project import Project
from treadle.engines.baseline import base_commit, is_needed, take_baseline
from treadle.engines.containers import uses_containers
from treadle.engines.run_settings import Level
from treadle.engines.start import (
    InspectedRequest,
    StartRequest,
    enclosure_of,
    ineffective_limits,
    inspect_request,
    load_run_input,
)
from treadle.errors import ProtocolError, TreadleError, Unfit
from treadle.git.globs import naming
from treadle.git.ref_names import slug
from treadle.git.refs import Refs, refuse_blocking_refs
from treadle.git.repository import open_repository
from treadle.prompts.foreign import inline
from treadle.protocol.alone import SelectedPart, select_part
from treadle.protocol.answers.values import id_of
from treadle.protocol.artifacts import view_paths
from treadle.protocol.items import Json
from treadle.protocol.load import read_text
from treadle.protocol.model import Protocol
from treadle.runtime.placed_files import PlacedFiles
from treadle.runtime.view_files import is_foreign
from treadle.store.sqlite import Store
from treadle.toolchains.toolchain import complete_settings
from treadle.views.status import Baseline, baseline_line
from treadle.views.story_files import story_globs

# A step that runs alone: the files that earlier steps would have made must be committed.


def refuse_missing_inputs(project: Project, part: SelectedPart, value: Json, command: str) -> None:
    """Refuse to run a step alone if files that it needs are not committed; name the command that makes them."""
    if not part.terms.given:
        return
    answer = asyncio.run(ask_git(project.root, "ls-tree", "-r", "--name-only", "-z", "HEAD"))
    names = answer.text.split("\0") if answer.is_well else []

    def is_there(path: str) -> bool:
        return any(fnmatchcase(name, path) for name in names) if "*" in path else path in names

    problems: list[str] = []
    for one in part.missing(value, is_there):
        name = one.paths[0]
        if (project.root / name).is_file():
            problems.append(f"{name} is not committed, and a run sees only committed files: commit it first")
        else:
            first = f"run `{command} --only {one.by}` first" if one.by else "write and commit it first"
            verb = "do" if len(one.paths) > 1 else "does"
            problems.append(f"{' and '.join(one.paths)} {verb} not exist; {first}")
    if problems:
        raise TreadleError(f"--only {part.step}: {'; '.join(problems)}", code="spec.incomplete")


# The input of a run: a whole spec, a part of it, or the input that a protocol bundles for a part.

_PROJECT: Final = "{project}"
"""In such an input, the name of the project's folder replaces it."""


class RunInput(msgspec.Struct, frozen=True):
    """The protocol as far as it is wanted, and its input."""

    protocol: Protocol
    text: str
    file: str


def resolve_input(project: Project, protocol: Protocol, name: str, spec: Path | None, only: str) -> RunInput:
    """Return the protocol and the input of a run.

    Raise `TreadleError` if a spec is missing or a part cannot be run alone.
    """
    text, file = (read_spec(spec), str(spec)) if spec else _bundled_input(project, name, only)
    if not text and protocol.graphs[protocol.root].input[1]:
        what = f"{spec} is empty" if spec else f"{name} needs a SPEC"
        raise TreadleError(f"{what}; `treadle spec new --protocol {name}` writes an example", code="spec.missing")
    if not only:
        return RunInput(protocol, text, file)
    part = select_part(protocol, only, library.read_protocol_terms(name))
    value: Json = load_run_input(project, protocol, text, file).value
    refuse_missing_inputs(project, part, value, f"treadle run {quote_word(spec) if spec else ''}".rstrip())
    narrowed = part.narrowed(value)
    left = {key: one for key, one in narrowed.items() if one is not None} if isinstance(narrowed, dict) else {}
    return RunInput(part.protocol, msgspec.json.encode(left).decode(), f"{Path(file).with_suffix('')}.json")


def _bundled_input(project: Project, name: str, only: str) -> tuple[str, str]:
    """Return the text and file name of the input that a protocol bundles for a part; empty if there is none."""
    part = only.rpartition(":")[2]
    path = library.find_folder(name) / PARTS / f"{part}.yaml"
    if not part or Path(part).name != part or not path.is_file():
        return "", ""
    quoted = msgspec.json.encode(id_of(project.root.name)).decode()
    return read_text(path, 100_000).replace(_PROJECT, quoted), path.name


# From the arguments of `treadle run` to a run that can be started.

_NAMED: Final = 5
"""Tests of the base commit that are named when a run starts."""
_OLD: Final = {"baseline.failing": "fails", "baseline.flaky": "is flaky"}
_INSTRUMENTED: Final = "baseline.instrumented"


class RunArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `treadle run` for a new run."""

    spec: Path | None
    protocol: str | None
    agents: Sequence[str]
    changes: Sequence[str]
    name: str
    level: Level
    merge: str | None
    minimum: str | None = None
    """The grade that a criterion needs; None: by the settings."""
    only: str = ""
    """A part of the protocol, or a step, to run alone."""


class PreparedRun(msgspec.Struct, frozen=True):
    """A run that can be started."""

    request: InspectedRequest
    used: frozenset[str]
    """Slugs of runs with refs in the repository, including runs that the store has forgotten."""

    @property
    def notes(self) -> list[str]:
        """Warnings before the start: unfinished stories, and limits that cannot stop its agents."""
        asked, value = self.request, self.request.input.value
        notes: list[str] = []
        if not any(graph.only for graph in asked.protocol.graphs.values()):  # `--only` continues unfinished stories
            lists = [one for one in value.values() if isinstance(one, list)] if isinstance(value, dict) else []
            ids = [inline(str(item.get("id", ""))) for items in lists for item in items if isinstance(item, dict)]
            for one in find_unfinished_stories(asked.project, asked.protocol):
                if one.story in ids:
                    instead = f"; `--only {quote_word(one.part)}` runs only its current step" if one.part else ""
                    notes.append(f"{one.file} says that {one.stands}; this run {one.begins}{instead}")
        return [*notes, *map(str, ineffective_limits(asked.project, asked.protocol, asked.settings))]

    @property
    def made(self) -> list[str]:
        """Globs of the files that runs write themselves, and give to agents as they are then."""
        return [*view_paths(self.request.protocol), *story_globs(self.request.protocol)]

    @property
    def files(self) -> list[str]:
        """The files that Treadle reads the run's agents from; the agents themselves do not look for them."""
        root, agents = self.request.project.root, self.request.settings.agents.values()
        return [str(root / word) for agent in agents for word in agent.partition(":")[2].split()]

    async def base(self) -> str:
        """Return the base commit to run the tests on before the start; empty if no check needs them."""
        asked = self.request
        is_tested = is_needed(asked.protocol, asked.settings.config, asked.reach)
        return await base_commit(asked.project) if is_tested else ""

    async def baseline(self, store: Store, commit: str) -> Baseline:
        """Run the tests on a commit and return the results; raise `TreadleError` if they cannot be run."""
        asked, config = self.request, self.request.settings.config
        return await take_baseline(
            asked.project,
            store,
            asked.protocol,
            config,
            commit,
            await enclosure_of(asked.project, config) if uses_containers(config) else None,
            say=lambda line: complain(f"baseline: {line}"),
        )


def prepare_run(project: Project, arguments: RunArguments) -> PreparedRun:
    """Check and collect everything that a run needs; raise any error before writing anything."""
    settings = load_current_settings(arguments.changes)
    name = arguments.protocol or settings.config().protocol
    asked = resolve_input(project, load_sound_protocol(name), name, arguments.spec, arguments.only)
    protocol = asked.protocol
    config = settings.config(protocol.name)
    if arguments.merge is not None:
        config = msgspec.structs.replace(config, git=msgspec.structs.replace(config.git, merge=arguments.merge))
    if arguments.minimum is not None:
        verification = msgspec.structs.replace(config.verification, minimum=arguments.minimum)
        config = msgspec.structs.replace(config, verification=verification)
    wanted = StartRequest(
        config=config,
        spec=asked.text,
        file=asked.file,
        agents=tuple(arguments.agents),
        name=arguments.name,
        level=arguments.level,
    )
    try:
        request = inspect_request(project, protocol, wanted)
    except Unfit as error:
        hints = advise_parts_ahead(name, load_sound_protocol(name), complete_settings(config.toolchain, project.root))
        raise TreadleError("; ".join([str(error), *hints]), code=error.code) from None
    except ProtocolError as error:
        raise ProtocolError(
            error.message + _suggest_protocols(arguments, wanted.spec, protocol.name), error.findings, code=error.code
        ) from None
    # Refuse the run if `treadle doctor` would call a command that its checks need missing.
    lines = asyncio.run(toolchain_lines(config, project, protocol, request.reach))
    if broken := [line for line in lines if line.is_fatal]:
        details = "; ".join(f"{line.what}: {line.detail} ({line.fix})" for line in broken)
        code = next((line.code for line in broken if line.code), "env.missing")
        raise TreadleError(f"the checks of {protocol.name} need commands that cannot start here: {details}", code=code)
    used = asyncio.run(_used_names(project, config.git.branch_prefix))
    if slug(arguments.name) in used:
        raise TreadleError(
            f"a run {arguments.name}, or a branch or ref of that name, already exists; give another --name",
            code="run.exists",
        )
    return PreparedRun(request, used)


def _suggest_protocols(arguments: RunArguments, spec: str, asked: str) -> str:
    """Suggest protocols that accept the spec, if the user named none and the default one does not accept it."""
    found = find_accepting_protocols(arguments.spec, spec) if arguments.spec and not arguments.protocol else ()
    if not found or asked in found:
        return ""
    return f"; it is a valid input for {', '.join(found)}, so name the one you mean: --protocol {quote_word(found[0])}"


async def _used_names(project: Project, prefix: str) -> frozenset[str]:
    """Return the run names that refs and branches already use; raise an error if a ref blocks every run."""
    repository = await open_repository(project)
    refs = Refs(repository)
    await refuse_blocking_refs(refs, prefix)
    spaces = ("refs/treadle/", f"refs/heads/{prefix}/")
    return frozenset(ref.removeprefix(space).partition("/")[0] for ref in await refs.below(*spaces) for space in spaces)


def run_baseline(prepared: PreparedRun, store: Store, *, quiet: bool) -> Baseline | None:
    """Run the tests of the base commit and print the results; return None if no check of the run needs them."""
    commit = asyncio.run(prepared.base())
    if not commit:
        return None
    with _spinner("running the tests") if is_terminal() and not quiet else nullcontext():
        found = run_interruptibly(prepared.baseline(store, commit), "stopping the tests; Ctrl-C again stops at once")
    if found is None:
        raise KeyboardInterrupt
    complain(f"baseline: {baseline_line(found)}")
    for one in found.tests:
        if one.code == _INSTRUMENTED:
            said = "fails only with Treadle's instrumentation, which is a fault of Treadle"
            relies = "for this test, Treadle relies on the test runner's own report"
            complain(f"baseline: {one.test} {said} [{one.code}]; {relies}")
    for one in [one for one in found.tests if one.code in _OLD][:_NAMED]:
        complain(f"baseline: {one.test} {_OLD.get(one.code, '')} [{one.code}]; it does not count against agents")
    if found.failed > _NAMED:
        complain(f"baseline: and {found.failed - _NAMED} more")
    for name in found.commands:
        complain(f"baseline: `toolchain.{name}` fails [baseline.lint]; only new failures count against agents")
    return found


def _spinner(words: str) -> AbstractContextManager[object]:
    """Return a spinner for the terminal, with the elapsed time."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console())
    shown.live.transient = True
    shown.add_task(words, total=None)
    return shown


# Warn about changes in the user's checkout that agents will not see, because they are in no commit.

_SHOWN: Final = 3
_MOST: Final = 100


def describe_uncommitted(root: Path, known: Collection[str], made: Collection[str] = ()) -> str:
    """Return a warning about uncommitted files, except those that only Treadle reads or writes; else empty."""
    answer = asyncio.run(ask_git(root, "status", "--porcelain", "-z", "--untracked-files=normal"))
    ours = {os.path.relpath(name, root) for name in known if name} | {"treadle.toml"}
    names = [name for name in _names(answer.text) if name not in ours and not name.startswith(".treadle/")]
    found = [name for name in names if not _is_made_by_a_run(root, root / name, made)]
    if not answer.is_well or not found:
        return ""
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"agents see only committed files; these changes are not committed: {', '.join(found[:_SHOWN])}{more}"


def _is_made_by_a_run(root: Path, path: Path, made: Collection[str]) -> bool:
    """Whether there is nothing but files that runs make, by their places, or as they were made from a log."""
    placed, is_made = PlacedFiles(Project(root).local), naming(made)
    files = [one for one in islice(path.rglob("*"), _MOST) if not one.is_dir()] if path.is_dir() else [path]

    def is_ours(file: Path) -> bool:
        name = file.relative_to(root).as_posix()
        return is_made(name) or placed.is_ours(name, data := file.read_bytes()) or not is_foreign(data)

    try:
        return bool(files) and len(files) < _MOST and all(map(is_ours, files))
    except OSError:
        return False


def _names(porcelain: str) -> Iterator[str]:
    """Yield the paths of `git status --porcelain -z`, without the old names that follow renamed paths."""
    parts = iter(part for part in porcelain.split("\0") if part)
    for part in parts:
        yield part[3:]
        if part[0] in "RC":
            next(parts, None)
