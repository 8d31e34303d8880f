"""Every key of `treadle.toml`: one annotated struct holds its kind, default and meaning, and the program's own value.

`KEYS` is the table for people, in the order of the file; `Config` is what the program uses, resolved for one protocol.
"""

from collections.abc import Iterator
from typing import Annotated, Final, get_type_hints

import msgspec

from treadle.config import kinds
from treadle.config.kinds import Kind, Value
from treadle.protocol import model

Words = tuple[str, ...]
"""A list of texts, or a program and its arguments; empty: there is none."""


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

    def begins(self, path: tuple[str, ...]) -> bool:
        """Whether the key and a path agree, as far as both go."""
        return all(mine.isupper() or mine == theirs for mine, theirs in zip(self.parts, path, strict=False))


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file; the annotation of a field has the kind of its values and its meaning."""


class ToolchainSettings(_Section, frozen=True, kw_only=True):
    """How Treadle builds, tests and lints the project."""

    kind: Annotated[
        str,
        kinds.choice("pytest", "junit", "gotest", "command"),
        "How Treadle reads results: test by test, or (`command`) from the exit code alone.",
    ] = "command"
    build: Annotated[Words, kinds.COMMAND, "Compiles or imports the code."] = ()
    test: Annotated[
        Words, kinds.COMMAND, "Runs all tests; `{report}` stands for a new file to which it writes JUnit results."
    ] = ()
    contract: Annotated[Words, kinds.COMMAND, "Runs the contract suite."] = ()
    lint: Annotated[Words, kinds.COMMAND, "The linter; it must fail if it finds something."] = ()
    format: Annotated[
        Words, kinds.COMMAND, "The formatter in its checking mode; it must fail if it finds something."
    ] = ()
    api_dump: Annotated[
        Words,
        kinds.COMMAND,
        "Prints the exported names as JSON (`{NAME: SIGNATURE}`), for languages that Treadle cannot read itself.",
    ] = ()
    collect: Annotated[
        Words,
        kinds.COMMAND,
        "Lists the tests without running them, one per line. `pytest` and `gotest` do not need it; without it, "
        "`junit` runs the tests to list them.",
    ] = ()
    interface: Annotated[Words, kinds.COMMAND, "Prints the signatures of the interface files."] = ()
    report: Annotated[str, kinds.PATTERN, "Where `test` leaves JUnit files, if it cannot write to `{report}`."] = ""
    test_paths: Annotated[
        Words,
        kinds.PATHS,
        "Further folders and files that belong to the tests, besides those that Treadle knows by their names.",
    ] = ()
    plugins: Annotated[
        Words,
        kinds.NAMES,
        "Further pytest plugins to load, by their `pytest11` names; Treadle loads the well-known ones itself.",
    ] = ()
    mirrors: Annotated[
        int,
        kinds.whole(0),
        "pytest: how many passed tests to run again with a wrong expected value; each must fail then.",
    ] = 10
    apart: Annotated[
        bool,
        kinds.FLAG,
        "Whether to run the tests of criteria a second time, at red and at green, in a process apart from the code "
        "(pytest or `node --test`, with bubblewrap only). Treadle refuses work that passes only if both share a "
        "process. Off by default, because some honest tests cannot run apart, such as those that start the program "
        "or pickle its objects.",
    ] = False
    reruns: Annotated[int, kinds.whole(0), "How often to rerun a failing test, to see whether it is flaky."] = 2
    flaky: Annotated[
        str,
        kinds.choice("refuse", "accept"),
        "Whether to refuse work with a flaky test; in both cases the evidence names the test, and it proves nothing.",
    ] = "refuse"
    unsafe_imports: Annotated[
        Words,
        kinds.NAMES,
        "Further modules that the check `unsafe_imports` reports: `requests`, or for one language `go:net/http`; "
        "`!ctypes` removes one from its own list.",
    ] = ()
    timeout: Annotated[int, kinds.SECONDS, "How long one of these commands may take."] = 600
    hang: Annotated[
        int,
        kinds.whole(0),
        "The least time limit of one test, in seconds; the limit is ten times the slowest test on the base commit, if "
        "that is longer. All tests together may take five times this setting, or ten times as long as on the base "
        "commit. 0: only `timeout` limits them.",
    ] = 30

    def command(self, name: str, **places: str) -> Words:
        """Return one of the commands, with `{root}` (your checkout) and `{report}` replaced by their paths."""
        command: Words = getattr(self, name)
        for place, path in places.items():
            command = tuple(word.replace(f"{{{place}}}", path) for word in command)
        return command


class WorkspaceSettings(_Section, frozen=True, kw_only=True):
    """Where agents and checks run; the stored settings of older runs lack this section."""

    driver: Annotated[
        str,
        kinds.choice("worktree", "container"),
        "Agents and the toolchain's commands run on this machine, or each in a container of its own.",
    ] = "worktree"
    engine: Annotated[str, kinds.choice("auto", "docker", "podman"), "The container engine."] = "auto"
    image: Annotated[
        str, kinds.IMAGE, "The image of all containers; it must have the programs of the agents and of the toolchain."
    ] = ""
    mounts: Annotated[
        Words,
        kinds.PLACES,
        "Further files and folders of this machine to mount read-only; `{root}` stands for your own checkout.",
    ] = ()
    memory: Annotated[int | None, kinds.SIZE, "How much memory one container may use."] = None
    cpus: Annotated[float | None, kinds.MONEY, "How many processors one container may use."] = None
    network: Annotated[
        str,
        kinds.NETWORK,
        "The network of agents in containers; in the box only `default` or `none`. Checks never have a network.",
    ] = "default"
    box: Annotated[
        str,
        kinds.choice("auto", "on", "off"),
        "Whether agents on this machine run in a bubblewrap sandbox that lets them write only their scope: `auto` "
        "where that works, `on` always (otherwise no run starts), `off` never.",
    ] = "off"
    writable: Annotated[
        Words,
        kinds.FOLDERS,
        "Further folders that agents in the box may write, such as `~/.cache/uv`; `~` stands for your home folder.",
    ] = ()


class LimitSettings(_Section, frozen=True, kw_only=True):
    """Limits of a run; None: the protocol's limit."""

    depth: Annotated[int | None, kinds.whole(0), "How many levels of children a run may have."] = None
    children: Annotated[int | None, kinds.whole(1), "How many children an instance may have."] = None
    instances: Annotated[int | None, kinds.whole(1), "How many instances may be open at once."] = None
    agents: Annotated[int | None, kinds.whole(1), "How many agents may work at once."] = None
    cost: Annotated[
        float | None,
        kinds.MONEY,
        "US dollars that a run may cost before Treadle asks a person; 0: no limit.",
    ] = None
    tokens: Annotated[
        int | None,
        kinds.whole(0),
        "Tokens, input and output, that a run may use before Treadle asks a person; 0: no limit.",
    ] = None
    step_cost: Annotated[
        float, kinds.MONEY, "US dollars that one agent may cost before Treadle stops it and asks a person; 0: no limit."
    ] = 0.0
    step_tokens: Annotated[
        int, kinds.whole(0), "Tokens that one agent may use before Treadle stops it and asks a person; 0: no limit."
    ] = 0
    step_turns: Annotated[
        int,
        kinds.whole(0),
        "Turns that the model of one agent may take; 0: no limit. Only `claude`, `gemini` and `opencode` support it.",
    ] = 0
    day_cost: Annotated[
        float,
        kinds.MONEY,
        "US dollars that all runs may cost in a day (UTC) before Treadle asks a person; 0: no limit.",
    ] = 0.0
    day_tokens: Annotated[
        int, kinds.whole(0), "Tokens that all runs may use in a day (UTC) before Treadle asks a person; 0: no limit."
    ] = 0
    wall: Annotated[int | None, kinds.SECONDS, "How long a run may take before Treadle asks a person; 0: no limit."] = (
        None
    )
    infra_retries: Annotated[int | None, kinds.whole(0), "How often to restart an agent whose process was lost."] = None
    output: Annotated[int, kinds.SIZE, "How much of an agent's output to keep: the end of each stream."] = 16_000_000
    answer: Annotated[int, kinds.SIZE, "How large an agent's answer may be."] = 1_000_000
    grace: Annotated[int, kinds.SECONDS, "How long an agent may take to stop before Treadle kills it."] = 10

    def over(self, limits: model.Limits) -> model.Limits:
        """Return a protocol's limits, overridden by the settings."""
        own = {name: getattr(self, name) for name in model.Limits.__struct_fields__}
        return msgspec.structs.replace(limits, **{name: value for name, value in own.items() if value is not None})


