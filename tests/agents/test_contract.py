"""The agent contract: what an agent sees of our environment, and whose answer is there."""

import json
import os
import sysconfig
from pathlib import Path

import pytest

from tests.refusals import refused
from treadle.agents.contract import clean_environment, has_answer, put_answer, put_file
from treadle.ports import Work
from treadle.testing.runner_contract import again, make_work


@pytest.fixture
def work(tmp_path: Path) -> Work:
    made = make_work(tmp_path, tmp_path)
    made.out.mkdir()
    return made


def test_an_answer_counts_for_its_own_session_only(work: Work) -> None:
    assert not has_answer(work)
    put_answer(work, {"type": "Ok"})
    assert has_answer(work)
    assert not has_answer(again(work))
    put_answer(again(work), {"type": "Ok"})
    assert not has_answer(work)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b"{}", json.dumps({"act": 1, "token": None}).encode()])
def test_a_malformed_answer_file_is_no_answer(data: bytes, work: Work) -> None:
    (work.out / "answer.json").write_bytes(data)
    assert not has_answer(work)


def test_a_link_is_no_answer(work: Work, tmp_path: Path) -> None:
    put_answer(work, {"type": "Ok"})
    (work.out / "answer.json").rename(tmp_path / "elsewhere")
    (work.out / "answer.json").symlink_to(tmp_path / "elsewhere")
    assert not has_answer(work)


def test_files_are_never_written_through_links(work: Work, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (work.out / "answer.json").symlink_to(tmp_path / "elsewhere")
    (work.out / ".answer.json.part").symlink_to(tmp_path / "elsewhere")
    put_answer(work, {"type": "Ok"})
    assert has_answer(work)
    assert (tmp_path / "elsewhere").read_text() == "mine"
    (work.home / "link").symlink_to(tmp_path)
    with refused("file.link"):
        put_file(work.home / "link", "file", b"")
    assert not (tmp_path / "file").exists()


def test_a_folder_that_cannot_be_made(work: Work) -> None:
    with refused("file.unwritable"):
        put_file(work.bundle / "prompt.md" / "below", "file", b"")


OURS = {
    "PATH": "/usr/bin::.:bin:/bin",
    "HOME": "/home/a",
    "LANG": "C",
    "API_KEY": "secret",
    "API_KEYS": "secrets",
    "LC_ALL": "C",
    "AWS_SECRET": "x",
    "LD_PRELOAD": "/evil.so",
}
SCRIPTS = sysconfig.get_path("scripts")


def test_only_allowed_variables_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", OURS)
    assert clean_environment() == {"PATH": f"/usr/bin:/bin:{SCRIPTS}", "HOME": "/home/a", "LANG": "C"}
    assert clean_environment(("API_KEY", "LC_*", "ABSENT")).keys() - clean_environment().keys() == {
        "API_KEY",
        "LC_ALL",
    }


def test_there_is_always_a_path_and_it_names_this_installation_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {})
    assert clean_environment()["PATH"].endswith(f":{SCRIPTS}")
    monkeypatch.setattr(os, "environ", {"PATH": f"{SCRIPTS}:/bin"})
    assert clean_environment()["PATH"] == f"{SCRIPTS}:/bin"
