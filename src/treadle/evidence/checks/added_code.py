"""Checks of added code: `no_undefined`, `no_todo`, `minimal`, `no_secrets`, `unsafe_imports`."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, problem
from treadle.evidence.stubs import stubs
from treadle.evidence.subject import Subject, added_lines
from treadle.evidence.suite import is_one_by_one
from treadle.git.api.languages import is_understood, read_api

_UNDEFINED: Final = re.compile(
    r"\b(todo!\(|unimplemented!\(|NotImplementedException|TODO\(\)|panic\(\"(not implemented|unimplemented|TODO)"
    r"|throw new Error\([\"'](not implemented|unimplemented|todo)|fatalError\(\"not implemented"
    r"|UnsupportedOperationException\(\)"
    r"|undefined\s*--|=\s*undefined\s*$)",
    re.IGNORECASE,
)
_SOURCES: Final = re.compile(
    r"\.(py|pyi|go|rs|java|kt|scala|cs|ts|tsx|js|jsx|mjs|swift|hs|rb|php|c|cc|cpp|h|hpp|sql|sh)\Z"
)
_TODO: Final = re.compile(r"(?:#|//|/\*|--|;|<!--|\*|\"\"\")\s*.*?\b(TODO|FIXME|XXX|HACK)\b(?!\s*\()", re.IGNORECASE)


async def no_undefined(s: Subject) -> CheckOutcome:
    """Refuse unimplemented bodies in the files that the instance has written, but for those from before the run."""
    origin = await s.origin()
    # One by one, a body that was missing at the base has not come to its turn yet. An instance that adds the stubs that
    # it has to replace leaves older stubs to others; any other has to fill those that its parent has handed down.
    writes_stubs = any(step.stubs for step in s.graph.steps.values())
    since = s.work.base if is_one_by_one(s) else origin if writes_stubs else await s.base()
    written = [path for path in sorted(await s.written_since(origin)) if s.tests.is_code(path)]
    return conclude(await new_unfinished(s, written, since))


async def new_unfinished(s: Subject, written: Sequence[str], since: str) -> list[CheckProblem]:
    """Return the bodies that are missing in some files, and that no file lacked at an earlier commit.

    An old one may have moved: it is new only if the changed files, together, have more of its name than before.
    """
    touched = sorted({*written, *await s.touched_since(since)})
    before, now = [
        {path: _unfinished(path, text) for path, text in (await s.texts(touched, commit)).items()}
        for commit in (since, s.work.commit)
    ]
    grown = _count(now.values()) - _count(before.values())
    problems: list[CheckProblem] = []
    for path in written:
        known = _count([before[path]])
        for one in now[path]:
            known[one.what] -= 1
            if known[one.what] < 0 and grown[one.what] > 0:
                grown[one.what] -= 1
                problems.append(one)
    return problems


def _count(found: Iterable[Sequence[CheckProblem]]) -> Counter[str]:
    return Counter(one.what for some in found for one in some)


def _unfinished(path: str, text: str) -> list[CheckProblem]:
    """Return a problem for each body that is missing in a file."""
    if not _SOURCES.search(path):
        return []
    if not path.endswith(".py"):
        lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if _UNDEFINED.search(line)]
        return [
            problem(f"is not implemented: {line[:120]}", path, number, expected="a body", code="code.unfinished")
            for number, line in lines
        ]
    try:
        missing = stubs(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        return [problem(f"cannot be parsed: {error}", path, getattr(error, "lineno", 0) or 0, code="code.unparsable")]
    return [
        problem(f"{name} is not implemented", path, line, expected="a body", code="code.unfinished")
        for name, line in missing
    ]


async def no_todo(s: Subject) -> CheckOutcome:
    """No TODO without an owner: `TODO(name): …` is fine."""
    diff = await s.git.diff(await s.origin(), s.work.commit)
    return conclude(
        problem(
            f"leaves something open: {line.strip()[:120]}",
            file,
            number,
            expected="do it, or name an owner: TODO(name)",
            code="code.todo",
        )
        for file, number, line in added_lines(diff)
        if _SOURCES.search(file) and _TODO.search(line)
    )


# `minimal`, advice for reviewers: the size of the diff, and names that no test reaches.

_LARGE: Final = 400


async def minimal(s: Subject) -> CheckOutcome:
    """Size of the diff, public symbols that no test reaches."""
    diff = await s.git.diff(s.work.base, s.work.commit)
    size = len([line for file, _, line in added_lines(diff) if s.tests.is_code(file) and line.strip()])
    problems: list[CheckProblem] = []
    if size > _LARGE:
        problems.append(problem(f"{size} lines were added: is all of that needed?", code="code.large"))

    # New public names that neither tests nor other code mention.
    changed = [one.path for one in s.changed_files() if is_understood(one.path) and s.tests.is_code(one.path)]
    names = {path: await _new_names(s, path) for path in changed}
    if not any(names.values()):
        return conclude(problems)
    tests = await s.text_of_tests()
    code = await s.texts([path for path in await s.entries() if is_understood(path) and s.tests.is_code(path)])
    for path, new in names.items():
        for name in new:
            word = re.compile(rf"\b{re.escape(name)}\b")
            used = word.search(tests) or sum(len(word.findall(text)) for text in code.values()) > 1
            if not used:
                problems.append(
                    problem(
                        f"{name} is new and nothing uses it",
                        path,
                        expected="a test, or no such name",
                        code="code.unused",
                    )
                )
    return conclude(problems)


async def _new_names(s: Subject, path: str) -> list[str]:
    before, now = [read_api(path, await s.git.show(one, path) or b"") for one in (s.work.base, s.work.commit)]
    if now.broken:
        return []
    names = [name.rpartition(".")[2] for name in now.symbols if name not in before.symbols]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


# `no_secrets`: refuses credentials in the diff. Findings show the place and the kind, never the value.

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
"""Texts that look like a name, an address, a path or words rather than like a secret value."""
_FILES: Final = re.compile(
    r"(^|/)(\.env(\.(?!example|sample|template|dist)\w+)?|id_(rsa|dsa|ecdsa|ed25519)|[^/]+\.(p12|pfx|keystore))\Z"
)


async def no_secrets(s: Subject) -> CheckOutcome:
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
        for kind in secret_kinds(text, is_test=s.tests.is_test(file))
    ]
    return conclude([*files, *lines])


def secret_kinds(line: str, *, is_test: bool = False) -> list[str]:
    """Return the kinds of secrets that a line seems to contain; in tests, a telling name alone does not count."""
    seen = [kind for kind, pattern in _PATTERNS.items() if pattern.search(line)]
    bare = [value for value in _BARE.findall(line) if not _NAME.fullmatch(value)]
    assigned = () if is_test or seen else [*_ASSIGNED.findall(line), *bare]
    return seen + ["a credential" for value in assigned if _is_random(value)]


def _is_random(value: str) -> bool:
    """Whether a text looks drawn by chance: many different characters, digits and letters mixed."""
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return entropy > 3.5 and any(char.isdigit() for char in value) and any(char.isalpha() for char in value)


# `unsafe_imports`: refuses new imports of modules that reach beyond the program; `toolchain.unsafe_imports` changes
# the lists.

_LANGUAGES: Final = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "mjs": "javascript",
    "cjs": "javascript",
    "jsx": "javascript",
    "ts": "javascript",
    "mts": "javascript",
    "tsx": "javascript",
    "go": "go",
    "rs": "rust",
    "java": "java",
    "kt": "java",
    "rb": "ruby",
}
_IMPORTS: Final = {
    "python": re.compile(
        r"^\s*(?:from\s+([\w.]+)\s+import\b|import\s+([\w.][\w., ]*))|(?:__import__|import_module)\(\s*[\"']([\w.]+)"
    ),
    "javascript": re.compile(
        r"(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)[\"']([^\"']+)[\"']|\b(eval|Function)\s*\("
    ),
    "go": re.compile(r"^\s*(?:import\s+)?(?:[\w.]+\s+)?\"([\w./-]+)\"\s*$"),
    "rust": re.compile(r"\b(unsafe)\s*(?:\{|fn\b|impl\b)|\buse\s+([\w:]+)"),
    "java": re.compile(r"^\s*import\s+(?:static\s+)?([\w.]+)"),
    "ruby": re.compile(r"^\s*require\s+[\"']([\w/-]+)"),
}
_INSIDE: Final = re.compile(
    r"\b(sys\._getframe|sys\.settrace|sys\.setprofile|inspect\.(?:stack|currentframe|trace))\b"
    r"|(?:(?<![\w.])|\bbuiltins\.)(?<!def )(exec|eval|compile)\s*\("
    r"|\b(b64decode|b85decode|a85decode|unhexlify|fromhex)\s*\(\s*[bru]*[\"']"
)
"""Unsafe Python calls that need no import, or only a harmless one: frames, text that becomes code, hidden text."""
_WORDS: Final = (
    "sys._getframe sys.settrace sys.setprofile inspect.stack inspect.currentframe inspect.trace"
    " exec eval compile b64decode b85decode a85decode unhexlify fromhex"
)
UNSAFE: Final = {
    "python": frozenset(
        f"ctypes _ctypes cffi gc pickle _pickle dill cloudpickle marshal shelve code codeop pty {_WORDS}".split()
    ),
    "javascript": frozenset("child_process vm v8 worker_threads inspector module ffi-napi eval Function".split()),
    "go": frozenset({"unsafe", "plugin", "os/exec", "syscall", "C"}),
    "rust": frozenset({"unsafe", "std::process", "libc"}),
    "java": frozenset({"sun.misc.Unsafe", "java.lang.reflect", "java.lang.Runtime", "java.io.ObjectInputStream"}),
    "ruby": frozenset({"fiddle", "objspace"}),
}
"""By language: memory, the garbage collector and frames, foreign code, data that becomes code, other programs."""


async def unsafe_imports(s: Subject) -> CheckOutcome:
    """No import of a module that reaches beyond the program: memory, frames, foreign code, other programs."""
    return conclude(await imported_unsafely(s, s.work.base))


async def imported_unsafely(s: Subject, base: str) -> list[CheckProblem]:
    """The unsafe imports that have come since a commit."""
    lists = configured(s.measure.settings.unsafe_imports)
    diff = await s.git.diff(base, s.work.commit)
    wanted = "another way, or `toolchain.unsafe_imports` in treadle.toml that allows it"
    return [
        problem(
            f"{'calls' if name in _WORDS.split() else 'imports'} {name}, which reaches beyond the program",
            file,
            number,
            expected=wanted,
            code="code.unsafe_import",
        )
        for file, number, line in added_lines(diff)
        if s.tests.is_code(file)
        for name in unsafe_names(line, _LANGUAGES.get(file.rpartition(".")[2].lower(), ""), lists)
    ]


def configured(words: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return the unsafe modules, with a project's additions (`requests`, `go:net/http`) and exceptions (`!ctypes`)."""
    lists = dict(UNSAFE)
    for word in words:
        bare = word.removeprefix("!")
        language, colon, name = bare.partition(":")
        chosen = [language] if colon and language in lists else list(lists)
        named = {name if colon and language in lists else bare}
        for one in chosen:
            lists[one] = lists[one] - named if word.startswith("!") else lists[one] | named
    return lists


def unsafe_names(line: str, language: str, lists: dict[str, frozenset[str]]) -> Iterator[str]:
    """Yield the unsafe modules that a line imports; a listed name covers all of its submodules."""
    if language not in _IMPORTS:
        return
    for match in _IMPORTS[language].finditer(line):
        for name in re.split(r"[,\s]+", next((one for one in match.groups() if one), "")):
            bare = name.removeprefix("node:")
            if any(bare == one or bare.startswith((f"{one}.", f"{one}/", f"{one}::")) for one in lists[language]):
                yield bare
    if language == "python":
        named = (next(one for one in match.groups() if one) for match in _INSIDE.finditer(line.partition("#")[0]))
        yield from (name for name in named if name in lists["python"])
