"""The write scope of a step.

`scope`, `scope_tests`, `scope_src`, `owned_files`, `conflicts_only`, `protection`, `tests_unmodified`.

Also the tree that an implementer's work is measured on: with the accepted tests, not those in its lane
(`measured_tree`).
"""

import configparser
import tomllib
from typing import Final

from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, join_names, problem
from treadle.evidence.stubs import beyond_stubs
from treadle.evidence.subject import (
    WRITES_TESTS,
    Subject,
    accepted_commits,
    accepted_exits,
    is_gated_by,
    payload,
    planned_contract,
)
from treadle.git.globs import CAREFUL, level_of, matches
from treadle.git.trees import TreeEntry
from treadle.protocol.paths import is_pattern

# The test sections of files that configure more than tests.

SHARED: Final[dict[str, tuple[str, ...]]] = {
    "pyproject.toml": ("pytest", "tox", "coverage"),
    "setup.cfg": ("tool:pytest", "tox:tox"),
    "tox.ini": ("pytest", "tox", "testenv"),
}
"""By their paths, the sections that are about tests."""


def test_configuration(path: str, data: bytes | None) -> str:
    """Return the test sections of a shared configuration file in a comparable form; empty for any other file."""
    if path not in SHARED or data is None:
        return ""
    text, sections = data.decode(errors="replace"), SHARED[path]
    if path.endswith(".toml"):
        try:
            tool = tomllib.loads(text).get("tool", {})
        except (ValueError, RecursionError):
            return f"unreadable: {text}"
        return repr([(name, tool[name]) for name in sections if isinstance(tool, dict) and name in tool])
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return f"unreadable: {text}"
    chosen = [name for name in parser.sections() if name in sections or name.partition(":")[0] in sections]
    return repr([(name, sorted(parser.items(name))) for name in sorted(chosen)])


test_configuration.__test__ = False  # type: ignore[attr-defined]


_DOCUMENTS = (".md", ".rst", ".adoc", ".txt")
_OURS = (".treadle/**", ".treadle", "treadle.toml", ".git/**")
"""Files that configure the orchestrator; only people change them."""
_RESTORE = "; restore the file"
_DELETE = "; delete this new file (if a tool makes it each time, a person can add it to .gitignore)"


async def scope(s: Subject) -> CheckOutcome:
    """Changed paths lie inside the role's write scope."""
    return conclude(await _outside(s))


async def scope_tests(s: Subject) -> CheckOutcome:
    """Require that only test files changed, and none of the contract suite, which belongs to the plan.

    A document that the scope names in full may change, too; program files may not, except for stubs.
    """
    named = {glob for glob in s.scope.writes if not is_pattern(glob) and glob.endswith(_DOCUMENTS)}
    foreign = [
        problem(
            "is not a test file",
            path,
            expected="this step changes only tests; restore the file",
            code="scope.not_a_test",
        )
        for path in s.paths()
        if s.tests.is_code(path) and path not in named and not matches(path, s.scope.stubs)
    ]
    laid_down = set(await planned_contract(s))
    wanted = "the planned file, unchanged; write new tests into other files"
    contract = [
        problem("belongs to the planned contract suite", path, expected=wanted, code="contract.modified")
        for path in s.paths()
        if path in laid_down
    ]
    return conclude([*await _outside(s), *foreign, *contract])


async def scope_src(s: Subject) -> CheckOutcome:
    """Only implementation files changed."""
    tests = [
        problem(
            "belongs to the tests",
            path,
            expected="this step changes only the implementation; restore the file",
            code="tests.modified",
        )
        for path in s.paths()
        if s.tests.is_test(path)
    ]
    return conclude([*await _outside(s), *tests, *await changed_configuration(s)])


async def owned_files(s: Subject) -> CheckOutcome:
    """Only the task's own files changed."""
    listed = s.input.get("files")
    globs = [glob for glob in listed if isinstance(glob, str)] if isinstance(listed, list) else []
    own = f"this task owns {join_names(globs)}" if globs else "this task owns no files"
    return conclude(
        problem("belongs to another task", path, expected=own, code="scope.other_task")
        for path in s.paths()
        if not matches(path, globs)
    )


async def conflicts_only(s: Subject) -> CheckOutcome:
    """Only the files changed that the last rebase has left in conflict."""
    files = left_in_conflict(s)
    wanted = f"this step changes only {join_names(files) or 'nothing'}; leave other changes to later steps"
    return conclude(
        problem("was not in conflict", path, expected=wanted, code="scope.not_in_conflict")
        for path in s.paths()
        if path not in files
    )


def left_in_conflict(s: Subject) -> list[str]:
    """Return the files that the last rebase reported as in conflict."""
    listed = [one.payload["conflictFiles"] for one in accepted_exits(s.case, s.inst) if "conflictFiles" in one.payload]
    return [file for file in listed[-1] if isinstance(file, str)] if listed and isinstance(listed[-1], list) else []


async def protection(s: Subject) -> CheckOutcome:
    """Refuse changes of protected paths that no person has confirmed."""
    levels = {path: level_of(s.case.protocol.protections, path) for path in s.paths()}
    careful = {path: level for path, level in levels.items() if level >= CAREFUL}
    open_ = sorted(set(careful) - _confirmed(s))
    problems = [
        problem(
            f"is protected (Ψ{careful[path]})",
            path,
            expected="a person confirms the change, or you restore the file",
            code="scope.protected",
        )
        for path in open_
    ]
    return CheckOutcome(problems=tuple(problems), facts={"paths": list(open_)})


