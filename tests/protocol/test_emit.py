from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.emit import WIDTH, Plain, emit
from treadle.protocol.reading.source import read

SCALARS = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(-1e9, 1e9) | st.text(max_size=12)
KEYS = st.text(max_size=8).filter(lambda key: key != "<<")
VALUES: st.SearchStrategy[Plain] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_what_is_written_reads_back_as_it_was(data: dict[str, Plain]) -> None:
    assert read(emit(data), "p.yaml").plain() == data


def test_small_values_share_a_line_and_large_ones_do_not() -> None:
    data: dict[str, Plain] = {
        "small": {"a": 1, "b": ["x", "true"]},
        "nested": {"a": {"b": "c"}},
        "rows": [{"to": "x", "when": "y " * WIDTH}, "short"],
        "empty": {},
    }
    assert emit(data) == (
        'small: {a: 1, b: [x, "true"]}\n'
        "nested:\n"
        "  a: {b: c}\n"
        "rows:\n"
        "  - to: x\n"
        f'    when: "{"y " * WIDTH}"\n'
        "  - short\n"
        "empty: {}\n"
    )
