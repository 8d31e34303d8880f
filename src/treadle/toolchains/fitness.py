"""Check that a project's toolchain meets the needs of a protocol's checks."""

from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.config.model import ToolchainSettings
from treadle.protocol.model import CheckRef, Protocol, Step
from treadle.protocol.reach import Reach, reach
from treadle.protocol.vocabulary import CHECKS, PROOFS, CheckSpec, Need
from treadle.toolchains.gotest import option_against_canaries
from treadle.toolchains.node import is_node_test

_ASKS: Final[dict[Need, str]] = {
    "test": "runs the tests, but `toolchain.test` is not set",
    "names": "needs the outcome of each test, but `toolchain.kind` reports only the exit code",
    "list": "needs a list of the tests, but no command lists them",
    "lines": "needs the lines that the tests execute, but `toolchain.kind` is not `pytest`",
}
_READ_BY: Final = {"pytest": "pytest", "py.test": "pytest", "go": "gotest", "gotestsum": "gotest"}
"""Words of a test command, and the `toolchain.kind` that reads its results."""
_MERGE_RUNS: Final = frozenset({"build", "contract", "test"})
"""Commands that a merge runs, where the project has them."""


_RANK: Final = {"word": 0, "observed": 1, "proved": 2}
_PROVING: Final = frozenset().union(*PROOFS["red"], *PROOFS["green"])
"""Checks that a criterion rests on."""


class Lack(msgspec.Struct, frozen=True):
    """A need of some check that the toolchain does not meet."""

    need: Need
    where: str
    """The first step that needs it, and the check."""
    fix: str

    @property
    def what(self) -> str:
        """A sentence for people."""
        return f"{self.where} {_ASKS[self.need]}"


def find_lacks(
    protocol: Protocol, settings: ToolchainSettings, *, has_file: bool, within: Reach | None = None
) -> list[Lack]:
    """Return the needs of a protocol's checks that the settings do not meet; no agent could ever pass those checks.

    `has_file`: a `treadle.toml` exists, which `treadle init` does not change. `within`: the steps that a run can reach.
    """
    needed: dict[Need, str] = {}
    for where, spec in _checks(protocol, within):
        for need in () if spec.runs and settings.command(spec.runs) else spec.needs:
            needed.setdefault(need, where)
    is_met: dict[Need, bool] = {
        "test": bool(settings.test),
        "names": settings.kind != "command",
        "list": settings.kind != "command" or bool(settings.collect),
        "lines": settings.kind == "pytest",
    }
    fixes = {
        "test": f"set `toolchain.test` {where_to_set(has_file=has_file)}",
        "lines": "set `toolchain.kind` to `pytest`, if that is what runs them",
    }
    return [
        Lack(need, needed[need], fixes.get(need) or _kind_to_set(settings))
        for need in _ASKS
        if need in needed and not is_met[need]
    ]


def best_grade(settings: ToolchainSettings) -> str:
    """Return the highest grade that a criterion can have with these tests."""
    match settings.kind:
        case "pytest":
            return "proved" if settings.apart else "observed"
        case "gotest":
            return "word" if option_against_canaries(settings.test) else "observed"
        case _:
            if is_node_test(settings.test):
                return "proved" if settings.apart and can_run_apart(settings) else "observed"
            return "word"


def can_run_apart(settings: ToolchainSettings) -> bool:
    """Whether tests of this kind can run in another process than the code, where the machine can do it."""
    return settings.kind == "pytest" or (settings.kind == "junit" and is_node_test(settings.test))


