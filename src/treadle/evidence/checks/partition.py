"""The division of work: `plan_covers_criteria`, `children_partition`, `disjoint_writes`; and `judged_child`."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import Final

from treadle.evidence.criteria import criteria_in, own_criteria, texts_in
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, problem, refuse
from treadle.evidence.stubs import stubs_of
from treadle.evidence.subject import Subject, children_inputs, merged_children, payload
from treadle.protocol.fields import parse_type, record_of
from treadle.protocol.items import Json
from treadle.protocol.model import tag_of
from treadle.protocol.paths import clean_path, glob_fault, path_overlap

# Decides whether two globs can match the same path.


def globs_overlap(one: str, other: str) -> bool:
    """Whether some path is named by both; `*` and `?` stay inside a folder, `**` does not."""
    return _segments(tuple(_parts(one)), tuple(_parts(other)))


def _parts(glob: str) -> list[str]:
    return [part for part in glob.removeprefix("./").rstrip("/").split("/") if part]


@cache
def _segments(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if not one and not other:
        return True
    if one and one[0] == "**":
        return _any_depth(one, other)
    if other and other[0] == "**":
        return _any_depth(other, one)
    if not one or not other:
        return False
    return _characters(one[0], other[0]) and _segments(one[1:], other[1:])


def _any_depth(deep: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """`**` stands for any number of folders; at the end, for at least a name."""
    if len(deep) == 1:
        return bool(other)
    return _segments(deep[1:], other) or (bool(other) and _segments(deep, other[1:]))


@cache
def _characters(one: str, other: str) -> bool:
    if not one and not other:
        return True
    if one.startswith("*"):
        return _characters(one[1:], other) or (bool(other) and _characters(one, other[1:]))
    if other.startswith("*"):
        return _characters(other, one)
    if not one or not other:
        return False
    return (one[0] == other[0] or "?" in (one[0], other[0])) and _characters(one[1:], other[1:])


Record = Mapping[str, Json]
_SAME: Final = "the criterion word for word; what else there is to say about it belongs in the child's description"
_BESIDE: Final = "the skeleton in a file beside it, and here only what stays: types, protocols, imports from that file"
_ONLY_FILE: Final = (
    "another interface file, because the target is this one file: the public types and signatures in a file in the "
    "folder of the tests (in Python, a `.pyi` file), and the skeleton here"
)


async def plan_covers_criteria(s: Subject) -> CheckOutcome:
    """The plan and the children together cover every criterion."""
    own, children = own_criteria(s), await _children(s)
    planned = list(dict.fromkeys(_planned(s)))  # tests of two classes may have one name
    covered = {one for one, _ in planned}
    given = {id_ for child in children for id_ in _criteria(s, child)}
    problems = [
        problem(
            f"criterion {id_} is in no planned test and no child has it",
            expected="a test or a child for it",
            code="plan.uncovered",
        )
        for id_ in own
        if id_ not in given and id_ not in covered
    ]
    problems += [
        problem(
            f"the planned test '{test}' stands for '{one}', which is not a criterion",
            expected=f"one of {', '.join(own)}",
            code="plan.unknown_criterion",
        )
        for one, test in planned
        if one not in own
    ]
    return conclude(problems)


async def children_partition(s: Subject) -> CheckOutcome:
    """Children have disjoint criteria and paths inside of their parent's, the interfaces exist, merged work stays."""
    children = await _children(s)
    problems = [*_criteria_of(s, children), *_reworded(s, children), *_paths_of(s, children)]
    problems += [*await _interfaces(s), *_undone(s, children)]
    ids = [str(child.get("id", "")) for child in children]
    problems += [
        problem(f"two children are called '{id_}'", code="children.same_name")
        for id_ in dict.fromkeys(ids)
        if ids.count(id_) > 1
    ]
    return conclude(problems)


def _planned(s: Subject) -> Iterator[tuple[str, str]]:
    """Criterion and name of each planned test."""
    for value in s.case.claim.values():
        for one in value if isinstance(value, list) else []:
            if isinstance(one, dict) and "criterionId" in one:
                yield str(one["criterionId"]), str(one.get("plannedTestName", ""))


async def _children(s: Subject) -> list[Record]:
    """The children that the claim names; those there are, if it names none."""
    named = [value for name, value in s.case.claim.items() if _is_spawned_over(s, name) and value is not None]
    if not named:
        return [item for _, item in children_inputs(s.case, s.inst)] if _spawns(s) else []
    return [one for value in named if isinstance(value, list) for one in value if isinstance(one, dict)]


