"""Who changed what: `scope`, `scope_tests`, `scope_src`, `owned_files`, `conflicts_only`, `protection`."""

from collections.abc import Iterable, Mapping

from treadle.evidence.contract_suite import planned_contract
from treadle.evidence.findings import Found, Problem, found, problem, some
from treadle.evidence.past import accepted, payload
from treadle.evidence.skeleton import beyond_stubs
from treadle.evidence.subject import Subject
from treadle.evidence.test_configuration import SHARED, test_configuration
from treadle.git.globs import matches
from treadle.git.protections import CAREFUL, level_of
from treadle.protocol.answers.paths import is_pattern
from treadle.protocol.items import Json

_DOCUMENTS = (".md", ".rst", ".adoc", ".txt")
_OURS = (".treadle/**", ".treadle", "treadle.toml", ".git/**")
"""How the orchestrator works is for people to say."""
_LITTER = ". If a tool has left this new file behind, remove it; for good, people have git ignore it (.gitignore)"


async def scope(s: Subject) -> Found:
    """Changed paths lie inside the role's write scope."""
    return found(await _outside(s))


async def scope_tests(s: Subject) -> Found:
    """Only test files changed, and none of the contract suite, which is the plan's.

    A document that the scope names in full may change, too; what belongs to the program may not, stubs apart.
    """
    named = {glob for glob in s.scope.writes if not is_pattern(glob) and glob.endswith(_DOCUMENTS)}
    foreign = [
        problem(
            "is no test file",
            path,
            expected="this step changes tests and nothing else; put it back",
            code="scope.not_a_test",
        )
        for path in s.paths()
        if s.tests.is_code(path) and path not in named and not matches(path, s.scope.stubs)
    ]
    laid_down = set(await planned_contract(s))
    wanted = "the file as the plan has it, and tests beside it"
    contract = [
        problem("is the contract suite as it was planned", path, expected=wanted, code="contract.modified")
        for path in s.paths()
        if path in laid_down
    ]
    return found([*await _outside(s), *foreign, *contract])


async def scope_src(s: Subject) -> Found:
    """Only implementation files changed."""
    tests = [
        problem(
            "belongs to the tests",
            path,
            expected="this step changes the implementation only; put it back",
            code="tests.modified",
        )
        for path in s.paths()
        if s.tests.is_test(path)
    ]
    return found([*await _outside(s), *tests, *await changed_configuration(s)])


async def owned_files(s: Subject) -> Found:
    """Only the task's own files changed."""
    listed = s.input.get("files")
    globs = [glob for glob in listed if isinstance(glob, str)] if isinstance(listed, list) else []
    own = f"this task owns {some(globs)}" if globs else "this task owns no files"
    return found(
        problem("belongs to another task", path, expected=own, code="scope.other_task")
        for path in s.paths()
        if not matches(path, globs)
    )


async def conflicts_only(s: Subject) -> Found:
    """Only the files changed that the last rebase has left in conflict."""
    files = left_in_conflict(s)
    wanted = f"this step resolves {some(files) or 'nothing'}; what else has to change comes after it"
    return found(
        problem("was not in conflict", path, expected=wanted, code="scope.not_in_conflict")
        for path in s.paths()
        if path not in files
    )


def left_in_conflict(s: Subject) -> list[str]:
    """The files of which the last rebase has said so."""
    listed = [one.payload["conflictFiles"] for one in accepted(s.case, s.inst) if "conflictFiles" in one.payload]
    return [file for file in listed[-1] if isinstance(file, str)] if listed and isinstance(listed[-1], list) else []


async def protection(s: Subject) -> Found:
    """No touched path needs a person's word, or it was given."""
    levels = {path: level_of(s.case.protocol.protections, path) for path in s.paths()}
    careful = {path: level for path, level in levels.items() if level >= CAREFUL}
    open_ = sorted(set(careful) - _confirmed(s))
    problems = [
        problem(
            f"is protected (Ψ{careful[path]})",
            path,
            expected="a person's confirmation, or leave it as it was",
            code="scope.protected",
        )
        for path in open_
    ]
    return Found(problems=tuple(problems), facts={"paths": list(open_)})


