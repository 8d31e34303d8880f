from pathlib import Path

import pytest

from tests.cli.treadle import treadle

TEXT = "[limits]\nagents = 3\ncost = 2.50\n[toolchain]\ntest = \"make 'a b'\"\n[protocol.fractal.limits]\nagents = 5\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("TREADLE_SET", raising=False)
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    (root / "deep").mkdir()
    monkeypatch.chdir(root)
    return root


def test_without_a_file_the_defaults_are_shown() -> None:
    found = treadle("config")
    assert (found.code, found.err) == (0, "")
    assert "| agents.default | claude | default |" in found.out
    assert found.lacks("treadle.toml", "`treadle init`") == []


def test_each_setting_is_shown_with_its_source(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "treadle.toml").write_text(TEXT)
    monkeypatch.setenv("TREADLE_SET", "git.merge=ask")
    monkeypatch.chdir(project / "deep")
    out = treadle("config", "--set", "limits.depth=2").out
    for line in (
        "| limits.agents | 3 | ../treadle.toml:2 |",
        "| limits.cost | 2.5 | ../treadle.toml:3 |",
        "| limits.depth | 2 | --set |",
        "| git.merge | ask | TREADLE_SET |",
        "| protocol.fractal.limits.agents | 5 | ../treadle.toml:7 |",
    ):
        assert line in out
    assert "| limits.agents | 5 | ../treadle.toml:7 |" in treadle("config", "--protocol", "fractal").out


def test_the_toolchain_that_a_run_would_detect_is_shown(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    told = "`python3 -m pytest` and read it as pytest"
    assert told in treadle("config").out
    (project / "treadle.toml").write_text('[toolchain]\ntest = "make test"\n')
    assert "read it as" not in treadle("config").out


def test_one_key_prints_its_value(project: Path) -> None:
    (project / "treadle.toml").write_text(TEXT)
    assert treadle("config", "limits.agents").out == "3\n"
    assert treadle("config", "toolchain.test").out == "make 'a b'\n"
    assert treadle("config", "limits.agents", "-p", "fractal").out == "5\n"
    assert treadle("config", "protocol.fractal.limits.agents").out == "5\n"
    assert treadle("config", "protocol.v3.limits.agents").out == "3\n"
    assert treadle("config", "limits.depth").out == "\n"
    assert treadle("config", "limits.agents", "--json").json() == {
        "key": "limits.agents",
        "value": 3,
        "source": "project",
        "file": "treadle.toml",
        "line": 2,
        "schema": 1,
    }


def test_an_unknown_key() -> None:
    found = treadle("config", "limits.agnts")
    assert (found.code, found.out, found.error) == (2, "", "config.unknown_key")
    assert found.lacks("'limits.agnts'", "'limits.agents'") == []


def test_mistakes_in_the_file(project: Path) -> None:
    (project / "treadle.toml").write_text("[limits]\nagent = 3\n")
    found = treadle("config", "--json")
    error = found.json()["error"]
    assert (found.code, error["code"]) == (2, "config.unknown_key")
    assert [(it["file"], it["line"], it["where"], it["code"]) for it in error["findings"]] == [
        ("treadle.toml", 2, "limits.agent", "config.unknown_key")
    ]
    assert "'agents'" in error["findings"][0]["hint"]
    assert (treadle("config").code, treadle("config").error) == (2, "config.unknown_key")


def test_json_is_everything(project: Path) -> None:
    (project / "treadle.toml").write_text(TEXT)
    told = {it["key"]: it for it in treadle("config", "--json").json()["settings"]}
    assert told["limits.agents"]["value"] == 3
    assert told["toolchain.test"]["value"] == ["make", "a b"]
    assert told["limits.depth"] == {
        "key": "limits.depth",
        "value": None,
        "source": "default",
        "file": None,
        "line": None,
    }
    assert told["protocol.fractal.limits.agents"]["line"] == 7


def test_every_key_is_explained() -> None:
    rows = [line.strip("| ").split(" | ") for line in treadle("config", "--keys").out.splitlines() if "| " in line]
    [agents] = [row for row in rows if row[0] == "limits.agents"]
    assert (len(agents), agents[2]) == (4, "–")
    assert all(row[-1] for row in rows)
    assert {it["key"] for it in treadle("config", "--keys", "--json").json()["keys"]} >= {
        "agents.ROLE",
        "environment.pass",
    }
