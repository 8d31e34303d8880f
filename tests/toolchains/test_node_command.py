"""The real node and the real vitest, as `make node-tools` installs them."""

import asyncio
from pathlib import Path

import pytest

from tests.evidence.stage import SPEC, Stage
from tests.evidence.stage import run as story_of
from tests.node_tools import node_tools
from tests.toolchains.projects import write
from treadle.config.model import Toolchain as Settings
from treadle.evidence.cache import Cache
from treadle.evidence.project_tools import ProjectTools
from treadle.evidence.verify import Verifier
from treadle.prompts.scope import scope
from treadle.toolchains.junit import Junit
from treadle.toolchains.node_command import REPORTER, with_files, with_reporter
from treadle.toolchains.results import TestRun
from treadle.toolchains.sandbox import NONE
from treadle.toolchains.toolchain import Toolchain

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


def test_node(tmp_path: Path) -> None:
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
    assert "the run left no fresh JUnit file" in ran.problems


def test_vitest(tmp_path: Path) -> None:
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
def test_whose_reporter_is_used(command: str, expected: str) -> None:
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
        tools = ProjectTools(Toolchain(settings=settings, root=stage.root, tests=runner, sandbox=NONE))
        stage.verifier = Verifier(stage.facts, tools, Cache(tmp_path / "known", b"key"), scope)
        await stage.scaffolded()
        lost = {tests: f"import './gone.mjs';\n{TESTS}"}
        unread = await stage.claim("tests", "TestsReady", lost, checks="checkpoint red")
        assert "could not be imported" in unread.report
        red = await stage.claim("tests", "TestsReady", {tests: TESTS}, checks="checkpoint scope_tests red", n="1.2")
        assert not red.report
        assert stage.evidence(red, "red")["red"] == ["tests/calc/add.test.mjs::adds"]
        gates = "checkpoint green tests_unmodified"
        leaves = {target: f"process.exit(0);\n{SKELETON}"}
        left = await stage.claim("impl", "TestsPassed", leaves, checks=gates)
        assert "tests/calc/add.test.mjs::adds: is gone" in left.report
        edits = {target: SKELETON, tests: "import test from 'node:test'; test('adds', () => {});\n"}
        edited = await stage.claim("impl", "TestsPassed", edits, checks=gates, n="1.2")
        assert "tests/calc/add.test.mjs::adds: meets code that is not implemented" in edited.report
        done = {target: "export function add(a, b) { return a + b; }\n", tests: TESTS}
        green = await stage.claim("impl", "TestsPassed", done, checks=f"{gates} coverage_kept?", n="2.1")
        assert not green.report
        said = stage.evidence(green, "coverage_kept")
        assert (said["ok"], "coverage is not available" in said["report"]) == (False, True)

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
