"""The sentences of `treadle say`: a table of phrases, and the fixed grammar that reads them.

    [PROJECT:] ACTION [PROJECT] [STORY | RUN | STEP] [: NOTE]

No model reads a sentence, and an ambiguous sentence raises `UnclearSentence` before anything is done. A sentence that
begins with no action is an answer in the person's own words, which `orders` matches to the open questions.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, Literal

import msgspec

from treadle.errors import UnclearSentence

Action = Literal[
    "continue", "status", "retry", "skip", "abort", "stop", "approve", "agree", "reject", "level", "note",
    "answer", "help",
]  # fmt: skip

PHRASES: Final[Mapping[Action, tuple[str, ...]]] = {
    "continue": ("continue", "go on", "go ahead", "carry on", "proceed", "resume", "go", "next"),
    "status": (
        *("status", "progress", "report", "how is it going", "how far are you", "where are we", "what is going on"),
        *("what's up", "whats up"),
    ),
    "retry": ("retry", "try again", "try it again", "once more", "again"),
    "skip": ("skip",),
    "abort": ("abort", "give up", "give it up", "cancel"),
    "stop": ("stop", "pause", "enough", "that is all", "that's all", "good night"),
    "approve": ("approve", "approved", "accept", "accepted", "lgtm"),
    "agree": (
        *("ok", "okay", "yes", "fine", "looks good", "all good", "all ok", "all fine", "that is fine"),
        "everything ok",
    ),
    "reject": ("reject", "rejected", "not ok", "no"),
    "level": ("level",),
    "note": ("note",),
    "answer": ("answer", "my answer"),
    "help": ("help", "what can i say", "what can i do"),
}
"""The phrases for each action; case and punctuation do not matter."""

SAYABLE: Final = (
    "continue [PROJECT] [STORY]   start or resume what waits for you",
    "status [PROJECT]             show the state of the runs",
    "approve | ok                 approve a review; `approve: NOTE` adds a note",
    "30 seconds, others OK        answer the open question of a review, and approve the rest",
    "1: 30 seconds; 2: no; others OK   the same, by number, if several are open",
    "reject: WHY                  reject a review; `reject scope warning: WHY` names the reason",
    "retry | skip [STORY][: NOTE] answer for a step that is stuck",
    "note [STORY]: TEXT           leave a note for the next agent",
    "abort [STORY]                abort a story; `abort everything` aborts the run",
    "stop for today               start nothing new, and show how far the project is",
    "level 0 | 1 | 2              you do the agents' work | each agent waits for `continue` | automatic",
)
"""Example sentences, shown as help and after an unclear sentence."""

LONGEST: Final = 4000
"""Characters of a sentence that is read at all."""
_WORD: Final = re.compile(r"[^\s,;:.!?…\"“”()]+")
_ENDS: Final = re.compile(r"\s*(?:[:;,–—]|\s-\s|\.\s)\s*")
_NOTE: Final = re.compile(rf"{_ENDS.pattern}|\s+(?:because|since|with)\s+", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"\s*(?:(?:in|for|project)\s+)*([A-Za-z0-9][\w.-]*)\s*:\s*(.+)", re.DOTALL | re.IGNORECASE)
_POLITE: Final = re.compile(r"^\s*(?:(?:please|hello|hi|hey)\b[\s,!]*)+", re.IGNORECASE)
_FILLERS: Final = frozenset(
    "please now then thanks it of the project story step run in on for today and thank you with".split()
)
_EVERYTHING: Final = frozenset(("everything", "all"))
_WITHOUT_NOTE: Final = frozenset(("continue", "status", "stop", "help"))
_HANDED_IN: Final = frozenset(("done", "finished", "ready"))
_NEAR: Final = 0.75
"""How alike a word and an action must be to ask whether it was meant."""


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """A person's request, not yet compared with the state of a run."""

    action: Action
    project: str = ""
    """As it is registered; empty: none was named."""
    target: str = ""
    """The story, run or step that was named."""
    note: str = ""
    text: str = ""
    """An answer in the person's own words."""
    level: int = 0
    word: str = ""
    """The phrase of the action as it was written; empty for an answer that begins with no action."""


def is_phrase(word: str) -> bool:
    """Whether a word is an action by itself, and so no good name."""
    return any(word.lower() in phrases for phrases in PHRASES.values())


