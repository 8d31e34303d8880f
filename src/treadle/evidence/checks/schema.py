"""`schema:<kind>`: the documents that a step writes can be read."""

import posixpath
from collections.abc import Callable
from typing import Final

from treadle.evidence.findings import Found, Problem, failed, found, note, problem
from treadle.evidence.schemas.api_contracts import contract_problems, contract_value, leads, outside_references
from treadle.evidence.schemas.delta import delta_problems
from treadle.evidence.schemas.gherkin import gherkin_problems
from treadle.evidence.subject import Subject
from treadle.protocol.answers.paths import is_pattern
from treadle.protocol.catalogue import REQUIRED

KINDS: Final[dict[str, Callable[[str, str], list[Problem]]]] = {
    "gherkin": gherkin_problems,
    "delta": delta_problems,
    "openapi": contract_problems,
    "asyncapi": contract_problems,
}


async def schema(s: Subject) -> Found:
    """The document is there, whoever wrote it, and parses; a story without an interface has no contract."""
    kind = KINDS.get(s.arg)
    if kind is None:
        return failed(
            f"there is no schema '{s.arg}'", expected=f"one of {', '.join(KINDS)}", code="document.unknown_schema"
        )
    places = document_places(s)
    texts = {path: await s.text(path) for path in places}
    problems = [one for path, text in texts.items() if text is not None for one in kind(path, text)]
    if s.arg not in REQUIRED:
        problems += [one for path, text in texts.items() if text for one in await _leading_nowhere(s, path, text)]
    if all(text is None for text in texts.values()) and s.arg in REQUIRED:
        problems.append(
            problem(
                "was not written",
                places[0] if places else "",
                expected=f"a document ({s.arg})",
                code="document.missing",
            )
        )
    kept = [path for path, text in texts.items() if text is not None and path not in s.work.paths]
    return found(problems, [note("stays as it was", path, code="document.unchanged") for path in kept])


async def _leading_nowhere(s: Subject, path: str, text: str) -> list[Problem]:
    """References of a contract to other files that are not there, or have not what is looked for."""
    problems = []
    for name, place in outside_references(text):
        file = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        other = await s.text(file)
        if other is None:
            problems.append(
                problem(f"refers to {name}, which is not there", path, expected=file, code="document.dead_reference")
            )
        elif place and not leads(contract_value(other), place):
            problems.append(
                problem(
                    f"refers to {name}#/{place}, which is not there",
                    path,
                    expected=f"it in {file}",
                    code="document.dead_reference",
                )
            )
    return problems


def document_places(s: Subject) -> list[str]:
    """The documents of the step: the single files it may write, or else what it has written."""
    named = [glob for glob in s.scope.writes if not is_pattern(glob)]
    return named or [change.path for change in s.changed_files()]
