"""node and vitest: their commands, our reporter and the guard."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from tests.evidence.stage import SPEC, Stage
from tests.evidence.stage import run as story_of
from tests.node_tools import node_tools
from tests.toolchains.projects import write
from treadle.config.model import ToolchainSettings as Settings
from treadle.evidence.claim_verifier import ClaimVerifier
from treadle.evidence.measurements import Cache
from treadle.evidence.project_facts import ProjectTools
from treadle.prompts.scope import scope
from treadle.toolchains.junit import Junit
from treadle.toolchains.node import (
    REPORTER,
    GuardNote,
    NodeGuard,
    can_guard,
    guard_disagreements,
    saw_tests,
    with_files,
    with_reporter,
)
from treadle.toolchains.results import TestRun
from treadle.toolchains.sandbox import NONE
from treadle.toolchains.toolchain import ProjectToolchain

NODE = """
import test, { describe, it } from 'node:test'; import assert from 'node:assert';
test('passes', () => {});
describe('outer', () => { describe('inner', () => { it('asserts', () => { assert.strictEqual(1, 2); }); });
  it('is skipped', { skip: true }, () => {});
  it('is not implemented', () => { throw new Error('not implemented'); });
  it('throws', () => { throw new TypeError('no'); });
  it('is to be done', { todo: true }, () => { assert.ok(false); }); });
