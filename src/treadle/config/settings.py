"""What is in force, and where each value came from.

A later source wins over an earlier one: defaults, the user's file, the project's `treadle.toml`, `TREADLE_SET` in the
environment, `--set` on the command line. Within a source, a setting for one protocol wins over the general one.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum

import msgspec

from treadle.config.keys import KEYS, PROTOCOL, Key, find_key, general
from treadle.config.kinds import Value
from treadle.config.model import Config
from treadle.protocol.findings import Place


class Source(IntEnum):
    """Where settings come from, the weakest first."""

    DEFAULT = 0
    USER = 1
    PROJECT = 2
    ENVIRONMENT = 3
    COMMAND_LINE = 4


class Setting(msgspec.Struct, frozen=True):
    """A key's value with its origin."""

    key: str
    value: Value
    source: Source = Source.DEFAULT
    place: Place | None = None

    @property
    def origin(self) -> str:
        """Where the value came from, for people."""
        if self.place is not None:
            return str(self.place)
        return {Source.ENVIRONMENT: "TREADLE_SET", Source.COMMAND_LINE: "--set"}.get(self.source, "default")


class Settings(msgspec.Struct, frozen=True):
    """All that was said, by key; of each key the strongest word."""

    said: dict[str, Setting]

    def config(self, protocol: str = "") -> Config:
        """The settings as they hold for a protocol."""
        tree: dict[str, dict[str, object]] = {}
        models: dict[str, dict[str, Value]] = {}
        for setting in self.in_force(protocol):
            section, *rest = setting.key.split(".")
            if section == "models":
                models.setdefault(rest[0], {})[rest[1]] = setting.value
            elif setting.value is not None:
                tree.setdefault(section, {})[rest[0]] = setting.value
        default = tree.pop(PROTOCOL)["default"]
        return msgspec.convert({**tree, "models": models, PROTOCOL: default}, Config)

    def in_force(self, protocol: str = "") -> Iterator[Setting]:
        """Every key that has a value or could have one, in the order of the table of keys."""
        for key in KEYS:
            for name in self._names(key, protocol):
                yield self.find(name, protocol)

    def find(self, name: str, protocol: str = "") -> Setting:
        """The setting of one key, as it holds for a protocol."""
        path = tuple(name.split("."))
        key = find_key(path)
        unsaid = Setting(name, key.default if key and not key.is_open else None)
        plain = self.said.get(name, unsaid)
        own = self.said.get(f"{PROTOCOL}.{protocol}.{name}") if protocol else None
        return msgspec.structs.replace(own, key=name) if own and own.source >= plain.source else plain

    def for_protocols(self) -> Iterator[Setting]:
        """The settings that hold for one protocol only."""
        yield from (setting for setting in self.said.values() if _path(setting) != general(_path(setting)))

    def _names(self, key: Key, protocol: str) -> list[str]:
        if not key.is_open:
            return [key.name]
        paths = [_path(setting) for setting in self.said.values()]
        mine = [general(path) for path in paths if path == general(path) or path[1] == protocol]
        return sorted({".".join(path) for path in mine if find_key(path) is key})


def merged(layers: Sequence[Mapping[str, Setting]]) -> Settings:
    """Settings of several sources, the weakest first."""
    said: dict[str, Setting] = {}
    for layer in layers:
        said.update(layer)
    return Settings(said)


def _path(setting: Setting) -> tuple[str, ...]:
    return tuple(setting.key.split("."))
