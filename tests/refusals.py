"""A refusal is compared by its code and the data in it, not by its sentence."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from treadle.errors import TreadleError


@contextmanager
def refused(code: str, *data: str) -> Iterator[pytest.ExceptionInfo[TreadleError]]:
    """The code inside raises an error with this code whose message holds each of these texts."""
    with pytest.raises(TreadleError) as caught:
        yield caught
    assert caught.value.code == code, caught.value
    assert [text for text in data if text not in str(caught.value)] == [], caught.value
