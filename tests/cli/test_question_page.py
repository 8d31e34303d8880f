"""What a run asks is read whole: open, and after it was answered."""

import pytest

from tests.cli.kept import Kept
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")
ASK = "root:confirm#1.1"


def asks(agent: str = "scripted:did.yaml") -> None:
    assert treadle("run", "chore.yaml", "-p", "ask", "--agent", agent).code == 3


def test_a_question_is_shown_with_the_activity_that_led_to_it_and_its_commands() -> None:
    asks()
    for out in (treadle("status").out, treadle("show", "sweep-1", ASK).out):
        assert "Is it done?" in out
        assert [text for text in ("root:work#1.1 ", "worker, accepted: Did") if text not in out] == []
    assert "answer sweep-1 root:confirm retry " in treadle("show", "sweep-1", "confirm").out
    document = treadle("show", "sweep-1", ASK, "--json").json()
    assert (document["question"]["by"], document["settled"], document["answer"]) == ("root:work#1.1", "", "")


def test_an_answer_is_shown_with_its_note() -> None:
    asks()
    treadle("answer", "sweep-1", "accept", "--note", "well swept")
    out = treadle("show", "sweep-1", ASK).out
    assert out.splitlines()[0].split(" · ") == [ASK, "Is it done?", "answered: accept"]
    assert "well swept" in out
    assert "treadle answer" not in out


def test_a_question_that_ended_with_its_run_was_withdrawn() -> None:
    asks()
    treadle("abort", "sweep-1")
    assert treadle("show", "sweep-1", ASK).out.splitlines()[0].split(" · ")[-1] == "withdrawn"


def test_a_long_question_is_cut_where_other_things_stand_beside_it(kept: Kept) -> None:
    folder = kept.root / ".treadle/protocols/ask"
    text = (folder / "protocol.yaml").read_text()
    (folder / "protocol.yaml").write_text(
        text.replace("title: Is it done?", "title: Is it done?\n        template: ask.jinja")
    )
    (folder / "templates/ask.jinja").write_text("{% for _ in range(99) %}line {{ loop.index }}\n{% endfor %}")
    asks()
    status, show = treadle("status").out, treadle("show", "sweep-1", ASK).out
    assert ("line 40\n" in status, "line 41\n" in status, "line 99\n" in show) == (True, False, True)
    assert f"show sweep-1 '{ASK}'`" in status


def test_commands_of_the_project_are_shown_with_their_root_filled_in(kept: Kept) -> None:
    (kept.root / "treadle.toml").write_text('[toolchain]\nkind = "command"\ntest = "{root}/check all"\n')
    folder = kept.root / ".treadle/protocols/ask"
    text = (folder / "protocol.yaml").read_text()
    (folder / "protocol.yaml").write_text(
        text.replace("title: Is it done?", "title: Is it done?\n        template: ask.jinja")
    )
    (folder / "templates/ask.jinja").write_text("run {{ toolchain.test }}\n")
    asks()
    for out in (treadle("status").out, treadle("show", ASK).out):
        assert f"{kept.root}/check all" in out


def test_the_log_names_the_question_and_its_choices() -> None:
    asks()
    (line,) = [line for line in treadle("log", "sweep-1").out.splitlines() if ASK in line]
    assert [text for text in ("Is it done?", "accept, retry, abort") if text not in line] == []
