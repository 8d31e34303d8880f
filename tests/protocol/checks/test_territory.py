"""Planted write scopes that reach where the tests are written."""

import pytest

from tests.protocol.checks.planted import bugfix, change, said


@pytest.mark.parametrize(
    ("writes", "reaches"),
    [
        (("{part}/**",), True),
        (("{part}/**", "!tests/**"), False),
        (("src/**",), False),
        (("src/**", "setup.py"), False),
        (("docs/{id}.md",), False),
    ],
)
def test_the_scope_of_who_must_leave_the_tests_alone(writes: tuple[str, ...], reaches: bool) -> None:
    found = [line for line in said(change(bugfix(), "roles.de", writes=writes), 16) if "where the tests are" in line]
    expected = (
        "16 main.fix: may write 'tests/**', where the tests are written, but its gates want them unmodified (exclude "
        "it with '!tests/**')"
    )
    assert found == [expected] * reaches


def test_a_file_that_the_authors_write_too() -> None:
    both = change(change(bugfix(), "roles.qa", writes=("tests/**", "setup.py")), "roles.de", writes=("setup.py",))
    assert [line for line in said(both, 16) if "where the tests are" in line] == [
        (
            "16 main.fix: may write 'setup.py', where the tests are written, but its gates want them "
            "unmodified (exclude it with '!setup.py')"
        )
    ]
