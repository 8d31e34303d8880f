"""Imports that reach beyond the program."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, Stage, run
from treadle.evidence.checks.added_code import configured, unsafe_names


@pytest.mark.parametrize(
    ("language", "line", "names"),
    [
        ("python", "import ctypes", ["ctypes"]),
        ("python", "import os, gc", ["gc"]),
        ("python", "from ctypes.util import find_library", ["ctypes.util"]),
        ("python", "x = __import__('pickle').loads", ["pickle"]),
        ("python", "frame = sys._getframe(1)", ["sys._getframe"]),
        ("python", "exec(text)", ["exec"]),
        ("python", "x = builtins.eval(text)", ["eval"]),
        ("python", "x = base64.b64decode(b'eA==')", ["b64decode"]),
        ("python", "x = base64.b64decode(word)", []),
        ("python", "x = re.compile(word)", []),
        ("python", "def compile(self): ...", []),
        ("python", "import json, re", []),
        ("python", "import gcp, pickles", []),
        ("python", "# ctypes would be too much", []),
        ("javascript", "import { exec } from 'node:child_process'", ["child_process"]),
        ("javascript", 'const vm = require("vm")', ["vm"]),
        ("javascript", "x = eval(text)", ["eval"]),
        ("javascript", "import fs from 'fs'", []),
        ("go", '\t"unsafe"', ["unsafe"]),
        ("go", 'import "os/exec"', ["os/exec"]),
        ("go", '\t"os"', []),
        ("rust", "    unsafe { *p }", ["unsafe"]),
        ("rust", "use std::process::Command;", ["std::process::Command"]),
        ("rust", "use std::fmt;", []),
        ("java", "import java.lang.reflect.Field;", ["java.lang.reflect.Field"]),
        ("ruby", "require 'fiddle'", ["fiddle"]),
        ("", "import ctypes", []),
    ],
)
def test_lists_by_language(language: str, line: str, names: list[str]) -> None:
    assert list(unsafe_names(line, language, configured(()))) == names


def test_a_project_adds_and_allows() -> None:
    lists = configured(("requests", "!ctypes", "go:net/http", "!sys._getframe"))
    assert list(unsafe_names("import requests, ctypes, gc", "python", lists)) == ["requests", "gc"]
    assert not list(unsafe_names("sys._getframe(1)", "python", lists))
    assert list(unsafe_names('import "net/http"', "go", lists)) == ["net/http"]
    assert not list(unsafe_names('import "net/http"', "javascript", lists))


def test_only_new_lines_of_code_are_looked_at(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path, unsafe_imports=("requests",)).start()).tested()
        files = {"src/calc/add.py": f"import gc\nimport requests\n{ADD}", "tests/calc/test_more.py": "import ctypes\n"}
        verdict = await stage.claim("impl", "TestsPassed", files, checks="checkpoint unsafe_imports")
        assert "src/calc/add.py:1: imports gc" in verdict.report
        assert "src/calc/add.py:2: imports requests" in verdict.report
        assert "test_more" not in verdict.report
        honest = {"src/calc/add.py": f"import math\n{ADD}"}
        verdict = await stage.claim("impl", "TestsPassed", honest, checks="checkpoint unsafe_imports", n="2.1")
        assert verdict.report == ""

    run(story())
