"""What turns count as that no script has a word on: what was sent before is read from the cache."""

import pytest

from played_model.script import Tokens, read_scripts
from played_model.server import ModelServer
from played_model.wire import By, ConversationEntry, ModelRequest, Tool, ToolCall, count_tokens
from tests.played_model.clients import CLIENTS, Client, Turn, hear, post

LONG = "x" * 4000
TALK = "scripts: {talk: [call: {tool: Read, with: {path: a}}, say: Read., say: Once more.]}"
FIRST: list[Turn] = [("prompt", f"{LONG} [[script:talk]]")]
SECOND: list[Turn] = [*FIRST, ("called", "Read"), ("result", "y" * 400)]
GONE_ON: list[Turn] = [*SECOND, ("model", "Read."), ("prompt", "Go on.")]


def asked(*entries: tuple[By, str], length: int = 0, **more: str) -> ModelRequest:
    said = tuple(ConversationEntry(by, text, len(text)) for by, text in entries)
    return ModelRequest(model="m", entries=said, length=length, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_earlier_turns_count_as_cached_on_any_server(client: Client, stream: bool) -> None:
    scripts = read_scripts(TALK, "talk.yaml")
    used = []
    for turns in (FIRST, SECOND, GONE_ON):
        with ModelServer(scripts) as server:  # a new one each time: it need not have seen what was sent before
            used.append(hear(server, client, turns, ["Read"], stream=stream).tokens)
    (first, nothing, out), (second, once, _), (third, twice, _) = used
    assert (nothing, first > 1000, out > 0) == (0, True, True)
    assert 0.95 * first < once <= first + 10, "all of the first request, tools included"
    assert 0.95 * second < twice <= second + 10
    assert 100 <= second - once < 200, "the model's call and its result are new"
    assert third - twice < 50


def test_messages_are_kept_only_if_the_client_asks_for_it() -> None:
    client = next(one for one in CLIENTS if one.name == "anthropic")
    body = client.body(SECOND, ["Read"], False)
    with ModelServer(read_scripts(TALK, "talk.yaml")) as server:
        asking = post(server, client.path, body).json()["usage"]
        del body["system"][0]["cache_control"]
        plain = post(server, client.path, body).json()["usage"]
    assert (asking["input_tokens"], asking["cache_creation_input_tokens"] >= 100) == (0, True)
    assert (plain["cache_read_input_tokens"], plain["cache_creation_input_tokens"]) == (0, 0)
    assert plain["input_tokens"] > 1000


@pytest.mark.parametrize(
    ("entries", "read"),
    [
        ([("system", "s" * 40), ("prompt", "p" * 40)], 0),
        ([("prompt", "p" * 40), ("model", "m" * 8)], 10),
        ([("prompt", "p" * 40), ("model", "m" * 8), ("model", ""), ("result", "r" * 80)], 10),
        ([("prompt", "p" * 40), ("model", "m" * 8), ("result", "r" * 80), ("model", ""), ("prompt", "p")], 32),
        ([("model", "m" * 8), ("prompt", "p" * 40)], 0),
        ([], 0),
    ],
)
def test_only_entries_up_to_the_last_model_turn_count_as_cached(entries: list[tuple[By, str]], read: int) -> None:
    used = count_tokens(asked(*entries), "")
    assert used.cache_read == read
    assert used.tokens_in + used.cache_read == max(1, sum(len(text) for _, text in entries) // 4)


def test_text_around_the_conversation_counts_as_cached_too() -> None:
    talk: list[tuple[By, str]] = [("prompt", "p" * 40), ("model", ""), ("result", "r" * 80)]
    assert count_tokens(asked(*talk, length=4000), "").cache_read == 1000 - 20
    assert count_tokens(asked(*talk, length=4000, cache="asked"), "") == Tokens(
        tokens_in=0, cache_read=980, cache_write=20, tokens_out=1
    )
    assert count_tokens(asked(*talk, length=4000, cache=""), "").tokens_in == 1000


def test_parts_of_one_message_count_once() -> None:
    client = next(one for one in CLIENTS if one.name == "anthropic")
    body = client.body(SECOND, ["Read"], False)
    with ModelServer(read_scripts(TALK, "talk.yaml")) as server:
        one = post(server, client.path, body).json()["usage"]["cache_creation_input_tokens"]
        body["messages"][-1]["content"].append({"type": "text", "text": "z" * 400})
        two = post(server, client.path, body).json()["usage"]["cache_creation_input_tokens"]
    assert 100 <= two - one < 120


def test_output_tokens_count_text_and_calls() -> None:
    call = ToolCall("1", Tool("Read"), {"path": "a" * 27}, "")
    assert len(call.written) == 38
    assert count_tokens(asked(("prompt", "p")), "t" * 42, (call,)).tokens_out == 20
