"""What a merge has to pass, with real commands."""

import asyncio
import sys
from pathlib import Path

import pytest

from treadle.config.project import Project
from treadle.config.settings import Setting, Settings
from treadle.engines.merge_verifier import MergeVerifier
from treadle.evidence.project_tools import ProjectTools
from treadle.toolchains.toolchain import toolchain_of


def verifier(root: Path, **commands: str) -> MergeVerifier:
    said = {f"toolchain.{name}": (sys.executable, "-c", text) for name, text in commands.items()}
    settings = Settings({key: Setting(key, value) for key, value in said.items()})
    return MergeVerifier(ProjectTools(toolchain_of(settings.config(), Project(root))))


@pytest.mark.parametrize(("text", "ok"), [("", True), ("print('broken'); raise SystemExit(1)", False)])
def test_a_command_that_fails_refuses_and_shows_its_words(tmp_path: Path, text: str, ok: bool) -> None:
    tried = asyncio.run(verifier(tmp_path, build=text).build(tmp_path))
    assert (tried.ok, "broken" in tried.details) == (ok, not ok)


def test_what_the_project_has_no_command_for_cannot_fail_but_tests_must_be_there(tmp_path: Path) -> None:
    nothing = verifier(tmp_path)
    assert asyncio.run(nothing.build(tmp_path)).ok
    assert asyncio.run(nothing.contract(tmp_path)).ok
    assert not asyncio.run(nothing.suite(tmp_path)).ok


def test_tests_that_fail_refuse(tmp_path: Path) -> None:
    assert not asyncio.run(verifier(tmp_path, test="raise SystemExit(1)").suite(tmp_path)).ok
    assert asyncio.run(verifier(tmp_path, test="").suite(tmp_path)).ok


def test_a_test_that_changes_its_colour_is_noticed(tmp_path: Path) -> None:
    for name, code in (("green", 0), ("red", 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code").write_text(str(code))
    tools = verifier(tmp_path, test="raise SystemExit(int(open('code').read()))")
    tried = asyncio.run(tools.same_colour(tmp_path / "green", tmp_path / "red"))
    assert not tried.ok
    assert asyncio.run(tools.same_colour(tmp_path / "red", tmp_path / "red")).ok