def _spawns(s: Subject) -> bool:
    return any(_overs(s))


def _is_spawned_over(s: Subject, name: str) -> bool:
    return name in _overs(s)


def _overs(s: Subject) -> list[str]:
    rows = [row for key, row in s.step.routes.items() if tag_of(key) == tag_of(s.job.exit)]
    return [action.over for row in rows for route in row for action in route.do if hasattr(action, "over")]


def _criteria(s: Subject, child: Record) -> list[str]:
    return criteria_in(s.case.protocol, s.graph.input[1], child)


def _criteria_of(s: Subject, children: list[Record]) -> Iterator[CheckProblem]:
    owner: dict[str, str] = {}
    for child in children:
        name = str(child.get("id", ""))
        for id_ in _criteria(s, child):
            if id_ in owner:
                yield problem(
                    f"criterion {id_} belongs to '{owner[id_]}' and to '{name}'",
                    expected="one of them",
                    code="children.shared_criterion",
                )
            owner.setdefault(id_, name)
        if not _criteria(s, child):
            yield problem(
                f"the child '{name}' has no criterion",
                expected="at least one, or no such child",
                code="children.no_criterion",
            )


def _reworded(s: Subject, children: list[Record]) -> Iterator[CheckProblem]:
    """Refuse a child's criterion with another wording than this node's own."""
    own = texts_in(s.case.protocol, s.graph.input[1], s.input)
    for child in children:
        for id_, text in texts_in(s.case.protocol, s.graph.input[1], child):
            meant = [one for known, one in own if known == id_]
            if meant and text not in meant:
                said = f"criterion {id_} of the child '{child.get('id', '')}' says \"{text}\", but here it is"
                yield problem(f'{said} "{meant[0]}"', expected=_SAME, code="children.reworded")


def _path_fields(s: Subject) -> list[str]:
    record = s.case.protocol.types.get(s.graph.input[1])
    return [name for name, field in record.fields.items() if field.type == "path"] if record else []


def _paths_of(s: Subject, children: list[Record]) -> Iterator[CheckProblem]:
    placed = [
        (str(child.get("id", "")), name, clean_path(value))
        for child in children
        for name in _path_fields(s)
        if isinstance(value := child.get(name), str)
    ]
    for (one, a, path), (other, b, second) in combinations(placed, 2):
        if one != other and (path_overlap(path, second) or path_overlap(second, path)):
            yield problem(
                f"'{one}' ({a} {path}) and '{other}' ({b} {second}) share files",
                expected="disjoint paths",
                code="children.shared_path",
            )
    own = [clean_path(value) for name in _path_fields(s) if isinstance(value := s.input.get(name), str)]
    for child, name, path in placed:
        if own and not any(path_overlap(path, mine) for mine in own):
            wanted = f"a path inside of {' or '.join(own)}"
            yield problem(
                f"{name} {path} of '{child}' lies outside the paths of this node",
                expected=wanted,
                code="children.path_outside",
            )
        for file in _own_interfaces(s):
            if path_overlap(clean_path(file), path):
                yield problem(
                    f"{name} {path} of '{child}' holds the interface file {file}",
                    expected="a path beside it",
                    code="children.holds_interface",
                )


def _undone(s: Subject, children: list[Record]) -> Iterator[CheckProblem]:
    """Refuse changes to files of merged children, because no child of the same name will write them again."""
    kept = {str(child.get("id", "")) for child in children}
    for child in merged_children(s.case, s.job.inst):
        if child.live or child.key not in kept:
            continue
        given = payload(s.case, child.input.ref)
        places = [clean_path(value) for name in _path_fields(s) if isinstance(value := given.get(name), str)]
        wanted = f"the file as '{child.key}' left it, or a child of another name that has to build it anew"
        for path in s.paths():
            if any(path_overlap(path, place) for place in places):
                yield problem(
                    f"is the work of '{child.key}', which has been merged",
                    path,
                    expected=wanted,
                    code="children.merged_work",
                )


