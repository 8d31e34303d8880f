"""The output of `treadle` alone: the state of this folder, and the next steps. Reads names and first lines only.

People type it to look around, so it must be fast: modules that take long to import are imported only where needed.
"""

# pathlib takes longer to import than everything that is done here
# ruff: noqa: PTH112, PTH113, PTH118, PTH120, PTH123, PTH208

import os

from treadle.cli.project import OWN_FOLDER, bundled_parts, repository, root

ABOUT = " runs coding agents through test-first protocols, and verifies everything they claim.\n"
TOUR = (
    ("demo", "watch a protocol build a small library"),
    ("protocol list", "list the available protocols"),
    ("protocol sim v3", "simulate a protocol with random answers"),
)
SETTINGS = "treadle.toml"
DRIVEN = ("claude", "codex", "gemini", "opencode", "goose", "acp", "command", "manual", "scripted", "replay")
SHOWN = 3
"""The number of unfinished runs that are listed one by one."""
SPECS = ("spec.yaml", "spec.yml", "spec.md", "spec.json")
_GIT_TIMEOUT = 5.0


def welcome(before: str, after: str) -> str:
    """Describe this folder and the next commands; `before` and `after` mark the words that stand out."""
    here = CurrentFolder()
    commands = _next_commands(here)
    width = max(len(command) for command, _ in commands) + 4
    lines = (f"  {before}treadle {command}{after}{'':{width - len(command)}}{meaning}" for command, meaning in commands)
    seen = _describe(here)
    return "\n".join([f"{before}Treadle{after}{ABOUT}", *([*seen, ""] if seen else []), *lines, ""])


class CurrentFolder:
    """The facts about the project around this folder."""

    def __init__(self) -> None:
        self.repository, self.root = repository(), root()
        self.is_set_up = os.path.isfile(os.path.join(self.root, SETTINGS))
        self.has_commits = _has_commits(self.repository)
        self.protocol = dict(_settings("protocol")).get("default", "")
        self.has_agent = any(value.startswith(DRIVEN) for _, value in _settings("agents"))
        self.has_store = os.path.isfile(_own("local", "store.db"))
        self.problems = _problems()
        self.unfinished = _query("SELECT run, acts, asks FROM runs WHERE outcome = '' ORDER BY created DESC")
        ended = _query("SELECT run, outcome FROM runs WHERE outcome != '' ORDER BY created DESC LIMIT 50")
        prefix = dict(_settings("git")).get("branch_prefix", "treadle")
        self.undelivered = _undelivered(self.repository, prefix, ended) if ended else []


def _describe(here: CurrentFolder) -> list[str]:
    lines = []
    if not here.repository:
        lines.append("This folder is not in a git repository. Runs start in the git repository of your project.")
    elif not here.is_set_up:
        lines.append("This repository is not set up for runs yet.")
    elif not here.has_commits:
        lines.append(
            "This repository has no commit yet, and agents start from a commit: run `git add` and `git commit` first."
        )
    kinds = (("protocols", "protocol"), ("overlays", "overlay"), ("templates", "folder of templates"))
    inventory = [f"the {noun} {name.removesuffix('.yaml')}" for kind, noun in kinds for name in _names(kind)]
    if inventory:
        lines.append(f"This project has in {_own('')}: {', '.join(inventory)}.")
    for run, acts, asks in here.unfinished[:SHOWN]:
        does = "waits for your answer" if asks else "has open work" if acts else "waits"
        lines.append(f"Unfinished: the run {run}, which {does}.")
    if (more := len(here.unfinished) - SHOWN) > 0:
        lines.append(f"Unfinished too: {more} more {'run' if more == 1 else 'runs'}; `treadle runs` lists all of them.")
    lines += [f"Not delivered yet: the result of the run {run}." for run, _ in here.undelivered]
    if here.protocol and not here.has_store and os.path.isfile(os.path.join(here.root, ".ai", "STATE.json")):
        from treadle.cli.unfinished_stories import describe_stories_before_any_run

        lines += [f"{one}." for one in describe_stories_before_any_run()]
    lines += [f"Problem: {problem}." for problem in here.problems]
    return [line if line.isprintable() else ascii(line)[1:-1] for line in lines]  # a folder's name may hold anything


def _next_commands(here: CurrentFolder) -> list[tuple[str, str]]:
    found = [(f"status {_quote(str(run))}", "see its state, and how to continue it") for run, *_ in here.unfinished[:1]]
    for run, has_moved in here.undelivered[:1]:
        option = " --rebase" if has_moved else ""
        found.append((f"deliver {_quote(run)}{option}", "move your branch forward to its result"))
    if here.problems:
        found.append(("protocol check", "list the faults, with file and line"))
    if here.repository and not here.is_set_up:
        found.append(("init", "set up this project: its test commands and its agents"))
    if here.repository:
        found.append(("doctor", "check that everything a run needs is there"))

    # Without an agent that Treadle drives, a person is the agents.
    level, meaning = ("", "let agents build it") if here.has_agent else (" --level 0", "do the agents' work yourself")
    spec = next((name for name in SPECS if os.path.isfile(name)), "")
    if spec:
        found.append((f"spec check {spec}", "check whether a protocol accepts your spec"))
        found += [(f"run {spec}{level}", meaning)] if here.has_commits else []
    own = [name for name in _names("protocols") if os.path.isfile(_own("protocols", name, "protocol.yaml"))]
    if own:
        found.append((f"protocol show {_quote(own[0])}", "describe your own protocol"))
    if here.has_commits and here.protocol and not here.has_store:  # parts with a bundled input, before the first run
        shipped = os.path.join(os.path.dirname(os.path.dirname(__file__)), "protocols", here.protocol)
        folders = [path for path in (_own("protocols", here.protocol), shipped) if os.path.isdir(path)]
        parts = bundled_parts(folders[0]) if folders else {}
        found += [(f"run --only {part}{level}", words) for part, words in parts.items()]
    if not spec:
        found.append(("spec new", "describe what you want to build"))
    found += [] if here.is_set_up else TOUR
    if not own:
        found.append(("protocol new NAME", "write a protocol of your own"))
    return [*found, ("--help", "list all commands")]


