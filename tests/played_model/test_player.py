"""Which step answers, without any HTTP."""

import pytest

from played_model.player import Player
from played_model.script import read_scripts
from played_model.wire import By, ConversationEntry, ModelRequest, Tool

SCRIPTS = r"""
scripts:
  plain: [say: one, say: two]
  reviewer:
    when: [You review, the story]
    find: {story: 'story (\S+)\.', lane: 'Directory: (\S+)'}
    steps:
      - say: Reviewing {story} in {lane}, {other}.
        call: {tool: Read, with: {path: "{lane}/a.py", more: ["{story}", 1]}}
      - say: Fine.
  author:
    when: You write
    steps: [say: writing]
  forced:
    - call: {tool: [mcp__x__y, Else], unoffered: true}
  toolless:
    - {fail: {status: 500, times: 1}, say: well}
  agentic:
    - {fail: {status: 500, times: 1}, call: {tool: Read}}
"""
READ = (Tool("Read"),)


@pytest.fixture
def player() -> Player:
    return Player(read_scripts(SCRIPTS, "s.yaml"))


def asked(*entries: tuple[By, str], tools: tuple[Tool, ...] = READ) -> ModelRequest:
    return ModelRequest(model="m", entries=tuple(ConversationEntry(by, text) for by, text in entries), tools=tools)


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ([("system", "[[script:plain]]"), ("prompt", "go")], "one"),
        ([("system", "[[script:plain]]"), ("prompt", "go"), ("model", ""), ("result", "r")], "two"),
        ([("prompt", "[[script:reviewer]] no, [[script:plain]]")], "one"),
        ([("prompt", "You write. [[script:plain]]")], "one"),
        ([("prompt", "You write.")], "writing"),
        ([("prompt", "You write."), ("model", "w"), ("prompt", "[[ script:x ]] You write.")], "writing"),
        ([("prompt", "[[script:plain]]"), ("model", "a"), ("model", "b"), ("result", "")], "two"),
        ([("model", "before"), ("prompt", "[[script: plain ]]")], "one"),
    ],
)
def test_the_last_prompt_that_names_a_script_counts(player: Player, entries: list[tuple[By, str]], text: str) -> None:
    assert player.answer(asked(*entries)).text == text


def test_a_pattern_match_replaces_its_placeholder(player: Player) -> None:
    request = asked(("system", "Directory: /old\nDirectory: /lane"), ("prompt", "You review the story S-7."))
    answer = player.answer(request)
    assert answer.text == "Reviewing S-7 in /lane, {other}."
    [call] = answer.calls
    assert call.arguments == {"path": "/lane/a.py", "more": ["S-7", 1]}


def test_a_pattern_without_a_match_is_empty(player: Player) -> None:
    assert player.answer(asked(("prompt", "You review the story."))).text == "Reviewing  in , {other}."


def test_a_script_can_call_a_tool_that_is_not_offered(player: Player) -> None:
    answer = player.answer(asked(("prompt", "[[script:forced]]")))
    assert ([call.tool.name for call in answer.calls], answer.note) == (["mcp__x__y"], "")


def test_calls_of_side_requests_neither_fail_nor_count(player: Player) -> None:
    def failures(script: str, tools: tuple[Tool, ...]) -> list[bool]:
        answers = [player.answer(asked(("prompt", f"[[script:{script}]]"), tools=tools)) for _ in range(2)]
        return [answer.failure is not None for answer in answers]

    assert failures("agentic", ()) == [False, False]
    assert failures("agentic", READ) == [True, False]
    assert failures("toolless", ()) == [True, False]


def test_every_call_has_an_id_of_its_own(player: Player) -> None:
    made = [player.answer(asked(("prompt", "[[script:forced]]"))).calls[0].id for _ in range(50)]
    assert len(set(made)) == 50
