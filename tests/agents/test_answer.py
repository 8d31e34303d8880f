"""Whether an answer is there, and of whom."""

import json
from pathlib import Path

import pytest

from treadle.agents.answer import answered, put_answer, put_file
from treadle.errors import PortError
from treadle.ports import Work
from treadle.testing.runner_contract import again, make_work


@pytest.fixture
def work(tmp_path: Path) -> Work:
    made = make_work(tmp_path, tmp_path)
    made.out.mkdir()
    return made


def test_an_answer_counts_for_its_own_session_only(work: Work) -> None:
    assert not answered(work)
    put_answer(work, {"type": "Ok"})
    assert answered(work)
    assert not answered(again(work))
    put_answer(again(work), {"type": "Ok"})
    assert not answered(work)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b"{}", json.dumps({"act": 1, "token": None}).encode()])
def test_what_only_lies_there_is_no_answer(data: bytes, work: Work) -> None:
    (work.out / "answer.json").write_bytes(data)
    assert not answered(work)


def test_a_link_is_no_answer(work: Work, tmp_path: Path) -> None:
    put_answer(work, {"type": "Ok"})
    (work.out / "answer.json").rename(tmp_path / "elsewhere")
    (work.out / "answer.json").symlink_to(tmp_path / "elsewhere")
    assert not answered(work)


def test_nothing_is_written_through_links(work: Work, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (work.out / "answer.json").symlink_to(tmp_path / "elsewhere")
    (work.out / ".answer.json.part").symlink_to(tmp_path / "elsewhere")
    put_answer(work, {"type": "Ok"})
    assert answered(work)
    assert (tmp_path / "elsewhere").read_text() == "mine"
    (work.home / "link").symlink_to(tmp_path)
    with pytest.raises(PortError, match="is a link"):
        put_file(work.home / "link", "file", b"")
    assert not (tmp_path / "file").exists()


def test_a_folder_that_cannot_be_made(work: Work) -> None:
    with pytest.raises(PortError, match="cannot be written"):
        put_file(work.bundle / "prompt.md" / "below", "file", b"")
