import pytest

from treadle.config.secrets import names_a_secret, secret_in

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
def test_other_texts_are_not(text: str) -> None:
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
