"""Small repositories with a spec and scripted agents, in which a protocol can be watched at real work."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

from treadle.errors import TreadleError

DEMOS: Final = Path(__file__).parents[1] / "demos"
SPEC: Final = "spec.yaml"
SCRIPT: Final = "script.yaml"
_GIT: Final = ("git", "-c", "user.name=Treadle", "-c", "user.email=treadle@localhost", "-c", "commit.gpgsign=false")


def lay_out(name: str, folder: Path) -> None:
    """Make a folder the repository of a demo, with one commit; `treadle run spec.yaml` can follow."""
    if folder.exists() and any(folder.iterdir()):
        raise TreadleError(f"{folder} is not empty; name a new folder")
    shutil.copytree(DEMOS / name / "repository", folder, dirs_exist_ok=True)
    for file in (SPEC, SCRIPT):
        shutil.copyfile(DEMOS / name / file, folder / file)
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Start")):
        subprocess.run([*_GIT, *words], cwd=folder, check=True)
