"""A fixed grammar in plain words: no model reads a sentence, and none that can be read in two ways is acted upon.

    [PROJECT:] ACTION [PROJECT] [STORY | RUN | STEP] [: NOTE]

What begins with no action is an answer in words of one's own, to be held against the questions that are open.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

import msgspec

from treadle.talk.intent import PHRASES, SAYABLE, Action, Intent, Unclear

LONGEST: Final = 4000
"""Characters of a sentence that is read at all."""
_WORD: Final = re.compile(r"[^\s,;:.!?…\"“”()]+")
_ENDS: Final = re.compile(r"\s*(?:[:;,–—]|\s-\s|\.\s)\s*")
_NOTE: Final = re.compile(rf"{_ENDS.pattern}|\s+(?:because|since|with)\s+", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"\s*(?:(?:in|for|project)\s+)*([A-Za-z0-9][\w.-]*)\s*:\s*(.+)", re.DOTALL | re.IGNORECASE)
_POLITE: Final = re.compile(r"\s*(?:(?:please|hello|hi|hey)\b[\s,!]*)+", re.IGNORECASE)
_FILLERS: Final = frozenset(
    "please now then thanks it of the project story step run in on for today and thank you with".split()
)
_EVERYTHING: Final = frozenset(("everything", "all"))
_PLAIN: Final = frozenset(("continue", "status", "stop", "help"))
"""Actions that take no note."""
_NEAR: Final = 0.75
_HANDED_IN: Final = frozenset(("done", "finished", "ready"))


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """The names that a sentence can contain."""

    projects: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    """Stories, runs and steps of the project that is meant if none is named."""


def parse(message: str, known: Vocabulary = Vocabulary()) -> Intent | Unclear:  # noqa: B008 - it is frozen
    """What a sentence asks for."""
    text = message[polite.end() if (polite := _POLITE.match(message)) else 0 :].strip()
    if not text:
        return Unclear("nothing was said; what can be said:", SAYABLE, code="say.unclear")
    if len(text) > LONGEST:
        return Unclear(f"that has {len(text):,} characters; say it in {LONGEST:,} at most", code="say.unclear")
    project, text = _addressed(text, known.projects)
    if isinstance(project, Unclear):
        return project
    found = _action(text)
    if found is None:
        return _misspelt(text) or Intent(action="answer", project=project, params={"text": text})
    action, rest = found
    if action == "answer":
        return Intent(action="answer", project=project, params={"text": rest.lstrip(" :,"), "said": "answer"})
    return _completed(action, text, rest, project, known)


def _addressed(text: str, projects: tuple[str, ...]) -> tuple[str | Unclear, str]:
    """`cart-app: continue`, or `cart-app continue`: the project, and what is said to it."""
    if (match := _ADDRESS.fullmatch(text)) and (named := _named(match[1], projects)):
        return named, match[2].strip()
    first = _WORD.match(text)
    if first and first[0].lower() in [name.lower() for name in projects] and _action(text[first.end() :].strip()):
        return next(name for name in projects if name.lower() == first[0].lower()), text[first.end() :].strip()
    return "", text


def _named(word: str, projects: Iterable[str]) -> str | Unclear:
    """The project that a word names, whole or as much as only one has; empty if none."""
    names = list(projects)
    exact = [name for name in names if name.lower() == word.lower()]
    found = exact or [name for name in names if name.lower().startswith(word.lower())]
    if len(found) > 1:
        return Unclear(f"'{word}' could be {', '.join(found)}; say which", code="say.ambiguous")
    return found[0] if found else ""


def _action(text: str) -> tuple[Action, str] | None:
    """The action that a text begins with, and what comes after; the longest phrase counts."""
    words = [(match[0].lower().replace("’", "'"), match.end()) for match in _WORD.finditer(text)]
    phrases = [(phrase.split(), action) for action, said in PHRASES.items() for phrase in said]
    fits = [(it, action) for it, action in phrases if [word for word, _ in words[: len(it)]] == it]
    if not fits:
        return ("help", "") if text.strip() == "?" else None
    longest, action = max(fits, key=lambda fit: len(fit[0]))
    return action, text[words[len(longest) - 1][1] :]


def _completed(action: Action, text: str, rest: str, project: str, known: Vocabulary) -> Intent | Unclear:
    """An action with what it is about."""
    head, note = _split(rest, _ENDS if action in _PLAIN else _NOTE)
    words = [match[0] for match in _WORD.finditer(head) if match[0].lower() not in _FILLERS]
    params: dict[str, str] = {"said": text[: len(text) - len(rest)].lower()}
    if action == "level":
        digits = [word for word in words if word in ("0", "1", "2")]
        if len(digits) != 1:
            return Unclear("say which level: level 0, level 1 or level 2", code="say.unclear")
        words.remove(digits[0])
        params["level"] = digits[0]
    if action == "reject" and words and not any(_named(word, known.projects) for word in words[:1]):
        # `reject scope warning: …` and `no the third one is missing`: whatever it is, it is why
        params["note"] = ", ".join(part for part in (" ".join(head.split()), note) if part)
        return Intent(action=action, project=project, params=params)
    placed = _placed(words, project, known)
    if isinstance(placed, Unclear):
        return _own_words(action, text, project) or placed
    project, target = placed
    if action in _PLAIN and _meant(note):
        return _own_words(action, text, project) or Unclear(
            f"'{action}' takes a project and a story, and no note; to say something to the next agent, use"
            " approve, reject or retry",
            code="say.unclear",
        )
    params |= {name: value for name, value in (("target", target), ("note", note if _meant(note) else "")) if value}
    return Intent(action=action, project=project, params=params)


def _own_words(action: Action, text: str, project: str) -> Intent | None:
    """`ok for cards only` is no plain agreement: it may be an answer in words of one's own."""
    return Intent(action="answer", project=project, params={"text": text}) if action == "agree" else None


