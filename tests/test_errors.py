"""What a person is told when the surroundings fail."""

import errno
import os

import pytest

from treadle.errors import PortError, writing


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "make room on that disk"),
        (errno.EDQUOT, "make room on that disk"),
        (errno.EROFS, "make that disk writable"),
        (errno.EACCES, "check the permissions"),
        (errno.EIO, "see that it can be written"),
    ],
)
def test_a_failed_write_has_its_cause_and_advice(number: int, advice: str) -> None:
    with pytest.raises(PortError, match=advice) as told, writing("/some/file"):
        raise OSError(number, os.strerror(number))
    assert str(told.value).startswith(f"/some/file cannot be written: {os.strerror(number).lower()}; ")
    assert told.value.retryable


def test_other_errors_are_left_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError), writing("/some/file"):
        raise ZeroDivisionError
