"""What `treadle` alone says: what it sees here, and what to do next. Looks at names and first lines only."""

# pathlib takes longer to import than everything that is done here
# ruff: noqa: PTH112, PTH113, PTH118, PTH120, PTH123, PTH208

import os

from treadle.cli.brought import brought
from treadle.cli.project import OWN_FOLDER, repository, root

ABOUT = " drives coding agents through test-first protocols and believes nothing it has not checked itself.\n"
TOUR = (
    ("demo", "watch a protocol build something, from start to end"),
    ("protocol list", "the protocols that can be named here"),
    ("protocol sim v3", "run one against a random world"),
)
SETTINGS = "treadle.toml"
DRIVEN = ("claude", "codex", "gemini", "opencode", "goose", "acp", "command", "manual", "scripted", "replay")
SHOWN = 3
"""How many unfinished runs are told one by one."""
SPECS = ("spec.yaml", "spec.yml", "spec.md", "spec.json")


def welcome(before: str, after: str) -> str:
    """The text, with these around the words that are to stand out."""
    unfinished, waiting = _unfinished(), _undelivered()
    commands = _next(unfinished, waiting)
    width = max(len(command) for command, _ in commands) + 4
    lines = (f"  {before}treadle {command}{after}{'':{width - len(command)}}{meaning}" for command, meaning in commands)
    seen = _seen(unfinished, waiting)
    return "\n".join([f"{before}Treadle{after}{ABOUT}", *([*seen, ""] if seen else []), *lines, ""])


def _seen(unfinished: list[tuple[str, str]], waiting: list[tuple[str, bool]]) -> list[str]:
    lines = []
    if not repository():
        lines.append(
            "This folder is in no git repository: look around here, and start in the repository of your project."
        )
    elif not _is_set_up():
        lines.append("This repository is not set up for runs yet.")
    elif not _has_commits():
        lines.append("There is no commit yet, and agents start from one: `git add` and `git commit` come first.")
    if found := _inventory():
        lines.append(f"This project has in {_own('')}: {found}.")
    lines += [f"Unfinished: the run {run}, which {does}." for run, does in unfinished[:SHOWN]]
    if (more := len(unfinished) - SHOWN) > 0:
        lines.append(f"Unfinished too: {more} more {'run' if more == 1 else 'runs'}; `treadle runs` lists all of them.")
    lines += [f"Not taken over yet: the result of the run {run}." for run, _ in waiting]
    lines += [f"{one}." for one in _left_off()]
    lines += [f"Problem: {problem}." for problem in _problems()]
    return [line if line.isprintable() else ascii(line)[1:-1] for line in lines]  # a folder's name may hold anything


def _word(name: str) -> str:
    if name.replace("_", "").replace("-", "").isalnum() and name[0] != "-":
        return name
    from treadle.cli.advice import word  # takes longer to import than everything else here

    return word(name)


def _next(unfinished: list[tuple[str, str]], waiting: list[tuple[str, bool]]) -> list[tuple[str, str]]:
    found = [(f"status {_word(run)}", "how it stands, and what moves it on") for run, _ in unfinished[:1]]
    for run, has_moved in waiting[:1]:
        option = " --rebase" if has_moved else ""
        found.append((f"deliver {_word(run)}{option}", "move your branch forward to its result"))
    found += [("protocol check", "what is wrong, with file and line")] if _problems() else []
    if repository() and not _is_set_up():
        found.append(("init", "set this project up: how it is tested, who its agents are"))
    if repository():
        found.append(("doctor", "whether everything that runs need is there"))
    spec = next((name for name in SPECS if os.path.isfile(name)), "")
    if spec:
        found.append((f"spec check {spec}", "whether a protocol takes what you wrote down"))
        found += [_run(spec)] if _has_commits() else []
    own = [name for name in _names("protocols") if os.path.isfile(_own("protocols", name, "protocol.yaml"))]
    if own:
        found.append((f"protocol show {_word(own[0])}", "your own protocol, readable"))
    found += _beginnings() if _has_commits() else []
    if not spec:
        found.append(("spec new", "write down what you want built"))
    found += [] if _is_set_up() else TOUR
    if not own:
        found.append(("protocol new NAME", "begin a protocol of your own"))
    return [*found, ("--help", "everything else")]


