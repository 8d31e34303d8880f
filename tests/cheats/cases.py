"""Agents that are played, one file each: what a file's first lines say about it."""

import re
from pathlib import Path
from typing import Final

import msgspec

HERE: Final = Path(__file__).parent
_LINE: Final = re.compile(r"#\s*(cheat|honest|harmless|family|expects|advice|world|instance|touches|until):\s*(.+?)\s*")
_KINDS: Final = {"dishonest": "cheat", "honest": "honest", "harmless": "harmless"}
"""Folder → the word that its files begin with."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One agent, and what must become of it."""

    file: Path
    step: str
    """The step that it plays, after the folder it lies in."""
    what: str
    """What it does, in a sentence."""
    family: str
    """What kind of thing it does."""
    expects: tuple[str, ...] = ()
    """Words that its refusal must have; `WORDS [code]` asks for words and code in one line."""
    advice: tuple[str, ...] = ()
    """Words that the notes for the reviewer must have; the agent itself is not refused."""
    world: str = "leaf"
    instance: str = "root"
    """Whose step it plays, in a world with several."""
    touches: tuple[str, ...] = ()
    """What of the user's own it changes with the user's rights, so that nothing but telling helps."""
    until: str = ""
    """The step whose exit ends the play, if it is not its own."""

    @property
    def name(self) -> str:
        return f"{self.step}/{self.file.stem}"


def cases(kind: str) -> list[Case]:
    """All cases of a folder, by name."""
    files = [path for path in (HERE / kind).glob("*/*") if path.suffix in (".yaml", ".py")]
    return [read_case(file) for file in sorted(files)]


def read_case(file: Path) -> Case:
    """A case from the comment that its file begins with; an `AssertionError` says what is missing there."""
    said: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        if match := _LINE.fullmatch(line):
            said.setdefault(match[1], []).append(match[2])
    kind = _KINDS[file.parts[-3]]
    what = said.get(kind, [])
    told = bool(said.get("expects")) + bool(said.get("advice"))
    assert len(what) == 1, f"{file}: its first lines say what it does, `# {kind}: …`"
    assert len(said.get("family", ())) == 1, f"{file}: its first lines name its kind, `# family: …`"
    assert told == 1 or kind != "cheat", f"{file}: a cheat has `# expects: …` or `# advice: …`"
    assert not (kind == "harmless" and said.get("expects")), f"{file}: what has no effect is not refused"
    return Case(
        file=file,
        step=file.parent.name,
        what=what[0],
        family=said["family"][0],
        expects=tuple(said.get("expects", ())),
        advice=tuple(said.get("advice", ())),
        world=said.get("world", ["leaf"])[0],
        instance=said.get("instance", ["root"])[0],
        touches=tuple(said.get("touches", ())),
        until=said.get("until", [""])[0],
    )
