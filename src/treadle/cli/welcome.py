"""What `treadle` alone says: what it sees here, and what to do next. Looks at names and first lines only."""

# pathlib takes longer to import than everything that is done here
# ruff: noqa: PTH113, PTH118, PTH123, PTH208

import os

from treadle.cli.project import OWN_FOLDER, repository, root

ABOUT = " drives coding agents through test-first protocols and believes nothing it has not checked itself.\n"
TOUR = (
    ("demo", "watch a protocol run from start to end"),
    ("protocol list", "the protocols that can be named here"),
    ("protocol sim v3", "run one against a random world"),
)
SETTINGS = "treadle.toml"
SPECS = ("spec.yaml", "spec.yml", "spec.md", "spec.json")


def welcome(before: str, after: str) -> str:
    """The text, with these around the words that are to stand out."""
    unfinished = _unfinished()
    commands = _next(unfinished)
    width = max(len(command) for command, _ in commands) + 4
    lines = (f"  {before}treadle {command}{after}{'':{width - len(command)}}{meaning}" for command, meaning in commands)
    return "\n".join([f"{before}Treadle{after}{ABOUT}", *_seen(unfinished), "", *lines, ""])


def _seen(unfinished: list[tuple[str, str]]) -> list[str]:
    lines = []
    if not repository():
        lines.append(
            "This folder is in no git repository: look around here, and start in the repository of your project."
        )
    elif not _is_set_up():
        lines.append("This repository is not set up for runs yet.")
    if found := _inventory():
        lines.append(f"This project has in {_own('')}: {found}.")
    lines += [f"Unfinished: the run {run}, which {does}." for run, does in unfinished]
    lines += [f"Problem: {problem}." for problem in _problems()]
    return [line if line.isprintable() else ascii(line)[1:-1] for line in lines]  # a folder's name may hold anything


def _word(name: str) -> str:
    if name.replace("_", "").replace("-", "").isalnum() and name[0] != "-":
        return name
    from treadle.cli.advice import word  # takes longer to import than everything else here

    return word(name)


def _next(unfinished: list[tuple[str, str]]) -> list[tuple[str, str]]:
    found = [(f"status {_word(run)}", "how it stands, and what moves it on") for run, _ in unfinished[:1]]
    found += [("protocol check", "what is wrong, with file and line")] if _problems() else []
    if repository() and not _is_set_up():
        found.append(("init", "set this project up: how it is tested, who its agents are"))
    if repository():
        found.append(("doctor", "whether everything that runs need is there"))
    spec = next((name for name in SPECS if os.path.isfile(name)), "")
    if spec:
        found.append((f"spec check {spec}", "whether a protocol takes what you wrote down"))
        found.append((f"run {spec}", "have it built"))
    own = [name for name in _names("protocols") if os.path.isfile(_own("protocols", name, "protocol.yaml"))]
    if own:
        found.append((f"protocol show {_word(own[0])}", "your own protocol, readable"))
    if not spec:
        found.append(("spec new", "write down what you want built"))
    found += [] if _is_set_up() else TOUR
    if not own:
        found.append(("protocol new NAME", "begin a protocol of your own"))
    return [*found, ("--help", "everything else")]


def _is_set_up() -> bool:
    return os.path.isfile(os.path.join(root(), SETTINGS))


def _inventory() -> str:
    kinds = (("protocols", "protocol"), ("overlays", "overlay"), ("templates", "folder of templates"))
    parts = [f"the {noun} {name.removesuffix('.yaml')}" for kind, noun in kinds for name in _names(kind)]
    return ", ".join(parts)


def _unfinished() -> list[tuple[str, str]]:
    """The latest runs that have not ended, and what each does; nothing if the store cannot be read at a glance."""
    path = _own("local", "store.db")
    if not os.path.isfile(path):
        return []
    import sqlite3  # nobody without a run has to wait for it

    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        db = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=0.2)
        try:
            rows = db.execute("SELECT run, acts, asks FROM runs WHERE outcome = '' ORDER BY created DESC LIMIT 3")
            return [(str(run), _does(acts, asks)) for run, acts, asks in rows]
        finally:
            db.close()
    except sqlite3.Error:
        return []


def _does(acts: int, asks: int) -> str:
    return "asks you something" if asks else "has work in hand" if acts else "waits"


def _problems() -> list[str]:
    """What can be seen to be wrong without reading a protocol."""
    folders = [_own("protocols", name) for name in _names("protocols") if name != "fragments"]
    bare = [path for path in folders if not os.path.isfile(os.path.join(path, "protocol.yaml"))]
    found = [f"{path} has no protocol.yaml" for path in bare]
    for name in _names("overlays"):
        path = _own("overlays", name)
        if not name.endswith(".yaml") or not os.path.isfile(path):
            found.append(f"{path} is no overlay: those are files that end in .yaml")
        elif not _says_extends(path):
            found.append(f"{path} does not say which protocol it extends")
    return found


def _says_extends(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return any(line.startswith((b"extends:", b'"extends"')) for line in file)
    except OSError:
        return False


def _names(kind: str) -> list[str]:
    try:
        found = os.listdir(_own(kind))
    except OSError:
        return []
    return sorted(name for name in found if name.isprintable() and not name.startswith(".") and name[-3:] != ".md")


def _own(*parts: str) -> str:
    return os.path.normpath(os.path.join(root(), OWN_FOLDER, *parts))
