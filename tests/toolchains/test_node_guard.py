"""The real node and vitest on code that bends its run, beside honest code."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from tests.node_tools import node_tools
from tests.toolchains.projects import write
from treadle.toolchains.junit import Junit
from treadle.toolchains.node_guard import NodeGuard, Seen, bent, guards, is_seen
from treadle.toolchains.results import TestRun

NODE = """import { describe, it, mock } from 'node:test'; import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process'; import { add } from './calc.mjs';
describe('add', () => {
  it('adds', () => { assert.equal(add(2, 3), 5); });
  it('mocks what it likes and starts programs', () => {
    mock.method(process, 'exit', () => {}); mock.method(Math, 'random', () => 0.5); mock.restoreAll();
    assert.equal(execFileSync(process.execPath, ['-e', 'console.log(1)']).toString(), '1\\n');
  });
});
"""
VITEST = """import { expect, it } from 'vitest'; import { add } from './calc.mjs';
it('adds', () => { expect(add(2, 3)).toBe(5); });
"""
HONEST = "export const add = (a, b) => a + b;\n"
FORGES = """import v8 from 'node:v8'; import fs from 'node:fs';
const frame = (type, data) => { const s = new v8.DefaultSerializer(); s.writeHeader(); s.writeValue({ type, data });
  const body = s.releaseBuffer(); const head = Buffer.from([0xff, 0x0f]);
  const size = Buffer.alloc(4); size.writeUInt32BE(body.length); return Buffer.concat([head, size, body]); };