test('is slow', { timeout: 20 }, async () => { await new Promise((done) => setTimeout(done, 300)); });
"""
OUTCOMES = {
    "passes": ("passed", ""),
    "outer::inner::asserts": ("failed", "assertion"),
    "outer::is skipped": ("skipped", ""),
    "outer::is not implemented": ("failed", "not_implemented"),
    "outer::throws": ("failed", "unknown"),
    "outer::is to be done": ("xfailed", ""),
    "is slow": ("failed", "timeout"),
}
OTHERS = {
    "b/same.test.mjs": (
        "import { describe, it } from 'node:test';"
        "describe('outer', () => { it('throws', () => {}); it('throws', () => {}); });"
    ),
    "exits.test.mjs": "import test from 'node:test'; process.exit(0); test('never', () => {});",
    "unread.test.mjs": "import './gone.mjs'; import test from 'node:test'; test('never', () => {});",
}
VITEST = """
import { describe, expect, it, test } from 'vitest';
test('passes', () => {});
describe('outer', () => {
  it('asserts', () => { expect(1).toBe(2); });
  it.skip('is skipped', () => {});
  it.todo('is to be done');
  it('is not implemented', () => { throw new Error('not implemented'); });
  it('is slow', async () => { await new Promise((done) => setTimeout(done, 300)); }, 20);
  it('passes', () => {});
  it('passes', () => {});
});
"""
REPORTED = ("--test-reporter=junit", "--test-reporter-destination={report}")


def outcomes(ran: TestRun) -> dict[str, tuple[str, str]]:
    return {id: (test.verdict, test.kind) for id, test in ran.tests.items()}


def run(path: Path, *command: str) -> TestRun:
    return asyncio.run(Junit(command=command, timeout=60.0).test(path))


def test_the_real_node_is_run_and_read(tmp_path: Path) -> None:
    node, _ = node_tools()
    write(tmp_path, "all.test.mjs", NODE)
    for name, text in OTHERS.items():
        write(tmp_path, name, text)
    ran = run(tmp_path, str(node), "--test", *REPORTED)
    assert outcomes(ran) == {
        **{f"all.test.mjs::{id}": found for id, found in OUTCOMES.items()},
        "b/same.test.mjs::outer::throws": ("passed", ""),
        "b/same.test.mjs::outer::throws (2)": ("passed", ""),
        "exits.test.mjs::exits.test.mjs": ("skipped", ""),
        "unread.test.mjs::unread.test.mjs": ("error", "import"),
    }, ran.output
    assert (ran.exit, ran.bent, ran.problems) == (1, (), ())
    assert {test.file for test in ran.tests.values()} == {"all.test.mjs", *OTHERS}


def test_the_reporter_of_node_itself(tmp_path: Path) -> None:
    node, _ = node_tools()
    write(tmp_path, "all.test.mjs", NODE)
    write(tmp_path, "unread.test.mjs", OTHERS["unread.test.mjs"])
    ran = run(tmp_path, "env", str(node), "--test", *REPORTED)
    assert outcomes(ran) == {**OUTCOMES, "unread.test.mjs": ("error", "import")}, ran.output
    assert (ran.exit, ran.bent, ran.problems) == (1, (), ())


def test_a_run_that_ends_before_its_report(tmp_path: Path) -> None:
    node, _ = node_tools()
    ran = run(tmp_path, str(node), "-e", "process.kill(process.pid, 'SIGKILL')", "{report}")
    assert not ran.is_believable
    assert any("fresh" in problem for problem in ran.problems)


def test_the_real_vitest_is_run_and_read(tmp_path: Path) -> None:
    node, folder = node_tools()
    (tmp_path / "node_modules").symlink_to(folder / "node_modules")
    write(tmp_path, "all.test.mjs", VITEST)
    write(tmp_path, "sub/all.test.mjs", "import { it } from 'vitest'; it('passes', () => {});")
    write(tmp_path, "unread.test.mjs", "import './gone.mjs'; import { it } from 'vitest'; it('never', () => {});")
    write(tmp_path, "exits.test.mjs", "import { it } from 'vitest'; process.exit(0); it('never', () => {});")
    program = "node_modules/vitest/vitest.mjs"
    ran = run(tmp_path, str(node), program, "run", "--reporter=junit", "--outputFile={report}")
    assert outcomes(ran) == {
        "all.test.mjs::passes": ("passed", ""),
        "all.test.mjs::outer > asserts": ("failed", "assertion"),
        "all.test.mjs::outer > is skipped": ("skipped", ""),
        "all.test.mjs::outer > is to be done": ("skipped", ""),
        "all.test.mjs::outer > is not implemented": ("failed", "not_implemented"),
        "all.test.mjs::outer > is slow": ("failed", "timeout"),
        "all.test.mjs::outer > passes": ("passed", ""),
        "all.test.mjs::outer > passes (2)": ("passed", ""),
        "sub/all.test.mjs::passes": ("passed", ""),
        "unread.test.mjs::unread.test.mjs": ("error", "import"),
        "exits.test.mjs::exits.test.mjs": ("error", "import"),
    }, ran.output
    assert (ran.exit, ran.bent, ran.problems) == (1, (), ())
    assert ran.tests["sub/all.test.mjs::passes"].file == "sub/all.test.mjs"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("node --test --test-reporter=junit x", f"node --test --test-reporter={REPORTER} x"),
        ("/opt/node --test --test-reporter=spec", "/opt/node --test --test-reporter=spec"),
        ("npm test -- --test-reporter=junit", "npm test -- --test-reporter=junit"),
    ],
)
def test_our_reporter_replaces_only_nodes_junit_reporter(command: str, expected: str) -> None:
    assert with_reporter(tuple(command.split())) == tuple(expected.split())


SKELETON = "export function add(a, b) { throw new Error('not implemented'); }\n"
TESTS = """import test from 'node:test'; import assert from 'node:assert';
import { add } from '../../src/calc/add.mjs';
test('adds', () => { assert.strictEqual(add(2, 3), 5); });
"""


def test_red_green_and_frozen(tmp_path: Path) -> None:
    node, _ = node_tools()
    target, tests = "src/calc/add.mjs", "tests/calc/add.test.mjs"

    async def story() -> None:
        files = {"README.md": "# calc\n", "src/calc/add.py": "", target: SKELETON}
        stage = await Stage(tmp_path, files=files, given=SPEC).start()
        runner = Junit(command=(str(node), "--test", *REPORTED), timeout=60.0, sandbox=NONE)
        settings = Settings(kind="junit", timeout=60, test=runner.command)
        tools = ProjectTools(ProjectToolchain(settings=settings, root=stage.root, tests=runner, sandbox=NONE))
        stage.verifier = ClaimVerifier(stage.facts, tools, Cache(tmp_path / "known", b"key"), scope)
        await stage.scaffolded()
        lost = {tests: f"import './gone.mjs';\n{TESTS}"}
        unread = await stage.claim("tests", "TestsReady", lost, checks="checkpoint red")
        assert stage.found(unread, "red") == [(f"{tests}::{tests}", "red.wrong_reason"), ("", "red.none")]
        assert "imported" in unread.report
        red = await stage.claim("tests", "TestsReady", {tests: TESTS}, checks="checkpoint scope_tests red", n="1.2")
        assert not red.report
        assert stage.evidence(red, "red")["red"] == ["tests/calc/add.test.mjs::adds"]
        gates = "checkpoint green tests_unmodified"
        leaves = {target: f"process.exit(0);\n{SKELETON}"}
        left = await stage.claim("impl", "TestsPassed", leaves, checks=gates)
        assert "tests/calc/add.test.mjs::adds: is gone" in left.report
        edits = {target: SKELETON, tests: "import test from 'node:test'; test('adds', () => {});\n"}
        edited = await stage.claim("impl", "TestsPassed", edits, checks=gates, n="1.2")
        assert stage.found(edited, "green")[0] == ("tests/calc/add.test.mjs::adds", "green.failing")
        assert "implemented" in edited.report
        done = {target: "export function add(a, b) { return a + b; }\n", tests: TESTS}
        green = await stage.claim("impl", "TestsPassed", done, checks=f"{gates} coverage_kept?", n="2.1")
        assert not green.report
        said = stage.evidence(green, "coverage_kept")
        assert (said["ok"], stage.codes(green, "coverage_kept")) == (False, ["lines.unmeasured"])

    story_of(story())


def test_patterns_are_those_of_the_checkout(tmp_path: Path) -> None:
    node = str(node_tools()[0])
    for name in ("test/b.test.js", "test/a.test.js", "test/deep/c.test.js", "test/help.js", "node_modules/x/d.test.js"):
        write(tmp_path, name, "import test from 'node:test';\ntest('passes', () => {});\n")
    write(tmp_path, "package.json", '{"type": "module"}')
    command = (node, "--test", "--test-reporter=junit", "--test-reporter-destination={report}", "test/*.test.js")
    ran = asyncio.run(Junit(command=command, timeout=60.0).test(tmp_path))
    assert sorted(ran.tests) == ["test/a.test.js::passes", "test/b.test.js::passes"]
    deep = with_files((node, "--test", "**/*.test.js", "none/*.js", "../*.js", "/*"), tmp_path)
    assert deep[2:] == (
        "test/a.test.js",
        "test/b.test.js",
        "test/deep/c.test.js",
        "none/*.js",
        "../*.js",
        "/*",
    )
    assert with_files(("mocha", "*"), tmp_path) == ("mocha", "*")


GUARDED_NODE = """import { describe, it, mock } from 'node:test'; import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process'; import { add } from './calc.mjs';
describe('add', () => {
  it('adds', () => { assert.equal(add(2, 3), 5); });
  it('mocks what it likes and starts programs', () => {
    mock.method(process, 'exit', () => {}); mock.method(Math, 'random', () => 0.5); mock.restoreAll();
    assert.equal(execFileSync(process.execPath, ['-e', 'console.log(1)']).toString(), '1\\n');
  });
});
"""
GUARDED_VITEST = """import { expect, it } from 'vitest'; import { add } from './calc.mjs';
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


