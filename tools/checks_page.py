"""The page of the static checks: what each proves, from its own docstring, and what a slip makes it say."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from tools.places import DOCS, read_yaml
from treadle.protocol.check import CHECKS, FINER, Check, check
from treadle.protocol.load import BUILT_IN, START, load_source

EXAMPLES: Final = DOCS / "checks" / "examples.yaml"
INTRO: Final = """\
# What Treadle checks

`treadle protocol check` proves these properties before a protocol may run. Each finding names the file, the line, the
part of the protocol and what to do; with `--json` it also carries the number of its check
and its code, which stands before each property here. Mistakes in the text
itself (a key that does not exist, a number where text is wanted) are found while it is read; they have the number 0.

Treadle checks properties marked *finer* only when nothing else is wrong. The theory, and what is not proved, is at the
top of [check.py](../src/treadle/protocol/check.py); [the language](language.md) says what the words mean.
"""


class Example(NamedTuple):
    """A slip: what is written instead of what stands in a protocol that passes."""

    protocol: str
    file: str
    old: str
    new: str


def checks_page() -> str:
    """The page."""
    numbers = sorted({_number(prove) for prove in (*CHECKS.values(), *FINER.values())})
    examples = read_examples()
    return INTRO + "".join(_section(number, examples[number]) for number in numbers)


def read_examples() -> dict[int, Example]:
    """The slips by the number of the check that finds them."""
    return {
        number: Example(it.get("in", START), it.get("file", "protocol.yaml"), it["instead_of"], it["write"])
        for number, it in read_yaml(EXAMPLES).items()
    }


def said(number: int, example: Example) -> str:
    """The first thing that a check says about a slip, with the file as the protocol's folder calls it."""
    with TemporaryDirectory() as place:
        folder = _written(example, Path(place))
        loaded = load_source(folder)
        found = (str(it) for it in check(loaded.protocol, loaded.place_of) if it.check == number)
        text = next(found, "")
    if not text:
        raise SystemExit(f"{EXAMPLES}: check {number} has nothing to say about its example")
    return text.replace(f"{folder}/", "")


def _written(example: Example, place: Path) -> Path:
    source, folder = BUILT_IN / example.protocol, place / example.protocol
    for path in sorted(source.rglob("*")):
        if path.suffix in (".yaml", ".jinja"):
            goal = folder / path.relative_to(source)
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.write_bytes(path.read_bytes())
    text = (folder / example.file).read_text(encoding="utf-8")
    if example.old not in text:
        raise SystemExit(f"{EXAMPLES}: {example.protocol}/{example.file} does not hold {example.old!r}")
    (folder / example.file).write_text(text.replace(example.old, example.new, 1), encoding="utf-8")
    return folder


def _section(number: int, example: Example) -> str:
    proofs = "".join(f"- `protocol.{word}`: {_proof(prove)}\n" for word, prove in _numbered(CHECKS, number))
    proofs += "".join(f"- `protocol.{word}`, *finer:* {_proof(prove)}\n" for word, prove in _numbered(FINER, number))
    where = f"`{example.protocol}/{example.file}`"
    slip = f"{_code(example.new)} instead of {_code(example.old)}" if example.new else f"without {_code(example.old)}"
    return f"\n## {number}\n\n{proofs}\nIn {where}, {slip}:\n\n```text\n{said(number, example)}\n```\n"


def _code(text: str) -> str:
    return f"`{' '.join(text.split())}`"


def _numbered(checks: dict[str, Check], number: int) -> list[tuple[str, Check]]:
    return [(word, prove) for word, prove in checks.items() if _number(prove) == number]


def _number(prove: Check) -> int:
    return int((prove.__doc__ or "0.").partition(".")[0])


def _proof(prove: Check) -> str:
    return " ".join((prove.__doc__ or "").partition(".")[2].split())
