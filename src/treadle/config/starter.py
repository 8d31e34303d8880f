"""The first `treadle.toml` of a project: what was detected, and every other key as a comment to begin from."""

import re
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Final

import msgspec

from treadle.config.detect.found import Found
from treadle.config.keys import KEYS, SECTIONS, Key
from treadle.config.kinds import COMMAND, SECONDS, SIZE, Value
from treadle.protocol.model import Protocol

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_EXAMPLES: Final[dict[str, Value]] = {
    "toolchain.contract": ("pytest", "tests/contract"),
    "toolchain.api_dump": ("./tools/api-dump",),
    "toolchain.collect": ("./tools/list-tests",),
    "toolchain.interface": ("./tools/signatures",),
    "toolchain.build": ("make",),
    "toolchain.test": ("make", "test"),
    "toolchain.lint": ("make", "lint"),
    "toolchain.format": ("make", "check-format"),
    "toolchain.report": "build/test-results/*.xml",
    "toolchain.test_paths": ("checks/unit",),
    "toolchain.plugins": ("my_plugin",),
    "toolchain.unsafe_imports": ("requests", "!ctypes"),
    "workspace.image": "python:3.12-slim",
    "workspace.mounts": ("/opt/tools",),
    "workspace.memory": 4_000_000_000,
    "workspace.cpus": 2.0,
    "workspace.writable": ("~/.cache/uv",),
    "limits.depth": 4,
    "limits.children": 8,
    "limits.instances": 200,
    "limits.agents": 4,
    "limits.cost": 20.0,
    "limits.tokens": 10_000_000,
    "limits.step_cost": 5.0,
    "limits.step_tokens": 2_000_000,
    "limits.step_turns": 200,
    "limits.day_cost": 50.0,
    "limits.day_tokens": 30_000_000,
    "limits.wall": 28_800,
    "limits.infra_retries": 2,
    "notifications.command": ("notify-send", "treadle"),
    "notifications.webhook": "env:MY_WEBHOOK",
    "notifications.channels": ("env:MY_TELEGRAM", "dbus://"),
    "environment.pass": ("ANTHROPIC_API_KEY",),
}
"""What a comment shows where there is no default."""
_MODELS: Final = {"claude": ("sonnet", "opus"), "gemini": ("flash", "pro")}
"""Names that agents have for their newest models, the stronger one last."""


class Chosen(msgspec.Struct, frozen=True):
    """A value that the file sets, and why."""

    value: Value
    why: str = ""


def starter(chosen: Mapping[str, Chosen], protocol: Protocol | None = None) -> str:
    """The text of a `treadle.toml`."""
    lines = ["# Settings of Treadle for this project. Lines such as `#agents = 4` show what could be said.", ""]
    default = chosen.get("agents.default")
    agent = str(default.value) if default else "claude"
    for section, about in SECTIONS.items():
        lines += [*_comment(about), f"[{section}]"]
        for key in KEYS:
            if key.parts[0] == section:
                lines += _open(key, protocol, agent) if key.is_open else _line(key, chosen.get(key.name))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def chosen_for(found: Found | None) -> dict[str, Chosen]:
    """The keys that detection fills in."""
    if found is None or not found.commands:
        return {}
    kind = {"toolchain.kind": Chosen(found.kind, f"{found.language}: {found.why}")}
    report = {"toolchain.report": Chosen(found.report)} if found.report else {}
    commands = {f"toolchain.{name}": Chosen(it.words, it.why) for name, it in found.commands.items()}
    return kind | commands | report


def _line(key: Key, chosen: Chosen | None) -> list[str]:
    name = key.parts[1]
    if chosen is None:
        value = key.default if key.default not in (None, ()) else _EXAMPLES[key.name]
        return [*_comment(key.help), f"#{name} = {toml_value(value, key)}"]
    return [
        *_comment(key.help),
        *_comment(chosen.why and f"Why: {chosen.why}"),
        f"{name} = {toml_value(chosen.value, key)}",
    ]


def _open(key: Key, protocol: Protocol | None, agent: str) -> Iterator[str]:
    """Examples for keys that can have any name: the protocol's roles and tiers, if it is known, for an agent."""
    roles = protocol.roles if protocol else {}
    yield from _comment(key.help)
    if key.name == "agents.ROLE":
        names = [name for name in roles if _BARE.fullmatch(name)] or ["tdd"]
        agents = ("command:my-agent --quiet", *[agent] * len(names))
        yield from (f'#{name} = "{agent}"' for name, agent in zip(names, agents, strict=False))
    elif key.name == "prices.AGENT":
        yield '#codex = "1.25 in, 10 out, 0.125 cached"'
    else:
        tiers = list(dict.fromkeys(tier for role in roles.values() for tier in role.models)) or ["standard", "strong"]
        first, *rest = _MODELS.get(agent, ("a-model", "a-stronger-model"))
        models = [first, *rest * len(tiers)]
        yield from (f'#{tier} = {{ {agent} = "{model}" }}' for tier, model in zip(tiers, models, strict=False))


def _comment(text: str) -> list[str]:
    """A text as comments, whatever characters a file's name has brought into it."""
    plain = "".join(char if char.isprintable() else "?" for char in text)
    return [f"# {line}" for line in wrap(plain, 100, break_long_words=False)]


def toml_value(value: Value, key: Key | None = None) -> str:
    """A value as TOML; of two ways to write it, the one that reads better."""
    match value:
        case bool():
            return str(value).lower()
        case tuple() if key and key.kind is COMMAND and _is_plain(value):
            return _quoted(" ".join(value))
        case tuple():
            return f"[{', '.join(_quoted(word) for word in value)}]"
        case str():
            return _quoted(value)
        case int() if key and key.kind is SECONDS:
            return _quoted(_in_units(value, (("h", 3600), ("m", 60), ("s", 1))))
        case int() if key and key.kind is SIZE:
            return _quoted(_in_units(value, (("MB", 10**6), ("kB", 1000), ("B", 1))))
        case _:
            return f"{value:g}" if isinstance(value, float) else str(value)


def _is_plain(words: tuple[str, ...]) -> bool:
    """Whether a command's words, with spaces between them, are read as the same words."""
    try:
        return COMMAND.read(" ".join(words)) == words
    except ValueError:
        return False


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")


def _in_units(number: int, units: tuple[tuple[str, int], ...]) -> str:
    return next(f"{number // size}{unit}" for unit, size in units if number % size == 0)
