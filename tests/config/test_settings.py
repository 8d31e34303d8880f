"""Settings of all sources: which value is in force, and the line of each mistake."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.config.project import Project
from treadle.config.settings import EffectiveSettings, SettingSource, lines_of, load_settings, user_file
from treadle.config.starter import toml_value
from treadle.errors import TreadleError

KEY = "sk-" + "ant-" + "a" * 24


class Home:
    """A project and a user's settings, both empty at first."""

    def __init__(self, place: Path) -> None:
        self.project = Project(place / "project")
        self.project.root.mkdir()
        self.environ = {"XDG_CONFIG_HOME": str(place / "xdg")}
        self.user = place / "xdg" / "treadle" / "config.toml"
        self.user.parent.mkdir(parents=True)

    def load(self, text: str | None = None, *changes: str, said: str = "") -> EffectiveSettings:
        if text is not None:
            self.project.file.write_text(text)
        return load_settings(self.project, self.environ | {"TREADLE_SET": said}, changes)

    def refusal(self, text: str | None, *changes: str, said: str = "") -> str:
        return str(self.error(text, *changes, said=said))

    def error(self, text: str | None, *changes: str, said: str = "") -> TreadleError:
        with pytest.raises(TreadleError) as caught:
            self.load(text, *changes, said=said)
        return caught.value


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_without_files_the_defaults_hold(home: Home) -> None:
    settings = home.load()
    config = settings.config()
    assert (config.protocol, config.agents, config.models) == ("v3", {"default": "claude"}, {})
    assert (config.git.merge, config.limits.depth, config.toolchain.test) == ("branch", None, ())
    assert {it.origin for it in settings.in_force()} == {"default"}
    assert load_settings(None, home.environ).config() == config


def test_each_source_wins_over_the_one_before_it(home: Home) -> None:
    home.user.write_text("[limits]\ndepth = 1\nchildren = 1\ninstances = 1\nagents = 1\n")
    text = "# mine\n[limits]\nchildren = 2\ninstances = 2\nagents = 2\n"
    settings = home.load(text, "limits.agents=4", said="limits.instances=3 limits.agents=3")
    limits = settings.config().limits
    assert (limits.depth, limits.children, limits.instances, limits.agents) == (1, 2, 3, 4)
    origins = {name: settings.find(f"limits.{name}").origin for name in ("depth", "children", "instances", "agents")}
    assert origins == {
        "depth": f"{home.user}:2",
        "children": "treadle.toml:3",
        "instances": "TREADLE_SET",
        "agents": "--set",
    }
    assert settings.find("limits.agents").source is SettingSource.COMMAND_LINE


def test_the_users_file_without_xdg() -> None:
    assert user_file({"HOME": "/home/me"}) == Path("/home/me/.config/treadle/config.toml")
    assert user_file({"HOME": "/home/me", "XDG_CONFIG_HOME": "relative"}).is_relative_to("/home/me")


def test_a_whole_file(home: Home) -> None:
    config = home.load(
        """
        [agents]
        default = "codex"
        tdd = "command:python3 'my agent.py'"
        [models]
        standard = { claude = "sonnet", codex = "gpt-5" }
        strong.claude = "opus"
        [toolchain]
        kind = "pytest"
        test = ["{root}/.venv/bin/python", "-m", "pytest"]
        lint = "ruff check ."
        [limits]
        wall = "8h"
        cost = 12.5
        output = "1MB"
        [notifications]
        bell = false
        on = ["ask"]
        [environment]
        pass = ["ANTHROPIC_API_KEY"]
        [git]
        merge = "ask"
        [protocol]
        default = "fractal"
        """
    ).config()
    assert config.agent_of("tdd") == "command:python3 'my agent.py'"
    assert config.agent_of("impl") == "codex"
    assert config.models == {"standard": {"claude": "sonnet", "codex": "gpt-5"}, "strong": {"claude": "opus"}}
    assert config.toolchain.command("test", root="/r") == ("/r/.venv/bin/python", "-m", "pytest")
    assert config.toolchain.lint == ("ruff", "check", ".")
    assert (config.limits.wall, config.limits.cost, config.limits.output) == (28_800, 12.5, 1_000_000)
    assert (config.notifications.bell, config.notifications.on) == (False, ("ask",))
    assert (config.environment.allowed, config.git.merge, config.protocol) == (("ANTHROPIC_API_KEY",), "ask", "fractal")