async def _outside(s: Subject) -> list[Problem]:
    refused = [problem(f"the write scope cannot be made: {reason}", code="scope.refused") for reason in s.scope.refused]
    allowed = some(s.scope.writes) or "nothing"
    new = {change.path for change in s.changed_files() if change.kind == "added"}
    faults = [one for path in s.paths() if (one := _fault(s, path, allowed, is_new=path in new))]
    return [*refused, *faults, *await _more_than_stubs(s)]


async def _more_than_stubs(s: Subject) -> list[Problem]:
    """What was changed, where only stubs may be added, besides stubs."""
    paths = [path for path in s.paths() if matches(path, s.scope.stubs) and not matches(path, s.scope.writes)]
    return [one for path in paths for one in beyond_stubs(path, await s.text(path, s.work.base), await s.text(path))]


def _fault(s: Subject, path: str, allowed: str, *, is_new: bool) -> Problem | None:
    if matches(path, _OURS):
        return problem(
            "decides how the orchestrator works",
            path,
            expected="only people change it; put it back",
            code="scope.orchestrator",
        )
    if matches(path, s.scope.hidden):
        return problem("is hidden from this role", path, expected="leave it as it was", code="scope.hidden")
    if not matches(path, s.scope.writes) and not matches(path, s.scope.stubs):
        litter = _LITTER if is_new else ""
        if kept_out := [glob for glob in s.scope.writes if glob.startswith("!") and matches(path, [glob[1:]])]:
            wanted = f"it stays as it was: {kept_out[0][1:]} is kept out, whatever else it may write{litter}"
            return problem("is outside of what this role may write", path, expected=wanted, code="scope.outside")
        return problem(
            "is outside of what this role may write",
            path,
            expected=f"it may write {allowed}{litter}",
            code="scope.outside",
        )
    return None


async def changed_configuration(s: Subject, base: str = "") -> list[Problem]:
    """Shared configuration files in which the tests' own sections have changed."""
    problems: list[Problem] = []
    for path in SHARED:
        if path in s.paths():
            before = test_configuration(path, await s.git.show(base or s.work.base, path))
            after = test_configuration(path, await s.git.show(s.work.commit, path))
            if (before or "[]") != (after or "[]"):
                wanted = f"its sections {some(SHARED[path])} as they were"
                problems.append(
                    problem(
                        "says something else about how tests run", path, expected=wanted, code="tests.configuration"
                    )
                )
    return problems


def _confirmed(s: Subject) -> set[str]:
    """The paths of the last refusal, if a person has said yes to it since."""
    refusal = s.inst.slots.get(f"{s.job.step}.!gate")
    rows = s.step.routes.get("!gate.protection", ())
    if refusal is None or not _was_allowed(s, [route.to for route in rows], refusal.seq):
        return set()
    checks = payload(s.case, refusal.ref).get("checks")
    reports = [one.get("report") for one in _records(checks) if one.get("check") == "protection"]
    paths = [payload(s.case, ref).get("paths") for ref in reports if isinstance(ref, str)]
    return {path for listed in paths if isinstance(listed, list) for path in listed if isinstance(path, str)}


def _was_allowed(s: Subject, asks: list[str], since: int) -> bool:
    """Whether the question was answered so that it leads back to the step."""
    for ask in asks:
        step = s.graph.steps.get(ask)
        for choice, rows in step.routes.items() if step else ():
            slot = s.inst.slots.get(f"{ask}.{choice}")
            if slot and slot.seq > since and any(route.to in (s.job.step, "@back") for route in rows):
                return True
    return False


def _records(value: Json) -> Iterable[Mapping[str, Json]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
