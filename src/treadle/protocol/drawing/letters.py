"""How wide text is, near enough for any common sans-serif font, and never too narrow for them."""

import unicodedata
from typing import Final

_WIDTHS: Final = {
    **dict.fromkeys("ijl'|", 0.30),
    **dict.fromkeys(' .,:;!Ift()[]/\\r-`"', 0.40),
    **dict.fromkeys("acekosvxyz?_*^J", 0.60),
    **dict.fromkeys("wCDGHNOQRUKAX", 0.78),
    **dict.fromkeys("mMW@%&<>=+~#", 0.95),
}


def width(text: str, size: float) -> float:
    """The width of text in a font of this size."""
    return size * sum(map(_letter, text))


def _letter(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if letter.isascii():
        return 0.70 if letter.isupper() else 0.64
    if unicodedata.combining(letter):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.85


def wrap(text: str, size: float, limit: float) -> list[str]:
    """The text in lines of at most this width, broken at spaces; a longer word is broken after a sign, or anywhere."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if width(longer, size) <= limit:
            lines[-1] = longer
            continue
        head, *rest = _cut(word, size, limit)
        lines[-1:] = [lines[-1], head, *rest] if lines[-1] else [head, *rest]
    return lines


def _cut(word: str, size: float, limit: float) -> list[str]:
    pieces = [""]
    for letter in word:
        while width(pieces[-1] + letter, size) > limit and pieces[-1]:
            kept = max(pieces[-1].rfind(sign) for sign in "._-/") + 1 or len(pieces[-1])
            pieces[-1:] = [pieces[-1][:kept], pieces[-1][kept:]]
        pieces[-1] += letter
    return pieces
