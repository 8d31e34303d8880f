"""A HOME for each conversation: continued in place, copied on fork, with the user's login lent."""

import json
import os
import socket
from pathlib import Path

import msgspec
import pytest

from treadle.agents.one_shot import Conversation
from treadle.errors import PortError
from treadle.kernel.events import Usage
from treadle.ports import Work
from treadle.testing.runner_contract import make_work

LOGIN = (".agent/auth.json",)


def work_of(folder: Path, name: str = "one", **changes: object) -> Work:
    return msgspec.structs.replace(make_work(folder, folder), home=folder / "acts" / name, **changes)


def opened(folder: Path, name: str = "one", **changes: object) -> Conversation:
    work = work_of(folder, name, **changes)
    talk = Conversation.of(work)
    talk.open(work)
    return talk


def test_a_conversation_goes_on_where_it_was(tmp_path: Path) -> None:
    first = opened(tmp_path)
    (first.home / "transcript").write_text("hello")
    again = opened(tmp_path, "two", session=first.session_of("its-name"))
    assert (again.home, again.name) == (first.home, "its-name")
    assert (again.home / "transcript").read_text() == "hello"


def test_a_fork_gets_a_separate_copy(tmp_path: Path) -> None:
    first = opened(tmp_path)
    (first.home / "transcript").write_text("hello")
    (first.home / "link").symlink_to("transcript")
    with socket.socket(socket.AF_UNIX) as it:
        here = Path.cwd()
        os.chdir(first.home)
        try:
            it.bind("socket")
        finally:
            os.chdir(here)
        branch = opened(tmp_path, "two", session=first.session_of("its-name"), fork=True)
    (branch.home / "transcript").write_text("other")
    assert (first.home / "transcript").read_text() == "hello"
    assert (branch.home / "link").is_symlink()
    assert not (branch.home / "socket").exists()


def test_a_conversation_without_a_name_cannot_be_continued(tmp_path: Path) -> None:
    assert opened(tmp_path).session_of("") == ""


@pytest.mark.parametrize("session", ["../../elsewhere/x", "..", ".", "/etc/x"])
def test_no_session_leads_out_of_the_place_of_conversations(session: str, tmp_path: Path) -> None:
    place = tmp_path / "acts" / "conversations"
    assert Conversation.of(work_of(tmp_path, session=session)).folder.parent == place


def test_a_fork_of_an_unknown_conversation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PortError, match="conversations/gone"):
        opened(tmp_path, session="gone/x", fork=True)


def test_usage_counted_before_an_activity_is_remembered(tmp_path: Path) -> None:
    work, talk = work_of(tmp_path), opened(tmp_path)
    talk.begin_count(work)
    assert talk.counted_before(work) == Usage()
    talk.end_count(Usage(tokens_in=7))
    later = work_of(tmp_path, "two", session=talk.session_of("x"))
    Conversation.of(later).begin_count(later)
    assert Conversation.of(later).counted_before(later) == Usage(tokens_in=7)
    (talk.folder / "used.json").write_text("broken")
    Conversation.of(later).begin_count(later)
    assert Conversation.of(later).counted_before(later) == Usage()


def lent(folder: Path) -> tuple[Conversation, Path, Path]:
    """A conversation that has the login of a user; the user's file, and its copy."""
    talk, own = opened(folder), folder / "user" / LOGIN[0]
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps({"tokens": {"access": "old", "refresh": "old"}}))
    os.utime(own, ns=(1, 1))
    talk.lend(LOGIN, folder / "user")
    return talk, own, talk.home / LOGIN[0]


def test_a_lent_login_is_a_private_copy(tmp_path: Path) -> None:
    _, own, copy = lent(tmp_path)
    assert copy.read_bytes() == own.read_bytes()
    assert copy.stat().st_mode & 0o777 == 0o600


def test_a_login_is_never_lent_through_a_link(tmp_path: Path) -> None:
    talk, _, copy = lent(tmp_path)
    (tmp_path / "lane").mkdir()
    copy.unlink()
    copy.symlink_to(tmp_path / "lane" / "stolen")
    talk.lend(LOGIN, tmp_path / "user")
    copy.unlink()
    copy.parent.rmdir()
    copy.parent.symlink_to(tmp_path / "lane")
    talk.lend(LOGIN, tmp_path / "user")
    assert not any((tmp_path / "lane").iterdir())
    assert copy.is_file()


def test_a_renewed_login_comes_back(tmp_path: Path) -> None:
    talk, own, copy = lent(tmp_path)
    copy.write_text(json.dumps({"tokens": {"access": "new", "refresh": "new"}}))
    talk.hand_back(LOGIN, tmp_path / "user")
    assert json.loads(own.read_text())["tokens"]["access"] == "new"
    assert own.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "planted", ["{}", "no JSON", '{"tokens": {"access": "new", "refresh": "new"}, "hook": "rm"}', "[]"]
)
def test_a_login_of_another_shape_is_not_handed_back(planted: str, tmp_path: Path) -> None:
    talk, own, copy = lent(tmp_path)
    copy.write_text(planted)
    talk.hand_back(LOGIN, tmp_path / "user")
    assert "old" in own.read_text()


def test_a_newer_login_of_the_user_is_kept(tmp_path: Path) -> None:
    talk, own, copy = lent(tmp_path)
    copy.write_text(json.dumps({"tokens": {"access": "new", "refresh": "new"}}))
    later = copy.stat().st_mtime_ns + 10**9
    os.utime(own, ns=(later, later))
    talk.hand_back(LOGIN, tmp_path / "user")
    assert "old" in own.read_text()


def test_no_login_is_made_where_there_was_none(tmp_path: Path) -> None:
    talk, own, copy = lent(tmp_path)
    own.unlink()
    copy.write_text("{}")
    talk.hand_back(LOGIN, tmp_path / "user")
    assert not own.exists()
    copy.unlink()
    copy.symlink_to("/etc/passwd")
    own.write_text("{}")
    talk.hand_back(LOGIN, tmp_path / "user")
    assert own.read_text() == "{}"