def parse_sentence(message: str, projects: Sequence[str] = (), targets: Sequence[str] = ()) -> Sentence:
    """Parse a sentence. `targets` are the stories, runs and steps of the project that is meant if none is named."""
    text = _POLITE.sub("", message).strip()
    if not text:
        raise UnclearSentence("this sentence contains no command; you can say:", SAYABLE, code="say.unclear")
    if len(text) > LONGEST:
        raise UnclearSentence(f"the sentence has {len(text):,} characters; use {LONGEST:,} at most", code="say.unclear")
    project, text = _split_project(text, projects)
    found = _split_action(text)
    if found is None:
        _refuse_misspelling(text)
        return Sentence(action="answer", project=project, text=text)
    action, rest = found
    if action == "answer":
        return Sentence(action=action, project=project, text=rest.lstrip(" :,"), word="answer")

    end = (_ENDS if action in _WITHOUT_NOTE else _NOTE).search(rest)
    head, note = (rest[: end.start()], rest[end.end() :].strip()) if end else (rest.rstrip(" .!?"), "")
    words, level = _meaningful(head), 0
    note = note if _meaningful(note) else ""
    word = text[: len(text) - len(rest)].lower()
    if action == "level":
        digits = [one for one in words if one in ("0", "1", "2")]
        if len(digits) != 1:
            raise UnclearSentence("name one level: level 0, level 1 or level 2", code="say.unclear")
        words.remove(digits[0])
        level = int(digits[0])
    if action == "reject" and words and not _find_project(words[0], projects):
        # `reject scope warning: …` and `no the third one is missing`: all of it is the reason
        reason = ", ".join(part for part in (" ".join(head.split()), note) if part)
        return Sentence(action=action, project=project, note=reason, word=word)
    try:
        project, target = _place(words, project, projects, targets)
    except UnclearSentence:
        if action != "agree":
            raise
        # `ok for cards only` is no plain agreement, but may answer a question
        return Sentence(action="answer", project=project, text=text)
    if note and action in _WITHOUT_NOTE:
        raise UnclearSentence(
            f"'{action}' takes a project and a story, but no note; approve, reject and retry pass a note to the next"
            " agent",
            code="say.unclear",
        )
    return Sentence(action=action, project=project, target=target, note=note, level=level, word=word)


def _meaningful(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word.lower() not in _FILLERS]


def _split_project(text: str, projects: Sequence[str]) -> tuple[str, str]:
    """Split `cart-app: continue` or `cart-app continue` into the project and the sentence for it."""
    if (match := _ADDRESS.fullmatch(text)) and (named := _find_project(match[1], projects)):
        return named, match[2].strip()
    first = _WORD.match(text)
    named = next((name for name in projects if first and name.lower() == first[0].lower()), "")
    if first and named and _split_action(text[first.end() :].strip()):
        return named, text[first.end() :].strip()
    return "", text


def _find_project(word: str, projects: Sequence[str]) -> str:
    """Return the project with this name, or the only one with this beginning; empty if there is none."""
    exact = [name for name in projects if name.lower() == word.lower()]
    found = exact or [name for name in projects if name.lower().startswith(word.lower())]
    if len(found) > 1:
        raise UnclearSentence(f"'{word}' could be {', '.join(found)}; name one of them", code="say.ambiguous")
    return found[0] if found else ""


def _split_action(text: str) -> tuple[Action, str] | None:
    """Split a text into the action that it begins with and the rest; the longest phrase wins."""
    if text.strip() == "?":
        return "help", ""
    words = [(match[0].lower().replace("’", "'"), match.end()) for match in _WORD.finditer(text)]
    phrases = [(phrase.split(), action) for action, listed in PHRASES.items() for phrase in listed]
    fits = [(phrase, action) for phrase, action in phrases if [word for word, _ in words[: len(phrase)]] == phrase]
    if not fits:
        return None
    longest, action = max(fits, key=lambda fit: len(fit[0]))
    return action, text[words[len(longest) - 1][1] :]


def _place(words: Sequence[str], project: str, projects: Sequence[str], targets: Sequence[str]) -> tuple[str, str]:
    """Find the project and the target among the words after an action, in either order."""
    found: list[str] = []
    for word in _join_names(words, targets):
        own = next((target for target in targets if target.lower() == word.lower()), "")
        is_project = word.lower() in [name.lower() for name in projects] and not project
        if own and is_project:
            raise UnclearSentence(
                f"'{word}' is a project and a part of one; write `{word}: …` for the project", code="say.ambiguous"
            )
        named = "" if own or project or word.lower() in _EVERYTHING else _find_project(word, projects)
        if named:
            project = named
        else:
            found.append(own or word)
    if len(found) > 1:
        raise UnclearSentence(
            f"'{' '.join(found)}' names too much: name a project and one story, put a note after a colon, and begin an"
            " answer with `answer:`",
            code="say.unclear",
        )
    return project, found[0] if found else ""


def _join_names(words: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the words, with the words of a name such as `US-006 api` joined to one."""
    for name in sorted((name for name in names if " " in name), key=len, reverse=True):
        parts = name.lower().split()
        for start in range(len(words) - len(parts) + 1):
            if [word.lower() for word in words[start : start + len(parts)]] == parts:
                return [*words[:start], name, *words[start + len(parts) :]]
    return list(words)


def _refuse_misspelling(text: str) -> None:
    """Ask about a first word that is nearly an action, instead of acting on it or reading the sentence as an answer."""
    first = _WORD.match(text)
    if first is None:
        return
    if first[0].lower() in _HANDED_IN and not text[first.end() :].strip(" .!"):
        raise UnclearSentence(
            f"`treadle done` hands in your own work and checks it; if '{first[0]}' answers a question, say"
            f" `answer: {text}`",
            code="say.unclear",
        )
    known = sorted({phrase.split()[0] for phrases in PHRASES.values() for phrase in phrases if len(phrase) > 3})
    if near := get_close_matches(first[0].lower(), known, n=1, cutoff=_NEAR):
        raise UnclearSentence(
            f"did you mean '{near[0]}'? If it answers a question, say `answer: {text[:80]}`; you can say:",
            SAYABLE,
            code="say.unclear",
        )
