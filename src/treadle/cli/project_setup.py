"""The set-up of a project, for `treadle init`: plan it, write the files, make the first commit, print the next steps.

Existing files stay unchanged, and nothing is committed without a yes.
"""

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import typer

from treadle.cli import library
from treadle.cli.agents import INSTEAD
from treadle.cli.guard import quote_word
from treadle.cli.output import write_new
from treadle.cli.programs import ask_git, belongs_to_others, has_commits, is_repository
from treadle.cli.project import bundled_parts
from treadle.cli.unfinished_stories import describe_story, find_unfinished_stories
from treadle.config.agents import PROGRAMS, find_agent
from treadle.config.detection import DetectedLanguage, detect_languages
from treadle.config.kinds import Value
from treadle.config.model import ToolchainSettings, find_key
from treadle.config.project import FILE, Project, make_local
from treadle.config.settings import load_settings
from treadle.config.starter import ChosenValue, detected_values, protocol_project_files, render_starter, toml_value
from treadle.errors import PortError, TreadleError
from treadle.git.files import read_plain_file
from treadle.git.generated import GeneratedGlobs, find_generated
from treadle.git.repository import owner_trouble
from treadle.protocol.model import Protocol
from treadle.runtime.placed_files import PlacedFiles
from treadle.toolchains.fitness import Lack, best_grade, cures, find_lacks
from treadle.toolchains.toolchain import complete_settings
from treadle.views.story_files import first_files
from treadle.views.work_order import LeftOff, story_faults


def set_up_project(project: Project, protocol: str | None, *, dry_run: bool, yes: bool) -> None:
    """Plan the set-up, carry it out unless `dry_run` is set, and print each part of it."""
    asyncio.run(refuse_unusable(project.root))
    plan = plan_setup(project, protocol)
    for line in describe_findings(project, plan):
        typer.echo(line)
    if not dry_run:
        write_files(project, plan)
    for line in describe_written(plan, dry_run=dry_run):
        typer.echo(line)
    git_steps = asyncio.run(start_repository(project.root, plan, dry_run=dry_run, yes=yes))
    typer.echo("\nNext:")
    for line in describe_next_steps(plan, git_steps):
        typer.echo(f"  {line}")


async def refuse_unusable(root: Path) -> None:
    """Refuse a bare repository, the inside of `.git`, and a repository of another owner."""
    if await belongs_to_others(root):
        raise TreadleError("; ".join(owner_trouble(root)), code="git.owner")
    answer = await ask_git(root, "rev-parse", "--is-bare-repository", "--is-inside-git-dir")
    if answer.is_well and "true" in answer.text.split():
        raise TreadleError(
            f"{root} is a bare repository or git's own folder, and has no files to work on; "
            "`git clone` it, and work in the clone",
            code="git.bare",
        )


# The plan, and the files that it writes.


class SetupPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan for a project: detected languages, files to write, files to keep, and the facts for the next steps."""

    found: list[DetectedLanguage]
    agents: list[str]
    files: dict[str, str]
    kept: list[str]
    shown: list[str] = []
    """Those of all these that show how the work stands; runs write them, and no commit needs them."""
    faults: dict[str, list[str]] = {}
    """The faults in existing files that show the state of the work, by file name."""
    toolchain: ToolchainSettings
    """The toolchain settings after the set-up; an existing `treadle.toml` has priority over detection."""
    left_off: list[LeftOff] = []
    """Stories that are in the middle, by the word of such files."""
    lacks: list[Lack] = []
    """The commands that runs need and lack, under the given protocol or else the default one."""
    protocol: Protocol | None = None
    named: str = ""
    """The name or path of the protocol, as the user typed it."""
    generated: tuple[str, ...] = ()
    """Globs of generated files that git ignores and lanes will need."""
    ungiven: tuple[str, ...] = ()
    """Those of them that an existing `treadle.toml` does not name."""

    @property
    def main(self) -> DetectedLanguage | None:
        return self.found[0] if self.found else None

    @property
    def differing(self) -> dict[str, tuple[Value, Value]]:
        """The settings in an existing file that differ from detection: the pair of values, by setting name."""
        found = {name.partition(".")[2]: chosen.value for name, chosen in detected_values(self.main).items()}
        named = {name: getattr(self.toolchain, name) for name in found}
        return {name: (named[name], value) for name, value in found.items() if named[name] != value}


def plan_setup(project: Project, protocol: str | None) -> SetupPlan:
    """Plan the set-up of a project, without writing anything."""
    root = project.root
    try:
        generated = asyncio.run(find_generated(root))
    except PortError:  # git is missing, or there is no repository yet
        generated = GeneratedGlobs()
    found, shown = detect_languages(root, os.environ), dict[str, str]()
    agents = [program.name for program in PROGRAMS if find_agent(program.name)]
    loaded = library.open_protocol(protocol).protocol if protocol else None

    detected = detected_values(found[0] if found else None)
    wanted = {project.file.name: render_starter(_choose_values(detected, agents, generated, protocol), loaded)}
    if protocol and loaded:
        wanted |= protocol_project_files(library.find_folder(protocol))
        wanted |= (shown := first_files(loaded, root.name))
    there = [name for name in wanted if os.path.lexists(root / name)]
    for name in wanted.keys() - there:
        _refuse_way_out(root, root / name)

    config = load_settings(project, os.environ).config(loaded.name if loaded else "")
    is_kept = project.file.name in there
    if is_kept:
        toolchain = complete_settings(config.toolchain, root)
    else:
        values = {name.partition(".")[2]: it.value for name, it in detected.items()}
        toolchain = msgspec.structs.replace(config.toolchain, **values)
    try:
        checked = loaded or library.open_protocol(config.protocol).protocol
        lacks = find_lacks(checked, toolchain, has_file=True)
    except TreadleError:  # the default protocol does not load, which other commands report
        lacks = []
    faults: dict[str, list[str]] = {}
    for name in shown if loaded else ():
        data = read_plain_file(root, name) if name in there else None
        if loaded and data is not None and (lines := story_faults(name, data, loaded)):
            faults[name] = lines
    return SetupPlan(
        found=found,
        agents=agents,
        files={name: text for name, text in wanted.items() if name not in there},
        kept=there,
        shown=sorted(shown),
        faults=faults,
        toolchain=toolchain,
        left_off=find_unfinished_stories(project, loaded) if loaded else [],
        lacks=lacks,
        protocol=loaded,
        named=protocol or "",
        generated=generated.globs,
        ungiven=tuple(one for one in generated.globs if is_kept and one not in config.environment.generated),
    )


def _choose_values(
    detected: dict[str, ChosenValue], agents: list[str], generated: GeneratedGlobs, protocol: str | None
) -> dict[str, ChosenValue]:
    """Return the values for a new `treadle.toml`, each with the reason."""
    chosen = dict(detected)
    if agents:
        chosen["agents.default"] = ChosenValue(agents[0], f"found on this machine: {', '.join(agents)}")
    if generated.globs:
        why = "git ignores these files, and code that it tracks lies beside them"
        if generated.named:
            why = f"pyproject.toml has {', '.join(generated.named)} written by a build; {why}"
        chosen["environment.generated"] = ChosenValue(generated.globs, why)
    if (found := _grade_of(detected)) == "word":
        why = "only the test runner itself can see these tests pass; a higher grade would leave all criteria unverified"
        chosen["verification.minimum"] = ChosenValue(found, why)
    if protocol:
        chosen["protocol.default"] = ChosenValue(protocol, "given to `treadle init`")
    return chosen


def _grade_of(detected: Mapping[str, ChosenValue]) -> str:
    """Return the highest grade that detected tests can give; empty without results of single tests."""
    named = {name.partition(".")[2]: one.value for name, one in detected.items() if name.startswith("toolchain.")}
    if "test" not in named or named.get("kind", "command") == "command":
        return ""
    return best_grade(msgspec.convert(named, ToolchainSettings))


def write_files(project: Project, plan: SetupPlan) -> None:
    """Write the files of a plan, all or none, and make the folder for this checkout's local data."""
    paths = {project.root / name: text for name, text in plan.files.items()}
    for path in paths:
        _refuse_way_out(project.root, path)
    make_local(project)
    placed = PlacedFiles(project.local)
    begun: list[Path] = []
    try:
        for path, text in paths.items():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise TreadleError(
                    f"{path.parent} cannot be created: {error.strerror}", code="file.unwritable"
                ) from None
            write_new(path, text)
            begun.append(path)
        for name in [name for name in plan.shown if name in plan.files]:
            placed.note(name, plan.files[name].encode())
    except BaseException:
        for path in begun:
            path.unlink(missing_ok=True)
        raise


def _refuse_way_out(root: Path, path: Path) -> None:
    if not path.parent.resolve().is_relative_to(root.resolve()):
        raise TreadleError(
            f"{path.parent} is a link that leads out of the project; remove it, then try again", code="file.link"
        )


# The output: findings with reasons, written files, next steps.


def describe_findings(project: Project, plan: SetupPlan) -> Iterator[str]:
    """Describe the detected languages, commands and agents, with reasons."""
    yield f"Project   {project.root}"
    if plan.main is None:
        yield "Language  not recognised; set the commands under [toolchain] yourself"
    for place, one in enumerate(plan.found):
        yield f"{'Language' if one.language != 'make' else 'Also':<9} {one.language} ({one.why})"
        if place == 0:
            yield f"  results {'could be' if 'kind' in plan.differing else 'are'} read as {one.kind}"
            for name, guess in one.commands.items():
                yield f"  {name:<7} {_format_command(guess.words)}  ({guess.why})"
        elif test := one.commands.get("test"):
            yield f"  not used: {_format_command(test.words)}  ({test.why})"
    if plan.generated:
        globs = ["".join(char if char.isprintable() else "?" for char in glob) for glob in plan.generated]
        yield f"Generated {', '.join(globs)}  (git ignores them; lanes get copies)"
    yield f"Agents    {', '.join(plan.agents) if plan.agents else 'no known agent is installed'}"
    if plan.protocol:
        yield f"Protocol  {plan.protocol.name}: {plan.protocol.title}"
        paths = [artifact.path for artifact in plan.protocol.artifacts.values()]
        if paths:
            yield f"  keeps   {', '.join(paths[:4])}{f' and {len(paths) - 4} more' if len(paths) > 4 else ''}"


