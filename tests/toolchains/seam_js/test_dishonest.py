"""No implementation that deceives its node tests passes them where judge and subject are apart."""

from tests.toolchains.seam_js.apart import reasons, run_somewhere
from tests.toolchains.seam_js.dishonest_project import HOSTILE, dishonest_files, hostile_files

HANGS = {
    "src/loop.mjs": "export const answer = () => { for (;;); };\n",
    "tests/loop.test.mjs": "import test from 'node:test'; import { answer } from '../src/loop.mjs';\ntest('loop', () => { answer(); });\n",  # noqa: E501
    "src/never.mjs": "export const answer = () => new Promise(() => {});\n",
    "tests/never.test.mjs": "import test from 'node:test'; import { answer } from '../src/never.mjs';\ntest('never', async () => { await answer(); });\n",  # noqa: E501
}


def test_no_cheat_passes() -> None:
    files = dishonest_files()
    ran = run_somewhere(files)
    assert {test.verdict for test in ran.run.tests.values()} == {"failed"}, reasons(ran) + str(ran.run.passed)
    assert len(ran.run.tests) == sum(text.count("\ntest(") for text in files.values())
    assert (ran.problem, ran.run.bent, ran.uncrossable) == ("", (), {})
    assert not [id for id in ran.failed_to_cross if "patches" not in id and "any instance" not in id], reasons(ran)


def test_a_hostile_subject_fails_its_test() -> None:
    ran = run_somewhere(hostile_files())
    for name, (_, reason) in HOSTILE.items():
        id = f"tests/{name}.test.mjs::{name}"
        assert ran.run.tests[id].verdict == "failed", reasons(ran)
        assert reason in ran.failed_to_cross.get(id, ""), reasons(ran)
    assert len(ran.breaches) > 8
    assert ran.uncrossable == {}


def test_a_subject_that_never_answers_fails_its_test() -> None:
    ran = run_somewhere(HANGS, timeout=6.0)
    assert "in time" in ran.failed_to_cross["tests/loop.test.mjs::loop"], reasons(ran)
    assert ran.run.failed == {"tests/loop.test.mjs::loop", "tests/never.test.mjs::never"}, reasons(ran)
