"""σ₆: what is protected, and what people said about it."""

from tests.views.bank.banked import Banked, executed
from treadle.kernel.events import Replied

LEVELS = """\
# σ₆ Protection of run

## R1 Levels

| path | Ψ | a change |
| --- | --- | --- |
| `memory-bank/**` | Ψ6 | asks a person |
| `**/interfaces/**` | Ψ5 | asks a person |
| `**/interface.*` | Ψ5 | asks a person |
| `**/contracts/**` | Ψ5 | asks a person |
| `**/contract/**` | Ψ5 | asks a person |
| `**/*.proto` | Ψ5 | asks a person |
| `**/openapi.*` | Ψ5 | asks a person |
| `**/asyncapi.*` | Ψ5 | asks a person |
| `**/migrations/**` | Ψ4 | asks a person |
| `**` | Ψ2 | proceeds |

## R2 Confirmed

none

## R3 Open

none
"""


def test_the_whole_document() -> None:
    assert executed().view("protection") == LEVELS


def asked() -> Banked:
    found = executed()
    found.said["report:protection"] = {"report": "…", "paths": ["src/interfaces/a.py", "db/migrations/1.sql"]}
    return found.says("RC", fails=["protection"])


def test_a_confirmation_is_open_until_a_person_answers() -> None:
    found = asked()
    assert found.section("protection", 3).splitlines()[2:] == [
        "| src/interfaces/a.py | Ψ5 | root/TDD1 | 1970-01-01 00:00:14 UTC |",
        "| db/migrations/1.sql | Ψ4 | root/TDD1 | 1970-01-01 00:00:14 UTC |",
    ]
    assert found.section("protection", 2) == "none"
    found.said["note"] = "Only the comment."
    question = found.run.question()
    found.run.happens(Replied(id="r", ts=60_000, ask=question, choice="confirm", note_ref="note", actor="Ada"))
    assert found.section("protection", 3) == "none"
    assert found.section("protection", 2).splitlines()[2:] == [
        "| src/interfaces/a.py | Ψ5 | confirm | Ada | 1970-01-01 00:01:00 UTC | root/TDD1 | Only the comment. |",
        "| db/migrations/1.sql | Ψ4 | confirm | Ada | 1970-01-01 00:01:00 UTC | root/TDD1 | Only the comment. |",
    ]


def test_a_refused_confirmation_is_listed_and_an_aborted_one_is_not() -> None:
    refused = asked()
    refused.run.answers("refuse")
    assert "| src/interfaces/a.py | Ψ5 | refuse |" in refused.section("protection", 2)
    ended = asked()
    ended.run.signals("abort")
    assert ended.section("protection", 2) == ended.section("protection", 3) == "none"


def test_other_questions_are_not_listed() -> None:
    found = executed().says("RC", fails=["red"]).says("FailureReport")
    assert found.run.asked() == ["root:manual"]
    assert found.section("protection", 3) == "none"