def node(folder: Path, code: str, tests: str = GUARDED_NODE) -> TestRun:
    program, _ = node_tools()
    write(folder, "calc.mjs", code)
    write(folder, "calc.test.mjs", tests)
    reported = ("--test-reporter=junit", "--test-reporter-destination={report}")
    return asyncio.run(Junit(command=(str(program), "--test", *reported), timeout=60.0).test(folder))


def vitest(folder: Path, code: str, pool: str = "forks") -> TestRun:
    program, packages = node_tools()
    (folder / "node_modules").symlink_to(packages / "node_modules")
    write(folder, "calc.mjs", code)
    write(folder, "calc.test.mjs", GUARDED_VITEST)
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


def test_exchanging_an_assertion_fails_with_its_name(tmp_path: Path) -> None:
    ran = node(tmp_path, BENDS["assert"])
    [bent] = ran.bent
    assert bent.startswith("assert.strict.equal was to be")
    [file] = ran.tests.values()
    assert "TypeError: assert.strict.equal " in file.message
    assert "calc.mjs:1:" in file.message


def test_an_object_derived_from_an_assertion_may_be_changed(tmp_path: Path) -> None:
    own = "import assert from 'node:assert'; const mine = Object.create(assert); mine.equal = () => 'mine';"
    ran = node(tmp_path, f"{own} export const add = (a, b) => (mine.equal() === 'mine' ? a + b : 0);\n")
    assert ran.is_green, ran


def test_a_worker_gets_messages_from_before_it_listened(tmp_path: Path) -> None:
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
def test_a_run_of_vitest_is_green_and_not_witnessed(tmp_path: Path, pool: str) -> None:
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
def test_node_and_vitest_commands_are_guarded(command: str, expected: bool) -> None:
    assert can_guard(tuple(command.split())) == expected


def test_witnessed_and_reported_results_are_compared() -> None:
    seen = [GuardNote(began=True), GuardNote(test="a", passed=True), GuardNote(test="b", passed=False)]
    assert list(guard_disagreements(seen, ["a"])) == []
    twice = next(guard_disagreements(seen, ["a", "a"]))
    assert [it for it in ("'a'", "2 times") if it not in twice] == []
    assert "'b'" in next(guard_disagreements(seen, ["b"]))
    [changed] = guard_disagreements([GuardNote(changed="Object.is"), GuardNote(changed="Object.is")], [])
    assert changed.startswith("Object.is was exchanged")
    [tried] = guard_disagreements([GuardNote(tried="assert.ok")], [])
    assert tried.startswith("assert.ok was to be")
    assert not saw_tests([*seen, GuardNote(test="c", passed=None)])


def test_unsigned_lines_are_ignored(tmp_path: Path) -> None:
    guard = NodeGuard(tmp_path)
    folder = Path(guard.environment["TREADLE_WITNESS"].partition("|")[0])
    (folder / "x.jsonl").write_text('0000 {"began": true}\n{"began": true}\nnothing\n')
    assert guard.lines() == []