EVENTS: Final = ("ask", "reminder", "refused", "limit", "outage", "part", "failed", "done")
"""Events that notifications can report."""


class Notifications(_Section, frozen=True, kw_only=True):
    """How Treadle notifies people about a run."""

    bell: Annotated[bool, kinds.FLAG, "Whether to ring the terminal's bell."] = True
    command: Annotated[Words, kinds.COMMAND, "A program to start; its last arguments are run, event and text."] = ()
    webhook: Annotated[str, kinds.URL, "The address to post events to, as JSON."] = ""
    channels: Annotated[
        Words,
        kinds.CHANNELS,
        "Apprise addresses of chats, mail and desktops; needs `pip install 'treadle[channels]'`.",
    ] = ()
    on: Annotated[Words, kinds.subset(*EVENTS), "The events to report."] = ("ask", "limit", "outage", "failed", "done")


class Environment(_Section, frozen=True, kw_only=True):
    """The parts of the user's environment and checkout that agents may see."""

    allowed: Annotated[
        Words,
        kinds.VARIABLES,
        "Further environment variables that agents get, besides PATH, HOME, LANG, TERM and TMPDIR.",
    ] = msgspec.field(default=(), name="pass")
    notes: Annotated[
        str,
        kinds.choice("quote", "off"),
        "Whether prompts quote the project's notes for agents: AGENTS.md, CLAUDE.md and GEMINI.md of the base commit.",
    ] = "off"
    generated: Annotated[
        Words,
        kinds.GLOBS,
        "Files that a build generates and git ignores, such as `src/pkg/_version.py` or `src/pkg/locale/**/*.mo`: "
        "each lane, and each tree in which tests run, gets a copy of yours from the start of the run. Treadle never "
        "commits them.",
    ] = ()

    def of(self, variables: dict[str, str]) -> dict[str, str]:
        """Return the allowed ones of the variables; `*` at the end of a name stands for anything."""
        exact = {name for name in self.allowed if not name.endswith("*")}
        starts = tuple(name[:-1] for name in self.allowed if name.endswith("*"))
        chosen = {name for name in variables if name in exact or (starts and name.startswith(starts))}
        return {name: variables[name] for name in sorted(chosen) if not name.startswith("TREADLE_")}


