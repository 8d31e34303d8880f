"""The real packages that Treadle is tried on: where each comes from, and where its code and its tests lie."""

from pathlib import Path
from typing import Final, Literal

import msgspec

from tools.node.install import CACHE

FOLDER: Final = CACHE / "real-projects"
COMMAND: Final = "make real-projects"
"""Installs them."""
RECORD: Final = "TREADLE_REAL_PROJECTS_RECORD"
"""Names a file to which stories add what they measured, one JSON document a line."""
PYTHON: Final = FOLDER / "python"
"""The environment in which the tests of all Python packages run."""
NODE: Final = FOLDER / "node"
"""Has `node`, a link to the program, and `node_modules`."""
GO: Final = FOLDER / "go"
"""Has `bin/go`, a link to the program."""

Language = Literal["python", "javascript", "go"]


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """One published version of a package."""

    name: str
    """Short: of tests, folders and tables."""
    language: Language
    registered: str
    """Its name in the registry of its language."""
    version: str
    target: str
    """Folder of its code."""
    tests: str
    """Folder of its tests."""
    suite: int
    """Tests that its suite has at least, so that an empty one is not taken for a quick one."""
    slow: bool = False
    """Whether its suite takes more than 10 seconds: then only `make soak-full` runs it."""
    leaves_out: tuple[str, ...] = ()
    """Files that need more than the pinned environment has."""
    sum: str = ""
    """Go's own hash of the module; those of other languages are in `sdists.txt` and `package-lock.json`."""

    @property
    def source(self) -> Path:
        """The package as its registry has it."""
        own = {
            "python": PYTHON / "sources" / f"{self.registered.replace('-', '_')}-{self.version}",
            "javascript": NODE / "node_modules" / self.registered,
            "go": GO / "sources" / f"{self.registered}@{self.version}",
        }
        return own[self.language]


PACKAGES: Final = (
    Package(
        name="boltons",
        language="python",
        registered="boltons",
        version="26.2.0",
        target="boltons",
        tests="tests",
        suite=500,
    ),
    Package(
        name="more-itertools",
        language="python",
        registered="more-itertools",
        version="11.2.1",
        target="more_itertools",
        tests="tests",
        suite=700,
        slow=True,
    ),
    Package(
        name="humanize",
        language="python",
        registered="humanize",
        version="4.17.0",
        target="src/humanize",
        tests="tests",
        suite=800,
        leaves_out=("tests/test_benchmarks.py",),
    ),
    Package(
        name="inflection",
        language="python",
        registered="inflection",
        version="0.5.1",
        target="inflection",
        tests="tests",
        suite=400,
    ),
    Package(
        name="merge-json-schemas",
        language="javascript",
        registered="@fastify/merge-json-schemas",
        version="0.2.2",
        target="lib",
        tests="test",
        suite=140,
    ),
    Package(
        name="uuid",
        language="go",
        registered="github.com/google/uuid",
        version="v1.6.0",
        target=".",
        tests="tests",
        suite=40,
        sum="h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=",
    ),
)
