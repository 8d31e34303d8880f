"""Outages are told from statuses and from the words of real services."""

import pytest

from treadle.agents.event_stream import outage_of, wait_of
from treadle.kernel.events import Outages


@pytest.mark.parametrize(
    ("words", "status", "outage", "wait"),
    [
        ("", 429, "rate", 0),
        ("", 401, "login", 0),
        ("", 400, None, 0),
        ("invalid schema; see our page on authentication", 400, None, 0),
        ("You exceeded your current quota", 429, "quota", 0),
        ("exceeded retry limit, last status: 429 Too Many Requests", None, "rate", 0),
        ("Rate limit reached for gpt-5 on tokens per min. Please try again in 1.5s.", 429, "rate", 2),
        ("You've hit your usage limit. Try again in 3 hours 13 minutes.", None, "quota", 11_580),
        ("You've hit your usage limit. Try again in 2 days, 1 hour and 5 minutes.", None, "quota", 176_700),
        ("You've hit your usage limit. Try again in 900 days.", None, "quota", 604_800),
        ("Selected model is at capacity. Please try a different model.", None, "overload", 0),
        ("Connection failed: error sending request", None, "network", 0),
        ("stream disconnected before completion: idle timeout", None, "network", 0),
        ("Your access token could not be refreshed. Please log out and sign in again.", None, "login", 0),
        ("Your credit balance is too low", None, "billing", 0),
        ("the tests failed in 500ms", None, None, 0),
    ],
)
def test_words_and_status_become_an_outage_with_its_wait(
    words: str, status: int | None, outage: Outages | None, wait: int
) -> None:
    assert (outage_of(words, status), wait_of(words)) == (outage, wait)
