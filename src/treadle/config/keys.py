"""Every key of `treadle.toml`: what kind of value it takes, what it is if nobody says, and what it means."""

from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.config import kinds
from treadle.config.kinds import Kind, Value
from treadle.protocol.checks.declarations import TOOLCHAIN


class Key(msgspec.Struct, frozen=True):
    """A key with its documentation; a part in capitals (`agents.ROLE`) stands for any name."""

    name: str
    kind: Kind
    help: str
    default: Value = None
    """None: not set."""

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))

    @property
    def is_open(self) -> bool:
        """Whether a part of it can be any name."""
        return any(part.isupper() for part in self.parts)

    def fits(self, path: tuple[str, ...]) -> bool:
        return len(path) == len(self.parts) and all(
            mine.isupper() or mine == theirs for mine, theirs in zip(self.parts, path, strict=True)
        )


SECTIONS: Final = {
    "agents": "Who does the work.",
    "models": "Which model each tier of a protocol's roles means.",
    "prices": "What tokens cost, where an agent does not tell it itself.",
    "toolchain": "How this project is built, tested and looked over. Commands run in a checkout, without a shell; "
    "`{root}` stands for your own checkout.",
    "workspace": "Where agents and checks run: on this machine, or in containers.",
    "limits": "What a run may use. Where nothing is said, the protocol's own limits hold.",
    "notifications": "How people hear about a run.",
    "environment": "What of your environment agents may see.",
    "git": "What happens to branches.",
    "protocol": "Which protocol runs, and settings that hold for one protocol only.",
}

_COMMANDS: Final = {
    "build": "Makes sure that the code compiles or imports.",
    "test": "Runs all tests; `{report}` in it stands for a fresh file that is to hold JUnit results.",
    "contract": "Runs the contract suite.",
    "lint": "The linter; it must fail if it finds something.",
    "format": "The formatter in its checking mode; it must fail if it finds something.",
    "api_dump": "Prints what is exported as JSON (`{NAME: SIGNATURE}`), for languages that Treadle cannot read itself.",
    "collect": "Lists the tests without running them, one a line. `pytest` and `gotest` need none, and without one "
    "`junit` runs the tests to list them.",
    "interface": "Prints the interface files' signatures.",
}

EVENTS: Final = ("ask", "reminder", "refused", "limit", "outage", "part", "failed", "done")
"""What people can be told about."""

