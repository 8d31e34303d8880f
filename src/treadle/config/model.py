"""The settings as the program uses them. Every default is in the table of keys; here are only the shapes."""

import msgspec

from treadle.protocol import model

Command = tuple[str, ...]
"""A program and its arguments; empty: there is none."""


class Toolchain(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the project is built, tested and looked over."""

    kind: str
    timeout: int
    build: Command = ()
    test: Command = ()
    contract: Command = ()
    lint: Command = ()
    format: Command = ()
    api_dump: Command = ()
    collect: Command = ()
    interface: Command = ()
    report: str = ""
    test_paths: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    mirrors: int = 10
    reruns: int = 2
    flaky: str = "refuse"
    unsafe_imports: tuple[str, ...] = ()

    def command(self, name: str, **places: str) -> Command:
        """One of the commands, with the places that stand in it as `{root}` (your checkout) or `{report}`."""
        command: Command = getattr(self, name)
        for place, path in places.items():
            command = tuple(word.replace(f"{{{place}}}", path) for word in command)
        return command


class Workspace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where agents and checks run; runs that were started before there was a choice have none of this."""

    driver: str = "worktree"
    engine: str = "auto"
    network: str = "default"
    image: str = ""
    mounts: tuple[str, ...] = ()
    memory: int | None = None
    cpus: float | None = None
    box: str = "off"
    writable: tuple[str, ...] = ()


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run may use; None: as the protocol says."""

    output: int
    answer: int
    grace: int
    depth: int | None = None
    children: int | None = None
    instances: int | None = None
    agents: int | None = None
    cost: float | None = None
    tokens: int | None = None
    step_cost: float = 0.0
    step_tokens: int = 0
    step_turns: int = 0
    day_cost: float = 0.0
    day_tokens: int = 0
    wall: int | None = None
    infra_retries: int | None = None

    def over(self, limits: model.Limits) -> model.Limits:
        """A protocol's limits with what the settings say instead."""
        said = {name: getattr(self, name) for name in model.Limits.__struct_fields__}
        return msgspec.structs.replace(limits, **{name: value for name, value in said.items() if value is not None})


class Notifications(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How people hear about a run."""

    bell: bool
    on: tuple[str, ...]
    command: Command = ()
    webhook: str = ""
    channels: tuple[str, ...] = ()


class Environment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What of the user's environment agents may see."""

    allowed: tuple[str, ...] = msgspec.field(name="pass")
    notes: str = "off"
    """`quote`: prompts quote the project's notes for agents; runs from before there was a choice do not."""

    def of(self, variables: dict[str, str]) -> dict[str, str]:
        """Those of the variables that are allowed; `*` at the end of a name stands for anything."""
        exact = {name for name in self.allowed if not name.endswith("*")}
        starts = tuple(name[:-1] for name in self.allowed if name.endswith("*"))
        chosen = {name for name in variables if name in exact or (starts and name.startswith(starts))}
        return {name: variables[name] for name in sorted(chosen) if not name.startswith("TREADLE_")}


class Git(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens to branches."""

    branch_prefix: str
    merge: str


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, as they hold for one protocol."""

    protocol: str
    """The protocol of a run that names none."""
    agents: dict[str, str]
    toolchain: Toolchain
    limits: Limits
    notifications: Notifications
    environment: Environment
    git: Git
    workspace: Workspace = Workspace()
    models: dict[str, dict[str, str]] = {}
    prices: dict[str, str] = {}
    """What tokens cost, by agent, as `parse_prices` takes it."""

    def agent_of(self, role: str) -> str:
        """The agent of a role, as `parse_agent` takes it."""
        return self.agents.get(role, self.agents["default"])

    def model_of(self, tiers: tuple[str, ...], tier: int, kind: str) -> str:
        """The model for a place in a role's tiers; empty: the agent's own choice.

        A tier without a model has that of the nearest weaker one: a stronger tier never undoes a choice.
        """
        reached = tiers[: max(tier, 0) + 1]
        named = (self.models.get(name, {}).get(kind, "") for name in reversed(reached))
        return next((model for model in named if model), "")
