"""What only chat completions have: usage that a stream tells if it is asked to."""

from tests.testing.model_server.clients import BY_NAME, events, post
from treadle.testing.model_server.server import ModelServer


def test_a_stream_tells_its_usage_only_if_it_is_asked_to(server: ModelServer) -> None:
    body = BY_NAME["chat"].body([("prompt", "[[script:hello]]")], ["read"], True)
    with_usage = post(server, "/v1/chat/completions", body)
    without = post(server, "/chat/completions", {**body, "stream_options": None})
    assert [bool(event.get("usage")) for event in events(with_usage.body)][-1]
    assert not any("usage" in event for event in events(without.body))
    assert with_usage.body.endswith(b"data: [DONE]\n\n")
    assert without.body.endswith(b"data: [DONE]\n\n")
