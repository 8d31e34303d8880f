import pytest

from tools.checks_page import Example, checks_page, read_examples, said
from treadle.protocol.check import CHECKS, FINER


def test_every_check_stands_on_the_page_once() -> None:
    page = checks_page()
    for prove in (*CHECKS.values(), *FINER.values()):
        text = " ".join((prove.__doc__ or "").partition(".")[2].split())
        assert page.count(f"{text}\n") == 1, prove.__name__


def test_every_number_has_an_example_that_it_finds() -> None:
    examples = read_examples()
    assert list(examples) == list(range(1, 24))
    assert said(3, examples[3]) == (
        "protocol.yaml:113: main.reproduce: Reproduced leads to unknown step 'fxi' (did you mean 'fix'?)"
    )


@pytest.mark.parametrize(
    ("example", "why"),
    [
        (Example("new", "protocol.yaml", "Reproduced: nowhere", ""), "does not hold 'Reproduced: nowhere'"),
        (Example("new", "protocol.yaml", "Reproduced: fix", "Reproduced: fix"), "check 3 has nothing to say"),
    ],
)
def test_an_example_without_a_finding_is_refused(example: Example, why: str) -> None:
    with pytest.raises(SystemExit, match=why):
        said(3, example)
