"""Small repositories with a spec and scripted agents, in which a protocol can be watched at real work.

A demo is a folder below `demos`, named like its protocol: what happens in it, the spec, the script and the repository.
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


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a question gets as its answer."""

    ask: str
    """Instance and step: `root:escalate`."""
    choice: str
    note: str = ""


class Beat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that happens in every run of a demo, and what a viewer is told about it."""

    see: str
    """A pattern for a line of the run's log."""
    say: str
    kept_in: "Beat | None" = None
    """What happens instead if something keeps the agents to their files while they work."""

    def fitting(self, text: str) -> "Beat | None":
        """This, or what happens instead, if a line of the log is about it."""
        if fnmatchcase(text, self.see):
            return self
        return self.kept_in.fitting(text) if self.kept_in else None


class Demo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happens in a demo."""

    title: str
    run: str
    """What its run is called."""
    scenes: tuple[Beat, ...]
    further: tuple[tuple[str, str], ...]
    """Commands with which to look further, and what each of them shows."""
    answers: tuple[Answer, ...] = ()
    starts: tuple[str, ...] = ()
    """Patterns for instance and step (`root:review`): what waits for a person's go and gets it from the demo."""
    kill: str = ""
    """A pattern for the line of the log after which the driving process is killed."""


def demos() -> list[str]:
    """The protocols that have a demo."""
    return sorted(path.parent.name for path in DEMOS.glob(f"*/{_STORY}"))


def demo(name: str) -> Demo:
    """What happens in a protocol's demo."""
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
    committed(folder)


def committed(folder: Path) -> None:
    """Make a folder a repository whose first commit has all that is in it."""
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Start")):
        done = subprocess.run(
            [*_GIT, *words], cwd=folder, env=surroundings(), check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise TreadleError(
                f"`git {words[0]}` failed in {folder}: {done.stderr.strip() or done.stdout.strip()}", code="git.failed"
            )


def surroundings() -> Mapping[str, str]:
    """The environment without what would lead git to another repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
