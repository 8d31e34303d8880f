"""Write the first `treadle.toml` of a project: the detected values, and every other key as a comment."""

import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap
from typing import Final

import msgspec

from treadle.config.detection import DetectedLanguage
from treadle.config.kinds import COMMAND, SECONDS, SIZE, Value
from treadle.config.model import KEYS, SECTIONS, Key
from treadle.errors import ProtocolError
from treadle.protocol.model import Protocol

# Files that a protocol adds to a project: the folder `project/` beside its `protocol.yaml`.
#
# Treadle copies these files unchanged to the same paths below the project's root, and never overwrites a file.

FOLDER: Final = "project"
_MAX_FILES: Final = 100
_MAX_FILE: Final = 200_000
_NAME: Final = re.compile(r"\.?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NEVER: Final = frozenset({".git", ".treadle", "treadle.toml"})


def protocol_project_files(protocol: Path) -> dict[str, str]:
    """Path below the project's root → text, of a protocol's folder."""
    home = protocol / FOLDER
    files = [path for path in sorted(home.rglob("*")) if path.is_symlink() or not path.is_dir()]
    if len(files) > _MAX_FILES:
        raise ProtocolError(
            f"{home} has {len(files)} files; a protocol may bring {_MAX_FILES} at most", code="protocol.own_files"
        )
    texts: dict[str, str] = {}
    for path in files:
        parts = path.relative_to(home).parts
        if not all(_NAME.fullmatch(part) for part in parts) or parts[0] in _NEVER:
            raise ProtocolError(
                f"{str(path)!a}: a protocol may not bring a file of this name into a project", code="protocol.own_files"
            )
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_FILE:
            raise ProtocolError(
                f"{path}: a protocol may bring only plain files of {_MAX_FILE} bytes at most", code="protocol.own_files"
            )
        try:
            texts["/".join(parts)] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ProtocolError(f"{path} is not UTF-8; save it as UTF-8", code="file.encoding") from None
    return texts


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
    "environment.generated": ("src/my_package/_version.py",),
}
"""Example values in the comments of keys without a default."""
_MODELS: Final = {"claude": ("sonnet", "opus"), "gemini": ("flash", "pro")}
"""Names that agents have for their newest models, the stronger one last."""


class ChosenValue(msgspec.Struct, frozen=True):
    """A value that the file sets, and why."""

    value: Value
    why: str = ""


def render_starter(chosen: Mapping[str, ChosenValue], protocol: Protocol | None = None) -> str:
    """Return the text of a `treadle.toml`."""
    lines = ["# Settings of Treadle for this project. Lines such as `#agents = 4` show further settings.", ""]
    default = chosen.get("agents.default")
    agent = str(default.value) if default else "claude"
    for section, about in SECTIONS.items():
        lines += [*_comment(about), f"[{section}]"]
        for key in KEYS:
            if key.parts[0] == section:
                lines += _comment(key.help)
                lines += _examples(key, protocol, agent) if key.is_open else _line(key, chosen.get(key.name))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def detected_values(detected: DetectedLanguage | None) -> dict[str, ChosenValue]:
    """Return the keys that detection fills in."""
    if detected is None or not detected.commands:
        return {}
    kind = {"toolchain.kind": ChosenValue(detected.kind, f"{detected.language}: {detected.why}")}
    report = {"toolchain.report": ChosenValue(detected.report)} if detected.report else {}
    commands = {f"toolchain.{name}": ChosenValue(it.words, it.why) for name, it in detected.commands.items()}
    return kind | commands | report


def _line(key: Key, chosen: ChosenValue | None) -> list[str]:
    name = key.parts[1]
    if chosen is None:
        value = key.default if key.default not in (None, ()) else _EXAMPLES[key.name]
        return [f"#{name} = {toml_value(value, key)}"]
    return [*_comment(chosen.why and f"Why: {chosen.why}"), f"{name} = {toml_value(chosen.value, key)}"]


def _examples(key: Key, protocol: Protocol | None, agent: str) -> list[str]:
    """Examples for keys that can have any name: the protocol's roles and tiers, if it is known, for an agent."""
    roles = protocol.roles if protocol else {}
    if key.name == "agents.ROLE":
        names = [name for name in roles if re.fullmatch(r"[A-Za-z0-9_-]+", name)] or ["tdd"]
        agents = ("command:my-agent --quiet", *[agent] * len(names))
        return [f'#{name} = "{agent}"' for name, agent in zip(names, agents, strict=False)]
    if key.name == "prices.AGENT":
        return ['#codex = "1.25 in, 10 out, 0.125 cached"']
    tiers = list(dict.fromkeys(tier for role in roles.values() for tier in role.models)) or ["standard", "strong"]
    first, *rest = _MODELS.get(agent, ("a-model", "a-stronger-model"))
    models = [first, *rest * len(tiers)]
    return [f'#{tier} = {{ {agent} = "{model}" }}' for tier, model in zip(tiers, models, strict=False)]


def _comment(text: str) -> list[str]:
    """Format a text as comment lines; unprintable characters, as in a file's name, cannot break out of them."""
    plain = "".join(char if char.isprintable() else "?" for char in text)
    return [f"# {line}" for line in wrap(plain, 100, break_long_words=False)]


def toml_value(value: Value, key: Key | None = None) -> str:
    """Format a value as TOML, in the more readable of two notations."""
    match value:
        case bool():
            return str(value).lower()
        case tuple() if key and key.kind is COMMAND and _is_plain(value):
            return _quoted(" ".join(value))
        case tuple():
            return f"[{', '.join(_quoted(word) for word in value)}]"
        case str():
            return _quoted(value)
        case int() if key and key.kind in (SECONDS, SIZE):
            units = {"h": 3600, "m": 60, "s": 1} if key.kind is SECONDS else {"MB": 10**6, "kB": 1000, "B": 1}
            return _quoted(next(f"{value // size}{unit}" for unit, size in units.items() if value % size == 0))
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
