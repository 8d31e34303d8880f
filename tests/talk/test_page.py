"""What the page about talking says is so."""

import re

from tests.talk.shop import OVERLAY, RULES
from tools.places import DOCS
from treadle.talk.grammar import parse
from treadle.talk.intent import Intent

PAGE = (DOCS / "talking.md").read_text(encoding="utf-8")


def test_the_overlay_and_the_rules_are_those_that_the_conversation_is_held_with() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert blocks == [OVERLAY.lstrip(), RULES.lstrip()]


def test_everything_in_the_table_is_understood() -> None:
    rows = PAGE.partition("| say | does |")[2].partition("\n\n")[0].splitlines()[2:]
    said = [phrase for row in rows for phrase in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert len(said) > 20
    assert [phrase for phrase in said if not isinstance(parse(phrase), Intent)] == []