class GitSettings(_Section, frozen=True, kw_only=True):
    """How Treadle names and merges branches."""

    branch_prefix: Annotated[str, kinds.PREFIX, "The first part of the name of a result branch: PREFIX/RUN/result."] = (
        "treadle"
    )
    merge: Annotated[
        str,
        kinds.choice("branch", "ask", "auto", "never"),
        "What happens to a result: it waits on a branch of its own, Treadle asks a person, Treadle moves your branch "
        "forward, or Treadle makes no branch.",
    ] = "branch"


class VerificationSettings(_Section, frozen=True, kw_only=True):
    """When a criterion counts as verified; runs that were started before there were grades take any of them."""

    minimum: Annotated[
        str,
        kinds.choice("proved", "observed", "word"),
        "The grade that a criterion needs: `proved` (tests and code ran in two processes), `observed` (Treadle watched "
        "the process of the tests) or `word` (only the test runner says that the tests passed).",
    ] = "word"


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, resolved for one protocol."""

    protocol: str
    """The protocol of a run without `--protocol`."""
    agents: dict[str, str]
    toolchain: ToolchainSettings
    limits: LimitSettings
    notifications: Notifications
    environment: Environment
    git: GitSettings
    workspace: WorkspaceSettings = WorkspaceSettings()
    verification: VerificationSettings = VerificationSettings()
    models: dict[str, dict[str, str]] = {}
    prices: dict[str, str] = {}
    """Token prices by agent, in the format of `parse_prices`."""

    def agent_of(self, role: str) -> str:
        """Return the agent of a role, in the format of `parse_agent`."""
        return self.agents.get(role, self.agents["default"])

    def model_of(self, tiers: tuple[str, ...], tier: int, kind: str) -> str:
        """Return the model for a place in a role's tiers; empty: the agent's own choice.

        A tier without a model has that of the nearest weaker one: a stronger tier never undoes a choice.
        """
        reached = tiers[: max(tier, 0) + 1]
        named = (self.models.get(name, {}).get(kind, "") for name in reversed(reached))
        return next((model for model in named if model), "")


SECTIONS: Final = {
    "agents": "The agents that do the work.",
    "models": "The model for each tier of a protocol's roles.",
    "prices": "The price of tokens, for agents that do not report it.",
    "toolchain": "How to build, test and lint this project. Commands run in a checkout, without a shell; "
    "`{root}` stands for your own checkout.",
    "workspace": "Where agents and checks run: on this machine, or in containers.",
    "verification": "When a criterion counts as verified.",
    "limits": "What a run may use. A key without a value takes the limit of the protocol.",
    "notifications": "How Treadle notifies people about a run.",
    "environment": "The environment variables that agents see, and the generated files that lanes get.",
    "git": "The names of branches, and the delivery of results.",
    "protocol": "The default protocol, and settings for one protocol only.",
}


_NEW_DEFAULTS: Final = {"workspace.box": "auto", "environment.notes": "quote", "verification.minimum": "observed"}
"""Runs that were started before these keys existed have the default of the struct: the feature is off."""


def _keys_of(section: str, settings: type[_Section]) -> Iterator[Key]:
    hints = get_type_hints(settings, include_extras=True)
    for field in msgspec.structs.fields(settings):
        kind, meaning = hints[field.name].__metadata__
        name = f"{section}.{field.encode_name}"
        # No text and no program mean that a key is not set; an empty list is a value.
        is_unset = field.default == "" or kind is kinds.COMMAND
        yield Key(name, kind, meaning, None if is_unset else _NEW_DEFAULTS.get(name, field.default))


KEYS: Final = (
    Key("agents.default", kinds.AGENT, "The agent of every role without an agent of its own.", "claude"),
    Key("agents.ROLE", kinds.AGENT, "The agent of one role of a protocol, such as `tdd` or `impl`."),
    Key("models.TIER.AGENT", kinds.TEXT, "The model that an agent uses for a tier: `models.strong.claude`."),
    Key(
        "prices.AGENT",
        kinds.PRICES,
        "US dollars for a million input tokens, output tokens and, if cheaper, cached tokens: "
        "`prices.codex = '1.25 in, 10 out, 0.125 cached'`. Limits in money need it for agents that report no price.",
    ),
    *_keys_of("toolchain", ToolchainSettings),
    *_keys_of("workspace", WorkspaceSettings),
    *_keys_of("verification", VerificationSettings),
    *_keys_of("limits", LimitSettings),
    *_keys_of("notifications", Notifications),
    *_keys_of("environment", Environment),
    *_keys_of("git", GitSettings),
    Key("protocol.default", kinds.TEXT, "The protocol of a run without `--protocol`.", "v3"),
)

PROTOCOL: Final = "protocol"
OF_PROTOCOL: Final = (
    "Any other key below `protocol.NAME`, such as `protocol.fractal.limits.depth`, applies to that protocol alone."
)


def find_key(path: tuple[str, ...]) -> Key | None:
    """Return the key that a path names, for all protocols or for one of them."""
    inner = general_path(path)
    return next((key for key in KEYS if len(key.parts) == len(inner) and key.begins(inner)), None)


def general_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return a path without its protocol, if it names one."""
    return path[2:] if path[0] == PROTOCOL and len(path) > 3 and path[2] != PROTOCOL else path


def words_after(path: tuple[str, ...]) -> list[str]:
    """Return the words that may follow a path; none after a complete key, or after an unknown one."""
    return sorted({key.parts[len(path)] for key in KEYS if len(key.parts) > len(path) and key.begins(path)})
