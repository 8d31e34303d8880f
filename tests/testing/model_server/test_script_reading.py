"""What a script may say, and what is said about one that is wrong."""

import re
from pathlib import Path

import pytest

from treadle.errors import ProtocolError, TreadleError
from treadle.testing.model_server.script import Call, Failure, Script, Step, Tokens
from treadle.testing.model_server.script_reading import load_scripts, read_scripts

PAGE = Path(__file__).parents[3] / "docs" / "model-server.md"
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


def test_everything_that_can_be_said() -> None:
    found = read_scripts(WHOLE, "s.yaml").scripts
    step = Step(
        say="Hi.",
        calls=(
            (Call(tools=("Read",), arguments={"path": "a"}),),
            (Call(tools=("A", "b*"), arguments={"x": 1}), Call(tools=("C",), input="raw", unoffered=True)),
        ),
        fail=Failure(status=529, times=3, message="m", type="t", headers={"retry-after": "2"}, body={"a": 1}),
        sleep=0.5,
        misbehave="hang",
        usage=Tokens(tokens_in=1, tokens_out=2, cache_read=3, cache_write=4, reasoning=5),
        stop_reason="refusal",
    )
    assert found["all"] == Script(steps=(step,), when=("You review",), find={"lane": r"in (\S+)"})
    assert found["short"] == Script(steps=(Step(fail=Failure(status=401)),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "s.yaml:1: must be a mapping (write `scripts:`"),
        ("{}", "s.yaml:1: there is no script"),
        ("script: {}", "unknown key 'script' (did you mean 'scripts'?)"),
        ("scripts: {a b: []}", "scripts.a b: 'a b' is not a name"),
        ("scripts: {a: []}", "scripts.a: there is no step"),
        ("scripts: {a: text}", "scripts.a: 'a' must be a list, not text"),
        ("scripts: {a: {stepz: []}}", "scripts.a: unknown key 'stepz' (did you mean 'steps'?)"),
        ("scripts: {a: {when: x}}", "scripts.a: there are no 'steps'"),
        ("scripts:\n  a:\n    - sya: x", "s.yaml:3: scripts.a.0: unknown key 'sya' (did you mean 'say'?)"),
        ("scripts: {a: [hello]}", "scripts.a.0: 'a' must be a mapping, not text (of say, call, "),
        ("scripts: {a: [say: [1]]}", "scripts.a.0.say: 'say' must be text, not a list"),
        ("scripts: {a: [call: Read]}", "scripts.a.0.call: 'call' must be a mapping, not text"),
        ("scripts: {a: [call: {with: {}}]}", "scripts.a.0.call: does not say which tool"),
        ("scripts: {a: [call: {tool: R, with: 1}]}", "scripts.a.0.call.with: 'with' must be a mapping, not a number"),
        ("scripts: {a: [call: {tool: R, with: {}, input: x}]}", "has both 'with' and 'input'"),
        ("scripts: {a: [call: {tool: '*', unoffered: true}]}", "a pattern cannot be called"),
        ("scripts: {a: [call: {first: [{tol: R}]}]}", "scripts.a.0.call.first.0: unknown key 'tol'"),
        ("scripts: {a: [call: {first: []}]}", "scripts.a.0.call.first: there is no call"),
        ("scripts: {a: [fail: 200]}", "scripts.a.0.fail: 200 is no status of a failure"),
        ("scripts: {a: [fail: {times: 2}]}", "scripts.a.0.fail: does not say which status"),
        ("scripts: {a: [fail: {status: 429, times: 0}]}", "scripts.a.0.fail.times: 'times' is 0 (it must be 1 or"),
        ('scripts: {a: [fail: {status: 429, headers: {x: "a\\nb"}}]}', "scripts.a.0.fail.headers.x: is no header"),
        ("scripts: {a: [fail: {status: 429, headers: {'x y': a}}]}", "is no header"),
        ("scripts: {a: [sleep: -1]}", "scripts.a.0.sleep: must be a number of seconds"),
        ("scripts: {a: [misbehave: hangs]}", "cannot be 'hangs' (did you mean 'hang'?)"),
        ("scripts: {a: [stop_reason: stop]}", "scripts.a.0.stop_reason: 'stop_reason' cannot be 'stop'"),
        ("scripts: {a: [usage: {tokens: 1}]}", "scripts.a.0.usage: unknown key 'tokens' (did you mean 'tokens_in'?)"),
        ("scripts: {a: [usage: {tokens_in: -1}]}", "'tokens_in' is -1"),
        ("scripts: {a: {steps: [say: x], find: {l: 'a('}}}", "scripts.a.find.l: is no regular expression"),
        ("scripts: {a: {steps: [say: x], find: {l: a}}}", "scripts.a.find.l: must have one group"),
        ("scripts: {a: [say: 'x]}", "this is not YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        read_scripts(text, "s.yaml")
    assert message in str(refused.value)
    assert "s.yaml:" in str(refused.value)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ProtocolError, match=r"s\.yaml cannot be loaded: 3 problems"):
        read_scripts("scripts:\n  a: [sya: x]\n  b: [fail: 1]\n  c: []\n", "s.yaml")


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
def test_the_scripts_of_the_page_can_be_read(text: str) -> None:
    assert read_scripts(text, "page.yaml").scripts


def test_the_page_knows_every_key() -> None:
    text = PAGE.read_text(encoding="utf-8")
    keys = {*Step.__struct_fields__, *Script.__struct_fields__, *Tokens.__struct_fields__, *Failure.__struct_fields__}
    assert {f"`{key}`" for key in keys - {"calls"}} <= set(re.findall("`[a-z_]+`", text))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TreadleError, match="cannot be read: No such file"):
        load_scripts(tmp_path / "none.yaml")
    (tmp_path / "odd.yaml").write_bytes(b"a: \xff")
    with pytest.raises(TreadleError, match="is not UTF-8 at byte 3"):
        load_scripts(tmp_path / "odd.yaml")