def _split(rest: str, ends: re.Pattern[str]) -> tuple[str, str]:
    """What an action is about, and the note that comes with it."""
    match = ends.search(rest)
    if match is None:
        return rest.rstrip(" .!?"), ""
    return rest[: match.start()], rest[match.end() :].strip()


def _meant(note: str) -> bool:
    return any(match[0].lower() not in _FILLERS for match in _WORD.finditer(note))


def _placed(words: list[str], project: str, known: Vocabulary) -> tuple[str, str] | Unclear:
    """Project and target among the words after an action, in either order."""
    targets: list[str] = []
    for word in _joined(words, known.targets):
        own = [target for target in known.targets if target.lower() == word.lower()]
        named = "" if project or word.lower() in _EVERYTHING else _named(word, known.projects)
        if isinstance(named, str) and named.lower() == word.lower() and own:
            return Unclear(
                f"'{word}' is a project and part of one; say `{named}: …` for the project", code="say.ambiguous"
            )
        if own:
            targets.append(own[0])
        elif isinstance(named, Unclear):
            return named
        elif named:
            project = named
        else:
            targets.append(word)
    if len(targets) > 1:
        said = " ".join(targets)
        return Unclear(
            f"'{said}' is too much: name a project and one story, put a note after a colon, and begin an answer with"
            " `answer:`",
            code="say.unclear",
        )
    return project, targets[0] if targets else ""


def _joined(words: list[str], names: Iterable[str]) -> list[str]:
    """The words, in which a name of several is one."""
    for name in sorted((name for name in names if " " in name), key=len, reverse=True):
        parts = name.lower().split()
        for start in range(len(words) - len(parts) + 1):
            if [word.lower() for word in words[start : start + len(parts)]] == parts:
                return [*words[:start], name, *words[start + len(parts) :]]
    return words


def _misspelt(text: str) -> Unclear | None:
    """A first word that is nearly an action is asked about, and neither acted upon nor taken for an answer."""
    first = _WORD.match(text)
    if first and first[0].lower() in _HANDED_IN and not text[first.end() :].strip(" .!"):
        return Unclear(
            f"what you have done yourself is handed in with `treadle done`, which checks it; '{first[0]}' can be an"
            f" answer, too: `answer: {text}`",
            code="say.unclear",
        )
    spoken = sorted({phrase.split()[0] for said in PHRASES.values() for phrase in said if len(phrase) > 3})
    near = get_close_matches(first[0].lower(), spoken, n=1, cutoff=_NEAR) if first else []
    if not near:
        return None
    return Unclear(
        f"did you mean '{near[0]}'? If it is the answer to a question, say `answer: {text[:80]}`; what can be said:",
        SAYABLE,
        code="say.unclear",
    )
