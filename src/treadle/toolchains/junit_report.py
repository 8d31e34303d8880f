"""JUnit files, as many tools write them and no two in the same way."""

from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree

import msgspec

_BAD: Final = ("failure", "error")
_MAX_TEXT: Final = 4_000
MOST: Final = 1_000_000
"""Elements of a report: far more than tests that anybody waits for."""


class JunitCase(msgspec.Struct, frozen=True, kw_only=True):
    """One test of a report."""

    suites: tuple[str, ...]
    classname: str
    name: str
    file: str = ""
    line: int = 0
    seconds: float = 0.0
    statuses: tuple[str, ...] = ()
    """`failure`, `error`, `skipped`; none: it passed."""
    type: str = ""
    message: str = ""


class _Refused(ValueError):
    """A report that is not read to its end."""


class _Tree(ElementTree.TreeBuilder):
    """Stops at what could harm, in whichever encoding it is written: declared entities, and too much of anything."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def doctype(self, *_: str | None) -> None:
        raise _Refused("it declares a document type, which no test report needs")

    def start(self, tag: str, attrs: dict[str, str], /) -> ElementTree.Element:
        self._count += 1
        if self._count > MOST:
            raise _Refused(f"it has more than {MOST:,} elements")
        return super().start(tag, attrs)


def read_junit(data: bytes) -> list[JunitCase]:
    """The tests of a report; a `ValueError` says why it is none."""
    try:
        root = ElementTree.fromstring(data, ElementTree.XMLParser(target=_Tree()))  # noqa: S314, RUF100 - see there
    except _Refused:
        raise
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise ValueError(f"it is not XML: {error}") from None
    if root.tag not in ("testsuites", "testsuite"):
        raise ValueError(f"it begins with <{root.tag[:40]}>, and a report begins with <testsuites> or <testsuite>")
    return list(_cases(root))


def _cases(root: ElementTree.Element) -> Iterator[JunitCase]:
    """The cases in their order; a stack instead of recursion, as files may be nested as deep as they like."""
    stack: list[tuple[ElementTree.Element, tuple[str, ...]]] = [(root, ())]
    while stack:
        element, suites = stack.pop()
        if element.tag == "testcase":
            yield _case(element, suites)
        elif element.tag in ("testsuite", "testsuites"):
            name = element.get("name", "") if element.tag == "testsuite" else ""
            below = (*suites, name) if name else suites
            stack += [(child, below) for child in reversed(element)]


def _case(element: ElementTree.Element, suites: tuple[str, ...]) -> JunitCase:
    results = [child for child in element if child.tag in (*_BAD, "skipped")]
    first = next((child for child in results if child.tag in _BAD), results[0] if results else None)
    text = "" if first is None else "\n".join(filter(None, [first.get("message", ""), (first.text or "").strip()]))
    return JunitCase(
        suites=suites,
        classname=element.get("classname", ""),
        name=element.get("name", ""),
        file=element.get("file", ""),
        line=_number(element.get("line", "0")),
        seconds=_seconds(element.get("time", "0")),
        statuses=tuple(child.tag for child in results),
        type=first.get("type", "") if first is not None else "",
        message=text[:_MAX_TEXT],
    )


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _seconds(text: str) -> float:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return value if 0 <= value < 1e9 else 0.0
