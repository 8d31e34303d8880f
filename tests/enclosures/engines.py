"""The fake engine on the PATH of a test, and containers of it."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.enclosures.fake_engine import IMAGE
from treadle.enclosures.container import Container, Engine
from treadle.toolchains import minder

FAKE = Path(__file__).with_name("fake_engine.py")


class FakeEngine(NamedTuple):
    folder: Path
    kind: str

    @property
    def program(self) -> str:
        return str(self.folder / "bin" / self.kind)

    def told(self, verb: str = "") -> list[list[str]]:
        """The command lines that it was given."""
        log = self.folder / "log"
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [line for line in lines if not verb or line[0] == verb]

    def running(self) -> list[str]:
        said = subprocess.run([self.program, "ps"], stdout=subprocess.PIPE, text=True, check=True)
        return said.stdout.split()

    def container(self, **more: Any) -> Container:
        engine = Engine(kind=self.kind, path=self.program)  # type: ignore[arg-type]
        return Container(**{"engine": engine, "image": "here", "id": IMAGE, "run": "run-1", **more})


@contextmanager
def fake_engine(kind: str = "docker", images: str = "here") -> Iterator[FakeEngine]:
    """An engine at work, its program in `bin` of its folder; what runs in it ends with it."""
    folder = Path(tempfile.mkdtemp(prefix="engine-"))  # a socket's path must be short
    (folder / "bin").mkdir()
    (folder / "images").write_text(images)
    (folder / "minder").write_text(str(minder.__file__))
    (folder / "programs").write_text(f"{sys.prefix}\n{sys.base_prefix}")
    program = folder / "bin" / kind
    start = f"import sys; sys.path.insert(0, {str(FAKE.parent)!r}); from fake_engine import *"
    program.write_text(f"#!{sys.executable} -IS\n{start}\nclient({kind!r}, Path({str(folder)!r}), sys.argv[1:])\n")
    program.chmod(0o755)
    pipe = subprocess.PIPE
    daemon = subprocess.Popen([sys.executable, "-IS", str(FAKE), "daemon", str(folder)], stdin=pipe, stdout=pipe)
    assert daemon.stdin is not None
    assert daemon.stdout is not None
    try:
        assert daemon.stdout.readline() == b"listening\n"
        yield FakeEngine(folder, kind)
    finally:
        daemon.stdin.close()
        daemon.stdout.close()
        daemon.wait()
        shutil.rmtree(folder, ignore_errors=True)
