"""What every role of these protocols is told, as files to read: `snapshots/<protocol>/<role>-<mode>-<when>.md`.

python -m tests.prompts.snapshots    writes them anew
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.prompts.stories import dptr, fractal, riper, v3
from tests.prompts.story import Story
from treadle.kernel.commands import AskHuman, RunAgent

FOLDER: Final = Path(__file__).parent / "snapshots"
COMMAND: Final = "python -m tests.prompts.snapshots"
FIRST: Final = "first"
PERSON: Final = "person"
STORIES: Final[Mapping[str, Callable[[], list[Story]]]] = {
    "v3": v3.stories,
    "fractal": fractal.stories,
    "dptr": dptr.stories,
    "riper": riper.stories,
}
_ANSWER: Final = "\n## How to answer\n"


def played() -> dict[str, list[Story]]:
    """The stories of each protocol, played."""
    return {name: stories() for name, stories in STORIES.items()}


def snapshots(stories: Mapping[str, list[Story]]) -> dict[str, str]:
    """Path below the folder → text. The ways to answer stand in the first of a role and mode, unless they differ."""
    texts: dict[str, str] = {}
    for protocol, runs in stories.items():
        shown = [(name, run.seen[name], text) for run in runs for name, text in run.shown.items()]
        firsts = {name: text for name, _, text in shown}
        for name, command, text in shown:
            assert name.startswith(f"{who(command)}-"), f"{name} is told to {who(command)}"
            path = f"{protocol}/{name}.md"
            assert path not in texts, f"{path} is told twice"
            texts[path] = _shortened(text, f"{who(command)}-{FIRST}", name, firsts)
    return texts


def who(command: RunAgent | AskHuman) -> str:
    """Role and mode of an agent; `person`."""
    if isinstance(command, AskHuman):
        return PERSON
    return f"{command.role}-{command.mode}" if command.mode else command.role


def _shortened(text: str, first: str, name: str, texts: Mapping[str, str]) -> str:
    task, heading, answer = text.partition(_ANSWER)
    same = name != first and first in texts and answer == texts[first].partition(_ANSWER)[2]
    return f"{task}{heading}\n(as in {first}.md)\n" if heading and same else text


def stale(wanted: Mapping[str, str]) -> Iterator[Path]:
    """Files that are missing, differ, or stand for nothing any more."""
    for name, text in wanted.items():
        path = FOLDER / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            yield path
    yield from (path for path in sorted(FOLDER.rglob("*.md")) if path.relative_to(FOLDER).as_posix() not in wanted)


def write(wanted: Mapping[str, str]) -> list[Path]:
    """Bring the files up to date; those that were touched."""
    touched = list(stale(wanted))
    for path in touched:
        text = wanted.get(path.relative_to(FOLDER).as_posix())
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return touched


if __name__ == "__main__":
    for one in write(snapshots(played())):
        sys.stdout.write(f"{one.relative_to(Path.cwd())}\n")
