"""Findings speak of gates as the file does, however many copies the loader makes of them."""

import re

from tests.protocol.loading import loaded
from treadle.protocol.check import check

TEXT = """\
protocol: small
root: main
exits: {Fixed: {}, Lost: {why: text}}
roles: {de: {template: work.jinja}}
graphs:
  main:
    start: work
    ends: [Done]
    system: {"!*": stuck}
    steps:
      work: {role: de, exits: [Fixed, Lost], routes: {Fixed: next, Lost: stuck}}
      next: {role: de, exits: [Fixed], routes: {Fixed: '@end:Done'}}
      stuck:
        ask: human
        needs: ["work.Lost?", "!*?"]
        routes: {retry: "@back", abort: "@end:Aborted"}
"""


def said(old: str, new: str, number: int) -> list[str]:
    assert old in TEXT
    found = loaded(TEXT.replace(old, new, 1), **{"templates/work.jinja": "Work."})
    return [str(it) for it in check(found.protocol, found.place_of) if it.check == number]


def test_a_fault_in_a_gate_is_said_once() -> None:
    assert said('abort: "@end:Aborted"', "abort: nowhere", 3) == [
        "protocol.yaml:16: main.stuck: abort leads to unknown step 'nowhere' (known: next, stuck, work)"
    ]


def test_the_nearest_step_is_called_as_in_the_file() -> None:
    [line] = said("Lost: stuck", "Lost: stuk", 3)
    assert line.endswith("(did you mean 'stuck'?)")


def test_an_exit_that_a_gate_does_not_read_names_the_gate() -> None:
    lines = said('needs: ["work.Lost?", "!*?"]', 'needs: ["!*?"]', 19)
    [line] = [line for line in lines if "Lost" in line]
    assert line == (
        "protocol.yaml:11: main.work: Lost leads to 'stuck', which does not take its fields"
        " (add 'work.Lost?' to the needs of 'stuck')"
    )


def test_a_loop_through_a_gate_names_the_gate() -> None:
    timed = 'retry: "@back", abort: "@end:Aborted"}\n        default: retry\n        default_after: 1h'
    lines = said('retry: "@back", abort: "@end:Aborted"}', timed, 9)
    assert [re.findall(r"loop (.*?),", line) for line in lines] == [["work → stuck → work"], ["next → stuck → next"]]


def test_a_gate_that_is_read_as_one_step_is_explained() -> None:
    [need] = said("routes: {Fixed: '@end:Done'}", "needs: ['stuck.retry?'], routes: {Fixed: '@end:Done'}", 3)
    assert need.endswith(
        "reads 'stuck.retry?' of 'stuck', which leads @back and is a step of its own for each caller"
        " (name the caller as well: `stuck@work`)"
    )
    [guard] = said("Fixed: next", "Fixed: [{to: work, when: last.stuck == 'retry'}, {to: next}]", 18)
    assert guard.endswith("(name the caller as well: `stuck@work`, as in `last['stuck@work']`)")


def test_what_the_file_says_is_quoted_as_it_stands() -> None:
    [guard] = said("Fixed: next", "Fixed: [{to: work, when: \"last['stuck@work'] == 'x'\"}, {to: next}]", 18)
    assert "guard `last['stuck@work'] == 'x'` compares" in guard
    [need] = said("routes: {Fixed: '@end:Done'}", "needs: ['stuck@work.again?'], routes: {Fixed: '@end:Done'}", 3)
    assert "reads 'stuck@work.again?', but 'stuck@work' has no exit 'again'" in need
