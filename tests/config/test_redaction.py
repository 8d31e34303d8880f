"""What agents are lent is told by name, in text, bytes and data."""

import json
from pathlib import Path

import msgspec
import pytest

from treadle.config.redaction import NOTHING, redaction_of

KEY = "sk-" + "lent-0123456789abcdef"
TOKEN = "renewed-" + "token-of-a-login-1"


class Said(msgspec.Struct, frozen=True):
    text: str
    more: tuple[str, ...] = ()
    number: int = 1


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "MY_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "apiKey"])
def test_what_a_name_says_is_secret_is_told_by_that_name(name: str) -> None:
    hidden = redaction_of({name: KEY, "PATH": "/usr/bin:/bin:/usr/local/bin"})
    assert hidden.text(f"<{KEY}>") == f"<(redacted: {name})>"
    assert hidden.data(b"\xff" + KEY.encode()) == b"\xff" + f"(redacted: {name})".encode()
    assert hidden.text("/usr/bin:/bin:/usr/local/bin") == "/usr/bin:/bin:/usr/local/bin"


def test_data_is_searched_however_deep_it_is() -> None:
    hidden = redaction_of({"A_KEY": KEY})
    assert hidden.value({"a": [KEY, 1, None], KEY: True}) == {
        "a": ["(redacted: A_KEY)", 1, None],
        "(redacted: A_KEY)": True,
    }
    assert hidden.value(Said(KEY, (KEY,))) == Said("(redacted: A_KEY)", ("(redacted: A_KEY)",))


def test_the_tokens_of_a_login_are_known_too(tmp_path: Path) -> None:
    login = tmp_path / "auth.json"
    login.write_text(json.dumps({"oauth": {"accessToken": TOKEN, "kind": "a subscription of some kind"}}))
    hidden = redaction_of({}, [login, tmp_path / "none.json", tmp_path])
    assert hidden.text(f"{TOKEN} a subscription of some kind") == (
        "(redacted: accessToken of auth.json) a subscription of some kind"
    )


def test_one_key_that_begins_another_leaves_nothing_of_it() -> None:
    hidden = redaction_of({"A_KEY": KEY, "B_KEY": KEY + "-longer"})
    assert hidden.text(KEY + "-longer") == "(redacted: B_KEY)"


def test_a_word_that_may_stand_anywhere_is_no_key() -> None:
    assert redaction_of({"ANTHROPIC_API_KEY": "played", "OTHER_KEY": ""}) == NOTHING
    assert NOTHING.text("played") == "played"
    assert NOTHING.named_in(b"played") == []
