"""Who gets which part: `plan_covers_criteria`, `children_partition`, `disjoint_writes`."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

from treadle.evidence.criteria import criteria_in, own_criteria, texts_in
from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.globs import overlap
from treadle.evidence.past import handed_down, merged_children, payload
from treadle.evidence.python_stubs import stubs
from treadle.evidence.subject import Subject
from treadle.protocol.answers.paths import clean_path, path_overlap
from treadle.protocol.fields import parse_type, record_of
from treadle.protocol.globs import glob_fault
from treadle.protocol.items import Json
from treadle.protocol.model import tag_of

Record = Mapping[str, Json]
_SAME: Final = "the criterion word for word; what else there is to say about it belongs in the child's description"
_BESIDE: Final = "the skeleton in a file beside it, and here only what stays: types, protocols, imports from that file"


async def plan_covers_criteria(s: Subject) -> Found:
    """The plan and the children together cover every criterion."""
    own, children = own_criteria(s), await _children(s)
    planned = {test: one for one, test in _planned(s)}
    given = {id_ for child in children for id_ in _criteria(s, child)}
    problems = [
        problem(
            f"criterion {id_} is in no planned test and no child has it",
            expected="a test or a child for it",
            code="plan.uncovered",
        )
        for id_ in own
        if id_ not in given and id_ not in planned.values()
    ]
    problems += [
        problem(
            f"the planned test '{test}' stands for '{one}', which is no criterion",
            expected=f"one of {', '.join(own)}",
            code="plan.unknown_criterion",
        )
        for test, one in planned.items()
        if one not in own
    ]
    return found(problems)


async def children_partition(s: Subject) -> Found:
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
    return found(problems)


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
        return [item for _, item in handed_down(s.case, s.inst)] if _spawns(s) else []
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


def _criteria_of(s: Subject, children: list[Record]) -> Iterator[Problem]:
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


def _reworded(s: Subject, children: list[Record]) -> Iterator[Problem]:
    """Criteria of this node that a child is to read otherwise than whoever asked for them has put them."""
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


def _paths_of(s: Subject, children: list[Record]) -> Iterator[Problem]:
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
                f"{name} {path} of '{child}' lies outside of what this node was given",
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


def _undone(s: Subject, children: list[Record]) -> Iterator[Problem]:
    """Files of children that are done, and that nobody will write again under the same name."""
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


async def _interfaces(s: Subject) -> list[Problem]:
    entries = await s.entries()
    missing = [path for path in _own_interfaces(s) if clean_path(path) not in entries]
    problems = [
        problem(
            "is an interface file that does not exist", path, expected="the file, written", code="interface.not_written"
        )
        for path in missing
    ]
    for path in dict.fromkeys(clean_path(one) for one in _own_interfaces(s)):
        if path in entries and path.endswith(".py"):
            problems += _bodies(path, await s.text(path) or "")
    return problems


def _bodies(path: str, text: str) -> list[Problem]:
    """Bodies in an interface file that are to be written: nobody could, for it may not change any more."""
    try:
        missing = stubs(text)
    except (SyntaxError, ValueError, RecursionError):
        return []  # whether it can be read at all is another check's business
    return [
        problem(
            f"is an interface file, which nobody may change, and {name} is not implemented",
            path,
            line,
            expected=_BESIDE,
            code="interface.unfinished",
        )
        for name, line in missing
    ]


async def disjoint_writes(s: Subject) -> Found:
    """The tasks' files do not overlap."""
    tasks = list(_tasks(s))
    problems: list[Problem] = []
    for (one, globs), (other, others) in combinations(tasks, 2):
        shared = [(a, b) for a in globs for b in others if overlap(a, b)]
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
    return found(problems)


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
    """Who owns what, for people."""
    return [f"{glob}: {name}" for name, globs in _tasks(s) for glob in globs]
