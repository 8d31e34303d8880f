import pytest

from treadle.config import kinds
from treadle.config.kinds import Kind, Value

GOOD: list[tuple[Kind, object, Value]] = [
    (kinds.TEXT, "a b", "a b"),
    (kinds.FLAG, True, True),
    (kinds.MONEY, 3, 3.0),
    (kinds.MONEY, 0.5, 0.5),
    (kinds.whole(1), 1, 1),
    (kinds.SECONDS, 90, 90),
    (kinds.SECONDS, "90s", 90),
    (kinds.SECONDS, "10 m", 600),
    (kinds.SECONDS, "2h", 7200),
    (kinds.SIZE, "16MB", 16_000_000),
    (kinds.SIZE, "1 KiB", 1024),
    (kinds.choice("a", "b"), "b", "b"),
    (kinds.subset("a", "b"), ["b", "a", "b"], ("b", "a")),
    (kinds.COMMAND, "go test ./...", ("go", "test", "./...")),
    (kinds.COMMAND, "sh -c 'a && b'", ("sh", "-c", "a && b")),
    (kinds.COMMAND, "a '' b", ("a", "", "b")),
    (kinds.COMMAND, ["sh", "-c", "a | b > c", ""], ("sh", "-c", "a | b > c", "")),
    (kinds.COMMAND, "{root}/.venv/bin/python -m pytest # x", ("{root}/.venv/bin/python", "-m", "pytest", "#", "x")),
    (kinds.AGENT, "claude", "claude"),
    (kinds.AGENT, "command:  python3 agent.py ", "command:python3 agent.py"),
    (kinds.VARIABLES, ["A_KEY", "AWS_*", "A_KEY"], ("A_KEY", "AWS_*")),
    (kinds.URL, "https://example.org/x", "https://example.org/x"),
    (kinds.URL, "http://localhost:9000", "http://localhost:9000"),
    (kinds.URL, "env:MY_HOOK", "env:MY_HOOK"),
    (kinds.PREFIX, "bots/treadle", "bots/treadle"),
    (kinds.PATTERN, "build/**/*.xml", "build/**/*.xml"),
    (kinds.PATHS, ["./checks//unit/", "qa"], ("checks/unit", "qa")),
    (kinds.IMAGE, "registry.example.org:5000/a/b:1.2@sha256:ab", "registry.example.org:5000/a/b:1.2@sha256:ab"),
    (kinds.NETWORK, "filtered_net-1", "filtered_net-1"),
    (kinds.PLACES, ["/opt/tools", "{root}/.venv", "/opt/tools"], ("/opt/tools", "{root}/.venv")),
    (kinds.PRICES, "1.25 in, 10 out, 0.125 cached", "1.25 in, 10 out, 0.125 cached"),
    (kinds.PRICES, "1 in, 2 out", "1 in, 2 out"),
    (kinds.FOLDERS, ["~/.cache/uv", "/opt/models"], ("~/.cache/uv", "/opt/models")),
    (kinds.GLOBS, ["src/a/_version.py", "src/**/*.mo", "!**/x.mo"], ("src/a/_version.py", "src/**/*.mo", "!**/x.mo")),
]