def _own_interfaces(s: Subject) -> list[str]:
    listed = s.case.claim.get("interfaces")
    paths = [one.get("path") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    named = [value for name, value in s.case.claim.items() if name.lower().startswith("interface")]
    return [path for path in (*paths, *named) if isinstance(path, str)]


async def _interfaces(s: Subject) -> list[CheckProblem]:
    entries = await s.entries()
    missing = [path for path in _own_interfaces(s) if clean_path(path) not in entries]
    problems = [
        problem(
            "is an interface file that does not exist", path, expected="the file, written", code="interface.not_written"
        )
        for path in missing
    ]
    targets = [clean_path(value) for name in _path_fields(s) if isinstance(value := s.input.get(name), str)]
    for path in dict.fromkeys(clean_path(one) for one in _own_interfaces(s)):
        if path in entries:
            wanted = _ONLY_FILE if path in targets else _BESIDE
            # A method that lacked its body before the run is there for classes below its own. A function may be what
            # this run has to write, and no step could: the planner can put an interface file beside it.
            known = [one.what for one in _bodies(path, await s.text(path, await s.base()) or "", methods=True)]
            problems += [one for one in _bodies(path, await s.text(path) or "", wanted) if one.what not in known]
    return problems


def _bodies(path: str, text: str, wanted: str = "", *, methods: bool = False) -> list[CheckProblem]:
    """Describe the missing bodies of an interface file: it may not change any more, so no step could write them.

    `methods` leaves out functions that belong to no class.
    """
    if path.endswith(".pyi"):  # declarations only
        return []
    try:
        missing = stubs_of(path, text)
    except (SyntaxError, ValueError, RecursionError):
        return []  # whether it can be read at all is another check's business
    return [
        problem(
            f"{name} has no body, and later steps may not change this interface file",
            path,
            line,
            expected=wanted,
            code="interface.unfinished",
        )
        for name, line in missing
        if "." in name or not methods
    ]


async def disjoint_writes(s: Subject) -> CheckOutcome:
    """The tasks' files do not overlap."""
    tasks = list(_tasks(s))
    problems: list[CheckProblem] = []
    for (one, globs), (other, others) in combinations(tasks, 2):
        shared = [(a, b) for a in globs for b in others if globs_overlap(a, b)]
        problems += [
            problem(
                f"'{one}' and '{other}' both own {a if a == b else f'{a} and {b}'}",
                expected="one owner for each file",
                code="tasks.shared_file",
            )
            for a, b in shared
        ]
    problems += [
        problem(f"'{name}' owns '{glob}', which {fault[0]}", expected="files of the repository", code="tasks.bad_path")
        for name, globs in tasks
        for glob in globs
        if (fault := glob_fault(glob))
    ]
    names = [name for name, _ in tasks]
    problems += [
        problem(f"two tasks are called '{name}'", code="tasks.same_name")
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    return conclude(problems)


def _tasks(s: Subject) -> Iterator[tuple[str, list[str]]]:
    """Every task that the claim hands out, and the files it owns."""
    declared = s.case.protocol.exits[tag_of(s.job.exit)].fields if s.job.exit else {}
    for name, field in declared.items():
        record = s.case.protocol.types.get(record_of(parse_type(field.type)) or "")
        value = s.case.claim.get(name)
        if record is None or "files" not in record.fields or not isinstance(value, list):
            continue
        for one in (each for each in value if isinstance(each, dict)):
            files = one.get("files")
            yield (
                str(one.get(record.key, "")),
                [glob for glob in files if isinstance(glob, str)] if isinstance(files, list) else [],
            )


def owners(s: Subject) -> list[str]:
    """List each owned glob with its task, for people."""
    return [f"{glob}: {name}" for name, globs in _tasks(s) for glob in globs]


# `judged_child`: a judgement names the right child.


async def judged_child(s: Subject) -> CheckOutcome:
    """Require that the exit names a child that asked to be judged."""
    asking = _asking(s)
    named = s.case.claim.get("child")
    if not asking:
        return refuse(
            "no child has asked to be judged here",
            expected="a judgement of a child that has asked",
            code="judgement.not_asked",
        )
    if named in asking:
        return conclude()
    wanted = " or ".join(f"'{one}'" for one in asking)
    return refuse(
        f"the exit names '{named}', but the child to judge is {wanted}",
        expected=f"a judgement of {wanted}",
        code="judgement.wrong_child",
    )


def _asking(s: Subject) -> list[str]:
    """Return the keys of the children that sent the signals this step serves."""
    served = [message for frame in s.inst.frames if frame.step == s.job.step for message in frame.signals]
    senders = [s.case.state.insts[one.sender] for one in served if one.sender in s.case.state.insts]
    return list(dict.fromkeys(one.key for one in senders if one.parent == s.job.inst))
