"""What an agent leaves is kept without the keys that it was lent; nothing else is touched."""

import os
from pathlib import Path

import pytest

from treadle.config.redaction import NOTHING, redaction_of
from treadle.ports import Work
from treadle.results import prepare
from treadle.runtime.cleansing import cleanse
from treadle.testing.runner_contract import make_work

KEY = "sk-" + "lent-0123456789abcdef"
HIDDEN = redaction_of({"SERVICE_KEY": KEY})
LONG_AGO = 1_000_000_000


@pytest.fixture
def work(tmp_path: Path) -> Work:
    lane = tmp_path / "lane"
    (lane / "src").mkdir(parents=True)
    made = make_work(tmp_path, lane)
    (made.home / "agent" / "0").mkdir(parents=True)
    made.out.mkdir(parents=True, exist_ok=True)
    (made.home / prepare.FILE).write_text("{}")
    return made


def test_a_key_in_the_lane_is_replaced_and_told(work: Work) -> None:
    script = work.lane / "src" / "run.sh"
    script.write_text(f"#!/bin/sh\ncurl -H 'x-api-key: {KEY}'\n")
    script.chmod(0o755)
    os.utime(script, (LONG_AGO, LONG_AGO))  # an agent can say what it likes about when it wrote
    assert cleanse(work, HIDDEN) == ["src/run.sh held the value of SERVICE_KEY"]
    assert script.read_text() == "#!/bin/sh\ncurl -H 'x-api-key: (redacted: SERVICE_KEY)'\n"
    assert script.stat().st_mode & 0o777 == 0o755


def test_what_an_agent_wrote_before_it_was_told_to_go_on_is_cleansed_as_well(work: Work) -> None:
    (work.lane / "notes.txt").write_text(KEY)
    later(work.lane / "notes.txt", work.home / "work.json")
    assert cleanse(work, HIDDEN) == ["notes.txt held the value of SERVICE_KEY"]


def test_what_was_there_before_is_the_users_own(work: Work) -> None:
    (work.lane / "fixture.txt").write_text(KEY)
    later(work.lane / "fixture.txt", work.home / prepare.FILE)
    assert cleanse(work, HIDDEN) == []
    assert (work.lane / "fixture.txt").read_text() == KEY


def later(than: Path, path: Path) -> None:
    """Write a file, by the clock of the file system later than another one."""
    path.write_text("{}")
    while path.stat().st_ctime_ns <= than.stat().st_ctime_ns:
        path.write_text("{}")


def test_answers_and_output_are_kept_without_it(work: Work) -> None:
    left = [work.out / "answer.json", work.home / "agent" / "0" / "stdout"]
    for path in left:
        path.write_bytes(b'{"said": "' + KEY.encode() + b'", "odd": "\xff"}')
    assert cleanse(work, HIDDEN) == []
    assert all(path.read_bytes() == b'{"said": "(redacted: SERVICE_KEY)", "odd": "\xff"}' for path in left)


def test_what_lies_elsewhere_stays_as_it_is(work: Work, tmp_path: Path) -> None:
    users, linked = tmp_path / "auth.json", tmp_path / "other.json"
    for path in (users, linked):
        path.write_text(KEY)
    (work.lane / "link").symlink_to(users)
    (work.lane / "hard").hardlink_to(linked)
    (work.lane / "folder").symlink_to(tmp_path)
    os.mkfifo(work.lane / "pipe")
    (work.lane / ".git").mkdir()
    (work.lane / ".git" / "config").write_text(KEY)
    assert cleanse(work, HIDDEN) == ["hard held the value of SERVICE_KEY"]
    assert (users.read_text(), linked.read_text(), (work.lane / ".git" / "config").read_text()) == (KEY, KEY, KEY)
    assert KEY not in (work.lane / "hard").read_text()


def test_without_keys_nothing_is_looked_at(work: Work) -> None:
    (work.lane / "a").write_text(KEY)
    assert cleanse(work, NOTHING) == []
    assert (work.lane / "a").read_text() == KEY
