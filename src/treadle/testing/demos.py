"""Demos: small repositories with a spec and scripted agents that show a protocol at real work.

A demo is a folder below `demos`, named like its protocol, with the story, the spec, the script and the repository.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import msgspec
from ruamel.yaml import YAML

from treadle.errors import TreadleError

DEMOS: Final = Path(__file__).parents[1] / "demos"
SPEC: Final = "spec.yaml"
SCRIPT: Final = "script.yaml"
_STORY: Final = "demo.yaml"
_TOOLS: Final = "treadle.toml"
_GIT: Final = ("git", "-c", "user.name=Treadle", "-c", "user.email=treadle@localhost", "-c", "commit.gpgsign=false")


class DemoAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to a question."""

    ask: str
    """Instance and step: `root:escalate`."""
    choice: str
    note: str = ""


class Beat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event of every run of a demo, and the comment on it for the viewer."""

    see: str
    """A pattern for a line of the run's log."""
    say: str
    kept_in: "Beat | None" = None
    """The event that occurs instead if a sandbox confines the agents to their files while they work."""

    def fitting(self, text: str) -> "Beat | None":
        """Return this beat, or its alternative, if it matches a line of the log."""
        if fnmatchcase(text, self.see):
            return self
        return self.kept_in.fitting(text) if self.kept_in else None


class Demo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The story of a demo."""

    title: str
    run: str
    """The name of its run."""
    scenes: tuple[Beat, ...]
    further: tuple[tuple[str, str], ...]
    """Commands for a closer look, each with a description."""
    answers: tuple[DemoAnswer, ...] = ()
    starts: tuple[str, ...] = ()
    """Patterns for instance and step (`root:review`): steps that wait for a person's `go` and get it from the demo."""
    kill: str = ""
    """A pattern for the line of the log after which the driving process is killed."""


def demos() -> list[str]:
    """The protocols that have a demo."""
    return sorted(path.parent.name for path in DEMOS.glob(f"*/{_STORY}"))


def demo(name: str) -> Demo:
    """Load the story of a protocol's demo."""
    return msgspec.convert(YAML(typ="safe").load((DEMOS / name / _STORY).read_text(encoding="utf-8")), Demo)


def lay_out(name: str, folder: Path, python: str) -> None:
    """Make a folder the repository of a demo, with one commit; `treadle run spec.yaml` can follow.

    `python` is the interpreter that its tests are run with.
    """
    try:
        if folder.exists() and any(folder.iterdir()):
            raise TreadleError(f"{folder} is not empty; name a new folder", code="file.exists")
        shutil.copytree(DEMOS / name / "repository", folder, dirs_exist_ok=True)
        for file in (SPEC, SCRIPT):
            shutil.copyfile(DEMOS / name / file, folder / file)
        tools = folder / _TOOLS
        tools.write_text(tools.read_text(encoding="utf-8").replace("{python}", json.dumps(python)), encoding="utf-8")
    except OSError as error:
        raise TreadleError(
            f"{folder} cannot be filled: {error.strerror}; name another folder", code="file.unwritable"
        ) from None
    commit_everything(folder)


def commit_everything(folder: Path) -> None:
    """Make a folder a repository, with all its files in the first commit."""
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Start")):
        done = subprocess.run(
            [*_GIT, *words], cwd=folder, env=git_environment(), check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise TreadleError(
                f"`git {words[0]}` failed in {folder}: {done.stderr.strip() or done.stdout.strip()}", code="git.failed"
            )


def git_environment() -> Mapping[str, str]:
    """Return the environment without the variables that point git at another repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