def test_settings_for_one_protocol(home: Home) -> None:
    text = '[limits]\nagents = 2\n[protocol.fractal.limits]\nagents = 5\n[protocol.fractal.agents]\nimpl = "codex"\n'
    settings = home.load(text)
    assert settings.config().limits.agents == settings.config("v3").limits.agents == 2
    assert settings.config("v3").agents == {"default": "claude"}
    assert settings.config("fractal").limits.agents == 5
    assert settings.config("fractal").agents == {"default": "claude", "impl": "codex"}
    assert settings.find("limits.agents", "fractal").origin == "treadle.toml:4"


def test_the_command_line_wins_over_a_protocols_own_settings(home: Home) -> None:
    text = "[protocol.fractal.limits]\nagents = 5\n"
    assert home.load(text, "limits.agents=1").config("fractal").limits.agents == 1
    assert home.load(text, "limits.agents=1", "protocol.fractal.limits.agents=7").config("fractal").limits.agents == 7


@pytest.mark.parametrize(
    ("pair", "key", "value"),
    [
        ("limits.agents=4", "limits.agents", 4),
        ("limits.wall=2h", "limits.wall", 7200),
        ("notifications.bell=false", "notifications.bell", False),
        ("agents.default=manual", "agents.default", "manual"),
        ('agents.default="manual"', "agents.default", "manual"),
        ("models.strong.claude=4", "models.strong.claude", "4"),
        ("toolchain.test=make test", "toolchain.test", ("make", "test")),
        ('toolchain.test=["make", "a b"]', "toolchain.test", ("make", "a b")),
        ('environment.pass=["A"]', "environment.pass", ("A",)),
        ("agents.tdd=command:x --a=b", "agents.tdd", "command:x --a=b"),
    ],
)
def test_the_command_line_takes_toml_or_plain_text(home: Home, pair: str, key: str, value: object) -> None:
    assert home.load(None, pair).find(key).value == value


@pytest.mark.parametrize(
    ("text", "code", "place", "hint"),
    [
        ("[limits]\n\nagent = 3\n", "config.unknown_key", ":3: limits.agent:", "'agents'"),
        ("[limts]\nagents = 3\n", "config.unknown_key", ":2: limts.agents:", "'limits'"),
        ("[limits]\nagents = 'two'\n", "config.value", ":2: limits.agents:", "a whole number, not text"),
        ("limits = 3\n", "config.value", ":1: limits:", "(it holds agents"),
        ("models.strong = 'opus'\n", "config.value", ":1: models.strong:", "a table, not text"),
        ("[limits.agents]\nmax = 1\n", "config.unknown_key", ":2: limits.agents.max:", "limits.agents is a value"),
        ("[limits]\nagents = {}\n", "config.value", ":2: limits.agents:", "not a table"),
        ("[[limits]]\nagents = 1\n", "config.value", ":1: limits:", "a table, not a list"),
        ("[nonsense]\n", "config.unknown_key", ":1: nonsense:", "treadle.toml has agents"),
        ('["a.b"]\nx = 1\n', "config.unknown_key", ":2: a.b.x:", ""),
        ('[agents]\n"a.b" = "claude"\n', "config.unknown_key", ":2: agents.a.b:", ""),
        ("[git]\nmerge = 'later'\n", "config.value", ":2: git.merge:", "branch, ask, auto, never"),
        ("[environment]\napi_key = 'x'\n", "config.secret", ":2: environment.api_key:", "`environment.pass`"),
        ("[protocol.v3.protocol]\ndefault = 'x'\n", "config.unknown_key", ":2: protocol.v3.protocol.default:", ""),
        ("[protocol.v3.limits]\nagent = 1\n", "config.unknown_key", ":2: protocol.v3.limits.agent:", "'agents'"),
        ("a = \n", "config.syntax", ":1: ", "invalid value"),
        ("\n\n[limits]\nagents = 1\nagents = 2\n", "config.syntax", ":5: ", "cannot overwrite a value"),
        ("x = '''\n\n", "config.syntax", ":3: ", "expected"),
        ("a = " + "[" * 5000, "config.syntax", ": ", ""),
        ("a = " + "9" * 5000, "config.syntax", "", ""),
    ],
)
def test_a_mistake_has_its_code_its_line_and_a_hint(home: Home, text: str, code: str, place: str, hint: str) -> None:
    error = home.error(text)
    assert error.code == code
    assert f"treadle.toml{place}" in str(error)
    assert hint in str(error)


