"""Code that no reader sees, and encodings that every reader knows."""

import io
import zipfile
from pathlib import Path

import pytest

from tests.evidence.stage import ADD, FILES, MANIFEST, SKELETON, TEST, Stage, run
from treadle.evidence.source_text import decode_source, encoding_fault

BOM = "\ufeff"


def archive(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name in names:
            file.writestr(name, "x = 1\n")
    return made.getvalue()


@pytest.mark.parametrize(
    ("data", "is_readable"),
    [
        (b"x = 1\n", True),
        (BOM.encode() + b"x = 1\n", True),
        ("x = 'ä'\n".encode(), True),
        ("# -*- coding: latin-1 -*-\nx = 'ä'\n".encode("latin-1"), True),
        ("# vim: set fileencoding=utf8 :\nx = 'ä'\n".encode(), True),
        ("x = 'ä'\n".encode("latin-1"), False),
        (b"# coding: utf-7\nx = +AGE-\n", False),
        (b"# coding: unicode_escape\nx = 1\n", False),
        (b"# coding: rot13\nk = 1\n", False),
        (b"# coding: of-my-own\nx = 1\n", False),
        ("x = 1\n".encode("utf-16"), False),
    ],
)
def test_sources_are_utf8_or_latin1(data: bytes, is_readable: bool) -> None:
    assert (encoding_fault("a.py", data) == "") is is_readable
    if is_readable:
        compile(decode_source("a.py", data), "a.py", "exec")


def test_a_byte_order_mark_is_no_part_of_a_source(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, "src/calc/add.py": BOM + SKELETON}).start()
        tests = {"tests/calc/test_add.py": BOM + TEST, "tests/calc/test_manifest.json": BOM + MANIFEST}
        verdict = await stage.claim("tests", "TestsReady", tests, checks="checkpoint red manifest")
        assert verdict.report == ""
        assert stage.evidence(verdict, "red")["wrong_implementations"]["tried"] > 3
        checks = "checkpoint green no_undefined knows_tests unsafe_imports"
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": BOM + ADD}, checks=checks)
        assert verdict.report == ""

    run(story())


HIDDEN = {
    "src/calc/fast.so": (b"\x7fELF", "source.binary"),
    "src/calc/more.pyd": (b"MZ", "source.binary"),
    "src/calc/more.pyc": (b"\0" * 16, "source.binary"),
    "src/calc/__pycache__/gone.cpython-311.pyc": (b"\xa7\r\r\n" + b"\0" * 12, "source.binary"),
    "src/calc/__pycache__/add.cpython-311.pyc": (b"\xa7\r\r\n\1\0\0\0" + b"\0" * 8, "source.binary"),
    "src/calc/data.bin": (archive("calc/more.py"), "source.archive"),
    "src/calc/after.jpg": (b"JFIF" * 100 + archive("more.pyc"), "source.archive"),
    "src/calc/odd.py": (b"# coding: utf-7\nx = 1\n", "source.encoding"),
    "src/calc/wide.js": ("var x = 1".encode("utf-16"), "source.encoding"),
}
PLAIN = {
    "src/calc/table.zip": (archive("table.csv", "read.me"), ""),
    "src/calc/__pycache__/add.cpython-311.pyc": (b"\xa7\r\r\n\0\0\0\0" + b"\0" * 8, ""),
    "src/calc/latin.py": ("# coding: latin-1\nx = 'ä'\n".encode("latin-1"), ""),
    "src/calc/picture.png": (bytes(range(256)), ""),
}


@pytest.mark.parametrize("found", [HIDDEN, PLAIN], ids=["hidden", "plain"])
def test_code_that_no_reader_sees_is_refused(tmp_path: Path, found: dict[str, tuple[bytes, str]]) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested()
        files: dict[str, str | bytes | None] = {
            "src/calc/add.py": ADD,
            **{path: data for path, (data, _) in found.items()},
        }
        verdict = await stage.claim("impl", "TestsPassed", files, checks="checkpoint green")
        codes = {path: code for path, code in stage.found(verdict, "green") if code.startswith("source.")}
        assert codes == {path: code for path, (_, code) in found.items() if code}
        assert bool(verdict.report) == bool(codes)

    run(story())


def test_each_step_answers_for_its_own_files(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        given: dict[str, str | bytes | None] = {
            "src/calc/odd.py": HIDDEN["src/calc/odd.py"][0],
            "tests/calc/test_add.py": TEST,
        }
        for step, exit_, check in (("scaffold", "InitWork", "unbroken"), ("tests", "TestsReady", "red")):
            verdict = await stage.claim(step, exit_, given, checks=f"checkpoint {check}")
            assert ("src/calc/odd.py", "source.encoding") in stage.found(verdict, check)

    run(story())


ATTRIBUTES = """* text=auto
*.sh text eol=lf
*.bat text eol=crlf
*.py eol=crlf
add.py ident
/src/**/*.py filter=mine
src/calc/add.py working-tree-encoding=UTF-16
*.png filter=lfs
*.py working-tree-encoding=UTF-8
"""


def test_attributes_that_change_files_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested()
        files = {"src/calc/add.py": ADD, ".gitattributes": ATTRIBUTES, "run.bat": "echo\n"}
        verdict = await stage.claim("impl", "TestsPassed", files, checks="checkpoint green")
        found = [place for place, code in stage.found(verdict, "green") if code == "green.attributes"]
        assert found == [f".gitattributes:{line}" for line in (4, 5, 6, 7)]
        kept = "".join(ATTRIBUTES.splitlines(keepends=True)[:3])
        verdict = await stage.claim(
            "impl", "TestsPassed", {**files, ".gitattributes": kept}, checks="checkpoint green", n="1.2"
        )
        assert verdict.report == ""

    run(story())
