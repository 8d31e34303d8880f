"""Credentials are refused in settings, and redacted in what is kept."""

import json
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from treadle.config.secrets import NO_REDACTION, names_a_secret, redaction_of, secret_in

# put together here, so that no scanner takes this file for a leak
SECRETS = [
    "sk-" + "ant-api03-" + "a" * 20,
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "x" * 30,
    "glpat-" + "y" * 20,
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "AIza" + "b" * 35,
    "xoxb-" + "1" * 12 + "-abc",
    "https://hooks." + "slack.com/services/T000/B000/XXX",
    "https://discord.com/api/" + "webhooks/123/abc",
    "12345678" + "9:" + "A" * 35,
    "eyJ" + "hbGciOiJIUzI1NiJ9." + "e30abcdefghij.c",
    "-----BEGIN RSA " + "PRIVATE KEY-----",
    "postgres://me:hunter2@" + "db/x",
    "curl -H 'Authorization: Bearer sk-" + "c" * 30 + "'",
]
HARMLESS = [
    "sk-learn",
    "pytest -k task-1",
    "https://example.org/hook",
    "tests/test_sk-short.py",
    "ghp_",
    "a:b@c",
    "opus",
]


@pytest.mark.parametrize("text", SECRETS)
def test_credentials_are_seen(text: str) -> None:
    assert secret_in(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_texts_are_no_secrets(text: str) -> None:
    assert secret_in(text) == ""


@pytest.mark.parametrize(
    ("word", "is_secret"),
    [
        ("api_key", True),
        ("OPENAI_API_KEY", True),
        ("token", True),
        ("my-password", True),
        ("tokens", False),
        ("key", False),
    ],
)
def test_names_of_credentials(word: str, is_secret: bool) -> None:
    assert names_a_secret(word) is is_secret


KEY = "sk-" + "lent-0123456789abcdef"
TOKEN = "renewed-" + "token-of-a-login-1"


class Said(msgspec.Struct, frozen=True):
    text: str
    more: tuple[str, ...] = ()
    number: int = 1


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "MY_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "apiKey"])
def test_a_variable_with_a_secrets_name_is_redacted_under_that_name(name: str) -> None:
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


@pytest.mark.parametrize("text", [f"API_KEY: {TOKEN}\nkind: one of some length\n", f"api_key = '{TOKEN}'\n"])
def test_a_login_may_be_written_line_by_line(text: str, tmp_path: Path) -> None:
    login = tmp_path / "secrets.yaml"
    login.write_text(text)
    assert TOKEN not in redaction_of({}, [login]).text(f"it is {TOKEN}")
    assert redaction_of({}, [login]).text("one of some length") == "one of some length"


def test_the_keys_of_headers_are_keys() -> None:
    hidden = redaction_of({"ANTHROPIC_CUSTOM_HEADERS": f"X-The-Team-That-Pays: shop\nAuthorization: Bearer {KEY}"})
    assert hidden.text(f"Bearer {KEY}") == "Bearer (redacted: ANTHROPIC_CUSTOM_HEADERS)"
    assert hidden.text("X-The-Team-That-Pays:") == "X-The-Team-That-Pays:"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_BEARER_TOKEN_BEDROCK", KEY),
        ("HTTPS_PROXY", f"http://me:{KEY}@proxy.example:3128"),
        ("ANTHROPIC_BASE_URL", f"https://{KEY}:{KEY}@gateway.example/v1"),
        ("OPENCODE_CONFIG_CONTENT", json.dumps({"provider": {"own": {"options": {"apiKey": KEY}}}})),
        ("OPENCODE_CONFIG_CONTENT", json.dumps({"headers": {"Authorization": f"Bearer {KEY}"}})),
    ],
)
def test_a_key_may_stand_in_a_variable_of_another_name(name: str, value: str) -> None:
    hidden = redaction_of({name: value})
    assert hidden.text(f"it is {KEY}") == f"it is (redacted: {name})"
    assert KEY not in hidden.text(value)
    assert (
        hidden.text("proxy.example:3128 gateway.example/v1 provider")
        == "proxy.example:3128 gateway.example/v1 provider"
    )


def test_a_variable_that_settings_take_a_key_from_is_redacted() -> None:
    assert redaction_of({"GATEWAY": KEY, "PLACE": KEY[::-1]}, named=["GATEWAY", "NOT_SET"]).text(
        f"{KEY}{KEY[::-1]}"
    ) == (f"(redacted: GATEWAY){KEY[::-1]}")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("config.toml", f'[model_providers.own]\nexperimental_bearer_token = "{KEY}"\nenv_key = "THE_KEY_OF_MY_OWN"'),
        ("config.toml", f'[model_providers.own]\nhttp_headers = {{Authorization = "Bearer {KEY}"}}'),
        ("config.toml", f'not = toml [\napi_key = "{KEY}"\n'),
        ("opencode.json", json.dumps({"a": {"apiKey": KEY}, "b": {"apiKey": "{env:THE_KEY_OF_MY_OWN}"}})),
    ],
)
def test_settings_may_hold_a_key_and_may_only_say_where_it_is(file: str, text: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text)
    hidden = redaction_of({}, [tmp_path / file])
    assert KEY not in hidden.text(f"it is {KEY}")
    assert hidden.text("THE_KEY_OF_MY_OWN {env:THE_KEY_OF_MY_OWN}") == "THE_KEY_OF_MY_OWN {env:THE_KEY_OF_MY_OWN}"


@pytest.mark.parametrize("key", [KEY, 'has "quotes" & /slashes/ and ümlauts'])
def test_encoded_keys_are_redacted_too(key: str) -> None:
    hidden = redaction_of({"A_KEY": key})
    data = key.encode()
    for form in (
        json.dumps(key),
        quote(key, safe=""),
        b64encode(data).decode(),
        b64encode(data + b"\n").decode(),
        urlsafe_b64encode(data).decode(),
        data.hex(),
        data.hex().upper(),
    ):
        assert "(redacted: A_KEY)" in hidden.text(form), form
        assert hidden.named_in(form.encode()) == ["A_KEY"]


def test_a_key_that_begins_another_leaves_no_rest_of_it() -> None:
    hidden = redaction_of({"A_KEY": KEY, "B_KEY": KEY + "-longer"})
    assert hidden.text(KEY + "-longer") == "(redacted: B_KEY)"


def test_a_short_value_is_not_redacted() -> None:
    assert redaction_of({"ANTHROPIC_API_KEY": "played", "OTHER_KEY": ""}) == NO_REDACTION
    assert NO_REDACTION.text("played") == "played"
    assert NO_REDACTION.named_in(b"played") == []