async def _outside(s: Subject) -> list[CheckProblem]:
    refused = [
        problem(f"the write scope cannot be computed: {reason}", code="scope.refused") for reason in s.scope.refused
    ]
    allowed = join_names(s.scope.writes) or "nothing"
    new = {change.path for change in s.changed_files() if change.kind == "added"}
    faults = [one for path in s.paths() if (one := _fault(s, path, allowed, is_new=path in new))]
    for path in s.paths():
        if matches(path, s.scope.stubs) and not matches(path, s.scope.writes):  # only stubs may be added there
            faults += beyond_stubs(path, await s.text(path, s.work.base), await s.text(path))
    return [*refused, *faults]


def _fault(s: Subject, path: str, allowed: str, *, is_new: bool) -> CheckProblem | None:
    if matches(path, _OURS):
        return problem(
            "configures Treadle itself",
            path,
            expected="only people change this file; restore it",
            code="scope.orchestrator",
        )
    if matches(path, s.scope.hidden):
        return problem("is hidden from this role", path, expected="no change; restore the file", code="scope.hidden")
    if not matches(path, s.scope.writes) and not matches(path, s.scope.stubs):
        repair = _DELETE if is_new else _RESTORE
        if kept_out := [glob for glob in s.scope.writes if glob.startswith("!") and matches(path, [glob[1:]])]:
            wanted = f"no change of {kept_out[0][1:]}{repair}"
            return problem("this role may not write here", path, expected=wanted, code="scope.outside")
        return problem(
            "this role may not write here",
            path,
            expected=f"changes only in {allowed}{repair}",
            code="scope.outside",
        )
    return None


async def changed_configuration(s: Subject, base: str = "") -> list[CheckProblem]:
    """Shared configuration files in which the tests' own sections have changed."""
    problems: list[CheckProblem] = []
    for path in SHARED:
        if path in s.paths():
            before = test_configuration(path, await s.git.show(base or s.work.base, path))
            after = test_configuration(path, await s.git.show(s.work.commit, path))
            if (before or "[]") != (after or "[]"):
                wanted = f"unchanged sections {join_names(SHARED[path])}"
                problems.append(problem("changes how tests run", path, expected=wanted, code="tests.configuration"))
    return problems


def _confirmed(s: Subject) -> set[str]:
    """Return the paths of the last refusal, if a person has confirmed it since."""
    refusal = s.inst.slots.get(f"{s.job.step}.!gate")
    rows = s.step.routes.get("!gate.protection", ())
    if refusal is None or not _was_allowed(s, [route.to for route in rows], refusal.seq):
        return set()
    checks = payload(s.case, refusal.ref).get("checks")
    records = [one for one in checks if isinstance(one, dict)] if isinstance(checks, list) else []
    reports = [one.get("report") for one in records if one.get("check") == "protection"]
    paths = [payload(s.case, ref).get("paths") for ref in reports if isinstance(ref, str)]
    return {path for listed in paths if isinstance(listed, list) for path in listed if isinstance(path, str)}


def _was_allowed(s: Subject, asks: list[str], since: int) -> bool:
    """Whether a person has since chosen an answer that leads back to the step."""
    for ask in asks:
        step = s.graph.steps.get(ask)
        for choice, rows in step.routes.items() if step else ():
            slot = s.inst.slots.get(f"{ask}.{choice}")
            if slot and slot.seq > since and any(route.to in (s.job.step, "@back") for route in rows):
                return True
    return False


# An implementer's work is measured with the accepted tests, even if its lane contains others.


async def measured_tree(s: Subject) -> str:
    """The recorded tree, in which tests that this step may not write are as they were when it began."""
    if not s.has_lane:
        return s.work.tree
    before = await s.entries(s.work.base)
    touched = [path for path in s.paths() if s.tests.is_test(path)]
    touched += [one.file for one in await changed_configuration(s)]
    return await s.git.with_files(
        s.work.commit, {path: before.get(path) for path in touched if not may_change(s, path)}
    )


def may_change(s: Subject, path: str) -> bool:
    """Whether this step may write this test file."""
    return not s.is_frozen and matches(path, s.scope.writes)


async def accepted_tests(s: Subject) -> dict[str, TreeEntry | None]:
    """The test files that accepted exits of this instance wrote (None: removed), as each was written last."""
    expected: dict[str, TreeEntry | None] = {}
    for one, commit in accepted_commits(s.case, s.inst):
        if is_gated_by(s.graph, one, *WRITES_TESTS):
            entries = await s.entries(commit)
            for change in await s.git.changes(f"{commit}^", commit):
                expected |= {path: entries.get(path) for path in change.touched if s.tests.is_test(path)}
    return expected


# `tests_unmodified`: the tests, their shared files and their configuration are as their author left them.


async def tests_unmodified(s: Subject) -> CheckOutcome:
    """Test files are those of the last accepted test-writing exit."""
    return conclude(await (_since_base(s) if s.has_lane else _since_accepted(s)))


async def _since_base(s: Subject) -> list[CheckProblem]:
    """The lane started with everything that was accepted, so any difference is this activity's."""
    changed = [
        problem(
            f"belongs to the tests and was {change.kind}",
            path,
            expected="unchanged tests; restore the file",
            code="tests.modified",
        )
        for change in s.work.changed
        for path in change.touched
        if s.tests.is_test(path)
    ]
    return changed + await changed_configuration(s)


async def _since_accepted(s: Subject) -> list[CheckProblem]:
    now = await s.entries()
    return [
        problem(what, path, expected="the tests as their author left them", code="tests.modified")
        for path, entry in (await accepted_tests(s)).items()
        if (what := _difference(entry, now.get(path)))
    ]


def _difference(then: TreeEntry | None, now: TreeEntry | None) -> str:
    if then and now:
        return "" if (then.mode, then.id) == (now.mode, now.id) else "differs from what the author of the tests wrote"
    if then:
        return "was removed after its author wrote it"
    return "came back after its author removed it" if now else ""
