"""Which globs can bound what is written."""

import pytest

from treadle.protocol.globs import glob_fault, shown


@pytest.mark.parametrize(
    ("glob", "why"),
    [
        ("/etc/**", "is absolute"),
        ("C:/x", "is absolute"),
        ("../../x/**", "leaves its directory with .."),
        ("a/../../b", "leaves its directory with .."),
        ("!../x", "leaves its directory with .."),
        ("~/x", "starts with ~"),
        ("a\\b", "holds a backslash"),
        ("a\x00b", "holds a control character, or another one that cannot be seen"),
        (".git/**", "lies inside .git, which only the orchestrator touches"),
        ("**/.GIT/hooks/*", "lies inside .git, which only the orchestrator touches"),
        (".treadle/**", "lies inside .treadle, which only the orchestrator touches"),
        ("", "is empty"),
        ("!", "is empty"),
    ],
)
def test_what_cannot(glob: str, why: str) -> None:
    fault = glob_fault(glob)
    assert fault is not None
    what, hint = fault
    assert what == why
    assert hint


@pytest.mark.parametrize(
    "glob", ["**", "*", "src/**", "**/test_?.py", "!tests/**", "{targetPath}/**", ".github/**", "a..b", "!.git/**"]
)
def test_what_can(glob: str) -> None:
    assert glob_fault(glob) is None


def test_what_cannot_be_printed_is_written_out() -> None:
    assert (shown("a b"), shown("a\x00b")) == ("'a b'", r"'a\x00b'")
