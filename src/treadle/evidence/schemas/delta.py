"""A delta of the design: what is added, modified and removed."""

import re
from typing import Final

from treadle.evidence.findings import Problem, problem
from treadle.evidence.schemas.gherkin import section

SECTIONS: Final = ("ADDED", "MODIFIED", "REMOVED")


def delta_problems(file: str, text: str) -> list[Problem]:
    """What keeps a document from being a delta."""
    bodies = {name: section(text, name) for name in SECTIONS}
    found = [
        problem(f"has no section {name}", file, expected=f'`## {name}`, with "None" below it if there is nothing')
        for name, body in bodies.items()
        if body is None
    ]
    found += [
        problem(f"says nothing below {name}", file, _line(text, name), expected='items, or "None"')
        for name, body in bodies.items()
        if body is not None and not body.strip()
    ]
    if not found and all(_is_none(body or "") for body in bodies.values()):
        found.append(problem("changes nothing", file, expected="at least one item"))
    return found


def _is_none(body: str) -> bool:
    return re.fullmatch(r"[\s*_.(`-]*none[\s*_.)`-]*", body, re.IGNORECASE) is not None


def _line(text: str, name: str) -> int:
    heading = re.compile(rf"##+\s*{name}\b", re.IGNORECASE)
    return next((number for number, line in enumerate(text.splitlines(), 1) if heading.match(line)), 0)
