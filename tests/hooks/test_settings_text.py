"""Settings of which only one part is written anew."""

import json
from typing import Any

import pytest

from treadle.hooks.settings_text import rewritten

OTHERS = '{\n    "permissions": {"allow": ["Bash(ls)"]},\n    "model":"x"\n}\n'
HOOKS = {"Stop": [{"hooks": [{"type": "command", "command": "treadle hook"}]}]}


def test_what_is_not_ours_stays_letter_by_letter() -> None:
    settings: dict[str, Any] = {**json.loads(OTHERS), "hooks": HOOKS}
    put_in = rewritten(OTHERS, settings, "hooks")
    assert json.loads(put_in) == settings
    assert put_in.startswith(OTHERS.removesuffix("\n}\n"))
    assert '\n    "hooks": {\n        "Stop": [' in put_in
    other = rewritten(put_in, {**settings, "hooks": {"Stop": []}}, "hooks")
    assert other.startswith(OTHERS.removesuffix("\n}\n"))
    assert rewritten(put_in, json.loads(OTHERS), "hooks") == OTHERS, "and taken out again, it is what it was"


@pytest.mark.parametrize(
    "before", ["", "{}", "{ }\n", "\ufeff{}", '{"hooks": {}}', '{"hooks": {}, "model": "x"}', "[1"]
)
def test_whatever_was_there_the_result_says_what_it_has_to(before: str) -> None:
    known: dict[str, Any] = {"model": "x"} if "model" in before else {}
    for settings in ({"hooks": HOOKS} | known, known):
        assert json.loads(rewritten(before, settings, "hooks")) == settings
