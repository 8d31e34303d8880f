"""Marks statements of agents as claims where a fact that Treadle knows contradicts them.

Facts come from the log: the last measured tests of the instance, and which parts are merged. A statement is kept as it
was written, contradicted or not; the mark is Treadle's, and stands beside it wherever it is read.
"""

import re
from collections.abc import Mapping
from typing import Final

PASSED: Final = "passed"
FAILED: Final = "failed"
"""Keys of facts: how many tests passed and failed."""
MERGED: Final = "merged:"
"""Begins the key of a fact: whether a part of the run is merged (`yes` or `no`)."""
_GREEN: Final = r"(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)"
_ALL_GREEN: Final = re.compile(
    rf"\b(?:all|every|each)\b[^.;\n]{{0,40}}?\btests?\b[^.;\n]{{0,30}}?\b{_GREEN}\b"
    rf"|\b(?:suite|tests)\s+(?:is|are)\s+(?:all\s+|now\s+)?green\b|\bno\s+(?:test\s+)?(?:failures|test\s+fails)\b"
    rf"|\beverything\s+(?:is\s+)?{_GREEN}\b",
    re.IGNORECASE,
)
_PASSED: Final = re.compile(rf"\b(?P<n>\d+)\s+(?:tests?\s+)?(?:are\s+)?{_GREEN}\b", re.IGNORECASE)
_FAILED: Final = re.compile(r"\b(?P<n>\d+)\s+(?:tests?\s+)?(?:are\s+)?(?:fail(?:s|ed|ing)?|red)\b", re.IGNORECASE)
_NEGATED: Final = re.compile(r"\b(?:not|n't|never|unless|until|if|when|once|should|must|would|will)\b", re.IGNORECASE)
_AUTHORITY: Final = re.compile(
    r"\b(?:accepted|verified|approved|measured|confirmed)\s+by\s+(?:treadle|the\s+orchestrator)\b"
    r"|\b(?:treadle|the\s+orchestrator)\s+(?:has\s+)?(?:accepted|verified|approved|measured|confirmed)\b",
    re.IGNORECASE,
)


def contradiction(text: str, facts: Mapping[str, str]) -> str:
    """Return the fact that contradicts a statement, in words; empty if Treadle knows none."""
    if _AUTHORITY.search(text):
        return "an agent says this, and no record of Treadle's"
    measured = f"Treadle measured {facts.get(PASSED)} passed, {facts.get(FAILED)} failed"
    sentences = re.split(r"(?<=[.;!?])\s|\n", text)
    for one in sentences:
        if _NEGATED.search(one):
            continue
        if PASSED in facts and (
            (facts[FAILED] != "0" and _ALL_GREEN.search(one))
            or any(found["n"] != facts[PASSED] for found in _PASSED.finditer(one))
            or any(found["n"] != facts[FAILED] for found in _FAILED.finditer(one))
        ):
            return measured
        for key, value in facts.items():
            name = key.removeprefix(MERGED)
            said = rf"(?<![\w-]){re.escape(name)}(?![\w-])\s+(?:is|was|has\s+been)\s+(?:already\s+)?merged\b"
            if key.startswith(MERGED) and value == "no" and re.search(said, one, re.IGNORECASE):
                return f"{name} is not merged"
    return ""
