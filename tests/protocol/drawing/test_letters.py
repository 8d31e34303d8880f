import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.drawing.svg import width, wrap


@given(st.text(), st.floats(30, 300))
def test_wrapped_lines_fit_and_lose_no_letter(text: str, limit: float) -> None:
    lines = wrap(text, 11, limit)
    assert all(width(line, 11) <= limit for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@pytest.mark.parametrize(("narrow", "broad"), [("ill", "mmm"), ("i", "W"), ("e\u0301", "ee"), ("a", "漢")])
def test_broad_letters_need_more_room(narrow: str, broad: str) -> None:
    assert width(narrow, 10) < width(broad, 10)