def _quote(name: str) -> str:
    if name.replace("_", "").replace("-", "").isalnum() and name[0] != "-":
        return name
    from treadle.cli.guard import quote_word

    return quote_word(name)


def _settings(section: str) -> list[tuple[str, str]]:
    """Return the keys and values of a section of the settings."""
    at, found = "", []
    for line in _lines(os.path.join(root(), SETTINGS)):
        at = line.strip() if line.startswith("[") else at
        key, _, value = line.partition("=")
        if at == f"[{section}]" and not line.startswith("#"):
            found.append((key.strip(), value.partition("#")[0].strip().strip("\"'")))
    return found


def _has_commits(repository: str) -> bool:
    """Whether the current branch has a commit; True where only git itself could find out."""
    git = os.path.join(repository, ".git")
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


def _query(query: str) -> list[tuple[object, ...]]:
    """Query the store; return no rows if it is missing, locked or damaged."""
    path = _own("local", "store.db")
    if not os.path.isfile(path):
        return []
    import sqlite3

    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        db = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=0.2)
        try:
            return db.execute(query).fetchall()
        finally:
            db.close()
    except sqlite3.Error:
        return []


def _undelivered(top: str, prefix: str, ended: list[tuple[object, ...]]) -> list[tuple[str, bool]]:
    """Return the latest runs that ended well and whose result no branch of the user has, by a few quick git commands.

    The flag of each says whether the user's head has commits that the result lacks.
    """
    from treadle.git.ref_names import RESULT, slug
    from treadle.views.outcomes import is_good

    # The commit that was verified as the result, wherever a person has moved its branch; and the place where the work
    # of a run without a result branch comes together.
    verified, integrated = f"inst/root/{RESULT}", "root/int"
    space = f"refs/heads/{prefix}/"
    spaces = (space, f"refs/treadle/*/{integrated}", f"refs/treadle/*/{verified}")
    branches = _git(top, "for-each-ref", "--format=%(refname)", *spaces).split()
    apart = set(_git(top, "for-each-ref", "--no-merged=HEAD", "--format=%(refname)", *spaces).split())
    found: list[tuple[str, bool]] = []
    for run in (str(run) for run, outcome in ended if apart and is_good(str(outcome))):
        own = [f"refs/treadle/{slug(run)}/{verified}", f"{space}{slug(run)}/{RESULT}"]
        own += [f"{place}{slug(run)}/{integrated}" for place in ("refs/treadle/", space)]
        branch = next((name for name in own if name in branches), "")
        if branch not in apart:
            continue
        holders = _git(top, "for-each-ref", f"--contains={branch}", "--format=%(refname)", "refs/heads/").split()
        if any(not holder.startswith(space) for holder in holders):  # another branch of the user's has it
            continue
        if _git(top, "merge-tree", "--write-tree", "HEAD", branch) == _git(top, "rev-parse", "HEAD^{tree}") != "":
            continue  # the user has applied it by hand, as other commits
        found.append((run, _git(top, "rev-list", "--count", f"{branch}..HEAD") not in ("", "0")))
        if len(found) == SHOWN:
            break
    return found


def _git(folder: str, *words: str) -> str:
    """Return the output of a git command; empty if it fails."""
    import shutil
    import subprocess

    program = shutil.which("git")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "-C", folder, *words],
            capture_output=True, text=True, errors="replace", timeout=_GIT_TIMEOUT, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _problems() -> list[str]:
    """Return the problems that are visible without parsing a protocol."""
    folders = [_own("protocols", name) for name in _names("protocols") if name != "fragments"]
    bare = [path for path in folders if not os.path.isfile(os.path.join(path, "protocol.yaml"))]
    found = [f"{path} has no protocol.yaml" for path in bare]
    for name in _names("overlays"):
        path = _own("overlays", name)
        if not name.endswith(".yaml") or not os.path.isfile(path):
            found.append(f"{path} is not an overlay: the name of an overlay ends in .yaml")
        elif not any(line.startswith(("extends:", '"extends"')) for line in _lines(path)):
            found.append(f"{path} does not name the protocol that it extends")
    return found


def _names(kind: str) -> list[str]:
    try:
        found = os.listdir(_own(kind))
    except OSError:
        return []
    return sorted(name for name in found if name.isprintable() and not name.startswith(".") and name[-3:] != ".md")


def _own(*parts: str) -> str:
    return os.path.normpath(os.path.join(root(), OWN_FOLDER, *parts))
