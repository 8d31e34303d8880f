"""The scope of an activity: the read, write and hidden globs of its role and step, filled from the instance's input."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from treadle.kernel.commands import AskHuman, Job
from treadle.ports import Payloads
from treadle.protocol.answers.values import describe_value, quote_text
from treadle.protocol.checks.permissions import write_scope
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.protocol.paths import clean_path, glob_fault, is_pattern, path_fault

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class ActivityScope(msgspec.Struct, frozen=True):
    """Globs relative to the root of the repository; `!` excludes. Only `*`, `**` and `?` are wild."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Why globs could not be made from the input. Then nothing may be written: a lost `!` would open the paths it
    closed.
    """
    stubs: tuple[str, ...] = ()
    """Where stubs may be added, and nothing else."""

    @property
    def reach(self) -> tuple[str, ...]:
        """All globs that the activity may change in any way; checks judge the changes."""
        return (*self.writes, *(glob for glob in self.stubs if not glob.startswith("!")))


def permissions(protocol: Protocol, command: Job | AskHuman, payloads: Payloads) -> ActivityScope:
    """Return the scope of a command's step; an input that is no plain path refuses all writing."""
    ref = next(iter(command.inputs.get("in", ())), "")
    value = payloads.get(ref) if ref else None
    return scope(protocol, command.graph, command.step, value if isinstance(value, dict) else {})


def scope(protocol: Protocol, graph: str, step: str, values: Mapping[str, Json]) -> ActivityScope:
    """Return the scope of a step for an instance with this input."""
    found = protocol.graphs[graph].steps[step] if graph in protocol.graphs else None
    role = protocol.roles.get(found.role) if found else None
    if found is None or role is None:
        return ActivityScope()
    refused: list[str] = []
    reads = _expand(role.reads if found.reads is None else found.reads, values, refused)
    writes = _expand(write_scope(protocol, found), values, refused)
    hidden = _expand(role.hidden, values, refused)
    stubs = _expand(found.stubs if "modify" in role.perms else (), values, refused)
    return ActivityScope(
        reads, () if refused else writes, hidden, tuple(dict.fromkeys(refused)), () if refused else stubs
    )


def _expand(globs: Iterable[str], values: Mapping[str, Json], refused: list[str]) -> tuple[str, ...]:
    found: list[str] = []
    for glob in globs:
        for filled in _fill(glob, values, refused):
            if fault := glob_fault(filled):
                refused.append(f"{quote_text(filled)} {fault[0]}")
            else:
                found.append(filled)
    return tuple(dict.fromkeys(found))


def _fill(glob: str, values: Mapping[str, Json], refused: list[str]) -> list[str]:
    """Replace the placeholders of a glob; a placeholder with a list of values gives one glob for each."""
    name = next(iter(_PLACEHOLDER.findall(glob)), None)
    if name is None:
        return [_tidy(glob)]
    value = values.get(name)
    parts = [_path_part(name, item, refused) for item in (value if isinstance(value, list) else [value])]
    # Replace the other placeholders only behind this one: braces inside a value are text, not placeholders.
    before, _, after = glob.partition(f"{{{name}}}")
    rests = _fill(after, values, refused) if "{" in after else [after]
    return [_tidy(f"{before}{part}{rest}") for part in parts if part for rest in rests]


def _path_part(name: str, value: Json, refused: list[str]) -> str:
    """Return a value as a part of a glob; if it cannot be one, return nothing and add the reason to `refused`."""
    if not isinstance(value, str):
        refused.append(f"'{name}' is {describe_value(value)}, not a path")
        return ""
    fault = "is a pattern, not a path" if is_pattern(value) else path_fault(value)
    if fault:
        refused.append(f"'{name}' is {quote_text(value)}, which {fault}")
    return "" if fault else clean_path(value)


def _tidy(glob: str) -> str:
    """Normalise `./src//**` to `src/**`; leave a faulty glob as it is, to be refused."""
    mark = "!" if glob.startswith("!") else ""
    return glob if glob_fault(glob) else mark + clean_path(glob.removeprefix("!"))