def _format_command(words: tuple[str, ...]) -> str:
    return " ".join(words) if all(words) and not any(" " in word for word in words) else toml_value(words)


def describe_written(plan: SetupPlan, *, dry_run: bool) -> Iterator[str]:
    """Describe the written and the kept files; in a dry run, include the texts."""

    def setting(name: str, value: Value) -> str:
        return f"`{name} = {toml_value(value, find_key(('toolchain', name)))}`" if value else f"no `{name}`"

    yield ""
    for name in plan.kept:
        yield f"{name} exists already; Treadle leaves it unchanged"
        yield from (f"  {fault}" for fault in plan.faults.get(name, ()))
        for key, (named, value) in plan.differing.items() if name == FILE else ():
            yield f"  it has {setting(key, named)}; Treadle would choose {setting(key, value)}"
    for name, text in plan.files.items():
        yield f"{name} would be written:" if dry_run else f"{name} is written"
        if dry_run:
            yield from (f"    {line}".rstrip() for line in text.splitlines())


def describe_next_steps(plan: SetupPlan, git_steps: list[str]) -> Iterator[str]:
    """Describe the next steps for a person, most urgent first."""
    yield from git_steps
    if not plan.agents:
        yield INSTEAD
    yield from (f"{hint.text} [{hint.code}]" for hint in (plan.main.advice if plan.main else ()))
    if plan.ungiven:
        value = toml_value(plan.ungiven)
        yield f"set `environment.generated = {value}` in treadle.toml: lanes lack what git ignores [init.generated]"
    for part, words in bundled_parts(str(library.find_folder(plan.named))).items() if plan.named else ():
        yield f"`treadle run --protocol {quote_word(plan.named)} --only {part}`: {words}"
    for cure in cures(plan.lacks):
        yield f"{cure}: {'; '.join(lack.what for lack in plan.lacks if lack.fix == cure)}"
    derived = {"test", "collect", "api_dump"}  # needed, or known for the languages that Treadle reads itself
    optional = [name for name in (plan.protocol.toolchain if plan.protocol else ()) if name not in derived]
    if unset := [f"`toolchain.{name}`" for name in optional if not plan.toolchain.command(name)]:
        yield f"set {', '.join(unset)} in treadle.toml, if the project has such commands"
    yield "`treadle doctor`: check that everything is in place"
    protocol = plan.protocol.name if plan.protocol else "v3"
    yield f"`treadle spec new --protocol {protocol}`: describe what you want to build"
    yield from map(describe_story, plan.left_off)


# A repository and its first commit: agents start from a commit, so there must be one. Nothing happens without a yes.

MESSAGE = "Set up Treadle"


async def start_repository(root: Path, plan: SetupPlan, *, dry_run: bool, yes: bool) -> list[str]:
    """Make the repository and the first commit if they are missing and the user agrees; return the remaining steps."""

    def is_agreed(question: str) -> bool:
        """Ask only on a terminal; without one the answer is no, unless `yes` is set."""
        return yes or (sys.stdin.isatty() and sys.stdout.isatty() and typer.confirm(question, default=False))

    if not await is_repository(root):
        if dry_run or not is_agreed("There is no git repository here. Create one?"):
            return ["`git init`, then `git add` and `git commit`: agents work on copies of a commit"]
        await _call_git(root, "init", "--quiet")
        typer.echo("created a git repository")
    files = sorted(({*plan.files, *plan.kept} & {*plan.files, *await _untracked(root)}) - {*plan.shown})
    commit = f"`git add {' '.join(files)} && git commit`" if files else "`git add` and `git commit` what belongs here"
    if await has_commits(root):
        return [f"{commit}: agents see only committed files"] if files else []
    if dry_run or not files or not is_agreed(f"There is no commit yet. Commit {', '.join(files)}?"):
        return [f"{commit}: agents work on copies of a commit, and there is none"]
    await _call_git(root, "add", "--", *files)
    await _call_git(root, "commit", "--quiet", "-m", MESSAGE, "--only", "--", *files)
    typer.echo(f"committed: {', '.join(files)}")
    rest = await _untracked(root)
    if not rest:
        return []
    shown = f"{rest[0]} and {len(rest) - 1} more" if len(rest) > 1 else rest[0]
    return [f"commit the project's other files, too ({shown}): agents see only committed files"]


async def _untracked(root: Path) -> list[str]:
    """List the files that git neither tracks nor ignores."""
    answer = await ask_git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return [name for name in answer.text.split("\0") if name] if answer.is_well else []


async def _call_git(root: Path, *words: str) -> None:
    answer = await ask_git(root, *words)
    if not answer.is_well:
        hint = "; set `git config user.name` and `user.email`" if "user.email" in answer.text else ""
        raise TreadleError(f"git {words[0]} failed: {answer.first_line}{hint}", code="git.failed")
