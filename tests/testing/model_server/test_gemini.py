"""What only Gemini has: streams that are a list."""

from tests.testing.model_server.clients import BY_NAME, gemini_streamed, post
from treadle.testing.model_server.server import ModelServer


def test_without_server_sent_events_a_stream_is_a_list(server: ModelServer) -> None:
    body = BY_NAME["gemini"].body([("prompt", "[[script:hello]]")], ["read"], True)
    reply = post(server, "/v1beta/models/gemini-x:streamGenerateContent", body)
    assert reply.headers["content-type"] == "application/json"
    assert gemini_streamed(reply.json()).text == "Hello, ünïcode world."
    assert reply.json()[0]["modelVersion"] == "gemini-x"