BAD: list[tuple[Kind, object, str]] = [
    (kinds.IMAGE, "--privileged", "must name an image"),
    (kinds.IMAGE, "a b", "must name an image"),
    (kinds.NETWORK, "host", "everything that listens on this machine"),
    (kinds.NETWORK, "container:x", "must be `default`"),
    (kinds.NETWORK, "-x", "must be `default`"),
    (kinds.PLACES, "/opt", "must be a list, not text"),
    (kinds.PLACES, ["opt"], "write whole paths"),
    (kinds.PLACES, ["~/x"], "write whole paths"),
    (kinds.PLACES, ["/a/../b"], "write whole paths"),
    (kinds.PLACES, ["{root}"], "write whole paths"),
    (kinds.PLACES, ["/"], "write whole paths"),
    (kinds.FOLDERS, ["~"], "write whole paths"),
    (kinds.FOLDERS, ["/"], "write whole paths"),
    (kinds.FOLDERS, ["~root/x"], "write whole paths"),
    (kinds.FOLDERS, ["~/../x"], "write whole paths"),
    (kinds.GLOBS, ["/etc/passwd"], "is absolute"),
    (kinds.GLOBS, ["!../other/*.py"], "leaves its directory"),
    (kinds.GLOBS, [".git/config"], "lies inside .git"),
    (kinds.GLOBS, [".treadle/local/key"], "lies inside .treadle"),
    (kinds.GLOBS, ["src/.env.local"], "usually holds credentials"),
    (kinds.GLOBS, "src/a.py", "must be a list, not text"),
    (kinds.TEXT, 3, "must be text, not a whole number"),
    (kinds.TEXT, " ", "not empty"),
    (kinds.TEXT, "a\nb", "on one line"),
    (kinds.FLAG, 1, "must be true or false, not a whole number"),
    (kinds.MONEY, True, "must be a number, not true or false"),
    (kinds.MONEY, -1, "from 0 on"),
    (kinds.PRICES, 3, "must be text"),
    (kinds.PRICES, "1.25", "such as '1.25 in, 10 out, 0.125 cached'"),
    (kinds.PRICES, "1 out, 2 in", "such as"),
    (kinds.MONEY, float("nan"), "from 0 on"),
    (kinds.MONEY, float("inf"), "from 0 on"),
    (kinds.whole(1), 0, "must be at least 1"),
    (kinds.whole(1), 2**70, "is too large"),
    (kinds.whole(1), 1.0, "must be a whole number, not a number"),
    (kinds.whole(1), True, "not true or false"),
    (kinds.SECONDS, "soon", "must be seconds, or text such as 90s"),
    (kinds.SECONDS, -1, "must be seconds"),
    (kinds.SECONDS, "999999999999d", "must be seconds"),
    (kinds.SECONDS, 1.5, "must be seconds"),
    (kinds.SIZE, "3 apples", "must be bytes"),
    (kinds.choice("branch", "ask"), "branc", r"cannot be 'branc' \(did you mean 'branch'\?\)"),
    (kinds.choice("branch", "ask"), "zzz", "write one of branch, ask"),
    (kinds.subset("ask", "done"), "ask", "must be a list, not text"),
    (kinds.subset("ask", "done"), ["don"], "did you mean 'done'"),
    (kinds.COMMAND, "a && b", "without a shell"),
    (kinds.COMMAND, "a|b", "without a shell"),
    (kinds.COMMAND, "a > b", "without a shell"),
    (kinds.COMMAND, "a $(b)", "without a shell"),
    (kinds.COMMAND, "a 'b", "cannot be split into words"),
    (kinds.COMMAND, "'' b", "must name a program"),
    (kinds.COMMAND, [], "must name a program"),
    (kinds.COMMAND, ["a", 1], "must be a list of texts"),
    (kinds.COMMAND, ["a", "\0"], "must be a list of texts"),
    (kinds.COMMAND, 7, "must be text"),
    (kinds.COMMAND, "A=1 make", "env NAME=value"),
    (kinds.COMMAND, "~/bin/x", "path in full"),
    (kinds.AGENT, "command:a 'b", "cannot be split into words"),
    (kinds.AGENT, "command:a | b", "without a shell"),
    (kinds.AGENT, "claud", "did you mean 'claude'"),
    (kinds.AGENT, "claude:opus", "'claude' takes nothing after it"),
    (kinds.AGENT, "command:", "write `command:PROGRAM ARGS`"),
    (kinds.AGENT, "zzz", "agents are claude, codex, .*manual, command:…, "),
    (kinds.VARIABLES, ["A=b"], "not their values"),
    (kinds.VARIABLES, ["a b"], "not the name of a variable"),
    (kinds.VARIABLES, ["TREADLE_TOKEN"], "Treadle sets those itself"),
    (kinds.VARIABLES, "A", "must be a list"),
    (kinds.URL, "http://example.org", "https://"),
    (kinds.URL, "env:a b", "not the name of a variable"),
    (kinds.URL, "file:///etc/passwd", "https://"),
    (kinds.PREFIX, "-x", "beginning of a branch's name"),
    (kinds.PREFIX, "a//b", "beginning of a branch's name"),
    (kinds.PREFIX, "a..b", "two dots"),
    (kinds.PREFIX, "a.lock", "beginning of a branch's name"),
    (kinds.PATTERN, "/etc/*.xml", "inside the project"),
    (kinds.PATHS, ["../a"], "has a path that"),
    (kinds.PATHS, ["/a"], "is absolute"),
    (kinds.PATHS, ["tests/**"], "is a pattern; name a folder"),
    (kinds.PATTERN, "a/../../b", "inside the project"),
]


@pytest.mark.parametrize(("kind", "given", "value"), GOOD)
def test_a_valid_value_is_read_with_its_type(kind: Kind, given: object, value: Value) -> None:
    assert kind.read(given) == value
    assert type(kind.read(given)) is type(value)


@pytest.mark.parametrize(("kind", "given", "message"), BAD)
def test_an_invalid_value_is_refused(kind: Kind, given: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind.read(given)


@pytest.mark.parametrize(("kind", "given", "value"), GOOD)
def test_a_value_that_was_read_reads_back_as_itself(kind: Kind, given: object, value: Value) -> None:
    assert kind.read(value) == value, given


@pytest.mark.parametrize(
    ("text", "prices"),
    [("1.25 in, 10 out, 0.125 cached", (1.25, 10, 0.125)), (" 1 in, 2 out ", (1, 2)), ("", ()), ("-1 in, 2 out", ())],
)
def test_prices_are_parsed(text: str, prices: tuple[float, ...]) -> None:
    assert kinds.parse_prices(text) == prices
