"""Stubs: what a change of a file brings besides names whose behaviour is still to be written."""

from pathlib import PurePosixPath

from treadle.evidence.findings import Problem, problem
from treadle.evidence.python_skeleton import python_beyond
from treadle.git.api.languages import LARGEST, is_understood

_WANTED = (
    "signatures and types are added, and a body only says that it is not implemented (`raise NotImplementedError`, "
    '`throw new Error("not implemented")`, `panic("not implemented")`); what was there stays as it was'
)


def beyond_stubs(path: str, before: str | None, after: str | None) -> list[Problem]:
    """Why a change of a file, which may be new or gone, is more than stubs; what cannot be read is more."""
    if after is None:
        is_lost = bool(before is None or beyond_stubs(path, None, before))
        return (
            [problem("held more than stubs and is gone", path, expected="the file as it was", code="stubs.removed")]
            if is_lost
            else []
        )
    if not is_understood(path):
        return [
            problem(
                "cannot be looked into: stubs are known in Python, JavaScript, TypeScript and Go",
                path,
                code="stubs.unreadable",
            )
        ]
    if max(len(before or ""), len(after)) > LARGEST:
        return [
            problem(f"is too large to be looked into: more than {LARGEST} characters", path, code="stubs.unreadable")
        ]
    try:
        found = _beyond(path, before or "", after)
    except (SyntaxError, ValueError, RecursionError) as error:
        return [
            problem(
                f"cannot be parsed: {error}",
                path,
                getattr(error, "lineno", 0) or 0,
                expected=_WANTED,
                code="code.unparsable",
            )
        ]
    return [problem(what, path, line, expected=_WANTED, code="stubs.beyond") for line, what in found]


def _beyond(path: str, before: str, after: str) -> list[tuple[int, str]]:
    if PurePosixPath(path).suffix in (".py", ".pyi"):
        return python_beyond(before, after)
    from treadle.evidence.script_skeleton import script_beyond  # noqa: PLC0415 (its library is loaded when needed)

    return script_beyond(path, before, after)
