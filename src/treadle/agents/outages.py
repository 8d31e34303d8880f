"""Why a service could not be used, told from what an agent's program says: a status, or words."""

import math
import re
from typing import Final

from treadle.kernel.events import Outages

_BY_STATUS: Final[dict[int, Outages]] = {
    401: "login",
    402: "billing",
    403: "login",
    408: "network",
    429: "rate",
    500: "overload",
    502: "overload",
    503: "overload",
    504: "overload",
    529: "overload",
}
_WORDS: Final[dict[Outages, tuple[str, ...]]] = {
    "billing": ("credit balance", "billing", "payment required", "insufficient[ _](?:funds|credit|quota)"),
    "login": (
        "invalid (?:x-)?api[ -]?key",
        "incorrect api key",
        "not logged in",
        "please run /login",
        "unauthori[sz]ed",
        "authentication",
        "(?:log|sign) in again",
    ),
    "quota": ("usage limit", "quota", "(?<!rate )limit reached", "limit will reset", "resource.exhausted"),
    "rate": ("rate.?limit", "too many requests", r"\b429\b"),
    "overload": (
        "overloaded",
        "at capacity",
        "high demand",
        "internal server error",
        "bad gateway",
        "service unavailable",
        "gateway time.?out",
        r"\b5(?:0[0234]|29)\b",
    ),
    "network": (
        "connection (?:error|refused|reset|closed)",
        r"econn\w+",
        "enotfound",
        "etimedout",
        "fetch failed",
        "error sending request",
        "network (?:error|is unreachable)",
        "stream disconnected",
        "(?:could not|unable to) connect",
    ),
}
_BY_WORDS: Final = {kind: re.compile("|".join(words), re.IGNORECASE) for kind, words in _WORDS.items()}
_TIME: Final = r"(\d+(?:\.\d+)?)\s*(ms|s|sec\w*|m|min\w*|h|hours?|d|days?)\b"
_WAIT: Final = re.compile(rf"(?:retry|try again|reset\w*)\D{{0,20}}?((?:{_TIME}(?:,|\s|and\b)*)+)", re.IGNORECASE)
_PARTS: Final = re.compile(_TIME, re.IGNORECASE)
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST: Final = 7 * 24 * 3600


def outage_of(words: str, status: int | None = None) -> Outages | None:
    """The kind of outage that a failure was; None if it was none. Some statuses may also mean a quota or a bill."""
    by_words = next((kind for kind, pattern in _BY_WORDS.items() if pattern.search(words[:4000])), None)
    by_status = _BY_STATUS.get(status) if status is not None else None
    if status in (400, 429) and by_words in ("quota", "billing"):
        return by_words
    return by_status if status is not None else by_words


def wait_of(words: str) -> int:
    """The seconds after which a service says that it can be used again; 0: it does not say."""
    found = _WAIT.search(words[:4000])
    if found is None:
        return 0
    seconds = sum(float(number) * _factor(unit.lower()) for number, unit in _PARTS.findall(found[1]))
    return math.ceil(min(seconds, _LONGEST))


def _factor(unit: str) -> float:
    return _SECONDS.get(unit) or _SECONDS[unit[0]]
