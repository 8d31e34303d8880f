"""A run of this project, played once more from its log and its refs."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_checked_run import FILES, TURNS
from tests.cli.treadle import treadle

GIT = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")


def git(*words: str) -> str:
    return subprocess.run([*GIT, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the run `first`: a bug is reproduced, a lie about its fix is refused, the fix is accepted."""
    root = tmp_path_factory.mktemp("first")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for name, text in FILES.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text)
        agents = [{"step": step, "turns": it} for step, it in TURNS.items()]
        Path("play.yaml").write_text(json.dumps({"agents": agents}))
        for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "first")):
            git(*words)
        assert treadle("protocol", "new", "bugfix").code == 0
        assert treadle("spec", "new", "-p", "bugfix", "spec.yaml").code == 0
        assert run("first", "scripted:play.yaml")[0] == 0
    return root


@pytest.fixture
def recorded(first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that repository, to work in."""
    root = shutil.copytree(first, tmp_path / "copy", symlinks=True)
    monkeypatch.chdir(root)
    return root


def run(name: str, agent: str) -> tuple[int, list[str], str]:
    found = treadle("run", "spec.yaml", "-p", "bugfix", "--name", name, "--agent", agent)
    return found.code, [line for line in found.out.splitlines() if line.startswith("root: ")], found.err


def test_a_replay_takes_the_same_course_to_the_same_files(recorded: Path) -> None:
    (recorded / "play.yaml").unlink()
    code, lines, _ = run("second", "replay:first")
    assert code == 0
    assert [line for line in lines if line.startswith("root: fix · developer, attempt 2 ")], "refusals are played, too"
    assert git("rev-parse", "treadle/second/root/int^{tree}") == git("rev-parse", "treadle/first/root/int^{tree}")
    assert run("third", "replay:second")[:2] == (code, lines), "a replay is a recording too"


def test_a_recording_that_is_not_there(recorded: Path) -> None:
    code, _, error = run("second", "replay:frst")
    assert code == 2
    assert [text for text in ("'frst'", "'first'", "[run.unknown]") if text not in error] == []
    assert not list(recorded.glob(".treadle/local/runs/second"))


def test_files_that_are_gone_are_missed(recorded: Path) -> None:  # noqa: ARG001
    for ref in git("for-each-ref", "--format=%(refname)", "refs/treadle/first/").splitlines():
        git("update-ref", "-d", ref)
    code, _, _ = run("second", "replay:first")
    assert code != 0
    assert "files of step 'reproduce'" in treadle("show", "second", "root:reproduce#1.1").out
