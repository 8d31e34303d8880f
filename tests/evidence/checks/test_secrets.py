"""No credential gets into the repository."""

from pathlib import Path

import pytest

from tests.evidence.stage import Stage, run
from treadle.evidence.checks.added_code import secret_kinds

TOKEN = "ghp_" + "a1B2" * 9
# Put together here, so that this file holds none of them.
REAL = [
    f"token = '{TOKEN}'",
    "key = 'AKIA" + "ABCDEFGH12345678'",
    "-----BEGIN RSA " + "PRIVATE KEY-----",
    "url = 'postgres://admin:" + "hunter2secret@db/prod'",
    "API_KEY = '" + "q8Zr7Lx0Vw2Tn5Yk'",
    "'sk-ant-" + "a1" * 15 + "'",
    "aws_secret_access_key = " + "wJalrXUt/K7MDENG/bPxRfiCYzZq8RtLm",
    "AWS_SECRET_ACCESS_KEY=" + "wJalrXUtK7MDENGbPxRfiCYzZq8RtLm",
    "export DB_PASSWORD=" + "Tr0ub4dor&3xyzzy9",
    "- `DB_PASSWORD: " + "Tr0ub4dor&3xyzzy9`",
]
HARMLESS = [
    "password = getpass()",
    "password = os.environ['PASSWORD']",
    'API_KEY = "your-api-key-goes-here"',
    "url = 'postgres://user:$PASSWORD@db/prod'",
    "token = 'aaaaaaaaaaaaaaaaaaaa'",
    "the private key is never stored",
    "token = parseBase64String",
    "secret = settings.secret_v2_value_of_all",
    "password=${DB_PASSWORD_2_OF_ALL}",
    "csrf_token = make_token_2(request)",
    "tokenUrl: https://auth.example.com/oauth2/v2/token",
    "token_file: /run/secrets/cart-app-2/token",
    "secret_name: prod/cart-app/db-2024",
    "- Token: expires-after-30-minutes",
    "access_token: {type: string, format: base64url}",
]


@pytest.mark.parametrize("line", REAL)
def test_credentials_are_detected(line: str) -> None:
    assert secret_kinds(line)


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_that_only_mentions_credentials_is_harmless(line: str) -> None:
    assert not secret_kinds(line)


def test_only_added_lines_count_and_the_credential_is_not_repeated(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files={"old.py": f"{REAL[0]}\n", "a.py": "x = 1\n"}).start()
        assert (await stage.claim("impl", "TestsPassed", {"a.py": "x = 2\n"}, checks="no_secrets")).report == ""
        files = {"a.py": f"x = 1\n\n{REAL[0]}\n", ".env": "A=1\n", ".env.example": "A=\n"}
        verdict = await stage.claim("impl", "TestsPassed", files, checks="no_secrets", n="2.1")
        assert sorted(stage.found(verdict, "no_secrets")) == [(".env", "secrets.file"), ("a.py:3", "secrets.value")]
        assert "GitHub token" in verdict.report
        assert TOKEN not in str(stage.payloads.values)

    run(story())
