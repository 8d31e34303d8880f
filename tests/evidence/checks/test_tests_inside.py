"""A test around other tests only repeats their verdicts: it is no test of its own, in Go as in node."""

from pathlib import Path

import pytest

from tests.evidence.checks.test_seen_red import GO, JAVASCRIPT, NODE, Language, manifest, refused, staged
from tests.evidence.stage import run

GO_HEAD = 'package calc_test\n\nimport (\n\t"testing"\n\n\t"example.com/calc/src/calc"\n)\n\n'
NODE_HEAD = f"{NODE}import {{ add }} from '../../src/calc/add.mjs';\n"


def around(language: Language, *inner: str) -> tuple[dict[str, str], str, list[str]]:
    """A test file with one test around others, and the ids of both."""
    if language is GO:
        body = 'func(t *testing.T) {\n\t\tif calc.Add(0, 0) != 0 {\n\t\t\tt.Fatal("no")\n\t\t}\n\t}'
        parts = "".join(f'\tt.Run("{name}", {body})\n' for name in inner)
        outer = "example.com/calc/tests/calc::TestSum"
        text = f"{GO_HEAD}func TestSum(t *testing.T) {{\n{parts}}}\n"
        # A skeleton that panics would end the outer test before its second one is known.
        skeleton = "package calc\n\nfunc Add(a, b int) int { return -1 }\n"
        return (
            {"tests/calc/add_test.go": text, "src/calc/add.go": skeleton},
            outer,
            [f"{outer}/{name}" for name in inner],
        )
    parts = "".join(f"  await t.test('{name}', () => {{ assert.strictEqual(add(0, 0), 0); }});\n" for name in inner)
    outer = "tests/calc/add.test.mjs::sum"
    text = f"{NODE_HEAD}test('sum', async (t) => {{\n{parts}}});\n"
    return {"tests/calc/add.test.mjs": text}, outer, [f"{outer}::{name}" for name in inner]


LANGUAGES = pytest.mark.parametrize(
    "language", [JAVASCRIPT, pytest.param(GO, marks=pytest.mark.soak)], ids=["javascript", "go"]
)


@LANGUAGES
def test_a_test_and_the_only_test_in_it_are_one(tmp_path: Path, language: Language) -> None:
    files, outer, [inner] = around(language, "empty")

    async def story() -> None:
        stage = await staged(tmp_path, language)
        given = {**files, **manifest({outer: "AC-1", inner: "AC-2"})}
        verdict = await stage.claim("tests", "TestsReady", given, checks="checkpoint manifest_complete red")
        assert [one[0] for one in refused(stage, verdict, "manifest_complete")] == ["manifest.shared"]
        assert stage.evidence(verdict, "red")["inside"] == {outer: [inner]}

    run(story())


@LANGUAGES
def test_a_test_stands_for_the_others_in_it(tmp_path: Path, language: Language) -> None:
    files, outer, inner = around(language, "empty", "zero")

    async def story() -> None:
        stage = await staged(tmp_path, language)
        given = {**files, **manifest({outer: "AC-1", inner[0]: "AC-2"})}
        verdict = await stage.claim("tests", "TestsReady", given, checks="checkpoint manifest_complete red")
        assert verdict.report == ""
        evidence = stage.evidence(verdict, "red")
        assert evidence["inside"] == {outer: inner}
        assert {outer, *inner} <= {*evidence["red"]}, "so that the verdict finds a proof for each"

    run(story())
