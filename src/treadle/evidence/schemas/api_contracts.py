"""OpenAPI and AsyncAPI documents: YAML or JSON with what every reader of them relies on."""

import re
from typing import Any, Final

from treadle.evidence.findings import Problem, problem

METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})
_MOST: Final = 5_000_000


def contract_problems(file: str, text: str) -> list[Problem]:
    """What is wrong with a contract; which of the two it is, it says itself."""
    if len(text) > _MOST:
        return [problem(f"has more than {_MOST} characters", file, code="document.too_large")]
    value, fault = _loaded(file, text)
    if fault:
        return [fault]
    if not isinstance(value, dict):
        return [problem("is no mapping", file, 1, expected="`openapi: …` or `asyncapi: …`", code="api.kind")]
    found = _info(file, value)
    if "openapi" in value or "swagger" in value:
        found += _paths(file, text, value)
    elif "asyncapi" in value:
        if not isinstance(value.get("channels"), dict):
            found.append(
                problem("has no channels", file, 1, expected="`channels:` with at least one", code="api.no_channels")
            )
    else:
        found.append(
            problem("does not say what it is", file, 1, expected="`openapi: 3.x` or `asyncapi: 2.x`", code="api.kind")
        )
    return found + _references(file, text, value)


def contract_value(text: str | None) -> dict[str, Any]:
    """What a contract says; nothing if there is none, or if it cannot be read."""
    value, fault = _loaded("", text or "") if text and len(text) <= _MOST else (None, None)
    return value if isinstance(value, dict) and not fault else {}


def _loaded(file: str, text: str) -> tuple[Any, Problem | None]:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only stories with contracts pay for it
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        return YAML(typ="safe", pure=True).load(text), None
    except (YAMLError, ValueError, RecursionError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error).partition("\n")[0]
        return None, problem(f"cannot be read: {said}", file, mark.line + 1 if mark else 0, code="document.unreadable")


def _info(file: str, value: dict[str, Any]) -> list[Problem]:
    info = value.get("info")
    missing = [key for key in ("title", "version") if not isinstance(info, dict) or key not in info]
    return [problem(f"has no info.{key}", file, 1, code="api.no_info") for key in missing]


def _paths(file: str, text: str, value: dict[str, Any]) -> list[Problem]:
    paths = value.get("paths")
    if not isinstance(paths, dict):
        return [problem("has no paths", file, 1, expected="`paths:`", code="api.no_paths")]
    found: list[Problem] = []
    for path, item in paths.items():
        if not str(path).startswith("/"):
            found.append(
                problem(f"the path '{path}' does not start with /", file, _line(text, str(path)), code="api.path")
            )
        for method, operation in item.items() if isinstance(item, dict) else ():
            if method in METHODS and not (isinstance(operation, dict) and operation.get("responses")):
                where = _line(text, str(path))
                found.append(
                    problem(
                        f"{str(method).upper()} {path} has no responses",
                        file,
                        where,
                        expected="its status codes",
                        code="api.no_responses",
                    )
                )
    return found


def _references(file: str, text: str, value: dict[str, Any]) -> list[Problem]:
    """References inside of the document that lead nowhere."""
    places = dict.fromkeys(re.findall(r"""\$ref['"]?\s*:\s*['"]?#/([^'"\s,}]+)""", text))
    return [
        problem(f"refers to #/{place}, which is not there", file, _line(text, place), code="document.dead_reference")
        for place in places
        if not leads(value, place)
    ]


def outside_references(text: str) -> list[tuple[str, str]]:
    """Files that a contract refers to, and the place in each."""
    found = re.findall(r"""\$ref['"]?\s*:\s*['"]?([^'"\s,}#]+)(?:#/?([^'"\s,}]*))?""", text)
    return [(file, place) for file, place in dict.fromkeys(found) if "://" not in file]


def leads(value: Any, place: str) -> bool:
    """Whether there is such a place in a contract."""
    for part in place.split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def _line(text: str, part: str) -> int:
    at = text.find(part)
    return text.count("\n", 0, at) + 1 if at >= 0 else 0
