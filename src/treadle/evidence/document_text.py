"""Extracts the statements of a document: its text without comments, quotations and samples.

A check that looks for words in a document would accept them in a comment, which no reader sees, or in a quotation of
another text. So the checks compare documents by their statements.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

_HIDDEN: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<tag>script|style|template|del|s|strike)\b[^>]*>.*?(?:</(?P=tag)\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_STRUCK: Final = re.compile(r"~~(?=\S)[^~\n]+~~")
_LINK_COMMENT: Final = re.compile(r"^[ ]{0,3}\[[^\]\n]*\]:\s+\S.*$", re.MULTILINE)
_FENCE: Final = re.compile(r"^\s*(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w+#.-]*)")
_HEADING: Final = re.compile(r"(?P<level>#{1,6})\s")
_QUOTE: Final = re.compile(r"\s*(?:[-*+]\s+|\d+\.\s+)?>")
_SPANS: Final = re.compile(
    r"(?P<fenced>^[ ]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^[ ]*(?P=fence)|`[^`\n]+`)", re.MULTILINE | re.DOTALL
)
_SAMPLES: Final = frozenset({"", "text", "txt", "plain", "console", "diff", "patch", "md", "markdown", "html", "log"})
"""Languages of fences that show samples: output, quoted text, a change. A fence of code or of a schema states it."""
_YAML: Final = frozenset({".yaml", ".yml", ".toml", ".feature"})
_LINE_COMMENT: Final = re.compile(
    r"""(?P<said>"(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*')|(?P<comment>(?:^|(?<=\s))#[^\n]*)""", re.MULTILINE
)
_CODE_COMMENT: Final = re.compile(
    r"""(?P<said>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<comment>(?:^|(?<=\s))(?:\#|//|--\s)[^\n]*|/\*.*?(?:\*/|\Z))""",
    re.MULTILINE | re.DOTALL,
)


def without_comments(text: str, path: str = "") -> str:
    """Blank out the comments of a document, so that its lines keep their numbers; Markdown unless `path` says else."""
    if PurePosixPath(path).suffix in _YAML:
        return _LINE_COMMENT.sub(lambda match: match["said"] or "", text)
    # The text in a code block or a code span is no comment of the document.
    kept = [(match.start(), match.end()) for match in _SPANS.finditer(text)]

    def blanked(match: re.Match[str]) -> str:
        return match[0] if any(start < match.start() < end for start, end in kept) else "\n" * match[0].count("\n")

    return _LINK_COMMENT.sub(_reference, _HIDDEN.sub(blanked, text))


def _reference(match: re.Match[str]) -> str:
    """Keep the address of a link; `[//]: # (words)` is the comment of Markdown's users."""
    return "" if re.search(r"\]:\s+(?:#|<>)", match[0]) else match[0]


def statements(text: str) -> str:
    """Return the statements of a Markdown document.

    It leaves out comments, quotations, struck words, metadata, samples, and headings with nothing below them.
    """
    lines = list(_stated(_STRUCK.sub("", without_comments(_without_metadata(text))).splitlines()))
    kept: list[str] = []
    for number, (line, is_code) in enumerate(lines):
        heading = None if is_code else _HEADING.match(line)
        if heading is None or _says_more(lines[number + 1 :], len(heading["level"])):
            kept.append(line)
    return "\n".join(kept)


def _says_more(rest: list[tuple[str, bool]], level: int) -> bool:
    """Whether anything but headings stands in the section that begins here."""
    for line, is_code in rest:
        heading = None if is_code else _HEADING.match(line)
        if heading is None and line.strip(" \t-*_=|"):
            return True
        if heading is not None and len(heading["level"]) <= level:
            return False
    return False


def _stated(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """The lines that are no quotation and no sample, and whether each is code."""
    fence, block, language, is_quoted = "", list[str](), "", False
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                said = "" if language in _SAMPLES else _without_code_comments("\n".join(block))
                yield from ((one, True) for one in said.splitlines())
                fence = ""
            else:
                block.append(line)
            continue
        if mark:
            fence, block, language, is_quoted = mark["fence"], [], mark["language"].lower(), False
            continue
        # A quotation goes on until an empty line, also where its lines have no mark any more.
        is_quoted = bool(_QUOTE.match(line)) or (is_quoted and bool(line.strip()) and not _HEADING.match(line))
        if not is_quoted:
            yield line, False


def _without_code_comments(code: str) -> str:
    return _CODE_COMMENT.sub(lambda match: match["said"] or "", code)


def _without_metadata(text: str) -> str:
    return re.sub(r"\A---\n.*?\n---\s*\n", "", text, flags=re.DOTALL)


def states(text: str, name: str) -> bool:
    """Whether a text has a whole name or signature; marks and line breaks may stand between its words."""
    words = re.findall(r"\w+|[^\w\s`*\\]", name)
    pattern = r"[\s`*\\]*".join(map(re.escape, words))
    start, end = r"(?<!\w)" if name[:1].isalnum() else "", r"(?!\w)" if words and words[-1][:1].isalnum() else ""
    return bool(words) and re.search(f"{start}{pattern}{end}", text) is not None
