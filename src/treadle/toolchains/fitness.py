"""Whether the toolchain of a project can do what the checks of a protocol ask of it."""

from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.config.model import Toolchain
from treadle.protocol.catalogue import CHECKS, CheckSpec, Need
from treadle.protocol.model import Protocol, Step
from treadle.protocol.reach import Reach, reach

_ASKS: Final[dict[Need, str]] = {
    "test": "runs the tests, and nothing says how",
    "names": "asks how each test ended, and `toolchain.kind` tells the exit code alone",
    "list": "asks which tests there are, and nothing lists them",
    "lines": "asks which lines the tests execute, and `toolchain.kind` is not `pytest`",
}
_READ_BY: Final = {"pytest": "pytest", "py.test": "pytest", "go": "gotest", "gotestsum": "gotest"}
"""Words of a test command that tell how its results are read."""
_MERGE_RUNS: Final = frozenset({"build", "contract", "test"})
"""What is run on a merge, where the project has it."""


class Lack(msgspec.Struct, frozen=True):
    """Something that checks need and that the toolchain cannot do."""

    need: Need
    where: str
    """The first step that needs it, and the check."""
    fix: str

    @property
    def what(self) -> str:
        """In words, for people."""
        return f"{self.where} {_ASKS[self.need]}"


def lacks(protocol: Protocol, settings: Toolchain, *, has_file: bool, within: Reach | None = None) -> list[Lack]:
    """What a protocol's checks need and the settings cannot give, so that no agent could ever pass them.

    `has_file`: there is a `treadle.toml`, which `treadle init` leaves as it is. `within`: what a run can come to.
    """
    needed: dict[Need, str] = {}
    for where, spec in _checks(protocol, within):
        for need in () if spec.runs and settings.command(spec.runs) else spec.needs:
            needed.setdefault(need, where)
    return [
        Lack(need, needed[need], _fix(need, settings, has_file)) for need in _ASKS if need in _missing(needed, settings)
    ]


def told(found: list[Lack]) -> str:
    """What is lacking and what helps, in one sentence; each cure once."""
    return "; ".join([*(lack.what for lack in found), *cures(found)])


def cures(found: list[Lack]) -> list[str]:
    """What helps, each once."""
    return list(dict.fromkeys(lack.fix for lack in found))


def needs_tests(protocol: Protocol, within: Reach | None = None) -> bool:
    """Whether a check that can refuse something runs or lists the tests."""
    return any(spec.needs for _, spec in _checks(protocol, within))


def commands_of(
    protocol: Protocol, settings: Toolchain, within: Reach | None = None, *, advisory: bool = False
) -> frozenset[str]:
    """The commands of the settings that must be able to start, or some check or merge never passes.

    With `advisory`, also those of checks that only advise, which would have nothing to say.
    """
    specs = [spec for _, spec in _checks(protocol, within)]
    specs += [spec for _, spec in _checks(protocol, within, advisory=True) if spec.runs] if advisory else []
    needs = {need for spec in specs for need in spec.needs}
    named = {spec.runs for spec in specs} | ({"test"} if needs else set())
    named |= _MERGE_RUNS if any(step.effect == "merge" for _, step in _steps(protocol, within)) else set()
    named |= {"collect"} if "list" in needs and settings.kind in ("command", "junit") else set()
    return frozenset(name for name in named if name and settings.command(name))


def _checks(protocol: Protocol, within: Reach | None, *, advisory: bool = False) -> Iterator[tuple[str, CheckSpec]]:
    """The checks that can refuse something (or that advise), each with its place; unknown names are left out."""
    for place, step in _steps(protocol, within):
        for refs in (step.checks, *step.gates.values()):
            for ref in refs:
                if ref.advisory is advisory and ref.name in CHECKS:
                    yield f"{place} ({ref.name})", CHECKS[ref.name]


def _steps(protocol: Protocol, within: Reach | None) -> Iterator[tuple[str, Step]]:
    """The steps that a run can come to, each with its place, in the order of the protocol."""
    reached = reach(protocol) if within is None else within
    for graph, found in protocol.graphs.items():
        yield from ((f"{graph}.{name}", step) for name, step in found.steps.items() if name in reached.get(graph, ()))


def _missing(needed: dict[Need, str], settings: Toolchain) -> set[Need]:
    can: dict[Need, bool] = {
        "test": bool(settings.test),
        "names": settings.kind != "command",
        "list": settings.kind != "command" or bool(settings.collect),
        "lines": settings.kind == "pytest",
    }
    return {need for need in needed if not can[need]}


def _fix(need: Need, settings: Toolchain, has_file: bool) -> str:
    if need == "test":
        return f"set `toolchain.test` {where_to_set(has_file=has_file)}"
    if need == "lines":
        return "set `toolchain.kind` to `pytest`, if that is what runs them"
    return _kind(settings)


def where_to_set(*, has_file: bool) -> str:
    """Where a setting of the project belongs, and who writes the first of them."""
    if has_file:
        return "in treadle.toml"
    return "in treadle.toml (`treadle init` writes one, and finds the command where it can)"


def _kind(settings: Toolchain) -> str:
    words = [word.rpartition("/")[2] for word in settings.test]
    kind = next((_READ_BY[word] for word in words if word in _READ_BY), "")
    if kind:
        return f'set `toolchain.kind` to "{kind}", which reads the results of `{" ".join(settings.test)}`'
    if "unittest" in words:
        return 'set `toolchain.kind` to "pytest" and `toolchain.test` to `python3 -m pytest`, which runs unittest, too'
    return (
        'set `toolchain.kind` to "pytest", "gotest" or "junit"; for "junit" `toolchain.test` writes a JUnit file to '
        "`{report}`, as most runners can (docs/tests-believed.md has an example for a plain script)"
    )
