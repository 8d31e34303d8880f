"""What a script may say, and what is said about one that is wrong."""

import re
from pathlib import Path

import pytest

from played_model.script import ModelFailure, ModelStep, Script, ScriptedCall, ScriptError, Tokens, read_scripts

PAGE = Path(__file__).parents[2] / "docs" / "model-server.md"
WHOLE = r"""
scripts:
  all:
    when: You review
    find: {lane: 'in (\S+)'}
    steps:
      - say: Hi.
        call:
          - {tool: Read, with: {path: a}}
          - first: [{tool: [A, b*], with: {x: 1}}, {tool: C, input: raw, unoffered: true}]
        fail: {status: 529, times: 3, message: m, type: t, headers: {retry-after: 2}, body: {a: 1}}
        sleep: 0.5
        misbehave: hang
        usage: {tokens_in: 1, tokens_out: 2, cache_read: 3, cache_write: 4, reasoning: 5}
        stop_reason: refusal
  short:
    - fail: 401
"""


def test_every_key_of_a_script_is_read() -> None:
    found = read_scripts(WHOLE, "s.yaml").scripts
    step = ModelStep(
        say="Hi.",
        calls=(
            (ScriptedCall(tools=("Read",), arguments={"path": "a"}),),
            (
                ScriptedCall(tools=("A", "b*"), arguments={"x": 1}),
                ScriptedCall(tools=("C",), input="raw", unoffered=True),
            ),
        ),
        fail=ModelFailure(status=529, times=3, message="m", type="t", headers={"retry-after": "2"}, body={"a": 1}),
        sleep=0.5,
        misbehave="hang",
        usage=Tokens(tokens_in=1, tokens_out=2, cache_read=3, cache_write=4, reasoning=5),
        stop_reason="refusal",
    )
    assert found["all"] == Script(steps=(step,), when=("You review",), find={"lane": r"in (\S+)"})
    assert found["short"] == Script(steps=(ModelStep(fail=ModelFailure(status=401)),))


@pytest.mark.parametrize(
    ("text", "path", "word"),
    [
        ("[]", "", "scripts:"),
        ("{}", "", "scripts:"),
        ("", "", "scripts:"),
        ("script: {}", "", "scripts:"),
        ("scripts: {a: [say: x]}\nmore: {}", "", "scripts:"),
        ("scripts: {a b: [say: x]}", "scripts.a b", "name"),
        ("scripts: {a: []}", "scripts.a", "steps"),
        ("scripts: {a: text}", "scripts.a", "steps"),
        ("scripts: {a: {stepz: []}}", "scripts.a", "steps"),
        ("scripts: {a: {steps: [say: x], wehn: y}}", "scripts.a", "'when'"),
        ("scripts: {a: {when: x}}", "scripts.a", "steps"),
        ("scripts: {a: [sya: x]}", "scripts.a.0", "'say'"),
        ("scripts: {a: [hello]}", "scripts.a.0", "object"),
        ("scripts: {a: [say: [1]]}", "scripts.a.0.say", "str"),
        ("scripts: {a: [call: Read]}", "scripts.a.0.call", "object"),
        ("scripts: {a: [call: {with: {}}]}", "scripts.a.0.call", "tool"),
        ("scripts: {a: [call: {tool: []}]}", "scripts.a.0.call.tool", "length"),
        ("scripts: {a: [call: {tool: R, with: 1}]}", "scripts.a.0.call.with", "object"),
        ("scripts: {a: [call: {tool: R, with: {}, input: x}]}", "scripts.a.0.call", "'input'"),
        ("scripts: {a: [call: {tool: '*', unoffered: true}]}", "scripts.a.0.call", "pattern"),
        ("scripts: {a: [call: {first: [{tol: R}]}]}", "scripts.a.0.call.first.0", "'tool'"),
        ("scripts: {a: [call: [{tool: R}, {tol: R}]]}", "scripts.a.0.call.1", "'tool'"),
        ("scripts: {a: [call: {first: []}]}", "scripts.a.0.call", "first"),
        ("scripts: {a: [call: {first: [{tool: R}], tool: R}]}", "scripts.a.0.call", "first"),
        ("scripts: {a: [fail: 200]}", "scripts.a.0.fail.status", "400"),
        ("scripts: {a: [fail: {times: 2}]}", "scripts.a.0.fail", "status"),
        ("scripts: {a: [fail: {status: 429, times: 0}]}", "scripts.a.0.fail.times", "1"),
        ('scripts: {a: [fail: {status: 429, headers: {x: "a\\nb"}}]}', "scripts.a.0.fail.headers", "regex"),
        ("scripts: {a: [fail: {status: 429, headers: {'x y': a}}]}", "scripts.a.0.fail.headers", "regex"),
        ("scripts: {a: [sleep: -1]}", "scripts.a.0.sleep", "0"),
        ("scripts: {a: [sleep: 3601]}", "scripts.a.0.sleep", "3600"),
        ("scripts: {a: [sleep: true]}", "scripts.a.0.sleep", "float"),
        ("scripts: {a: [misbehave: hangs]}", "scripts.a.0.misbehave", "'hangs'"),
        ("scripts: {a: [stop_reason: stop]}", "scripts.a.0.stop_reason", "'stop'"),
        ("scripts: {a: [usage: {tokens: 1}]}", "scripts.a.0.usage", "'tokens_in'"),
        ("scripts: {a: [usage: {tokens_in: -1}]}", "scripts.a.0.usage.tokens_in", "0"),
        ("scripts: {a: {steps: [say: x], find: {l: 'a('}}}", "scripts.a", "find.l"),
        ("scripts: {a: {steps: [say: x], find: {l: a}}}", "scripts.a", "find.l"),
        ("scripts: {a: [say: 'x]}", "", "YAML"),
        ("scripts: {a: [say: x], a: [say: y]}", "", "duplicate"),
    ],
)
def test_a_mistake_in_a_script_is_refused_with_its_path(text: str, path: str, word: str) -> None:
    with pytest.raises(ScriptError) as refused:
        read_scripts(text, "s.yaml")
    [mistake] = refused.value.mistakes
    assert mistake.path == path
    assert word in mistake.message
    assert str(refused.value).startswith("s.yaml:1: ")


def test_every_step_and_call_with_a_mistake_is_named_with_its_line() -> None:
    with pytest.raises(ScriptError) as refused:
        read_scripts(
            "scripts:\n  a: [sya: x]\n  b:\n    - say: x\n    - call:\n      - {tool: R}\n      - {tol: R}\n  c: []\n",
            "s",
        )
    assert [(it.line, it.path) for it in refused.value.mistakes] == [
        (2, "scripts.a.0"),
        (7, "scripts.b.1.call.1"),
        (8, "scripts.c"),
    ]


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
def test_the_scripts_of_the_page_can_be_read(text: str) -> None:
    assert read_scripts(text, "page.yaml").scripts


def test_the_page_knows_every_key() -> None:
    text = PAGE.read_text(encoding="utf-8")
    keys = {
        *ModelStep.__struct_fields__,
        *Script.__struct_fields__,
        *Tokens.__struct_fields__,
        *ModelFailure.__struct_fields__,
    }
    assert {f"`{key}`" for key in keys - {"calls"}} <= set(re.findall("`[a-z_]+`", text))
