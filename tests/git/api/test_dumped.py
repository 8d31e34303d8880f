"""What a project's own command prints about its exports."""

import pytest

from treadle.git.api.dumped import completed, dumped
from treadle.git.api.symbol import Symbol, symbol, whole_file


def test_names_have_a_signature_and_may_have_a_body() -> None:
    found = dumped(
        'warning: slow\n{"add": "fn add(a, b)", "sub": {"signature": "fn sub(a, b)", "body": "a - b"}}\ndone\n'
    )
    assert found == {"add": Symbol("fn add(a, b)", ""), "sub": symbol("fn sub(a, b)", "a - b")}
    assert dumped("{}") == {}


@pytest.mark.parametrize(
    "printed", ["", "error: no such file", "[1]", '{"add": 1}', '{"add": {"sign": "x"}}', '{"a": "b"']
)
def test_anything_else_is_refused_in_words(printed: str) -> None:
    with pytest.raises(ValueError, match=r"it should print \{NAME: SIGNATURE, …\}"):
        dumped(printed)


def test_it_takes_the_place_of_whole_files_and_of_nothing_that_was_read() -> None:
    read = {"app.f": symbol("def f()"), **whole_file("src/lib.rs", b"fn f() {}").symbols}
    printed = {"lib::f": symbol("fn f()"), "app.f": symbol("something else")}
    assert completed(read, printed) == {"app.f": symbol("def f()"), "lib::f": symbol("fn f()")}
