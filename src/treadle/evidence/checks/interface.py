"""What others rely on: `interface_unmodified`, `interface_exact`."""

from collections.abc import Iterator, Mapping

import msgspec

from treadle.evidence.findings import Found, Problem, failed, found, problem, some
from treadle.evidence.handed_on import handed_on
from treadle.evidence.past import accepted, commit_of
from treadle.evidence.signatures import Planned, is_written, planned, shapes
from treadle.evidence.subject import Subject
from treadle.protocol.items import Json


async def interface_unmodified(s: Subject) -> Found:
    """Interface files are those of the scaffold, and so are the signatures that they hand on."""
    now = await s.entries()
    problems: list[Problem] = []
    for path, commit in interface_files(s).items():
        since = commit if commit and path in await s.entries(commit) else s.work.base
        then = (await s.entries(since)).get(path)
        if then is not None and (path not in now or now[path].id != then.id):
            what = "is an interface and was changed" if path in now else "is an interface and was removed"
            problems.append(
                problem(what, path, expected="the file as it was planned; put it back", code="interface.modified")
            )
        elif then is not None and path.endswith(".py"):
            problems += await _other_signatures(s, path, since)
    return found(problems)


async def _other_signatures(s: Subject, path: str, since: str) -> list[Problem]:
    """Names that an interface file imports from elsewhere, and that are called in another way now."""
    now = await handed_on(s, path)
    return [
        problem(
            f"{name} has another signature than planned: {now.get(name, 'none')}",
            path,
            expected=shape,
            code="interface.other_signature",
        )
        for name, shape in (await handed_on(s, path, since)).items()
        if name.partition(".")[0] in now and now.get(name) != shape
    ]


def interface_files(s: Subject) -> dict[str, str]:
    """The interface files of an instance and of those above it, each with the commit that says how it shall be.

    Those from above have none: the lane started with them as they are.
    """
    files: dict[str, str] = {}
    inst = s.case.state.insts.get(s.inst.parent)
    while inst is not None:
        files |= {path: "" for one in accepted(s.case, inst) for path in _named(one.payload)}
        inst = s.case.state.insts.get(inst.parent)
    for one in accepted(s.case, s.inst):
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


class Part(msgspec.Struct, frozen=True):
    """Signatures that are planned for some files."""

    id: str
    files: tuple[str, ...]
    signatures: tuple[Planned, ...]


async def interface_exact(s: Subject) -> Found:
    """The skeleton has exactly the planned signatures."""
    parts = planned_parts(s)
    if not parts:
        return failed("no plan says which signatures there shall be", code="interface.no_plan")
    problems: list[Problem] = []
    for part in parts:
        sources = await _sources(s, part)
        problems += [one for wanted in part.signatures for one in _compared(wanted, sources, part)]
    is_skeleton = not any(ref.name.startswith("green") for ref in s.job.checks)
    return found([*problems, *(await _unplanned(s, parts) if is_skeleton and s.has_lane else [])])


def planned_parts(s: Subject) -> list[Part]:
    """What the instance itself was given, or all that the accepted plan holds."""
    own = list(_parts(dict(s.input)))
    return own or [part for one in accepted(s.case, s.inst) for part in _parts(dict(one.payload))]


def _parts(value: Json) -> Iterator[Part]:
    if isinstance(value, list):
        for one in value:
            yield from _parts(one)
    elif isinstance(value, dict):
        text, files = value.get("interface"), value.get("files")
        if isinstance(text, str) and isinstance(files, list):
            paths = tuple(path for path in files if isinstance(path, str))
            yield Part(str(value.get("id", "")), paths, tuple(planned(text)))
        else:
            for one in value.values():
                yield from _parts(one)


async def _sources(s: Subject, part: Part) -> dict[str, str]:
    files = [path for path in part.files if s.tests.is_code(path)]
    texts = {path: await s.text(path) for path in files}
    return {path: text for path, text in texts.items() if text is not None}


def _compared(wanted: Planned, sources: dict[str, str], part: Part) -> Iterator[Problem]:
    where = some([path for path in part.files if path in sources]) or some(part.files)
    if not wanted.name:
        if not any(is_written(wanted, path, text) for path, text in sources.items()):
            yield problem(
                f"the signature of {part.id} is not there", where, expected=wanted.text, code="interface.missing"
            )
        return
    for path, text in sources.items():
        try:
            has = shapes(text)
        except (SyntaxError, ValueError):
            if path.endswith(".py"):
                yield problem("cannot be parsed", path, code="code.unparsable")
            continue
        if wanted.name in has:
            if has[wanted.name] != wanted.shape:
                said = f"{wanted.name} has another signature than planned: {has[wanted.name]}"
                yield problem(said, path, expected=wanted.text, code="interface.other_signature")
            return
    yield problem(f"{wanted.name} is not there", where, expected=wanted.text, code="interface.missing")


async def _unplanned(s: Subject, parts: list[Part]) -> list[Problem]:
    """Public names at the top of a planned file that are new and that no plan has."""
    known = {one.name.partition(".")[0] for part in parts for one in part.signatures}
    text = "\n".join(one.text for part in parts for one in part.signatures)
    problems: list[Problem] = []
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
        return [name for name in shapes(text or "") if "." not in name and not name.startswith("_")]
    except (SyntaxError, ValueError):
        return []