export const add = () => {
  for (const name of ['adds', 'mocks what it likes and starts programs']) {
    fs.writeSync(1, frame('test:pass', { name, nesting: 1, testNumber: 1, details: { duration_ms: 1 }, file: 'x' }));
  }
  process.reallyExit(0);
};
"""
BENDS = {
    "assert": "import assert from 'node:assert/strict'; assert.equal = () => {}; export const add = () => 0;\n",
    "assert, defined anew": (
        "import assert from 'node:assert/strict';"
        "Object.defineProperty(assert, 'equal', { value: () => {} }); export const add = () => 0;\n"
    ),
    "Object.is": "Object.is = () => true; export const add = () => 0;\n",
    "a builtin": "String.prototype.localeCompare = () => 0; export const add = (a, b) => a + b;\n",
    "leaves": "export const add = () => { process.reallyExit(0); };\n",
    "forges": FORGES,
}

TOLD_EARLY = """import { fork } from 'node:child_process'; import { writeFileSync } from 'node:fs';
const child = fork('child.mjs');
child.on('message', (said) => { console.log(said); child.disconnect(); });
child.send('work', () => writeFileSync('sent', ''));
"""
HEARS_LATE = """import { existsSync } from 'node:fs'; import { setImmediate } from 'node:timers/promises';
while (!existsSync('sent')) await setImmediate();
await setImmediate();
process.on('message', (told) => { String.prototype.at = () => ''; process.send(`heard ${told}`); });
"""


def node(folder: Path, code: str, tests: str = NODE) -> TestRun:
    program, _ = node_tools()
    write(folder, "calc.mjs", code)
    write(folder, "calc.test.mjs", tests)
    reported = ("--test-reporter=junit", "--test-reporter-destination={report}")
    return asyncio.run(Junit(command=(str(program), "--test", *reported), timeout=60.0).test(folder))


def vitest(folder: Path, code: str, pool: str = "forks") -> TestRun:
    program, packages = node_tools()
    (folder / "node_modules").symlink_to(packages / "node_modules")
    write(folder, "calc.mjs", code)
    write(folder, "calc.test.mjs", VITEST)
    words = ("node_modules/vitest/vitest.mjs", "run", "--reporter=junit", "--outputFile={report}", f"--pool={pool}")
    return asyncio.run(Junit(command=(str(program), *words), timeout=60.0).test(folder))


def test_an_honest_run_of_node_is_witnessed(tmp_path: Path) -> None:
    ran = node(tmp_path, HONEST)
    assert ran.is_green, ran
    assert ran.is_witnessed
    assert len(ran.passed) == 2


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak) for name in BENDS if name != "assert"] + ["assert"]
)
def test_code_that_bends_a_run_of_node_is_not_green(tmp_path: Path, name: str) -> None:
    ran = node(tmp_path, BENDS[name])
    assert not ran.is_green or not ran.passed, ran
    assert not any(id_.endswith("adds") for id_ in ran.passed) or ran.bent, ran


def test_whoever_exchanges_an_assertion_is_told_what_it_was(tmp_path: Path) -> None:
    ran = node(tmp_path, BENDS["assert"])
    assert ran.bent == ("assert.strict.equal was to be exchanged while the tests ran",)
    [file] = ran.tests.values()
    assert "TypeError: assert.strict.equal decides about tests and cannot be exchanged" in file.message
    assert "calc.mjs:1:" in file.message


def test_what_is_made_from_an_assertion_is_its_owners(tmp_path: Path) -> None:
    own = "import assert from 'node:assert'; const mine = Object.create(assert); mine.equal = () => 'mine';"
    ran = node(tmp_path, f"{own} export const add = (a, b) => (mine.equal() === 'mine' ? a + b : 0);\n")
    assert ran.is_green, ran


def test_a_worker_hears_what_it_was_told_before_it_listened(tmp_path: Path) -> None:
    """And what it has exchanged by the time it answers is known, even if it is ended right after that."""
    program, _ = node_tools()
    write(tmp_path, "parent.mjs", TOLD_EARLY)
    write(tmp_path, "child.mjs", HEARS_LATE)
    guard = NodeGuard(tmp_path)
    env = {"PATH": os.defpath, "VITEST": "true", **guard.environment}
    said = subprocess.run(
        [program, "parent.mjs"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=30, check=False
    )
    assert (said.stdout, said.stderr) == ("heard work\n", "")
    assert next(line.changed for line in guard.lines() if line.changed) == "String.prototype.at"


@pytest.mark.soak
@pytest.mark.parametrize("pool", ["forks", "threads", "vmThreads"])
def test_vitest_stands_by_its_own_word(tmp_path: Path, pool: str) -> None:
    ran = vitest(tmp_path, HONEST, pool)
    assert ran.is_green, ran
    assert not ran.is_witnessed


@pytest.mark.soak
@pytest.mark.parametrize("pool", ["forks", "threads"])
@pytest.mark.parametrize("name", ["Object.is", "a builtin", "leaves"])
def test_code_that_bends_a_run_of_vitest_is_not_green(tmp_path: Path, name: str, pool: str) -> None:
    ran = vitest(tmp_path, BENDS[name], pool)
    assert not ran.is_green, ran
    assert bool(ran.bent) == (name != "leaves"), ran


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("node --test", True),
        ("/opt/bin/node --test x", True),
        ("{root}/node_modules/.bin/vitest run", True),
        ("node node_modules/vitest/vitest.mjs run", True),
        ("node build.js", False),
        ("mvn test", False),
    ],
)
def test_what_is_guarded(command: str, expected: bool) -> None:
    assert guards(tuple(command.split())) == expected


def test_what_was_seen_and_what_is_reported_are_compared() -> None:
    seen = [Seen(began=True), Seen(test="a", passed=True), Seen(test="b", passed=False)]
    assert list(bent(seen, ["a"])) == []
    assert "'a' is reported as passed 2 times" in next(bent(seen, ["a", "a"]))
    assert "'b' is reported as passed" in next(bent(seen, ["b"]))
    assert list(bent([Seen(changed="Object.is"), Seen(changed="Object.is")], [])) == [
        "Object.is was exchanged while the tests ran"
    ]
    assert list(bent([Seen(tried="assert.ok")], [])) == ["assert.ok was to be exchanged while the tests ran"]
    assert not is_seen([*seen, Seen(test="c", passed=None)])


def test_lines_that_nobody_has_signed_are_passed_over(tmp_path: Path) -> None:
    guard = NodeGuard(tmp_path)
    folder = Path(guard.environment["TREADLE_WITNESS"].partition("|")[0])
    (folder / "x.jsonl").write_text('0000 {"began": true}\n{"began": true}\nnothing\n')
    assert guard.lines() == []
