from pathlib import Path

import pytest

from treadle.config.load import load_settings, user_file
from treadle.config.project import Project
from treadle.config.settings import Settings, Source
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

    def load(self, text: str | None = None, *changes: str, said: str = "") -> Settings:
        if text is not None:
            self.project.file.write_text(text)
        return load_settings(self.project, self.environ | {"TREADLE_SET": said}, changes)

    def refusal(self, text: str | None, *changes: str, said: str = "") -> str:
        with pytest.raises(TreadleError) as caught:
            self.load(text, *changes, said=said)
        return str(caught.value)


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
    assert settings.find("limits.agents").source is Source.COMMAND_LINE


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
def test_what_the_command_line_takes(home: Home, pair: str, key: str, value: object) -> None:
    assert home.load(None, pair).find(key).value == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[limits]\n\nagent = 3\n", "treadle.toml:3: limits.agent: there is no such key (did you mean 'agents'?)"),
        ("[limts]\nagents = 3\n", "treadle.toml:2: limts.agents: there is no such key (did you mean 'limits'?)"),
        ("[limits]\nagents = 'two'\n", "treadle.toml:2: limits.agents: must be a whole number, not text"),
        ("limits = 3\n", "treadle.toml:1: limits: must be a table, not a whole number (it holds agents"),
        ("models.strong = 'opus'\n", "treadle.toml:1: models.strong: must be a table, not text"),
        ("[limits.agents]\nmax = 1\n", "treadle.toml:2: limits.agents.max: there is no such key"),
        ("[limits]\nagents = {}\n", "treadle.toml:2: limits.agents: must be a whole number, not a table"),
        ("[[limits]]\nagents = 1\n", "treadle.toml:1: limits: must be a table, not a list"),
        ("[nonsense]\n", "treadle.toml:1: nonsense: there is no such key"),
        ('["a.b"]\nx = 1\n', "treadle.toml:2: a.b.x: there is no such key"),
        ('[agents]\n"a.b" = "claude"\n', "treadle.toml:2: agents.a.b: there is no such key"),
        (
            "[git]\nmerge = 'later'\n",
            "treadle.toml:2: git.merge: cannot be 'later' (write one of branch, ask, auto, never)",
        ),
        (
            "[environment]\napi_key = 'x'\n",
            "treadle.toml:2: environment.api_key: there is no such key, and credentials",
        ),
        (
            "[protocol.v3.protocol]\ndefault = 'x'\n",
            "treadle.toml:2: protocol.v3.protocol.default: there is no such key",
        ),
        (
            "[protocol.v3.limits]\nagent = 1\n",
            "protocol.v3.limits.agent: there is no such key (did you mean 'agents'?)",
        ),
        ("a = \n", "treadle.toml:1: this is not TOML: invalid value"),
        ("\n\n[limits]\nagents = 1\nagents = 2\n", "treadle.toml:5: this is not TOML: cannot overwrite a value"),
        ("x = '''\n\n", "treadle.toml:3: this is not TOML: expected"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ("a = " + "9" * 5000, "treadle.toml"),
    ],
)
def test_mistakes_are_told_with_their_lines(home: Home, text: str, message: str) -> None:
    assert message in home.refusal(text)


def test_all_mistakes_are_told_at_once(home: Home) -> None:
    home.user.write_text("[git]\nmerg = 'ask'\n")
    said = home.refusal("[limits]\nagent = 3\ndepth = true\n", "nonsense", "limits.depht=1", said="git.merge=x")
    assert said.startswith("there are mistakes in the settings\n")
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
    assert "this looks like an API key (keep it in an environment variable" in said
    assert KEY not in said
    assert KEY not in home.refusal("", f"models.strong.claude={KEY}")


def test_files_that_are_none(home: Home) -> None:
    home.project.file.mkdir()
    assert "treadle.toml is not a file" in home.refusal(None)
    home.project.file.rmdir()
    home.project.file.write_bytes(b"a = '\xff'")
    assert "treadle.toml is not UTF-8 at byte 5" in home.refusal(None)
    home.project.file.write_text("#" * 200_000)
    assert "more than 100000 bytes" in home.refusal(None)


def test_a_quotation_mark_that_is_not_closed(home: Home) -> None:
    assert "TREADLE_SET has a quotation mark" in home.refusal(None, said="a='b")


def test_odd_characters_do_not_reach_the_terminal(home: Home) -> None:
    assert "\x1b" not in home.refusal('"\\u001b[31m" = 1\n')
