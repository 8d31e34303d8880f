"""Contracts and interfaces, on which other instances rely.

A node must pass its contract suite when it is merged: `contract_exists`, `contract`, `contract_children`. Interfaces
stay as planned: `interface_unmodified`, `interface_exact`.
"""

import shlex
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from treadle.evidence.baseline import without_old_failures
from treadle.evidence.code_shapes import (
    PlannedSignature,
    imported_signatures,
    is_written,
    parse_signatures,
    signature_shapes,
)
from treadle.evidence.criteria import childrens_criteria
from treadle.evidence.findings import (
    CheckOutcome,
    CheckProblem,
    CommandRun,
    conclude,
    join_names,
    note,
    problem,
    refuse,
)
from treadle.evidence.grades import passing_apart
from treadle.evidence.manifest import read_manifest
from treadle.evidence.subject import Subject, accepted_exits, commit_of, contract_files, contract_place, merged_children
from treadle.evidence.suite import bad_tests, describe_test, reason_for_doubt, run_evidence
from treadle.evidence.test_quality import smells_in
from treadle.protocol.items import Json
from treadle.toolchains.results import CommandResult

_SHOWN: Final = 1_500


async def contract_exists(s: Subject) -> CheckOutcome:
    """The contract suite is there, is collected, and can fail."""
    place, files = contract_place(s), await contract_files(s)
    if not place:
        return refuse("no contract suite is named", code="contract.unnamed")
    if not files:
        return refuse(
            "the contract suite is missing",
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
    return conclude(
        [*problems, *await _vacuous(s, files)],
        [note(f"{len(collected.ids)} tests", code="contract.count"), *await _as_before(s, files)],
    )


async def _vacuous(s: Subject, files: list[str]) -> list[CheckProblem]:
    """Return a problem for each test of the contract suite that cannot fail."""
    return [
        problem(
            f"the test {smell.test} {smell.what}",
            file,
            smell.line,
            expected="an assertion that can fail",
            code="tests.vacuous",
        )
        for file in files
        for smell in await smells_in(s, file)
        if smell.is_certain
    ]


async def _as_before(s: Subject, files: list[str]) -> list[CheckProblem]:
    """A contract suite that is older than the node may be meant so, or be an excuse."""
    origin = await s.origin()
    now, then = await s.entries(), await s.entries(origin)
    is_old = all(file in then and then[file].id == now[file].id for file in files)
    return (
        [note(f"the contract suite {join_names(files)} is older than this node", code="contract.older")]
        if is_old
        else []
    )


async def contract(s: Subject) -> CheckOutcome:
    """The contract suite passes."""
    built = await s.measure.command("contract", s.work.tree)
    if built is not None:
        return of_command(built, "the contract suite", code="contract.command")
    files = await contract_files(s)
    if not files:
        return refuse(
            "the contract suite is missing", file=contract_place(s), expected="tests", code="contract.missing"
        )
    run = await without_old_failures(s, await s.measure.suite(s.work.tree, files=files))
    problems = [*reason_for_doubt(run), *(describe_test(test) for test in bad_tests(run).values())]
    if not problems and not run.passed:
        problems.append(problem("no test of the contract suite passed", contract_place(s), code="contract.not_passed"))
    said = conclude(problems, ran=run_evidence(run))
    return (await passing_apart(s, run, s.work.tree, run.passed)).added_to(said) if said.ok else said


async def contract_children(s: Subject) -> CheckOutcome:
    """The contract tests of all merged children's criteria pass."""
    merged = {one.key for one in merged_children(s.case, s.job.inst)}
    named = s.case.claim.get("child")
    if isinstance(named, str) and merged and named not in merged:
        return refuse(
            f"'{named}' has not been merged",
            expected=f"a judgement of {' or '.join(sorted(merged))}",
            code="judgement.wrong_child",
        )
    wanted = [id_ for id_, child in childrens_criteria(s).items() if child in merged]
    tests = (await read_manifest(s)).by_criterion(await s.measure.collected(s.work.tree), contract=True)
    ids = sorted({id_ for one in wanted for id_ in tests.get(one, [])})
    bare = [one for one in wanted if not tests.get(one)]
    notes = [note(f"no contract test stands for {join_names(bare)}", code="contract.uncovered")] if bare else []
    if not ids:
        return conclude(notes=[*notes, note("no contract test of a merged child's criterion", code="contract.none")])
    run = await without_old_failures(s, await s.measure.suite(s.work.tree, ids=ids))
    problems = [*reason_for_doubt(run), *(describe_test(test) for test in bad_tests(run).values())]
    said = conclude(problems, notes, run_evidence(run))
    return (await passing_apart(s, run, s.work.tree, ids)).added_to(said) if said.ok else said


def of_command(built: CommandResult, what: str, line: str = "", *, code: str) -> CheckOutcome:
    """Judge a command by its exit code alone; `line` is the command as the project wrote it."""
    if built.is_well:
        return conclude(ran=ran_of(built))
    return conclude([problem(how_it_ended(built, line), expected=f"{what} succeeds", code=code)], ran=ran_of(built))


def ran_of(built: CommandResult) -> CommandRun:
    """A command of the project as evidence."""
    return CommandRun(
        command=built.command, exit=built.exit, duration=built.duration, output=built.output, isolation=built.isolation
    )


def how_it_ended(built: CommandResult, line: str = "") -> str:
    """Describe a command as the project wrote it, its exit code and its output."""
    ended = f"ended with {built.exit}" if built.exit is not None else f"could not be run to its end ({built.ended})"
    # The last line of the output comes first, because a one-line finding has room for no more.
    lines = built.output.strip()[-_SHOWN:].splitlines()
    said = (f": {lines[-1].strip()}" if lines else "") + ("\n" + "\n".join(lines) if len(lines) > 1 else "")
    return f"`{line or shlex.join(built.command)}` {ended}{said}"


# Interfaces that others rely on: `interface_unmodified`, `interface_exact`.


async def interface_unmodified(s: Subject) -> CheckOutcome:
    """Interface files are those of the scaffold, and so are the signatures that they hand on."""
    now = await s.entries()
    problems: list[CheckProblem] = []
    for path, commit in interface_files(s).items():
        since = commit if commit and path in await s.entries(commit) else s.work.base
        then = (await s.entries(since)).get(path)
        if then is not None and (path not in now or now[path].id != then.id):
            what = "is an interface and was changed" if path in now else "is an interface and was removed"
            problems.append(problem(what, path, expected="the planned file; restore it", code="interface.modified"))
        elif then is not None and path.endswith(".py"):
            # Names that the file imports from elsewhere, and that are called in another way now.
            handed_on = await imported_signatures(s, path)
            problems += [
                problem(
                    f"{name} has another signature than planned: {handed_on.get(name, 'none')}",
                    path,
                    expected=shape,
                    code="interface.other_signature",
                )
                for name, shape in (await imported_signatures(s, path, since)).items()
                if name.partition(".")[0] in handed_on and handed_on.get(name) != shape
            ]
    return conclude(problems)


def interface_files(s: Subject) -> dict[str, str]:
    """Return the interface files of an instance and its ancestors: path → commit that defines its content.

    Files of ancestors have no commit: the lane started with them as they are.
    """
    files: dict[str, str] = {}
    inst = s.case.state.insts.get(s.inst.parent)
    while inst is not None:
        files |= {path: "" for one in accepted_exits(s.case, inst) for path in _named(one.payload)}
        inst = s.case.state.insts.get(inst.parent)
    for one in accepted_exits(s.case, s.inst):
        files |= dict.fromkeys(_named(one.payload), commit_of(s.case, one))
    return files


def _named(fields: Mapping[str, Json]) -> Iterator[str]:
    """The paths in fields that are about interfaces."""
    for name, value in fields.items():
        if "interface" not in name.lower():
            continue
        if isinstance(value, str) and name.endswith("File"):
            yield value
        for one in value if isinstance(value, list) else []:
            if isinstance(one, dict) and isinstance(path := one.get("path"), str):
                yield path


class PlannedInterface(msgspec.Struct, frozen=True):
    """Signatures that are planned for some files."""

    id: str
    files: tuple[str, ...]
    signatures: tuple[PlannedSignature, ...]


async def interface_exact(s: Subject) -> CheckOutcome:
    """The skeleton has exactly the planned signatures."""
    parts = planned_parts(s)
    if not parts:
        return refuse("no plan says which signatures the interface has", code="interface.no_plan")
    problems: list[CheckProblem] = []
    for part in parts:
        texts = {path: await s.text(path) for path in part.files if s.tests.is_code(path)}
        sources = {path: text for path, text in texts.items() if text is not None}
        problems += [one for wanted in part.signatures for one in _compared(wanted, sources, part)]
    is_skeleton = not any(ref.name.startswith("green") for ref in s.job.checks)
    return conclude([*problems, *(await _unplanned(s, parts) if is_skeleton and s.has_lane else [])])


def planned_parts(s: Subject) -> list[PlannedInterface]:
    """Return the planned interfaces of the instance's own input, or else all those of the accepted plan."""
    own = list(_parts(dict(s.input)))
    return own or [part for one in accepted_exits(s.case, s.inst) for part in _parts(dict(one.payload))]


def _parts(value: Json) -> Iterator[PlannedInterface]:
    if isinstance(value, list):
        for one in value:
            yield from _parts(one)
    elif isinstance(value, dict):
        text, files = value.get("interface"), value.get("files")
        if isinstance(text, str) and isinstance(files, list):
            paths = tuple(path for path in files if isinstance(path, str))
            yield PlannedInterface(str(value.get("id", "")), paths, tuple(parse_signatures(text)))
        else:
            for one in value.values():
                yield from _parts(one)


def _compared(wanted: PlannedSignature, sources: dict[str, str], part: PlannedInterface) -> Iterator[CheckProblem]:
    where = join_names([path for path in part.files if path in sources]) or join_names(part.files)
    if not wanted.name:
        if not any(is_written(wanted, path, text) for path, text in sources.items()):
            yield problem(
                f"the signature of {part.id} is missing", where, expected=wanted.text, code="interface.missing"
            )
        return
    for path, text in sources.items():
        try:
            has = signature_shapes(text)
        except (SyntaxError, ValueError):
            if path.endswith(".py"):
                yield problem("cannot be parsed", path, code="code.unparsable")
            continue
        if wanted.name in has:
            if has[wanted.name] != wanted.shape:
                said = f"{wanted.name} has another signature than planned: {has[wanted.name]}"
                yield problem(said, path, expected=wanted.text, code="interface.other_signature")
            return
    yield problem(f"{wanted.name} is missing", where, expected=wanted.text, code="interface.missing")


async def _unplanned(s: Subject, parts: list[PlannedInterface]) -> list[CheckProblem]:
    """Public names at the top of a planned file that are new and that no plan has."""
    known = {one.name.partition(".")[0] for part in parts for one in part.signatures}
    text = "\n".join(one.text for part in parts for one in part.signatures)
    problems: list[CheckProblem] = []
    for path in dict.fromkeys(path for part in parts for path in part.files if path.endswith(".py")):
        if path in s.paths() and s.tests.is_code(path):
            before, now = _top(await s.text(path, s.work.base)), _top(await s.text(path))
            extra = [name for name in now if name not in before and name not in known and name not in text]
            problems += [
                problem(f"{name} is not in the plan", path, expected="no further public names", code="interface.extra")
                for name in extra
            ]
    return problems


def _top(text: str | None) -> list[str]:
    try:
        return [name for name in signature_shapes(text or "") if "." not in name and not name.startswith("_")]
    except (SyntaxError, ValueError):
        return []