def _beginnings() -> list[tuple[str, str]]:
    """What the protocol of this project begins with by itself, before there was any run."""
    name = _protocol()
    if not name or os.path.isfile(_own("local", "store.db")):
        return []
    shipped = os.path.join(os.path.dirname(os.path.dirname(__file__)), "protocols")
    folder = next((path for path in (_own("protocols", name), os.path.join(shipped, name)) if os.path.isdir(path)), "")
    level = "" if _has_agent() else " --level 0"
    return [(f"run --only {part}{level}", words) for part, words in brought(folder).items()] if folder else []


def _left_off() -> list[str]:
    """Stories that somebody has begun before there was any run."""
    state = os.path.join(root(), ".ai", "STATE.json")
    if not _protocol() or os.path.isfile(_own("local", "store.db")) or not os.path.isfile(state):
        return []
    from treadle.cli.left_off import before_any_run  # takes longer to import than everything else here

    return before_any_run()


def _protocol() -> str:
    """The protocol that the settings name."""
    return next((value for key, value in _settings("protocol") if key == "default"), "")


def _run(spec: str) -> tuple[str, str]:
    """What would start, as far as can be seen: without an agent that Treadle drives, a person is the agents."""
    return (f"run {spec}", "have it built") if _has_agent() else (f"run {spec} --level 0", "build it, as the agents")


def _has_agent() -> bool:
    """Whether the settings name an agent."""
    return any(value.startswith(DRIVEN) for _, value in _settings("agents"))


def _settings(section: str) -> list[tuple[str, str]]:
    """The lines of a section of the settings, each taken apart."""
    at, found = "", []
    for line in _lines(os.path.join(root(), SETTINGS)):
        at = line.strip() if line.startswith("[") else at
        key, _, value = line.partition("=")
        if at == f"[{section}]" and not line.startswith("#"):
            found.append((key.strip(), value.partition("#")[0].strip().strip("\"'")))
    return found


def _has_commits() -> bool:
    """Whether the current branch has a commit; yes where only git itself can tell."""
    git = os.path.join(repository(), ".git")
    head = next(iter(_lines(os.path.join(git, "HEAD"))), "").strip()
    if not head.startswith("ref: refs/heads/") or os.path.isdir(os.path.join(git, "reftable")):
        return True
    ref = head.removeprefix("ref: ")
    packed = (line.rstrip().endswith(f" {ref}") for line in _lines(os.path.join(git, "packed-refs")))
    return os.path.isfile(os.path.join(git, ref)) or any(packed)


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readlines()
    except OSError:
        return []


def _is_set_up() -> bool:
    return os.path.isfile(os.path.join(root(), SETTINGS))


def _inventory() -> str:
    kinds = (("protocols", "protocol"), ("overlays", "overlay"), ("templates", "folder of templates"))
    parts = [f"the {noun} {name.removesuffix('.yaml')}" for kind, noun in kinds for name in _names(kind)]
    return ", ".join(parts)


def _unfinished() -> list[tuple[str, str]]:
    """The runs that have not ended, the latest first, with what each does."""
    rows = _rows("SELECT run, acts, asks FROM runs WHERE outcome = '' ORDER BY created DESC")
    return [(str(run), _does(acts, asks)) for run, acts, asks in rows]


def _undelivered() -> list[tuple[str, bool]]:
    """The latest runs whose result waits for somebody to take it over, each with whether the branch has moved."""
    ended = _rows("SELECT run, outcome FROM runs WHERE outcome != '' ORDER BY created DESC LIMIT 50")
    if not ended:
        return []
    from treadle.cli.undelivered import undelivered  # nobody without a run that has ended has to wait for it

    prefix = next((value for key, value in _settings("git") if key == "branch_prefix"), "treadle")
    found = undelivered(repository(), prefix, [(str(run), str(outcome)) for run, outcome in ended])
    return [one for one, _ in zip(found, range(SHOWN), strict=False)]


def _rows(query: str) -> list[tuple[object, ...]]:
    """What the store says; nothing if that cannot be seen at a glance."""
    path = _own("local", "store.db")
    if not os.path.isfile(path):
        return []
    import sqlite3  # nobody without a run has to wait for it

    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        db = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=0.2)
        try:
            return db.execute(query).fetchall()
        finally:
            db.close()
    except sqlite3.Error:
        return []


def _does(acts: object, asks: object) -> str:
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
