"""Scenarios in Gherkin inside of a Markdown document: level tags, steps, complexity, tasks, open questions."""

import re
from typing import Final

import msgspec

from treadle.evidence.document_text import without_comments
from treadle.evidence.findings import CheckProblem, problem

LEVELS: Final = ("@unit", "@integration", "@component", "@e2e")
_SCENARIO: Final = re.compile(
    r"\s*(?:[#*-]+\s*)?\**(?:Scenario(?P<outline> Outline| Template)?|Example)\s*:\**\s*(?P<name>.*)", re.IGNORECASE
)
_FEATURE: Final = re.compile(r"\s*(?:[#*-]+\s*)?\**Feature\s*:\**\s*\S", re.IGNORECASE)
_EXAMPLES: Final = re.compile(r"\s*(?:[#*-]+\s*)?\**(?:Examples|Scenarios)\s*:", re.IGNORECASE)
_STEP: Final = re.compile(
    r"\s*(?:[*-]\s*)?\**(?P<word>Given|When|Then|And|But)\b\**(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_COMMENT: Final = re.compile(r"\s+#")
_TAGS: Final = re.compile(r"\s*(?:`?@[^\s`]+`?\s*)+\Z")
_TAG: Final = re.compile(r"@[^\s`]+")
_HEADING: Final = re.compile(r"^#\s+(?P<text>.*)", re.MULTILINE)
_COMPLEXITY: Final = re.compile(r"^#\s.*\[\s*(?P<size>[SML])\s*\]", re.MULTILINE)
MARK: Final = re.compile(r"\[\s*NEEDS[\s_-]+CLARIFICATION\b\s*:?\s*(?P<text>[^\]]*)\]", re.IGNORECASE)
"""Where something is unclear."""
_MEANT: Final = re.compile(r"\bNEEDS[\s_-]+CLARIFICATION\b")
_RFC_2119: Final = re.compile(r"\b(?:MUST|SHALL|SHOULD|MAY|REQUIRED|RECOMMENDED|OPTIONAL)\b")
_TASK: Final = re.compile(r"^\s*(?:[-*]|\d+\.)\s*(?:\[[ xX]?\]\s*)?(?P<text>\S.*)")
_TICKED: Final = re.compile(r"^\s*(?:[-*]|\d+\.)\s*\[[xX]\]")
_MOST_THEN: Final = 3
_CHAPTER: Final = re.compile(r"##?\s")
_OVER: Final = "#"
"""A chapter has begun, which is no part of the scenario above it."""
_WORDS: Final = "a word of RFC 2119 in capitals in what comes out (Then): MUST, SHOULD or MAY"
_QUESTION: Final = "`[NEEDS CLARIFICATION: question]`, on one line"


class GherkinScenario(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario."""

    name: str
    line: int
    tags: tuple[str, ...]
    steps: tuple[str, ...]
    """`given`, `when` and `then`, in order; `and` and `but` count as the step that they continue."""
    questions: tuple[str, ...] = ()
    """The open questions in it."""
    binds: bool = False
    """Whether a word of RFC 2119 in a `then` states how strict the demand is."""
    is_outline: bool = False
    has_examples: bool = False
    wordless: tuple[str, ...] = ()
    """Steps without text."""


def scenarios(text: str) -> list[GherkinScenario]:
    """The scenarios of a document."""
    found: list[GherkinScenario] = []
    tags: list[str] = []
    last = ""
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        if _TAGS.match(line):
            tags += _TAG.findall(line)
        elif match := _SCENARIO.match(line):
            found.append(_begun(match, number, tags))
            tags, last = [], ""
        elif _FEATURE.match(line) or (line.startswith("#") and not _EXAMPLES.match(line)):
            tags, last = [], _OVER if _CHAPTER.match(line) else last
        elif found and last != _OVER:
            found[-1], last = _read_on(found[-1], line, last)
    return found


def _begun(match: re.Match[str], line: int, tags: list[str]) -> GherkinScenario:
    named = _TAG.findall(match["name"])
    name = _TAG.sub("", match["name"]).strip(" *`")
    return GherkinScenario(name=name, line=line, tags=(*tags, *named), steps=(), is_outline=bool(match["outline"]))


def _read_on(one: GherkinScenario, line: str, last: str) -> tuple[GherkinScenario, str]:
    """A scenario with one more of its lines, and the kind of step that it has come to."""
    change = msgspec.structs.replace
    if _EXAMPLES.match(line):
        return change(one, has_examples=True), last
    if _COMMENT.match(line):
        return change(one, questions=(*one.questions, *open_questions(line))), last
    if step := _STEP.match(line):
        word = step["word"].lower()
        last = last if last and word in ("and", "but") else word
        empty = () if step["rest"].strip(" *:`") else (step["word"].capitalize(),)
        one = change(one, steps=(*one.steps, last), wordless=(*one.wordless, *empty))
    binds = one.binds or (last == "then" and bool(_RFC_2119.search(line)))
    return change(one, questions=(*one.questions, *open_questions(line)), binds=binds), last


def gherkin_problems(file: str, text: str) -> list[CheckProblem]:
    """Return the faults of a document of scenarios."""
    found: list[CheckProblem] = []
    if not complexity(text):
        found.append(
            problem(
                "has no complexity",
                file,
                1,
                expected="a first line such as `# US-1: title [S]`",
                code="scenario.no_complexity",
            )
        )
    if not any(_FEATURE.match(line) for line in text.splitlines()):
        found.append(problem("has no feature", file, 1, expected="`Feature: …`", code="scenario.no_feature"))
    listed = scenarios(text)
    if not listed:
        found.append(
            problem(
                "has no scenario", file, 1, expected="`Scenario: …` with Given, When and Then", code="scenario.none"
            )
        )
    if section(text, "Tasks") is None:
        found.append(
            problem("has no task list", file, expected="`## Tasks` with a checklist", code="scenario.no_tasks")
        )
    found += [
        problem(
            f"'{_shown(match[0])}' cannot be read as a question",
            file,
            _line(text, match),
            expected=_QUESTION,
            code="scenario.bad_question",
        )
        for match in _unread(text)
    ]
    names = [one.name for one in listed]
    found += [
        problem(
            f"two scenarios are called '{one.name}'",
            file,
            one.line,
            expected="a name for each",
            code="scenario.duplicate",
        )
        for at, one in enumerate(listed)
        if one.name in names[:at]
    ]
    return found + [one for scenario in listed for one in _faults(file, scenario)]


def _faults(file: str, one: GherkinScenario) -> list[CheckProblem]:
    found: list[CheckProblem] = []
    name = one.name or "a scenario"
    levels = [tag for tag in one.tags if tag.lower() in LEVELS]
    if len(levels) != 1:
        found.append(
            problem(
                f"'{name}' has {len(levels)} level tags",
                file,
                one.line,
                expected=f"exactly one of {', '.join(LEVELS)}",
                code="scenario.level_tags",
            )
        )
    missing = [word for word in ("when", "then") if word not in one.steps]
    if missing:
        found.append(
            problem(
                f"'{name}' has no {' and no '.join(word.capitalize() for word in missing)}",
                file,
                one.line,
                code="scenario.incomplete",
            )
        )
    found += [
        problem(f"'{name}' has a {word} that says nothing", file, one.line, code="scenario.empty_step")
        for word in one.wordless
    ]
    if one.is_outline and not one.has_examples:
        found.append(
            problem(
                f"'{name}' is an outline without examples",
                file,
                one.line,
                expected="`Examples:`",
                code="scenario.no_examples",
            )
        )
    if not one.binds and not missing:
        found.append(
            problem(
                f"'{name}' does not say how much it demands", file, one.line, expected=_WORDS, code="scenario.vague"
            )
        )
    if one.steps.count("then") > _MOST_THEN:
        found.append(
            problem(
                f"'{name}' has {one.steps.count('then')} Then",
                file,
                one.line,
                expected="two scenarios",
                code="scenario.many_thens",
            )
        )
    return found


def heading(text: str) -> str:
    """The first heading; empty if there is none."""
    match = _HEADING.search(text)
    return match["text"] if match else ""


def complexity(text: str) -> str:
    """Return S, M or L from the first heading that has it; empty if there is none."""
    match = _COMPLEXITY.search(text)
    return match["size"] if match else ""


def open_questions(text: str) -> list[str]:
    """Everything that is marked as unclear."""
    return [match["text"].strip() or "(no question)" for match in MARK.finditer(text)]


def _unread(text: str) -> list[re.Match[str]]:
    """Find marks for open questions that are malformed or broken over lines."""
    marks = [match.span() for match in MARK.finditer(text) if "\n" not in match[0]]
    return [one for one in _MEANT.finditer(text) if not any(start < one.start() < end for start, end in marks)]


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


def _shown(text: str) -> str:
    return " ".join(text.split())


def parallel_tasks(text: str) -> int:
    """How many tasks may run at the same time as their neighbours."""
    return sum("[P]" in task for task in listed_in(text, "Tasks"))


def listed_in(text: str, name: str) -> list[str]:
    """The items of the list below a heading."""
    lines = (section(text, name) or "").splitlines()
    return [match["text"] for line in lines if (match := _TASK.match(line))]


def unfinished_parallel(text: str) -> list[str]:
    """The tasks that may run at the same time as their neighbours, and are not ticked off."""
    lines = (section(text, "Tasks") or "").splitlines()
    tasks = [(line, match["text"].strip()) for line in lines if (match := _TASK.match(line))]
    return [task for line, task in tasks if "[P]" in task and not _TICKED.match(line)]


def section(text: str, name: str) -> str | None:
    """The text below a heading; None if there is no such heading."""
    pattern = rf"^##+\s*{re.escape(name)}\b[^\n]*\n?(?P<body>.*?)(?=^##?\s|\Z)"
    match = re.search(pattern, text, re.IGNORECASE | re.MULTILINE | re.DOTALL)
    return match["body"] if match else None