def grade_lack(
    protocol: Protocol, settings: ToolchainSettings, minimum: str, within: Reach | None = None
) -> tuple[str, str] | None:
    """Return the missing grade and a remedy, if the tests of this project can never give the grade that criteria need.

    A command without results of single tests proves no criterion of any grade, which `find_lacks` deals with.
    """
    best = best_grade(settings)
    is_alone = any(graph.only for graph in protocol.graphs.values())  # it verifies no criterion
    if is_alone or not settings.test or settings.kind == "command" or _RANK[best] >= _RANK[minimum]:
        return None
    if not any(ref.name in _PROVING for _, step in _steps(protocol, within) for ref in _gated(step)):
        return None
    fix = f'set `verification.minimum = "{best}"` in treadle.toml, or start one run with `--minimum {best}`'
    if can_run_apart(settings):
        fix = f"set `toolchain.apart = true`, or {fix}"
    what = f"criteria need the grade `{minimum}` (`verification.minimum`), and these tests can give `{best}` at most"
    return what, fix


def describe_lacks(found: list[Lack]) -> str:
    """Return all lacks and their fixes in one sentence, each fix once."""
    return "; ".join([*(lack.what for lack in found), *cures(found)])


def cures(found: list[Lack]) -> list[str]:
    """Return the fixes, without duplicates."""
    return list(dict.fromkeys(lack.fix for lack in found))


def needs_tests(protocol: Protocol, within: Reach | None = None) -> bool:
    """Whether a check that can refuse something runs or lists the tests."""
    return any(spec.needs for _, spec in _checks(protocol, within))


def commands_of(
    protocol: Protocol, settings: ToolchainSettings, within: Reach | None = None, *, advisory: bool = False
) -> frozenset[str]:
    """Return the configured commands that must be able to start, because a check or a merge would otherwise never pass.

    With `advisory`, include the commands of advisory checks, which could report nothing without them.
    """
    specs = [spec for _, spec in _checks(protocol, within)]
    specs += [spec for _, spec in _checks(protocol, within, advisory=True) if spec.runs] if advisory else []
    needs = {need for spec in specs for need in spec.needs}
    named = {spec.runs for spec in specs} | ({"test"} if needs else set())
    named |= _MERGE_RUNS if any(step.effect == "merge" for _, step in _steps(protocol, within)) else set()
    named |= {"collect"} if "list" in needs and settings.kind in ("command", "junit") else set()
    return frozenset(name for name in named if name and settings.command(name))


def _gated(step: Step) -> Iterator[CheckRef]:
    yield from step.checks
    for refs in step.gates.values():
        yield from refs


def _checks(protocol: Protocol, within: Reach | None, *, advisory: bool = False) -> Iterator[tuple[str, CheckSpec]]:
    """Yield the refusing checks (or the advisory ones) with their places; skip unknown names."""
    for place, step in _steps(protocol, within):
        for ref in _gated(step):
            if ref.advisory is advisory and ref.name in CHECKS:
                yield f"{place} ({ref.name})", CHECKS[ref.name]


def _steps(protocol: Protocol, within: Reach | None) -> Iterator[tuple[str, Step]]:
    """Yield the steps that a run can reach, each with its place, in the order of the protocol."""
    reached = reach(protocol) if within is None else within
    for graph, found in protocol.graphs.items():
        yield from ((f"{graph}.{name}", step) for name, step in found.steps.items() if name in reached.get(graph, ()))


def where_to_set(*, has_file: bool) -> str:
    """Return the file that a project setting belongs in, and the command that creates it."""
    if has_file:
        return "in treadle.toml"
    return "in treadle.toml (`treadle init` writes one, and finds the command where it can)"


def _kind_to_set(settings: ToolchainSettings) -> str:
    """Return how to make the results of the test command readable test by test."""
    words = [word.rpartition("/")[2] for word in settings.test]
    kind = next((_READ_BY[word] for word in words if word in _READ_BY), "")
    if kind:
        return f'set `toolchain.kind` to "{kind}", which reads the results of `{" ".join(settings.test)}`'
    if "unittest" in words:
        return 'set `toolchain.kind` to "pytest" and `toolchain.test` to `python3 -m pytest`, which runs unittest, too'
    return (
        'set `toolchain.kind` to "pytest", "gotest" or "junit"; for "junit", `toolchain.test` must write a JUnit file '
        "to `{report}`, as most runners can (docs/tests-believed.md has an example for a plain script)"
    )
