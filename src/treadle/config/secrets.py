"""Tells values that look like credentials: a settings file is committed, printed and pinned in runs."""

import re
from typing import Final

_SHAPES: Final = (
    ("an API key", r"\bsk-[A-Za-z0-9_-]{16,}"),
    ("a GitHub token", r"\b(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
    ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{16,}"),
    ("an AWS key", r"\b(AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("a Google API key", r"\bAIza[0-9A-Za-z_-]{30,}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("a Slack webhook, which is a credential", r"hooks\.slack\.com/(services|triggers)/\w+"),
    ("a Discord webhook, which is a credential", r"discord(app)?\.com/api/webhooks/\w+"),
    ("a Telegram bot's token", r"\b(bot)?[0-9]{8,10}:[A-Za-z0-9_-]{35}\b"),
    ("a signed token", r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\."),
    ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    ("a URL with a password", r"[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s:@]+@"),
)
_PATTERNS: Final = tuple((what, re.compile(pattern)) for what, pattern in _SHAPES)
_NAMES: Final = re.compile(r"(^|[_-])(api_?key|token|password|passwd|secret|credentials?)($|[_-])", re.IGNORECASE)

ADVICE: Final = "keep it in an environment variable, and write the variable's name into `environment.pass`"


def secret_in(text: str) -> str:
    """What kind of credential a text seems to hold; empty if none."""
    return next((what for what, pattern in _PATTERNS if pattern.search(text)), "")


def names_a_secret(word: str) -> bool:
    """Whether a key's name says that its value is a credential."""
    return _NAMES.search(word) is not None
