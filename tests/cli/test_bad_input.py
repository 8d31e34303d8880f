"""Bad protocols, as a user meets them: a message with file and line, exit code 2, no traceback."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.chores import Chores
from tests.cli.treadle import Outcome, treadle
from treadle.protocol.load import starting_folder


class Folder:
    """A sound protocol folder, to be spoilt."""

    def __init__(self, place: Path) -> None:
        self.place = place / "spoilt"
        for name, text in starting_folder("spoilt").items():
            path = self.place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def replace(self, old: str, new: str, file: str = "protocol.yaml") -> None:
        text = (self.place / file).read_text()
        assert old in text, f"{old!r} is not in {file}"
        (self.place / file).write_text(text.replace(old, new, 1))


def check(place: Path) -> Outcome:
    return treadle("protocol", "check", str(place))


def check_apart(place: Path) -> Outcome:
    """The same as a process of its own, where nothing but what it prints and returns comes out."""
    command = [sys.executable, "-m", "treadle", "protocol", "check", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_the_starting_folder_is_sound(folder: Folder) -> None:
    done = check(folder.place)
    assert (done.code, done.err) == (0, "")


def refused(folder: Folder, *expected: str, by: Callable[[Path], Outcome] = check) -> None:
    done = by(folder.place)
    said = done.out + done.err
    assert done.code == 2
    assert "Traceback" not in said
    for text in expected:
        assert text in said.replace("\n", " "), said


def test_a_malformed_protocol(folder: Folder) -> None:
    (folder.place / "protocol.yaml").write_text("protocol: [unclosed\nroot: x\n")
    refused(folder, "protocol.yaml:")
    refused(folder, "protocol.yaml:", by=check_apart)


def test_a_protocol_that_is_no_mapping(folder: Folder) -> None:
    (folder.place / "protocol.yaml").write_text("just words\n")
    refused(folder, "protocol.yaml:1", "mapping")


def test_a_route_to_an_unknown_step(folder: Folder) -> None:
    folder.replace("start: ", "start: no")
    refused(folder, "protocol.yaml:", "did you mean")


def test_a_yaml_typo(folder: Folder) -> None:
    folder.replace("graphs:", "graph:")
    refused(folder, "protocol.yaml:", "did you mean 'graphs'")


def test_a_recursive_include(folder: Folder) -> None:
    fragments = folder.place.parent / "fragments"
    fragments.mkdir()
    (fragments / "one.yaml").write_text("fragment: one\ninclude: [two]\n")
    (fragments / "two.yaml").write_text("fragment: two\ninclude: [one]\n")
    folder.replace("root:", "include: [one]\nroot:")
    refused(folder, "one → two → one")


def test_a_template_with_an_unknown_variable(folder: Folder) -> None:
    template = next(folder.place.glob("templates/*.jinja"))
    template.write_text(template.read_text() + "\n{{ specification }}\n")
    refused(folder, template.name, "specification")


@pytest.mark.parametrize(
    "guard",
    [
        "__import__('os').system('touch /tmp/never')",
        "().__class__.__bases__[0].__subclasses__()",
        "data.why.__class__",
        "2 ** 99999999",
        "9" * 200 + " ** " + "9" * 90,
        "(" * 150 + "1" + ")" * 149,
        "not " * 70 + "root",
        "[x for x in (1,)]",
        "lambda: 1",
        "\\x00",
    ],
)
def test_a_hostile_guard(folder: Folder, guard: str) -> None:
    quoted = guard.replace("'", "''")
    folder.replace("{to: fix, charge: rounds,", f"{{to: fix, when: '{quoted}', charge: rounds,")
    refused(folder, "protocol.yaml:", "guard")


def test_a_missing_folder(tmp_path: Path) -> None:
    done = check(tmp_path / "nothing")
    assert (done.code, done.lacks(str(tmp_path / "nothing"))) == (2, [])


def test_a_folder_is_no_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Chores(tmp_path)
    (tmp_path / "specs").mkdir()
    refused = treadle("run", "specs", "-p", "decide", "--agent", "scripted:did.yaml")
    assert (refused.code, refused.error) == (2, "spec.unreadable")
