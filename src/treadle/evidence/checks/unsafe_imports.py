"""`unsafe_imports`: new imports of what reaches beyond the program; `toolchain.unsafe_imports` changes the lists."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from treadle.evidence.diffs import added_lines
from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.subject import Subject

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
"""In Python these need no import, or one that is harmless otherwise: frames, text that becomes code, hidden text."""
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


async def unsafe_imports(s: Subject) -> Found:
    """No import of a module that reaches beyond the program: memory, frames, foreign code, other programs."""
    return found(await imported_unsafely(s, s.work.base))


async def imported_unsafely(s: Subject, base: str) -> list[Problem]:
    """The unsafe imports that have come since a commit."""
    lists = configured(s.measure.settings.unsafe_imports)
    diff = await s.git.diff(base, s.work.commit)
    wanted = "another way, or `toolchain.unsafe_imports` in treadle.toml that allows it"
    return [
        problem(
            f"{_verb(name)} {name}, which reaches beyond the program",
            file,
            number,
            expected=wanted,
            code="code.unsafe_import",
        )
        for file, number, line in added_lines(diff)
        if s.tests.is_code(file)
        for name in unsafe_names(line, _LANGUAGES.get(file.rpartition(".")[2].lower(), ""), lists)
    ]


def _verb(name: str) -> str:
    return "calls" if name in _WORDS.split() else "imports"


def configured(words: Sequence[str]) -> dict[str, frozenset[str]]:
    """The lists, with what a project adds (`requests`, `go:net/http`) and allows (`!ctypes`)."""
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
    """What a line of a program imports, of what a list names; a name stands for all that is inside of it."""
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
