"""The git folder of our own: the user's objects, and settings that nobody else has a say in."""

import os
import shutil
from pathlib import Path
from typing import Final

from treadle.errors import PortError, writing

NOT_RECORDED: Final = (".ai/executor-result", ".ai/HANDOFF.md", "HANDOFF.md", ".ai/STATE.json", ".treadle/local")
"""Answers, work orders and our own files; they are never part of an agent's work."""

_ATTRIBUTES: Final = "* -text -eol -filter -ident -working-tree-encoding !diff !merge -export-subst\n"
_CONFIG: Final = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tfilemode = true
\tsymlinks = true
\tignorecase = false
\tautocrlf = false
\tsafecrlf = false
\tprotectHFS = false
\tprotectNTFS = false
\ttrustctime = true
\tcheckStat = default
\tattributesFile = /dev/null
\texcludesFile = /dev/null
[index]
\tsparse = false
[merge]
\trenames = true
\tconflictStyle = merge
"""
_SHA256: Final = "[extensions]\n\tobjectFormat = sha256\n"
_MOST: Final = 1_000_000


def make_own_folder(own: Path, users: Path, form: str) -> None:
    """Make it, or bring it up to date: what the user keeps out of commits, and where a shallow history ends."""
    with writing(own):
        write_git_folder(own, own_config(form), "ref: refs/heads/none\n")
        (own / "info").mkdir(exist_ok=True)
        put(own / "info" / "attributes", _ATTRIBUTES)
        put(own / "info" / "exclude", _excluded(users))
        if (users / "shallow").is_file():
            shutil.copyfile(users / "shallow", own / "shallow")
        else:
            (own / "shallow").unlink(missing_ok=True)


def own_config(form: str) -> str:
    """Settings under which nothing is converted and nothing is run."""
    return _CONFIG.format(version=1 if form == "sha256" else 0) + (_SHA256 if form == "sha256" else "")


def write_git_folder(folder: Path, config: str, head: str) -> None:
    """The least that git takes for a repository."""
    if folder.is_symlink():
        raise PortError(
            f"{folder} is a link; remove it: Treadle writes only to folders inside the project", code="file.link"
        )
    for part in ("objects/info", "refs/heads"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    put(folder / "config", config)
    put(folder / "HEAD", head)


def put(path: Path, text: str) -> None:
    """Write a file at once; another process may be reading it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        draft.write_text(text, encoding="utf-8", errors="surrogateescape")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _excluded(users: Path) -> str:
    try:
        with (users / "info" / "exclude").open(encoding="utf-8", errors="surrogateescape") as file:
            theirs = file.read(_MOST)
    except OSError:
        theirs = ""
    return f"{theirs}\n" + "".join(f"/{name}\n" for name in NOT_RECORDED)