def test_one_error_lists_all_mistakes(home: Home) -> None:
    home.user.write_text("[git]\nmerg = 'ask'\n")
    said = home.refusal("[limits]\nagent = 3\ndepth = true\n", "nonsense", "limits.depht=1", said="git.merge=x")
    assert len(said.splitlines()) == 7
    for part in (f"{home.user}:2: git.merg", "TREADLE_SET: git.merge", "--set: nonsense: is not KEY=VALUE", "'depth'"):
        assert part in said


@pytest.mark.parametrize(
    "text",
    [
        f'[models.strong]\nclaude = "{KEY}"\n',
        f'[unknown]\nkey = "{KEY}"\n',
        f'[toolchain]\ntest = ["curl", "-H", "x: {KEY}"]\n',
        f'[agents]\nx = {{ y = [{{ z = "{KEY}" }}] }}\n',
    ],
)
def test_credentials_are_refused_and_not_repeated(home: Home, text: str) -> None:
    said = home.refusal(text)
    assert "treadle.toml:2: " in said
    assert "an API key" in said
    assert KEY not in said
    assert KEY not in home.refusal("", f"models.strong.claude={KEY}")


def test_a_settings_file_that_cannot_be_read_is_refused(home: Home) -> None:
    home.project.file.mkdir()
    assert home.error(None).code == "config.unreadable"
    home.project.file.rmdir()
    home.project.file.write_bytes(b"a = '\xff'")
    assert home.error(None).code == "file.encoding"
    assert "byte 5" in home.refusal(None)
    home.project.file.write_text("#" * 200_000)
    assert home.error(None).code == "config.unreadable"


def test_a_quotation_mark_that_is_not_closed(home: Home) -> None:
    assert home.error(None, said="a='b").code == "config.syntax"


def test_odd_characters_do_not_reach_the_terminal(home: Home) -> None:
    assert "\x1b" not in home.refusal('"\\u001b[31m" = 1\n')


TRICKY = '''\
# [not.a.table] = 1

top = "# no comment"   # [nor.this]
"quoted key" = 1
a.b . c = """
[fake]
x = 1
"""
list = [
  1,  # ]
  2,
]
inline = { x = 1, y = { z = "}" } }
[t]
k = \'\'\'
\'\'\'
  [ t . "u v" ]
  k = [ { a = 1 } ]
[[rows]]
n = 1
[[rows]]
n = 2
'''


def test_each_statement_of_a_tricky_file_has_its_line() -> None:
    assert lines_of(TRICKY) == {
        ("top",): 3,
        ("quoted key",): 4,
        ("a",): 5,
        ("a", "b"): 5,
        ("a", "b", "c"): 5,
        ("list",): 9,
        ("inline",): 13,
        ("inline", "x"): 13,
        ("inline", "y"): 13,
        ("inline", "y", "z"): 13,
        ("t",): 14,
        ("t", "k"): 15,
        ("t", "u v"): 17,
        ("t", "u v", "k"): 18,
        ("t", "u v", "k", "a"): 18,
        ("rows",): 19,
        ("rows", "n"): 20,
    }


def test_line_ends_of_windows() -> None:
    assert lines_of("\r\n[a]\r\nb = 1\r\n") == {("a",): 2, ("a", "b"): 3}


def test_an_endless_statement_ends_the_search() -> None:
    assert lines_of("a = 1\nb = [\n" + "1,\n" * 5000 + "]\n") == {("a",): 1}


WORDS = st.text("abc_-09", min_size=1, max_size=4)
VALUES = st.one_of(st.integers(0, 99), st.booleans(), st.text(max_size=12), st.tuples(st.text(max_size=3)))


@given(st.dictionaries(WORDS, st.dictionaries(WORDS, VALUES, max_size=4), max_size=4))
def test_lines_of_gives_every_value_its_own_line(tables: dict[str, dict[str, int | bool | str | tuple[str]]]) -> None:
    lines: list[str] = []
    expected = {}
    for name, table in tables.items():
        lines += ["", f"[{name}]"]
        for key, value in table.items():
            lines.append(f"{key} = {toml_value(value)}")
            expected[name, key] = len(lines)
    text = "\n".join(lines)
    found = lines_of(text)
    assert {path: found[path] for path in leaves(tomllib.loads(text))} == expected


def leaves(tree: dict[str, dict[str, object]]) -> Iterator[tuple[str, str]]:
    yield from ((name, key) for name, table in tree.items() for key in table)


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n# words"])
def test_a_file_without_values_has_no_lines(text: str) -> None:
    assert lines_of(text) == {}
