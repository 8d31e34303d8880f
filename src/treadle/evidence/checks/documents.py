"""Checks of documents for people: `documents`, `diff_only`, and `schema:<kind>`.

A document must parse, and its cross-references must resolve. The scenarios of a story are one such document.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Final

from treadle.evidence.checks.design import contract_problems, contract_value, delta_problems, leads, outside_references
from treadle.evidence.document_text import without_comments
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, note, problem, refuse
from treadle.evidence.gherkin import GherkinScenario, gherkin_problems, scenarios
from treadle.evidence.subject import Subject, accepted_exits
from treadle.protocol.artifacts import (
    Document,
    documents,
    documents_of,
    find_references,
    is_document,
    is_view,
    path_matcher,
    place_of,
    unresolved_references,
)
from treadle.protocol.model import tag_of
from treadle.protocol.paths import is_pattern
from treadle.protocol.vocabulary import REQUIRED

# Resolves cross-references against the memory bank as it will be once the claim is accepted.


async def dead_references(s: Subject, given: Mapping[str, str], checked: Mapping[str, str]) -> list[CheckProblem]:
    """Return the unresolved references in `checked` (path → text); `given` are documents of the claim itself."""
    if not any(True for text in checked.values() for _ in find_references(text)):
        return []
    bank = await _bank(s, given)
    return [
        problem(one.what, path, one.line, expected=one.hint, code="document.dead_reference")
        for path, text in checked.items()
        for one in unresolved_references(text, s.case.protocol, bank)
    ]


async def _bank(s: Subject, given: Mapping[str, str]) -> list[Document]:
    """The documents of the recorded work, and those of the claim in the place of their earlier versions."""
    artifacts = {name: one for name, one in s.case.protocol.artifacts.items() if is_document(one) and not is_view(one)}
    paths = await s.entries()
    lying = {name: list(filter(path_matcher(one), paths)) for name, one in artifacts.items()}
    read = await s.texts([path for listed in lying.values() for path in listed])
    texts = {name: {path: read[path] for path in listed if path in read} for name, listed in lying.items()}
    for name, text in given.items():
        if name in artifacts and (place := place_of(artifacts[name], s.input)):
            texts[name][place] = text
    return documents(s.case.protocol, texts)


_PROSE: Final = re.compile(r"\.(md|rst|adoc|txt|ya?ml|json|toml)\Z")
_SHORTEST: Final = 20
_KEPT: Final = 0.5
"""How much of an existing document an amendment leaves as it was."""


async def check_documents(s: Subject) -> CheckOutcome:
    """The documents that the exit returns are well formed, have a place, and refer to sections that are there."""
    problems: list[CheckProblem] = []
    given = documents_of(s.case.protocol, s.job.exit, s.case.claim)
    placed: dict[str, str] = {}
    for name, text in given.items():
        problems += [
            problem(f"the document '{name}' {fault}", expected=wanted, code="document.malformed")
            for fault, wanted in document_fault(text)
        ]
        if place := place_of(s.case.protocol.artifacts[name], s.input):
            placed[place] = text
        else:
            problems.append(
                problem(
                    f"the document '{name}' has no path: {s.case.protocol.artifacts[name].path}",
                    code="document.no_place",
                )
            )
    return conclude([*problems, *await dead_references(s, given, placed)])


def document_fault(text: str) -> list[tuple[str, str]]:
    """Return the faults of a text as a Markdown document, each with the expected form."""
    whole = "the whole document in Markdown"
    if len(text.strip()) < _SHORTEST:
        return [("is empty" if not text.strip() else "is too short to be one", whole)]
    said: list[tuple[str, str]] = []
    if bad := next((char for char in text if not char.isprintable() and char not in "\n\t\r"), ""):
        said.append((f"holds the control character {bad!r}", "plain text"))
    if text.count("\n```") % 2 != text.startswith("```"):
        said.append(("has a code block that does not end", "a closing ``` for each opening one"))
    if not re.search(r"^#{1,6} \S", text, re.MULTILINE):
        said.append(("has no heading", whole))
    if not re.sub(r"^#{1,6} .*$", "", without_comments(text), flags=re.MULTILINE).strip():
        said.append(("says nothing outside of its headings and comments", whole))
    return said


async def diff_only(s: Subject) -> CheckOutcome:
    """An existing document was amended, not rewritten."""
    problems: list[CheckProblem] = []
    for change in s.work.changed:
        if change.kind != "modified" or not _PROSE.search(change.path):
            continue
        # A line that became a comment was not left as it was.
        texts = [await s.text(change.path, commit) or "" for commit in (s.work.base, "")]
        was, now = (without_comments(text, change.path).splitlines() for text in texts)
        before, after = was, set(now)
        kept = sum(line in after for line in before)
        if before and kept / len(before) < _KEPT:
            share = f"only {kept} of {len(before)} lines were left"
            problems.append(
                problem(
                    f"was rewritten: {share}",
                    change.path,
                    expected="amend it where it changes",
                    code="document.rewritten",
                )
            )
    return conclude(problems)


# `schema:<kind>`: the documents that a step writes must parse.

KINDS: Final[dict[str, Callable[[str, str], list[CheckProblem]]]] = {
    "gherkin": gherkin_problems,
    "delta": delta_problems,
    "openapi": contract_problems,
    "asyncapi": contract_problems,
}


async def schema(s: Subject) -> CheckOutcome:
    """Check that the document exists and parses, even if this step did not write it.

    A story without an interface needs no contract.
    """
    kind = KINDS.get(s.arg)
    if kind is None:
        return refuse(
            f"there is no schema '{s.arg}'", expected=f"one of {', '.join(KINDS)}", code="document.unknown_schema"
        )
    places = document_places(s)
    texts = {path: await s.text(path) for path in places}
    problems = [one for path, text in texts.items() if text is not None for one in kind(path, text)]
    if s.arg not in REQUIRED:
        problems += [one for path, text in texts.items() if text for one in await _leading_nowhere(s, path, text)]
    if all(text is None for text in texts.values()) and s.arg in REQUIRED:
        problems.append(
            problem(
                "was not written",
                places[0] if places else "",
                expected=f"a document ({s.arg})",
                code="document.missing",
            )
        )
    kept = [path for path, text in texts.items() if text is not None and path not in s.work.paths]
    return conclude(problems, [note("stays as it was", path, code="document.unchanged") for path in kept])


async def _leading_nowhere(s: Subject, path: str, text: str) -> list[CheckProblem]:
    """Return a contract's references to files, or to places in files, that do not exist."""
    problems = []
    for name, place in outside_references(text):
        file = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        other = await s.text(file)
        if other is None:
            problems.append(
                problem(f"refers to {name}, which does not exist", path, expected=file, code="document.dead_reference")
            )
        elif place and not leads(contract_value(other), place):
            problems.append(
                problem(
                    f"refers to {name}#/{place}, which does not exist",
                    path,
                    expected=f"it in {file}",
                    code="document.dead_reference",
                )
            )
    return problems


