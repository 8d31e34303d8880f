"""What is wrong with a script is found when it is loaded, all of it, with its lines."""

import re
from pathlib import Path

import pytest

from treadle.agents.script_reading import load_script, read_script
from treadle.errors import ProtocolError, TreadleError
from treadle.kernel.events import Usage

BAD = """\
agents:
  - stepp: tests
    attempt: true
    turns:
      - write: [a]
        wirte: {}
        delete: ../x
        run: ["rm -rf /"]
      - exit: {tests: []}
        channel: handof
        misbehave: hung
        delay: -1
        exit_code: 1.5
        usage: {tokens: 3}
        say: 7
        append: {/etc/passwd: x}
      - say: "{spec.title}"
        exit: {type: A, deep: [{x: "{spec[a}"}]}
  - step: impl
  - turns: []
  - nothing
extra: 1
"""


def test_everything_is_found_with_its_line() -> None:
    with pytest.raises(ProtocolError) as caught:
        read_script(BAD, "s.yaml")
    told = str(caught.value).splitlines()
    assert told[0] == "s.yaml is no script for an agent"
    expected = [
        (2, "unknown key 'stepp' (did you mean 'step'?)"),
        (3, "must be a pattern such as `root/*`, not true or false"),
        (5, "must be a mapping, not a list"),
        (6, "unknown key 'wirte' (did you mean 'write'?)"),
        (7, "the path '../x'"),
        (8, "a command is a list of texts"),
        (9, "does not say which exit"),
        (10, "there is no 'handof' (did you mean 'handoff'?)"),
        (11, "there is no 'hung'"),
        (12, "must be a number from 0 to 86400"),
        (13, "must be a whole number"),
        (14, "unknown key 'tokens'"),
        (15, "must be text, not a number"),
        (16, "the path '/etc/passwd' is absolute"),
        (17, "'{spec.title}' is no placeholder (write `{spec[name]}`"),
        (18, "'{spec[a}' is no placeholder"),
        (19, "a rule without 'turns'"),
        (20, "there is no turn"),
        (21, "must be a mapping, not text"),
        (22, "unknown key 'extra'"),
    ]
    lines = [int(re.match(r"  s\.yaml:(\d+): ", line)[1]) for line in told[1:]]  # type: ignore[index]
    assert lines == [line for line, _ in expected]
    for line, (_, part) in zip(told[1:], expected, strict=True):
        assert part in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agents: []", "there is no rule"),
        ("agent: []", "did you mean 'agents'"),
        ("[]", "must be a mapping"),
        ("", "the file is empty"),
    ],
)
def test_a_script_that_is_none(text: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=re.escape(message)):
        read_script(text, "s.yaml")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TreadleError, match="cannot be read: No such file"):
        load_script(tmp_path / "none.yaml")
    (tmp_path / "latin").write_bytes(b"agents: \xff")
    with pytest.raises(TreadleError, match="not UTF-8 at byte 8"):
        load_script(tmp_path / "latin")


def test_the_example_of_the_documentation_is_a_script() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scripted-agents.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert examples
    for example in examples:
        read_script(example, "scripted-agents.md")


@pytest.mark.parametrize(
    ("outage", "message"),
    [
        ("{wait: 5}", "does not say which outage (write `why: rate` in it)"),
        ("{why: rates}", "there is no 'rates' (did you mean 'rate'?)"),
        ("{why: rate, wait: -1}", "must be a number from 0 to 1e+06"),
        ("{why: rate, wait: 1.5}", "must be a whole number"),
        ("{why: rate, until: 5}", "unknown key 'until'"),
        ("rate", "must be a mapping, not text"),
    ],
)
def test_an_outage_that_is_none(outage: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=re.escape(message)):
        read_script(f"agents: [turns: [outage: {outage}]]", "s.yaml")


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ("{tokens_in: 10, cached: 4, tokens_out: 5, cost: 0.5}", Usage(10, 5, 0.5, cached=4)),
        ("{tokens_in: 10, tokens_out: 5, cost: 0}", Usage(10, 5)),
        ("{tokens_in: 10, tokens_out: 5}", Usage(10, 5, unpriced=15)),
    ],
)
def test_without_a_cost_the_price_is_not_known(usage: str, read: Usage) -> None:
    assert read_script(f"agents: [turns: [usage: {usage}]]", "s.yaml").rules[0].turns[0].usage == read
