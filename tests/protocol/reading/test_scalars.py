import pytest

from treadle.protocol.reading.scalars import Scalar, resolve, written


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("2026-01-01", "2026-01-01"),
        ("1.2.3", "1.2.3"),
        ("e3", "e3"),
        ("", None),
        ("~", None),
        ("Null", None),
        ("true", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("12", 12),
        ("-3", -3),
        ("007", 7),
        ("0o17", 15),
        ("0xfF", 255),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, value: Scalar) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".nan", "1e999", "9" * 19, "9" * 10_000, "0." + "1" * 100])
def test_numbers_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        resolve(text)


@pytest.mark.parametrize("value", [None, True, False, 12, "text"])
def test_written_reads_back(value: Scalar) -> None:
    assert resolve(written(value)) == value