def document_places(s: Subject) -> list[str]:
    """Return the documents of the step: the single files it may write, or else the files it has written."""
    named = [glob for glob in s.scope.writes if not is_pattern(glob)]
    return named or [change.path for change in s.changed_files()]


# The scenarios of a story, in the document that its protocol names.

SCENARIO_ARTIFACT: Final = "bdd"
_FIELD: Final = "scenarios"
"""The field of an exit that reports on the scenario document."""


def scenario_place(s: Subject) -> str:
    """Where the scenarios lie: where they are written, or were, or where the protocol has them; empty if nowhere."""
    exits = s.case.protocol.exits
    claimed = exits.get(tag_of(s.job.exit)) if s.job.exit else None
    if claimed and _FIELD in claimed.fields:
        return next(iter(document_places(s)), "")
    written = [one.payload.get("files_changed") for one in accepted_exits(s.case, s.inst) if _FIELD in one.payload]
    files = [path for path in written[-1] if isinstance(path, str)] if written and isinstance(written[-1], list) else []
    declared = s.case.protocol.artifacts.get(SCENARIO_ARTIFACT)
    usual = place_of(declared, s.input) if declared else ""
    return usual if usual in files or not files else files[0]


async def scenario_text(s: Subject, commit: str = "") -> str:
    """The document; empty if there is none."""
    place = scenario_place(s)
    return (await s.text(place, commit) or "") if place else ""


def names_of(one: GherkinScenario, others: list[GherkinScenario]) -> list[str]:
    """Return the names that a test of this scenario may stand for: its own, and criteria that tag no other one."""
    shared = {tag for other in others if other is not one for tag in other.tags}
    return [one.name, *(tag.removeprefix("@") for tag in one.tags if tag not in shared)]


async def unclear_names(s: Subject) -> set[str]:
    """The scenarios with an open question, and the criteria that only such scenarios are about."""
    listed = scenarios(await scenario_text(s))
    unclear = [one for one in listed if one.questions]
    clear = {tag for one in listed if not one.questions for tag in one.tags}
    return {one.name for one in unclear} | {
        tag.removeprefix("@") for one in unclear for tag in one.tags if tag not in clear
    }
