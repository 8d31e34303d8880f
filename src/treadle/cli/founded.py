"""What `treadle init` says: what it found and why, what it wrote, and what to do next."""

from collections.abc import Iterator

from treadle.cli import library
from treadle.cli.advice import word
from treadle.cli.brought import brought
from treadle.cli.founding import Plan
from treadle.cli.health.agents import INSTEAD
from treadle.cli.left_off import told
from treadle.config.detect.found import Found
from treadle.config.keys import find_key
from treadle.config.kinds import Value
from treadle.config.project import FILE, Project
from treadle.config.starter import toml_value
from treadle.toolchains.fitness import cures


def found(project: Project, plan: Plan) -> Iterator[str]:
    """What was detected, with its reasons."""
    yield f"Project   {project.root}"
    if plan.main is None:
        yield "Language  none that is known; set the commands under [toolchain] yourself"
    for place, one in enumerate(plan.found):
        yield f"{'Language' if one.language != 'make' else 'Also':<9} {one.language} ({one.why})"
        yield from _commands(one, plan) if place == 0 else _others(one)
    yield f"Agents    {', '.join(plan.agents) if plan.agents else 'none of those that are known by name'}"
    if plan.protocol:
        yield f"Protocol  {plan.protocol.name}: {plan.protocol.title}"
        paths = [artifact.path for artifact in plan.protocol.artifacts.values()]
        if paths:
            yield f"  keeps   {', '.join(paths[:4])}{f' and {len(paths) - 4} more' if len(paths) > 4 else ''}"


def _commands(one: Found, plan: Plan) -> Iterator[str]:
    yield f"  results {'could be' if 'kind' in plan.differing else 'are'} read as {one.kind}"
    for name, guess in one.commands.items():
        yield f"  {name:<7} {_shown(guess.words)}  ({guess.why})"


def _others(one: Found) -> Iterator[str]:
    test = one.commands.get("test")
    if test:
        yield f"  not used: {_shown(test.words)}  ({test.why})"


def _shown(words: tuple[str, ...]) -> str:
    return " ".join(words) if all(words) and not any(" " in word for word in words) else toml_value(words)


def written(plan: Plan, *, dry_run: bool) -> Iterator[str]:
    """What was written and what was left alone; of a dry run also the texts."""
    yield ""
    for name in plan.kept:
        yield f"{name} is already there: left as it is"
        yield from (f"  {fault}" for fault in plan.faults.get(name, ()))
        if name == FILE:
            yield from (
                f"  it has {_setting(key, said)}, where {_setting(key, value)} was found"
                for key, (said, value) in plan.differing.items()
            )
    for name, text in plan.files.items():
        yield f"{name} would be written:" if dry_run else f"{name} is written"
        if dry_run:
            yield from (f"    {line}".rstrip() for line in text.splitlines())


def _setting(name: str, value: Value) -> str:
    return f"`{name} = {toml_value(value, find_key(('toolchain', name)))}`" if value else f"no `{name}`"


def next_steps(plan: Plan, git_steps: list[str]) -> Iterator[str]:
    """What a person has to do now, the first thing first."""
    yield from git_steps
    if not plan.agents:
        yield INSTEAD
    yield from (f"{hint.text} [{hint.code}]" for hint in (plan.main.advice if plan.main else ()))
    for part, words in brought(str(library.folder(plan.named))).items() if plan.named else ():
        yield f"`treadle run --protocol {word(plan.named)} --only {part}`: {words}"
    for cure in cures(plan.lacks):
        yield f"{cure}: {'; '.join(lack.what for lack in plan.lacks if lack.fix == cure)}"
    if plan.optional:
        yield f"set {', '.join(f'`toolchain.{name}`' for name in plan.optional)} in treadle.toml, if there are such"
    protocol = plan.protocol.name if plan.protocol else "v3"
    yield "`treadle doctor`: whether everything is in place"
    yield f"`treadle spec new --protocol {protocol}`: write down what you want built"
    yield from map(told, plan.left_off)
