"""What a node must pass when it is merged: `contract_exists`, `contract`, `contract_children`."""

import shlex
from typing import Final

from treadle.evidence.asserting import asserting_beside
from treadle.evidence.contract_suite import contract_files, contract_place
from treadle.evidence.criteria import childrens_criteria
from treadle.evidence.findings import Found, Problem, Ran, failed, found, note, problem, some
from treadle.evidence.manifest import read_manifest
from treadle.evidence.past import merged_children
from treadle.evidence.subject import Subject
from treadle.evidence.suite import bad, described, ran, unbelievable
from treadle.evidence.test_quality import is_readable, smells
from treadle.toolchains.results import Built

_SHOWN: Final = 1_500


async def contract_exists(s: Subject) -> Found:
    """The contract suite is there, is collected, and can fail."""
    place, files = contract_place(s), await contract_files(s)
    if not place:
        return failed("no contract suite is named", code="contract.unnamed")
    if not files:
        return failed(
            "the contract suite is not there",
            file=place,
            expected="the tests that this node must pass",
            code="contract.missing",
        )
    collected = await s.measure.collected(s.work.tree, files)
    problems = [
        problem(f"cannot be collected: {test.message}", test.file or file, test.line, code="tests.uncollectable")
        for file, test in collected.errors.items()
    ]
    problems += [
        problem(f"the contract suite cannot be listed: {one}", place, code="tests.unlisted")
        for one in (*collected.problems, *collected.bent)
    ]
    if not problems and not collected.ids:
        problems.append(problem("has no tests", place, expected="at least one test", code="contract.empty"))
    return found(
        [*problems, *await _vacuous(s, files)],
        [note(f"{len(collected.ids)} tests", code="contract.count"), *await _as_before(s, files)],
    )


async def _vacuous(s: Subject, files: list[str]) -> list[Problem]:
    """Tests of the contract suite that hold whatever happens."""
    readable = [file for file in files if is_readable(file)]
    read = {file: smells(await s.text(file) or "", await asserting_beside(s, file)) for file in readable}
    return [
        problem(
            f"the test {smell.test} {smell.what}",
            file,
            smell.line,
            expected="an assertion that can fail",
            code="tests.vacuous",
        )
        for file, listed in read.items()
        for smell in listed
        if smell.is_certain
    ]


async def _as_before(s: Subject, files: list[str]) -> list[Problem]:
    """A contract suite that is older than the node may be meant so, or be an excuse."""
    origin = await s.git.origin(s.case.state, s.job.inst)
    now, then = await s.entries(), await s.entries(origin)
    is_old = all(file in then and then[file].id == now[file].id for file in files)
    return [note(f"the contract suite {some(files)} is older than this node", code="contract.older")] if is_old else []


async def contract(s: Subject) -> Found:
    """The contract suite passes."""
    built = await s.measure.command("contract", s.work.tree)
    if built is not None:
        return of_command(built, "the contract suite", code="contract.command")
    files = await contract_files(s)
    if not files:
        return failed(
            "the contract suite is not there", file=contract_place(s), expected="tests", code="contract.missing"
        )
    run = await s.measure.suite(s.work.tree, files=files)
    problems = [*unbelievable(run), *(described(test) for test in bad(run).values())]
    if not problems and not run.passed:
        problems.append(problem("no test of the contract suite passed", contract_place(s), code="contract.not_passed"))
    return found(problems, ran=ran(run))


async def contract_children(s: Subject) -> Found:
    """The contract tests of all merged children's criteria pass."""
    merged = {one.key for one in merged_children(s.case, s.job.inst)}
    named = s.case.claim.get("child")
    if isinstance(named, str) and merged and named not in merged:
        return failed(
            f"'{named}' has not been merged",
            expected=f"a judgement of {' or '.join(sorted(merged))}",
            code="judgement.wrong_child",
        )
    wanted = [id_ for id_, child in childrens_criteria(s).items() if child in merged]
    tests = (await read_manifest(s)).by_criterion(await s.measure.collected(s.work.tree), contract=True)
    ids = sorted({id_ for one in wanted for id_ in tests.get(one, [])})
    bare = [one for one in wanted if not tests.get(one)]
    notes = [note(f"no contract test stands for {some(bare)}", code="contract.uncovered")] if bare else []
    if not ids:
        return found(notes=[*notes, note("no contract test of a merged child's criterion", code="contract.none")])
    run = await s.measure.suite(s.work.tree, ids=ids)
    problems = [*unbelievable(run), *(described(test) for test in bad(run).values())]
    return found(problems, notes, ran(run))


def of_command(built: Built, what: str, line: str = "", *, code: str) -> Found:
    """A command of which only the exit code counts; `line` is how the project has written it."""
    if built.is_well:
        return found(ran=ran_of(built))
    return found([problem(how_it_ended(built, line), expected=f"{what} succeeds", code=code)], ran=ran_of(built))


def ran_of(built: Built) -> Ran:
    """A command of the project as evidence."""
    return Ran(
        command=built.command, exit=built.exit, duration=built.duration, output=built.output, isolation=built.isolation
    )


def how_it_ended(built: Built, line: str = "") -> str:
    """A command as the project has written it, how it ended, and what it has printed."""
    ended = f"ended with {built.exit}" if built.exit is not None else f"could not be run to its end ({built.ended})"
    return f"`{line or shlex.join(built.command)}` {ended}{_said(built.output)}"


def _said(output: str) -> str:
    """What a command has printed: its last line first, which is all that a line of ours has room for."""
    lines = output.strip()[-_SHOWN:].splitlines()
    return (f": {lines[-1].strip()}" if lines else "") + ("\n" + "\n".join(lines) if len(lines) > 1 else "")
