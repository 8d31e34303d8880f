"""How both of OpenAI's wire formats tell a failure."""

from typing import Final

from treadle.testing.model_server.script import Failure
from treadle.testing.model_server.wire import Document

_KINDS: Final = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    503: ("server_error", "server_is_overloaded"),
}


def refusal(failure: Failure) -> Document:
    """The body of an answer that is no success; `type: insufficient_quota` is one that OpenAI has for 429."""
    kind, code = _KINDS.get(failure.status, ("server_error", None))
    if failure.type:
        kind = code = failure.type
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": code}}
