"""Syntax trees by tree-sitter, and their text without comments and layout; the base of several readers."""

import re
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cache
from typing import Final

import msgspec
from tree_sitter import Language, Node, Parser

_NO_TEXT: Final = frozenset({"comment", "html_comment", ";", "empty_statement", "\n", "\0", "hash_bang_line"})
_VERBATIM: Final = frozenset({"template_string", "string", "regex", "jsx_text", "raw_string_literal"})
_LISTS: Final = frozenset({"interface_body", "object_type"})
"""Where members are set apart by a comma, a semicolon or just by lines."""
_WORD: Final = re.compile(r"[\w$\"'`@#]")
_SPACED: Final = frozenset({"=>", "=", "|", "&", "{", "}", "->", "<-", "extends", "?:", "+", "-"})
_CLOSING: Final = frozenset({")", "]", "}", ">"})
_NOTHING: Final[dict[str, str]] = {}
_STEPS: Final = 2_000_000
"""Nodes of one file that are looked at."""


class SyntaxSource(msgspec.Struct, frozen=True):
    """A file as a syntax tree."""

    root: Node
    data: bytes


@cache
def _parser(language: Callable[[], object]) -> Parser:
    return Parser(Language(language()))


def parse_syntax(data: bytes, language: Callable[[], object]) -> SyntaxSource:
    """Parse a file; raise `SyntaxError` if the grammar does not fit."""
    source = SyntaxSource(_parser(language).parse(data).root_node, data)
    if source.root.has_error and (line := _first_error(source.root)):
        raise SyntaxError("invalid syntax", ("", line, None, None))
    return source


def _first_error(root: Node) -> int:
    """Return the line of the first syntax error; 0 if only the end of a line is missing."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or (node.is_missing and node.type not in _NO_TEXT):
            return node.start_point.row + 1
        stack += [child for child in reversed(node.children) if child.has_error or child.is_missing]
    return 0


def text(node: Node | None) -> str:
    """Return the source text of a node."""
    return (node.text or b"").decode(errors="replace") if node is not None else ""


def children(node: Node | None) -> list[Node]:
    """Return the named parts of a node, without comments."""
    return [one for one in node.named_children if one.type not in _NO_TEXT] if node is not None else []


def structure(source: SyntaxSource, node: Node | None, erased: Mapping[str, str] = _NOTHING) -> str:
    """Return a node's text without comments, layout, trailing commas and semicolons.

    `erased` maps kinds of nodes to the word that replaces them.
    """
    return " ".join(_walk(source, node, erased)) if node is not None else ""


def _walk(source: SyntaxSource, node: Node, erased: Mapping[str, str]) -> Iterator[str]:
    stack: list[str | Node] = [node]
    for _ in range(_STEPS):
        if not stack:
            return
        one = stack.pop()
        if isinstance(one, str):
            yield one
        elif one.type in _NO_TEXT:
            continue
        elif one.type in erased:
            yield erased[one.type]
        elif not one.children:
            yield _leaf(one)
        else:
            yield f"({one.type}"
            stack.append(")")
            stack += reversed(list(_parts(source, one)))
    raise ValueError("it has too many parts")


def _leaf(node: Node) -> str:
    word = text(node)
    return '"' if word == "'" else repr(word) if " " in word or ")" in word else word


def _parts(source: SyntaxSource, node: Node) -> Iterator[str | Node]:
    """Yield the parts of a node, and the text between them that the grammar does not name."""
    inside, at = node.children, node.start_byte
    for number, child in enumerate(inside):
        gap = source.data[at : child.start_byte].decode(errors="replace")
        if gap := gap if node.type in _VERBATIM else gap.strip():
            yield repr(gap)
        if not _is_trailing_comma(inside, number):
            yield child
        at = child.end_byte


def _is_trailing_comma(inside: list[Node], number: int) -> bool:
    if inside[number].type != "," or number == 0 or not inside[number - 1].is_named:
        return False
    after = next((one for one in inside[number + 1 :] if one.type not in _NO_TEXT), None)
    return after is not None and after.type in _CLOSING


def signature(node: Node, without: Container[Node] = ()) -> str:
    """Return the words of a node on one line, without some of its parts."""
    every = list(_words(node, without))
    words = [one for one, after in zip(every, [*every[1:], ""], strict=True) if one != "," or after not in _CLOSING]
    pairs = zip(["", *words[:-1]], words, strict=True)
    return "".join(f" {word}" if _is_apart(last, word) else word for last, word in pairs)


def _is_apart(last: str, word: str) -> bool:
    if not last or last == "@" or word in (",", ";"):
        return False
    if last in _SPACED or word in _SPACED or last in (",", ":", ";"):
        return True
    if last == ")" and word in ("(", "[", "*"):
        return True
    return bool(_WORD.match(last[-1]) or last == ")") and bool(_WORD.match(word[0]))


def _words(node: Node, without: Container[Node]) -> Iterator[str]:
    if node in without or node.type in _NO_TEXT:
        return
    if node.type in _VERBATIM or not node.children:
        if word := text(node):
            yield word
    elif node.type in _LISTS:
        yield "{"
        for number, one in enumerate(children(node)):
            yield from (";",) if number else ()
            yield from _words(one, without)
        yield "}"
    else:
        for one in node.children:
            yield from _words(one, without)
