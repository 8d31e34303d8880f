"""The tutorials in docs are executed: its files are written, its commands run in order, what they print is compared.

A block ```` ```console ```` has commands (`$ …`) and, below each, what it prints; `# exit code N` at the end of a
command says how it ends, if not with 0. A block with a path behind its language (```` ```yaml spec.yaml ````) is
written to that file; a second one for the same file is added to its end. In what is printed, `…` stands for any text
of a line, and a line that is nothing but `…` for any lines.
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution, files
from pathlib import Path
from typing import Final, NamedTuple

import pytest

DOCS: Final = Path(__file__).parents[1] / "docs"
PAGE: Final = DOCS / "tutorial.md"
PAGES: Final = [PAGE, *sorted((DOCS / "tutorials").glob("*.md"))]
BLOCK: Final = re.compile(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST: Final = 60
"""Lines that a difference is shown with."""
CHECK: Final = re.compile(r"\S+: check \d+ of \d+ · ")
CODE: Final = re.compile(r"# exit code (\d+)$")
GIT: Final = "[user]\n\tname = Ada\n\temail = ada@example.org\n"
PARTS_OF_PYTEST: Final = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")


class File(NamedTuple):
    line: int
    path: str
    text: str


class Command(NamedTuple):
    line: int
    words: str
    code: int
    shown: list[str]


def steps(page: str) -> Iterator[File | Command]:
    """The files and the commands of a page, in their order."""
    for block in BLOCK.finditer(page):
        language, path, text = block.groups()
        line = page.count("\n", 0, block.start()) + 2
        if language == "console":
            yield from _commands(text, line)
        else:
            assert path, f"line {line - 1}: a block that is no console names its file: ```{language} FILE"
            yield File(line, path, text)


def _commands(text: str, first: int) -> Iterator[Command]:
    assert text.startswith("$ "), f"line {first}: a console begins with a command: $ …"
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        words = lines[start][2:]
        code = CODE.search(words)
        yield Command(first + start, words, int(code[1]) if code else 0, lines[start + 1 : end])


def differences(shown: list[str], printed: list[str]) -> str:
    """How what was printed differs from what the page shows; empty if it does not."""
    text = "".join(f"{line}\n" for line in printed)
    patterns = [_pattern(line) for line in shown]
    if re.fullmatch("".join(patterns), text):
        return ""
    good, count = next((it, n) for n in range(len(shown), -1, -1) if (it := re.match("".join(patterns[:n]), text)))
    rest = text[good.end() :].splitlines()
    missing = f"not found: {shown[count]}" if count < len(shown) else "more is printed than is shown"
    diff = difflib.unified_diff(shown[count:], rest[:MOST], "the page", "the program", lineterm="", n=MOST)
    return "\n".join([missing, *diff, *([f"({len(rest) - MOST} more lines)"] if len(rest) > MOST else [])])


def _pattern(line: str) -> str:
    if line == "…":
        return r"(?:.*\n)*?"
    return ".*?".join(map(re.escape, line.split("…"))) + r"\n"


class Reader:
    """Somebody who does what the page says, in an empty folder, and whose pytest is in an environment of its own."""

    def __init__(self, place: Path, page: str = PAGE.name) -> None:
        self.page = page
        self.folder, self.home = place / "work", place / "home"
        self.folder.mkdir()
        self.home.mkdir()
        (self.home / ".gitconfig").write_text(GIT)
        programs = _environment(place / "python")
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.environment = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "COLUMNS": "100"}

    def follow(self, page: Iterable[File | Command]) -> None:
        """Does one thing after the other; fails at the first that is not as it is shown."""
        for step in page:
            if isinstance(step, File):
                self.write(step)
            elif wrong := self.run(step):
                pytest.fail(f"{self.page}:{step.line}: $ {step.words}\n{wrong}", pytrace=False)

    def write(self, file: File) -> None:
        path = self.folder / file.path
        before = f"{path.read_text()}\n" if path.exists() else ""
        path.write_text(before + file.text)

    def run(self, command: Command) -> str:
        """What is otherwise than shown; a folder that the command changes to is kept for the next one."""
        script = f'{command.words}\ncode=$?\npwd > "$HOME/where"\nexit $code'
        done = subprocess.run(
            ["sh", "-c", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        self.folder = Path((self.home / "where").read_text().removesuffix("\n"))
        if done.returncode != command.code:
            return f"ends with {done.returncode}, not with {command.code}:\n{done.stdout}"
        # a check has a line of its own only on a machine that is slow at the moment
        printed = [line for line in done.stdout.splitlines() if not CHECK.match(line)]
        return differences(command.shown, printed)


def _environment(folder: Path) -> Path:
    """The programs of an environment with pytest and nothing else, as in a new project, and `treadle`."""
    venv.create(folder, with_pip=False, symlinks=True)
    goal = next((folder / "lib").glob("python*/site-packages"))
    for name in PARTS_OF_PYTEST:
        for part in {file.parts[0] for file in files(name) or ()} - {"..", "__pycache__"}:
            (goal / part).symlink_to(str(distribution(name).locate_file(part)))
    program = shutil.which("treadle", path=str(Path(sys.executable).parent))
    assert program, "`treadle` is not beside this Python; `make test` installs it there"
    (folder / "bin" / "treadle").symlink_to(program)
    return folder / "bin"


def test_the_first_part_up_to_the_question(tmp_path: Path) -> None:
    page = list(steps(PAGE.read_text(encoding="utf-8")))
    end = next(n for n, it in enumerate(page) if isinstance(it, Command) and it.words.startswith("treadle answer"))
    Reader(tmp_path).follow(page[:end])


@pytest.mark.soak
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_whole_tutorial(path: Path, tmp_path: Path) -> None:
    Reader(tmp_path, path.name).follow(steps(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_names_the_file_of_each_block(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    for step in steps(page):
        if isinstance(step, File):
            before = "\n".join(page.splitlines()[: step.line - 2])
            assert f"`{step.path}`" in before, step.path


@pytest.mark.parametrize(
    ("shown", "printed", "differ"),
    [
        ("a\nb", "a\nb", False),
        ("a\nb", "a\nc", True),
        ("a", "a\nb", True),
        ("a\nb", "a", True),
        ("a … c", "a b c", False),
        ("a … c", "a b d", True),
        ("a…", "ab\nc", True),
        ("a\n…\nz", "a\nz", False),
        ("a\n…\nz", "a\nb\nc\nz", False),
        ("a\n…\nz", "a\nb\nc", True),
        ("(a)", "a", True),
        ("", "a", True),
        ("…", "", False),
    ],
)
def test_the_shown_output_is_compared_with_the_printed_one(shown: str, printed: str, differ: bool) -> None:
    assert bool(differences(shown.splitlines(), printed.splitlines())) is differ


def test_a_difference_can_be_read() -> None:
    told = differences(["one …", "…", "three"], ["one a", "two", "four"]).splitlines()
    assert told[0] == "not found: three"
    assert told[-3:] == ["-three", "+two", "+four"]
    assert differences(["one"], ["one", "two"]).splitlines()[-1] == "+two"
    assert differences(["a", "…", "z"], ["a"] * 100).endswith("(39 more lines)")


def test_a_page_is_parsed_into_files_and_commands() -> None:
    page = "Text\n```yaml a.yaml\nk: 1\n```\n\n```console\n$ one # exit code 3\nout\n\n$ two\n```\n"
    assert list(steps(page)) == [
        File(3, "a.yaml", "k: 1\n"),
        Command(7, "one # exit code 3", 3, ["out", ""]),
        Command(10, "two", 0, []),
    ]
    for bad in ("```yaml\nk: 1\n```\n", "```console\nout\n```\n"):
        with pytest.raises(AssertionError, match="line"):
            list(steps(bad))
