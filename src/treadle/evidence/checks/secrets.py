"""`no_secrets`: no credential in the diff. What was found is shown by place and kind, never by value."""

import math
import re
from collections import Counter
from typing import Final

from treadle.evidence.diffs import added_lines
from treadle.evidence.findings import Found, found, problem
from treadle.evidence.subject import Subject

_KINDS: Final = {
    "a private key": r"-----BEGIN (?:[A-Z ]+ )?PRIVATE KEY(?: BLOCK)?-----",
    "an AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b",
    "a GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}\b",
    "a Slack token": r"\bxox[abposr]-[A-Za-z0-9-]{10,}\b",
    "a Google API key": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "a Stripe key": r"\b[rs]k_live_[0-9A-Za-z]{20,}\b",
    "an API key": r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{24,}\b",
    "an npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "a PyPI token": r"\bpypi-[A-Za-z0-9_-]{50,}\b",
    "a JSON web token": r"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{15,}",
    "a password in an address": r"\b[a-z][a-z0-9+.-]*://[^\s:/@]{1,80}:(?!\$|\{|<|\*|x{3}|pass)[^\s:/@]{6,}@",
}
_PATTERNS: Final = {kind: re.compile(pattern) for kind, pattern in _KINDS.items()}
_NAMES: Final = r"(?:passwd|password|secret|token|api_?key|access_?key|private_?key|credential)"
_ASSIGNED: Final = re.compile(rf"(?i){_NAMES}\w*[\"']?\s*[:=]\s*[\"']([^\"'\s]{{16,}})[\"']")
_BARE: Final = re.compile(
    rf"(?i)^[\s`+-]*(?:export\s+)?[\w.-]*{_NAMES}[\w.-]*\s*[:=]\s*([^\s\"'`()\[\]{{}}<>$;,]{{16,}})[`\s]*$"
)
"""As settings files have it, without quotes."""
_NAME: Final = re.compile(r"[A-Za-z_][\w.]{0,23}|\w*[._]\w[\w.]*|(?:[A-Za-z]*\d{0,4}[^\w&%+=!?])*[A-Za-z]*\d{0,4}")
"""What is rather the name of something than its value, an address, a path, or words."""
_FILES: Final = re.compile(
    r"(^|/)(\.env(\.(?!example|sample|template|dist)\w+)?|id_(rsa|dsa|ecdsa|ed25519)|[^/]+\.(p12|pfx|keystore))\Z"
)


async def no_secrets(s: Subject) -> Found:
    """No credential in the diff."""
    files = [
        problem(
            "is a file that holds credentials",
            change.path,
            expected="keep it out of the repository",
            code="secrets.file",
        )
        for change in s.changed_files()
        if _FILES.search(change.path)
    ]
    diff = await s.git.diff(s.work.base, s.work.commit)
    lines = [
        problem(
            f"looks like {kind}",
            file,
            line,
            expected="read it from the environment, and revoke it if it is real",
            code="secrets.value",
        )
        for file, line, text in added_lines(diff)
        for kind in kinds(text, is_test=s.tests.is_test(file))
    ]
    return found([*files, *lines])


def kinds(line: str, *, is_test: bool = False) -> list[str]:
    """What a line seems to hold; in tests, a name alone makes no secret."""
    seen = [kind for kind, pattern in _PATTERNS.items() if pattern.search(line)]
    bare = [value for value in _BARE.findall(line) if not _NAME.fullmatch(value)]
    assigned = () if is_test or seen else [*_ASSIGNED.findall(line), *bare]
    return seen + ["a credential" for value in assigned if _is_random(value)]


def _is_random(value: str) -> bool:
    """Whether a text looks drawn by chance: many different characters, digits and letters mixed."""
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return entropy > 3.5 and any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