KEYS: Final = (
    Key("agents.default", kinds.AGENT, "The agent of every role that has none of its own.", "claude"),
    Key("agents.ROLE", kinds.AGENT, "The agent of one role of a protocol, such as `tdd` or `impl`."),
    Key("models.TIER.AGENT", kinds.TEXT, "The model that an agent uses for a tier: `models.strong.claude`."),
    Key(
        "prices.AGENT",
        kinds.PRICES,
        "US dollars for a million tokens that go in, come out and, if that is less, come from the cache: "
        "`prices.codex = '1.25 in, 10 out, 0.125 cached'`. Limits in money need it for agents that tell no price.",
    ),
    Key(
        "toolchain.kind",
        kinds.choice("pytest", "junit", "gotest", "command"),
        "How results are read: test by test, or (`command`) from the exit code alone.",
        "command",
    ),
    *(Key(f"toolchain.{name}", kinds.COMMAND, _COMMANDS[name]) for name in TOOLCHAIN),
    Key("toolchain.report", kinds.PATTERN, "Where `test` leaves JUnit files, if it cannot write to `{report}`."),
    Key(
        "toolchain.test_paths",
        kinds.PATHS,
        "Folders and files that belong to the tests, besides those whose names say so.",
        (),
    ),
    Key(
        "toolchain.plugins",
        kinds.NAMES,
        "pytest plugins, by the names that `pytest11` has for them, to load besides the well-known ones.",
        (),
    ),
    Key(
        "toolchain.mirrors",
        kinds.whole(0),
        "pytest: of how many tests a copy that expects something else is run, and must fail; 0: of none.",
        10,
    ),
    Key("toolchain.reruns", kinds.whole(0), "How often a failing test is run again, to tell a flaky one.", 2),
    Key(
        "toolchain.flaky",
        kinds.choice("refuse", "accept"),
        "Whether work with a flaky test is refused; accepted or not, such a test is named and counts as no proof.",
        "refuse",
    ),
    Key(
        "toolchain.unsafe_imports",
        kinds.NAMES,
        "Modules that `unsafe_imports` points out besides its own list: `requests`, or for one language `go:net/http`; "
        "`!ctypes` leaves one of the list alone.",
        (),
    ),
    Key("toolchain.timeout", kinds.SECONDS, "How long one of these commands may take.", 600),
    Key(
        "workspace.driver",
        kinds.choice("worktree", "container"),
        "Agents and the toolchain's commands run on this machine, or each in a container of its own.",
        "worktree",
    ),
    Key("workspace.engine", kinds.choice("auto", "docker", "podman"), "What runs the containers.", "auto"),
    Key(
        "workspace.image",
        kinds.IMAGE,
        "The image of all containers; it has the programs of the agents and of the toolchain.",
    ),
    Key(
        "workspace.mounts",
        kinds.PLACES,
        "What else of this machine can be read in a container; `{root}` stands for your own checkout.",
        (),
    ),
    Key("workspace.memory", kinds.SIZE, "How much memory one container may use."),
    Key("workspace.cpus", kinds.MONEY, "How many processors one container may use."),
    Key(
        "workspace.network",
        kinds.NETWORK,
        "The network of agents in containers, or (`default`, `none`) in the box; checks never have one.",
        "default",
    ),
    Key(
        "workspace.box",
        kinds.choice("auto", "on", "off"),
        "Agents on this machine run in a box of bubblewrap that lets them write their scope only: where that works, "
        "always (else no run starts), or never.",
        "auto",
    ),
    Key(
        "workspace.writable",
        kinds.FOLDERS,
        "What else agents in the box may write, such as `~/.cache/uv`: `~` stands for your home folder.",
        (),
    ),
    Key("limits.depth", kinds.whole(0), "How deep work may be split into parts of parts."),
    Key("limits.children", kinds.whole(1), "Into how many parts a piece of work may be split."),
    Key("limits.instances", kinds.whole(1), "How many pieces of work may be open at once."),
    Key("limits.agents", kinds.whole(1), "How many agents may work at once."),
    Key("limits.cost", kinds.MONEY, "US dollars a run may cost before a person is asked; 0: no limit."),
    Key("limits.tokens", kinds.whole(0), "Tokens a run may use, in and out, before a person is asked; 0: no limit."),
    Key("limits.step_cost", kinds.MONEY, "US dollars one agent may cost before it is stopped and a person asked.", 0.0),
    Key("limits.step_tokens", kinds.whole(0), "Tokens one agent may use before it is stopped and a person asked.", 0),
    Key(
        "limits.step_turns",
        kinds.whole(0),
        "Turns the model of one agent may take before it has to end; `claude`, `gemini` and `opencode` can be told so.",
        0,
    ),
    Key("limits.day_cost", kinds.MONEY, "US dollars all runs may cost in a day (UTC) before a person is asked.", 0.0),
    Key("limits.day_tokens", kinds.whole(0), "Tokens all runs may use in a day (UTC) before a person is asked.", 0),
    Key("limits.wall", kinds.SECONDS, "How long a run may take before a person is asked; 0: no limit."),
    Key("limits.infra_retries", kinds.whole(0), "How often an agent that vanished is started again."),
    Key("limits.output", kinds.SIZE, "How much of an agent's output is kept: the end of each stream.", 16_000_000),
    Key("limits.answer", kinds.SIZE, "How large an agent's answer may be.", 1_000_000),
    Key("limits.grace", kinds.SECONDS, "How long an agent that is told to stop has until it is ended.", 10),
    Key("notifications.bell", kinds.FLAG, "Whether the terminal's bell rings.", True),
    Key("notifications.command", kinds.COMMAND, "A program to start; it gets run, event and text as its last words."),
    Key("notifications.webhook", kinds.URL, "An address that is sent the event as JSON."),
    Key(
        "notifications.channels",
        kinds.CHANNELS,
        "Chats, mail and desktops that are told, as Apprise addresses them; needs `pip install 'treadle[channels]'`.",
        (),
    ),
    Key(
        "notifications.on",
        kinds.subset(*EVENTS),
        "What to tell about.",
        ("ask", "limit", "outage", "failed", "done"),
    ),
    Key(
        "environment.pass",
        kinds.VARIABLES,
        "Names of variables that agents get besides PATH, HOME, LANG, TERM and TMPDIR.",
        (),
    ),
    Key(
        "environment.notes",
        kinds.choice("quote", "off"),
        "Whether agents read the project's notes for agents (AGENTS.md, CLAUDE.md, GEMINI.md of the commit that a run "
        "starts from) in their prompt, as a quotation.",
        "quote",
    ),
    Key(
        "git.branch_prefix",
        kinds.PREFIX,
        "What the name of a run's result branch begins with: PREFIX/RUN/result.",
        "treadle",
    ),
    Key(
        "git.merge",
        kinds.choice("branch", "ask", "auto", "never"),
        "What happens to a result: it waits on a branch of its own, a person is asked, your branch is moved forward, "
        "or nothing is done with it.",
        "branch",
    ),
    Key("protocol.default", kinds.TEXT, "The protocol of a run that names none.", "v3"),
)

PROTOCOL: Final = "protocol"
OF_PROTOCOL: Final = (
    "Any other key below `protocol.NAME`, such as `protocol.fractal.limits.depth`, holds for that protocol alone."
)


def find_key(path: tuple[str, ...]) -> Key | None:
    """The key that a path names, whether for all protocols or for one of them."""
    return next((key for key in KEYS if key.fits(general(path))), None)


def general(path: tuple[str, ...]) -> tuple[str, ...]:
    """A path without the protocol that it is for."""
    return path[2:] if path[0] == PROTOCOL and len(path) > 3 and path[2] != PROTOCOL else path


def neighbours(path: tuple[str, ...]) -> Iterator[str]:
    """The words that could stand in the place where a path goes wrong."""
    yield from (key.parts[len(path) - 1] for key in KEYS if len(key.parts) >= len(path) and _leads(key, path[:-1]))


def _leads(key: Key, path: tuple[str, ...]) -> bool:
    return all(mine.isupper() or mine == theirs for mine, theirs in zip(key.parts, path, strict=False))
