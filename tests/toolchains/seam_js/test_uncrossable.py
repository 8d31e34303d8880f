"""What a test does that only works in one process is said of the test, and what cannot run apart is a problem."""

import asyncio
import stat
from pathlib import Path

import pytest

from tests.box import box_here
from tests.node_tools import node_tools
from tests.toolchains.seam_js.apart import REPORTED, reasons, run_apart, run_somewhere
from treadle.toolchains.node_apart import find_old_node, node_options

_CODE = """
export const take = (value) => 1;
export const many = () => Array.from({ length: 120_000 }, () => ({}));
export const add = (a, b) => a + b;
"""
_HEAD = "import test from 'node:test'; import assert from 'node:assert'; import * as all from '../src/code.js';\n"
_TESTS = f"""{_HEAD}
import * as self from './code.test.js';
test('fine', () => assert.equal(all.add(1, 2), 3));
test('context', (t) => assert.equal(all.take(t), 1));
test('deep', (t) => assert.equal(all.take({{ list: [{{ t }}] }}), 1));
test('module', () => assert.equal(all.take(self), 1));
test('signal', () => assert.equal(all.take(new AbortController().signal), 1));
test('process', () => assert.equal(all.take(process), 1));
test('nested', async (t) => {{ await t.test('inner', (u) => assert.equal(all.take(u), 1)); }});
test('later', async () => assert.equal(await all.take(Promise.resolve(globalThis)), 1));
test('many', () => assert.equal(all.many().length, 120_000));
test('nothing', () => assert.equal(1, 1));
"""
_PROGRAM = (
    f"{_HEAD}import {{ execFileSync }} from 'node:child_process';\ntest('program', () => {{ execFileSync('true'); }});"
)
_MODULE = f"{_HEAD}test('replaced', (t) => {{ t.mock.module('../src/code.js', {{}}); }});"
_FILES = {
    "package.json": '{"type": "module"}',
    "src/code.js": _CODE,
    "tests/code.test.js": _TESTS,
    "tests/program.test.js": _PROGRAM,
    "tests/module.test.js": _MODULE,
}


def test_reasons_are_told_by_who_causes_them() -> None:
    ran = run_somewhere(_FILES)
    own = ("context", "deep", "module", "signal", "process", "nested", "nested::inner")
    ids = {f"tests/code.test.js::{name}" for name in own}
    ids |= {"tests/program.test.js::program", "tests/module.test.js::replaced"}
    assert set(ran.uncrossable) - {"tests/code.test.js::later"} == ids, reasons(ran)
    assert set(ran.failed_to_cross) == {"tests/code.test.js::many"}, reasons(ran)
    assert {"tests/code.test.js::fine", "tests/code.test.js::nothing"} <= ran.run.passed
    assert "tests/code.test.js::nothing" not in ran.crossed


def test_a_module_that_fails_is_no_fault_of_the_machine() -> None:
    files = {**_FILES, "src/code.js": "console.log('hello'); process.exit(0);\n"}
    ran = run_somewhere({name: text for name, text in files.items() if "tests/" not in name or "code" in name})
    assert (ran.problem, ran.run.passed) == ("", frozenset()), reasons(ran)
    assert ran.breaches
    assert ran.run.tests["tests/code.test.js::tests/code.test.js"].verdict == "error"


def test_without_a_mount_namespace_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node, _ = node_tools()
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = run_apart(tmp_path, _FILES, str(node), "--test", *REPORTED, "tests/code.test.js")
    assert "mount namespace" in ran.problem
    assert (ran.run.tests, ran.crossed) == ({}, ())


def test_an_old_node_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box_here(monkeypatch)
    old = tmp_path / "bin" / "node"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho v20.11.1\n")
    old.chmod(old.stat().st_mode | stat.S_IXUSR)
    ran = run_apart(tmp_path, _FILES, str(old), "--test", *REPORTED, "tests/code.test.js")
    assert "20.11" in ran.problem


@pytest.mark.parametrize("command", ["vitest", "jest"])
def test_other_runners_say_so(tmp_path: Path, command: str) -> None:
    ran = run_apart(tmp_path, _FILES, f"node_modules/.bin/{command}", "{report}")
    assert command in ran.problem


def test_a_node_that_is_missing_says_so() -> None:
    assert asyncio.run(find_old_node("/nowhere/node"))


def test_options_are_kept_without_those_of_the_runner() -> None:
    words = "--test --import tsx --test-reporter spec --test-reporter-destination=x --no-warnings -r=./a.js tests/a.js"
    assert list(node_options(words.split())) == [("--import", "tsx"), ("--no-warnings", ""), ("-r", "./a.js")]
